/** Discovery of the embedded server is that of a kube-apiserver, with fewer kinds. */
import { describe, expect } from "bun:test"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import { real } from "@homeostat/testkit/Shared"
import { kindsOf } from "@homeostat/testkit/server/crd/CustomKinds"
import { webApps } from "@homeostat/testkit/server/Definitions.fixture"
import * as J from "@homeostat/testkit/server/Json"
import { apiVersionOf } from "@homeostat/testkit/server/Kind"
import { builtIn } from "@homeostat/testkit/server/Kinds.fixture"
import * as Discovery from "@homeostat/testkit/server/openapi/Discovery"
import { Effect, Schedule } from "effect"
import { type Got, get } from "./Get.ts"

const kinds = [...builtIn, ...kindsOf(webApps)]

/** Waits until the custom kind is told of; it comes a moment after its definition. */
const installed = (cluster: ControlPlane) =>
  Effect.zipRight(
    cluster.install(webApps),
    get(cluster, "/apis", { accept: Discovery.aggregatedType }).pipe(
      Effect.repeat({
        until: (got: Got) => got.body.includes("openapi.example.com"),
        schedule: Schedule.spaced("200 millis")
      })
    )
  )

const groups = new Set(kinds.map(({ group }) => group))
const served = (groupVersion: string, plural: J.Json | undefined): boolean =>
  kinds.some((kind) => apiVersionOf(kind) === groupVersion && kind.plural === `${plural}`.split("/")[0])

/** What a kube-apiserver says, of our kinds only. */
const ofOurs = (list: J.JsonObject): J.JsonObject => ({
  ...list,
  items: J.objects(list.items)
    .filter((item) => groups.has(J.text(J.at(item, "metadata", "name")) ?? ""))
    .map((item) => ({
      ...item,
      versions: J.objects(item.versions).map((version) => ({
        ...version,
        resources: J.objects(version.resources).filter(({ resource }) =>
          served(
            apiVersionOf({
              group: J.text(J.at(item, "metadata", "name")) ?? "",
              version: J.text(version.version) ?? ""
            }),
            resource
          )
        )
      }))
    }))
})

describe("Discovery", () => {
  for (const root of ["api", "apis"] as const) {
    real(`of /${root}, aggregated, is the kube-apiserver's`, (cluster) =>
      Effect.gen(function* () {
        yield* installed(cluster)
        const got = yield* get(cluster, `/${root}`, { accept: Discovery.aggregatedType })
        expect(got.headers.get("content-type")).toBe(Discovery.aggregatedType)
        expect(Discovery.aggregated(kinds, root)).toEqual(ofOurs(JSON.parse(got.body)))
      })
    )
  }

  real("of each version is the kube-apiserver's, with the hash of the version that is stored", (cluster) =>
    Effect.gen(function* () {
      yield* installed(cluster)
      for (const groupVersion of new Set(kinds.map(apiVersionOf))) {
        const [version = "", group = ""] = groupVersion.split("/").reverse()
        const got = yield* get(cluster, `/${group === "" ? "api" : "apis"}/${groupVersion}`)
        const theirs: J.JsonObject = JSON.parse(got.body)
        expect(Discovery.apiResourceList(kinds, group, version)).toEqual({
          ...theirs,
          resources: J.objects(theirs.resources).filter(({ name }) => served(groupVersion, name))
        })
      }
    })
  )

  real("of groups is the kube-apiserver's, in its order and with its preferred versions", (cluster) =>
    Effect.gen(function* () {
      yield* installed(cluster)
      const list: J.JsonObject = JSON.parse((yield* get(cluster, "/apis")).body)
      const theirs = J.objects(list.groups).filter(({ name }) => groups.has(`${name}`))
      expect(Discovery.apiGroupList(kinds)).toEqual({ ...list, groups: theirs })
      for (const { name } of theirs) {
        const group: J.JsonObject = JSON.parse((yield* get(cluster, `/apis/${name}`)).body)
        expect(Discovery.apiGroup(kinds, `${name}`)).toEqual(group)
      }
    })
  )

  real("of /api is the kube-apiserver's", (cluster) =>
    Effect.gen(function* () {
      const theirs: J.JsonObject = JSON.parse((yield* get(cluster, "/api")).body)
      const [first] = J.objects(theirs.serverAddressByClientCIDRs)
      expect(Discovery.apiVersions(J.text(first?.serverAddress) ?? "")).toEqual(theirs)
    })
  )

  const v2 = Discovery.aggregatedType
  const old = v2.replace("v=v2", "v=v2beta1")
  for (const accept of [
    "",
    "*/*",
    "application/json",
    v2,
    old,
    `${old},application/json`,
    `${v2},${old},application/json`,
    `application/json;q=0.5,${v2}`,
    "application/yaml",
    v2.replace("json", "yaml"),
    "text/html",
    "text/html,*/*",
    "application/*"
  ]) {
    real(`answers Accept ${JSON.stringify(accept)} in the kube-apiserver's form`, (cluster) =>
      Effect.gen(function* () {
        const got = yield* get(cluster, "/apis", { accept })
        const form = Discovery.formOf(accept)
        expect(form === undefined ? 406 : 200).toBe(got.status)
        if (form === undefined) return
        expect(got.headers.get("content-type")).toBe(
          `application/${form.format}${form.aggregated ? v2.slice("application/json".length) : ""}`
        )
      })
    )
  }
})
