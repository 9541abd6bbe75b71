/** What is committed, and what is made of it, is what a kube-apiserver says. */
import { describe, expect } from "bun:test"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import { real } from "@homeostat/testkit/Shared"
import { names } from "@homeostat/testkit/server/builtin/Names"
import { kindsOf } from "@homeostat/testkit/server/crd/CustomKinds"
import { webApps } from "@homeostat/testkit/server/Definitions.fixture"
import * as J from "@homeostat/testkit/server/Json"
import { builtIn } from "@homeostat/testkit/server/Kinds.fixture"
import { definitions } from "@homeostat/testkit/server/openapi/Documents"
import * as OpenApi from "@homeostat/testkit/server/openapi/OpenApi"
import * as Recording from "@homeostat/testkit/server/openapi/Recording"
import { Effect, Schedule } from "effect"
import columns from "../../cluster/server/builtin/columns/definitions.json"
import { get } from "./Get.ts"

const custom = kindsOf(webApps)
const kinds = [...builtIn, ...custom]

const document = (cluster: ControlPlane, path: string) =>
  Effect.map(get(cluster, `/openapi/v3/${path}`), ({ body }): J.JsonObject => JSON.parse(body))

describe("The committed documents", () => {
  real("are what the kube-apiserver says of the served kinds", (cluster) =>
    Effect.gen(function* () {
      const recorded = yield* Recording.record(cluster)
      expect(definitions()).toEqual(recorded["openapi/definitions.json"])
      expect<ReadonlyArray<unknown>>(names).toEqual([...recorded["builtin/names.json"]])
      expect<object>(columns).toEqual(recorded["builtin/columns/definitions.json"])
    })
  )
})

describe("The OpenAPI documents", () => {
  for (const groupVersion of Object.keys(Recording.served)) {
    real(`of ${groupVersion} have the operations and schemas of the kube-apiserver's`, (cluster) =>
      Effect.gen(function* () {
        const [version = "", group = ""] = groupVersion.split("/").reverse()
        const theirs = yield* document(cluster, `${group === "" ? "api" : "apis"}/${groupVersion}`)
        const ours = OpenApi.groupVersionDocument(kinds, group, version)
        expect(ours.info).toEqual(theirs.info)
        for (const [path, item] of Object.entries(J.object(ours.paths))) {
          expect([path, item]).toEqual([path, withoutProtobuf(J.object(theirs.paths)[path] ?? null)])
        }
        const schemas = J.object(J.at(theirs, "components", "schemas"))
        for (const [name, schema] of Object.entries(J.object(J.at(ours, "components", "schemas")))) {
          expect([name, schema]).toEqual([name, schemas[name]])
        }
      })
    )
  }

  real("of a custom kind are those that the kube-apiserver makes of its definition", (cluster) =>
    Effect.gen(function* () {
      yield* cluster.install(webApps)
      for (const version of ["v1", "v1beta1"]) {
        const theirs = yield* published(cluster, `apis/openapi.example.com/${version}`)
        const ours = OpenApi.groupVersionDocument(kinds, "openapi.example.com", version)
        expect(withoutOthers(ours)).toEqual(withoutOthers(theirs))
      }
    })
  )
})

describe("An answer of /openapi/v3", () => {
  const path = "/openapi/v3/apis/apps/v1"
  const cases: ReadonlyArray<readonly [string, string, { readonly [name: string]: string }]> = [
    ["the index", "/openapi/v3", {}],
    ["a document", path, { accept: "application/json" }],
    ["a document without Accept", path, { accept: "" }],
    ["a document with the wrong hash", `${path}?hash=ABC`, {}],
    ["a document with the right hash", `${path}?hash=RIGHT`, {}],
    ["a document that the client has", `${path}?hash=RIGHT`, { "if-none-match": '"RIGHT"' }],
    ["a document that the client has, without a hash", path, { "if-none-match": '"RIGHT"' }],
    ["an unknown document", "/openapi/v3/apis/nope/v1", {}],
    ["the index with a slash", "/openapi/v3/", {}],
    ["a media type that there is not", path, { accept: "text/html" }]
  ]
  for (const [name, target, headers] of cases) {
    real(`has for ${name} the status and the headers of the kube-apiserver`, (cluster) =>
      Effect.gen(function* () {
        const right = (text: string, hash: string) => text.replace("RIGHT", hash)
        const known = (yield* get(cluster, path)).headers.get("etag")?.replaceAll('"', "") ?? ""
        const theirs = yield* get(
          cluster,
          right(target, known),
          each(headers, (value) => right(value, known))
        )
        const ours = ask(target, headers)
        expect(shape(ours.status, ours.headers)).toEqual(shape(theirs.status, Object.fromEntries(theirs.headers)))
        expect(ours.body.length > 0).toBe(theirs.body.length > 0)
      })
    )
  }

  /** Our own answer; our hashes are our own, as protobuf is left out. */
  const ask = (target: string, headers: { readonly [name: string]: string }): OpenApi.Answer => {
    const request = (hash: string | undefined, ifNoneMatch: string | undefined, accept?: string) =>
      OpenApi.answer(kinds, { path: target.split("?")[0] ?? "", hash, accept, ifNoneMatch, now: Date.now() })
    const own = OpenApi.answer(kinds, { path, hash: undefined, accept: undefined, ifNoneMatch: undefined, now: 0 })
    const right = own.headers.etag?.replaceAll('"', "") ?? ""
    return request(
      new URLSearchParams(target.split("?")[1] ?? "").get("hash")?.replace("RIGHT", right),
      headers["if-none-match"]?.replace("RIGHT", right),
      headers.accept
    )
  }
})

const each = (headers: { readonly [name: string]: string }, change: (value: string) => string) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, change(value)]))

/** The headers that a client goes by, with every hash called the same. */
const shape = (status: number, headers: { readonly [name: string]: string }) => ({
  status,
  ...Object.fromEntries(
    ["cache-control", "content-type", "etag", "location", "vary", "expires"].map((name) => [
      name,
      headers[name]?.replace(/[0-9A-F]{128}/, "HASH").replace(/\d\d:\d\d:\d\d/, "TIME")
    ])
  )
})

/** A document of a custom kind follows its definition after a moment. */
const published = (cluster: ControlPlane, path: string) =>
  get(cluster, `/openapi/v3/${path}`).pipe(
    Effect.filterOrFail(({ status }) => status === 200),
    Effect.retry(Schedule.spaced("200 millis")),
    Effect.map(({ body }): J.JsonObject => JSON.parse(body))
  )

/** Without the media types that the embedded server has not. */
const withoutProtobuf = (value: J.Json): J.Json => {
  if (J.isList(value)) return value.map(withoutProtobuf)
  if (!J.isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !name.startsWith("application/vnd.kubernetes.protobuf"))
      .map(([name, inner]) => [name, withoutProtobuf(inner ?? null)])
  )
}

const deleteOptions = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"

/** Without the list of all groups of Kubernetes, of which DeleteOptions are a kind. */
const withoutOthers = (document: J.JsonObject): J.JsonObject => ({
  ...document,
  components: {
    schemas: {
      ...J.object(J.at(document, "components", "schemas")),
      [deleteOptions]: {
        ...J.object(J.at(document, "components", "schemas", deleteOptions)),
        "x-kubernetes-group-version-kind": []
      }
    }
  }
})
