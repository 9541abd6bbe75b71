/** The cells of built-in kinds are those that a kube-apiserver prints for the same objects. */
import { describe, expect } from "bun:test"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import { real } from "@homeostat/testkit/Shared"
import { columnsOf } from "@homeostat/testkit/server/builtin/columns/Columns"
import { type Name, names } from "@homeostat/testkit/server/builtin/Names"
import { webApps } from "@homeostat/testkit/server/Definitions.fixture"
import * as J from "@homeostat/testkit/server/Json"
import { apiVersionOf } from "@homeostat/testkit/server/Kind"
import { Clock, Effect } from "effect"
import { get } from "./Get.ts"
import type { Sample } from "./Sample.ts"
import { samples } from "./Samples.ts"

const table = "application/json;as=Table;v=v1;g=meta.k8s.io"

const root = (apiVersion: string): string => (apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`)

const send = (cluster: ControlPlane, method: string, path: string, body: J.JsonObject) =>
  Effect.tap(
    cluster.request(method, path, {
      body,
      ...(method === "PATCH" ? { contentType: "application/merge-patch+json" } : {})
    }),
    (answer) => expect([path, answer.status < 300 ? "" : answer.body]).toEqual([path, ""])
  )

/** Creates an object and gives it its status. */
const create = (cluster: ControlPlane, namespace: string, { apiVersion, namespaced, object, plural, status }: Sample) =>
  Effect.gen(function* () {
    const path = `${root(apiVersion)}${namespaced ? `/namespaces/${namespace}` : ""}/${plural}`
    const about = plural === "events" ? withNamespace(object, namespace) : object
    yield* send(cluster, "POST", path, about)
    const own = `${path}/${J.at(object, "metadata", "name")}`
    if (status !== undefined) yield* send(cluster, "PATCH", `${own}/status`, { status })
    if (`${J.at(object, "metadata", "name")}`.endsWith("ending")) yield* cluster.request("DELETE", own)
    if (namespaced) return
    yield* Effect.addFinalizer(() => Effect.ignore(cluster.request("DELETE", own)))
  })

/** An event is in the namespace of what it is about. */
const withNamespace = (object: J.JsonObject, namespace: string): J.JsonObject => {
  const member = object.regarding === undefined ? "involvedObject" : "regarding"
  return { ...object, [member]: { ...J.object(object[member]), namespace } }
}

/** Lists a kind as a table and as objects, and compares each row; ages as of before or after the request. */
const compare = (cluster: ControlPlane, namespace: string, { group, kind, namespaced, plural, version }: Name) =>
  Effect.gen(function* () {
    const path = `${root(apiVersionOf({ group, version }))}${namespaced ? `/namespaces/${namespace}` : ""}/${plural}`
    const before = yield* Clock.currentTimeMillis
    const printed: J.JsonObject = JSON.parse((yield* get(cluster, path, { accept: table })).body)
    const after = yield* Clock.currentTimeMillis
    const listed: J.JsonObject = JSON.parse((yield* get(cluster, path)).body)
    const columns = columnsOf(group, version, kind)
    const all = J.objects(printed.columnDefinitions)
    const definitions = columns.some(({ format }) => format === "name") ? all : all.slice(1)
    expect<ReadonlyArray<object>>(columns.map(({ cell: _, ...definition }) => definition)).toEqual([...definitions])
    const rows = J.objects(printed.rows)
    expect(rows.length).toBeGreaterThan(0)
    for (const [index, row] of rows.entries()) {
      const object = J.objects(listed.items)[index] ?? {}
      if (isBeyond(object)) continue
      const name = J.text(J.at(object, "metadata", "name")) ?? ""
      const theirs = [name, ...J.list(row.cells).slice(all.length - definitions.length)]
      const ours = (now: number): ReadonlyArray<J.Json> => [name, ...columns.map(({ cell }) => cell(object, now))]
      expect(J.equal(ours(before), theirs) ? theirs : ours(after)).toEqual(theirs)
    }
  })

/** Metrics that autoscaling/v1 has no fields for are kept in an annotation there, which our columns don't read. */
const isBeyond = (object: J.JsonObject): boolean =>
  J.at(object, "metadata", "annotations", "autoscaling.alpha.kubernetes.io/metrics") !== undefined

describe("The cells are those of the kube-apiserver", () => {
  for (const name of names.filter(({ verbs }) => verbs.includes("list"))) {
    real(`for ${apiVersionOf(name)} ${name.kind}`, (cluster) =>
      Effect.gen(function* () {
        const namespace = yield* cluster.namespace("columns")
        if (name.plural === "customresourcedefinitions") yield* cluster.install(webApps)
        const storedAs = name.plural === "events" ? undefined : name.group
        for (const sample of samples) {
          const [, group = ""] = sample.apiVersion.split("/").reverse()
          if (sample.plural === name.plural && (storedAs === undefined || group === storedAs)) {
            yield* create(cluster, namespace, sample)
          }
        }
        yield* compare(cluster, namespace, name)
      })
    )
  }
})
