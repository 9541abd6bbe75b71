/** Kinds in several versions, and the webhooks that convert their objects. They behave the same on every API server. */
import { describe, expect } from "bun:test"
import * as Json from "@homeostat/apiserver/model/Json"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect } from "effect"
import { eventually } from "../conformance/Case.ts"
import * as Definitions from "../conformance/Definitions.ts"
import * as Scene from "../conformance/Scene.ts"
import * as Hosts from "./Hosts.ts"
import * as Webhook from "./Webhook.ts"

/** A kind with a webhook, both versions of which are served. */
const installed = (cluster: Parameters<typeof Scene.make>[0], stored: "v1" | "v2" = "v1") =>
  Effect.gen(function* () {
    const scene = yield* Scene.make(cluster)
    const webhook = yield* Webhook.start(Hosts.answer())
    const { group } = yield* Definitions.install(scene, Hosts.spec(webhook.at("/convert"), stored))
    const { v1, v2 } = Hosts.of(scene, group)
    yield* Definitions.served(scene, v2.path())
    return { scene, webhook, group, v1, v2, definition: `${Definitions.path}/things.${group}` }
  })

const merge = { contentType: "application/merge-patch+json" }
const apply = { contentType: "application/apply-patch+yaml" }

/** The owners of fields: `manager operation version: paths`. */
const owners = (object: Json.JsonObject): ReadonlyArray<string> =>
  Json.objects(Json.at(object, "metadata", "managedFields"))
    .map(({ apiVersion, fieldsV1, manager, operation }) => {
      const fields = Object.keys(Json.object(Json.at(fieldsV1, "f:spec")))
      return `${manager} ${operation} ${String(apiVersion).replace(/^.*\//, "")} ${fields.join(",")}`
    })
    .sort()

describe.concurrent("Conversion by a webhook", () => {
  Shared.cluster("an object is read, listed and written in every version, and stored in one", (cluster) =>
    Effect.gen(function* () {
      const { group, scene, v1, v2, webhook } = yield* installed(cluster)
      const created = yield* v2.create("a", { spec: { address: "example.com:80" }, metadata: { labels: { a: "b" } } })
      expect(created).toMatchObject({
        apiVersion: `${group}/v2`,
        spec: { address: "example.com:80" },
        metadata: { generation: 1, labels: { a: "b" } }
      })
      expect(webhook.reviews.map(Hosts.asked)).toContainEqual(["v2 to v1"])
      for (const { request } of webhook.reviews) {
        expect(Json.text(Json.at(request, "uid"))).toMatch(/^[0-9a-f-]{36}$/)
        for (const object of Json.objects(Json.at(request, "objects"))) {
          expect(Json.at(object, "metadata", "resourceVersion")).toBeUndefined()
          expect(Json.text(Json.at(object, "metadata", "uid"))).toBe(String(Json.at(created, "metadata", "uid")))
        }
      }
      const old = yield* scene.done("GET", v1.path("a"))
      expect(old).toMatchObject({
        apiVersion: `${group}/v1`,
        spec: { host: "example.com", port: 80 },
        metadata: { resourceVersion: Json.at(created, "metadata", "resourceVersion") }
      })
      yield* v1.create("b", { spec: { host: "b.example.com", port: 81 } })
      const listed = yield* scene.done("GET", v2.path())
      expect(Json.objects(listed.items).map(({ apiVersion, spec }) => ({ apiVersion, spec }))).toEqual([
        { apiVersion: `${group}/v2`, spec: { address: "example.com:80" } },
        { apiVersion: `${group}/v2`, spec: { address: "b.example.com:81" } }
      ])
      const replaced = yield* scene.done("PUT", v1.path("a"), { json: { ...old, spec: { host: "c", port: 1 } } })
      expect(replaced).toMatchObject({ spec: { host: "c", port: 1 }, metadata: { generation: 2 } })
      const patched = yield* scene.done("PATCH", v2.path("a"), { json: { spec: { address: "d:2" } }, ...merge })
      expect(patched).toMatchObject({ spec: { address: "d:2" }, metadata: { generation: 3 } })
      const status = yield* scene.done("PATCH", `${v2.path("a")}/status`, { json: { status: { ready: 2 } }, ...merge })
      expect(status).toMatchObject({ spec: { address: "d:2" }, status: { ready: 2 }, metadata: { generation: 3 } })
      const scaled = yield* scene.done("PATCH", `${v2.path("a")}/scale`, { json: { spec: { replicas: 3 } }, ...merge })
      expect(scaled).toMatchObject({ kind: "Scale", spec: { replicas: 3 }, status: { replicas: 2 } })
      expect(yield* scene.done("GET", v1.path("a"))).toMatchObject({ spec: { host: "d", port: 2, replicas: 3 } })
      const deleted = yield* scene.done("DELETE", v2.path("a"))
      expect(deleted).toMatchObject({ kind: "Status", status: "Success" })
    })
  )

  Shared.cluster("a watch shows the events of every version in its own", (cluster) =>
    Effect.gen(function* () {
      const { group, scene, v1, v2 } = yield* installed(cluster)
      yield* v1.create("a", { spec: { host: "a", port: 1 } })
      const from = Json.at(yield* scene.done("GET", v2.path()), "metadata", "resourceVersion")
      const watch = yield* scene.watch(`${v2.path()}?watch=true&resourceVersion=${String(from)}`)
      yield* scene.done("PATCH", v1.path("a"), { json: { spec: { port: 2 } }, ...merge })
      yield* v2.create("b", { spec: { address: "b:3" } })
      yield* scene.done("DELETE", v1.path("a"))
      const frames = yield* watch.take(3)
      expect(frames.map(({ object, type }) => [type, object.apiVersion, Json.at(object, "spec", "address")])).toEqual([
        ["MODIFIED", `${group}/v2`, "a:2"],
        ["ADDED", `${group}/v2`, "b:3"],
        ["DELETED", `${group}/v2`, "a:2"]
      ])
    })
  )

  Shared.cluster("managers own the fields of the version in which they wrote", (cluster) =>
    Effect.gen(function* () {
      const { scene, v1, v2 } = yield* installed(cluster)
      const applied = { ...v1.thing("a"), spec: { host: "a", port: 1 } }
      yield* scene.done("PATCH", `${v1.path("a")}?fieldManager=one`, { json: applied, ...apply })
      const wrong = { ...v2.thing("a"), spec: { address: "a:2" } }
      const conflict = yield* scene.request("PATCH", `${v2.path("a")}?fieldManager=two`, { json: wrong, ...apply })
      const same = { ...v2.thing("a"), spec: { address: "a:1" } }
      const shared = yield* scene.done("PATCH", `${v2.path("a")}?fieldManager=two`, { json: same, ...apply })
      const forced = yield* scene.done("PATCH", `${v2.path("a")}?fieldManager=two&force=true`, {
        json: wrong,
        ...apply
      })
      expect(conflict.status).toBe(409)
      expect(owners(shared)).toEqual(["one Apply v1 f:host,f:port", "two Apply v2 f:address"])
      expect(owners(forced)).toEqual(["one Apply v1 f:host", "two Apply v2 f:address"])
      expect(forced.spec).toEqual({ address: "a:2" })
      const updated = yield* scene.done("PATCH", `${v1.path("a")}?fieldManager=three`, {
        json: { spec: { port: 3 } },
        ...merge
      })
      expect(owners(updated)).toEqual(["one Apply v1 f:host", "three Update v1 f:port"])
    })
  )

  Shared.cluster("a webhook that fails, or answers wrongly, fails the request, and nothing is written", (cluster) =>
    Effect.gen(function* () {
      const { group, scene, v1, v2, webhook } = yield* installed(cluster)
      const before = yield* v1.create("a", { spec: { host: "a", port: 1 } })
      const uid = /"[0-9a-f-]{36}"/g
      const messageOf = (body: Json.Json | undefined) =>
        String(Json.at(body, "message")).replaceAll(group, "GROUP").replaceAll(uid, "UID")
      /** Expects `error` for a read of `a` and for a creation of `new`. Both need the other version. */
      const attempt = (error: string, answer: Webhook.Answer) =>
        Effect.gen(function* () {
          webhook.answer(answer)
          const read = yield* scene.request("GET", v2.path("a"))
          expect([read.status, Json.at(read.body, "reason")]).toEqual([500, "InternalError"])
          const message = messageOf(read.body)
          expect(message).toStartWith(
            "Internal error occurred: StorageError: corrupt object, Code: 7, Key: /GROUP/things/"
          )
          expect(message).toEndWith(
            `object not decodable revision=${Scene.revision(before)}: conversion webhook for GROUP/v1, Kind=Thing ${error}`
          )
          const json = { spec: { address: "b:2" } }
          expect((yield* scene.request("PATCH", v2.path("a"), { json, ...merge })).status).toBe(500)
          const posted = yield* scene.request("POST", v2.path(), { json: { ...v2.thing("new"), ...json } })
          expect([posted.status, Json.at(posted.body, "reason")]).toEqual([500, undefined])
          const ofPost = error.replace("expected GROUP/v2", "expected GROUP/v1").replace(" a !=", " new !=")
          expect(messageOf(posted.body)).toBe(`conversion webhook for GROUP/v2, Kind=Thing ${ofPost}`)
          expect(yield* scene.done("GET", v1.path("a"))).toEqual(before)
          expect((yield* scene.request("GET", v1.path("new"))).status).toBe(404)
        })
      const changed = (error: string, change: (object: Json.JsonObject) => Json.JsonObject) =>
        attempt(
          `returned ${error}`,
          Hosts.answer((response) => ({
            ...response,
            convertedObjects: Json.objects(response.convertedObjects).map(change)
          }))
        )
      const described = (error: string, metadata: Json.JsonObject) =>
        changed(error, (object) => ({ ...object, metadata: { ...Json.object(object.metadata), ...metadata } }))
      const result = (of: Json.JsonObject) => Hosts.answer((response) => ({ ...response, result: of }))
      yield* attempt(
        'failed: expected response.uid=UID, got ""',
        Hosts.answer(() => ({}))
      )
      yield* attempt(
        'failed: expected response.uid=UID, got "other"',
        Hosts.answer((response) => ({ ...response, uid: "other" }))
      )
      yield* attempt("failed: not today", result({ status: "Failure", message: "not today" }))
      yield* attempt("failed: response.result.status was 'Failure', not 'Success'", result({ status: "Failure" }))
      yield* attempt(
        "returned 0 objects, expected 1",
        Hosts.answer((response) => ({ ...response, convertedObjects: [] }))
      )
      const invalid = "invalid object at index 0: invalid"
      yield* changed(`${invalid} groupVersion (expected GROUP/v2, received example.com/v3)`, (object) => ({
        ...object,
        apiVersion: "example.com/v3"
      }))
      yield* changed(`${invalid} kind (expected Thing, received Other)`, (object) => ({ ...object, kind: "Other" }))
      yield* described("invalid object: must have the same name: a != b", { name: "b" })
      yield* described(
        "invalid object: must have the same namespace: NAMESPACE != b".replace("NAMESPACE", scene.namespace),
        {
          namespace: "b"
        }
      )
      yield* described("invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object", {
        labels: { a: 1 }
      })
      yield* changed("invalid object: must have the same name: a != ", ({ metadata: _, ...object }) => object)
      yield* attempt(
        'failed: no kind "Other" is registered for version "apiextensions.k8s.io/v1" in scheme "pkg/runtime/scheme.go:111"',
        (review) => ({ ...review, kind: "Other" })
      )
      const respond = (status: number) => () => new Response("boom", { status })
      yield* attempt("failed: the server is currently unable to handle the request", respond(503))
      yield* attempt('failed: an error on the server ("boom") has prevented the request from succeeding', respond(500))
      yield* attempt("failed: the server could not find the requested resource", respond(404))
      yield* webhook.stop
      const address = `127.0.0.1:${webhook.port}`
      const refused = `dial tcp ${address}: connect: connection refused`
      yield* attempt(`failed: Post "https://${address}/convert?timeout=30s": ${refused}`, Hosts.answer())
    })
  )

  Shared.cluster("labels and annotations are what the webhook makes of them, other metadata stays", (cluster) =>
    Effect.gen(function* () {
      const { scene, v1, v2, webhook } = yield* installed(cluster)
      yield* v1.create("a", { spec: { host: "a", port: 1 }, metadata: { labels: { old: "l" }, finalizers: ["a.b/c"] } })
      webhook.answer(
        Hosts.answer((response) => ({
          ...response,
          convertedObjects: Json.objects(response.convertedObjects).map((object) => ({
            ...object,
            metadata: {
              ...Json.object(object.metadata),
              labels: { new: "label" },
              annotations: { new: "annotation" },
              finalizers: [],
              generation: 9
            }
          }))
        }))
      )
      const read = yield* scene.done("GET", v2.path("a"))
      expect(read.metadata).toMatchObject({
        labels: { new: "label" },
        annotations: { new: "annotation" },
        finalizers: ["a.b/c"],
        generation: 1
      })
      webhook.answer(Hosts.answer())
      yield* scene.done("PATCH", v1.path("a"), { json: { metadata: { finalizers: null } }, ...merge })
    })
  )

  Shared.cluster("an update that changes nothing stores the object in the version that is stored now", (cluster) =>
    Effect.gen(function* () {
      const { definition, scene, v1, v2, webhook } = yield* installed(cluster)
      const before = yield* v1.create("a", { spec: { host: "a", port: 1 } })
      const changed = yield* scene.done("PATCH", definition, {
        json: { spec: { versions: Hosts.versions("v2") } },
        ...merge
      })
      expect(Json.at(changed, "status", "storedVersions")).toEqual(["v1", "v2"])
      // A kube-apiserver uses a changed CRD after a short delay.
      yield* eventually(
        Effect.gen(function* () {
          const same = yield* scene.done("PATCH", v1.path("a"), { json: {}, ...merge })
          expect(Scene.revision(same)).toBeGreaterThan(Scene.revision(before))
        })
      )
      const migrated = yield* scene.done("PATCH", v1.path("a"), { json: {}, ...merge })
      // The watches of other clients, such as the garbage collector, also need conversions at first.
      yield* eventually(
        Effect.gen(function* () {
          webhook.reviews.length = 0
          expect(yield* scene.done("GET", v2.path("a"))).toMatchObject({
            spec: { address: "a:1" },
            metadata: { resourceVersion: Json.at(migrated, "metadata", "resourceVersion") }
          })
          expect(webhook.reviews).toEqual([])
        })
      )
      const settled = yield* scene.done("PATCH", `${definition}/status`, {
        json: { status: { storedVersions: ["v2"] } },
        ...merge
      })
      expect(Json.at(settled, "status", "storedVersions")).toEqual(["v2"])
    })
  )

  Shared.cluster("a definition names the address of its webhook", (cluster) =>
    Effect.gen(function* () {
      const scene = yield* Scene.make(cluster)
      const at = "spec.conversion.webhookClientConfig"
      const versions = "spec.conversion.conversionReviewVersions"
      const form = "; desired format: https://host[/path]"
      const label =
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
      const invalid = 'CustomResourceDefinition.apiextensions.k8s.io "things.hooks.example.com" is invalid: '
      const outcomeOf = (webhook: Json.JsonObject) =>
        Effect.map(
          scene.request("POST", `${Definitions.path}?dryRun=All`, {
            json: Definitions.definition("hooks.example.com", { conversion: { strategy: "Webhook", webhook } })
          }),
          ({ body, status }) => `${status} ${String(Json.at(body, "message")).replace(invalid, "")}`
        )
      const url = "https://example.com/convert"
      const service = { namespace: "a", name: "b" }
      const v1 = { conversionReviewVersions: ["v1"] }
      const messages = yield* Effect.forEach(
        [
          {},
          { clientConfig: { url }, conversionReviewVersions: [] },
          { clientConfig: {}, ...v1 },
          { clientConfig: { url, service }, ...v1 },
          { clientConfig: { url: "http://example.com?a#b" }, ...v1 },
          { clientConfig: { url: "https://a:b@/c" }, ...v1 },
          { clientConfig: { service: { ...service, path: "a//b", port: 0 } }, ...v1 },
          { clientConfig: { service: { namespace: "", name: "" } }, ...v1 },
          { clientConfig: { url, caBundle: Buffer.from("none").toString("base64") }, ...v1 },
          { clientConfig: { url }, conversionReviewVersions: ["v3", "v3", "A"] },
          { clientConfig: { service }, ...v1 }
        ],
        outcomeOf
      )
      expect(messages).toEqual([
        `422 [${at}: Required value: required when strategy is set to Webhook, ${versions}: Required value]`,
        `422 ${versions}: Required value`,
        `422 ${at}: Required value: exactly one of url or service is required`,
        `422 ${at}: Required value: exactly one of url or service is required`,
        `422 [${at}.url: Invalid value: "http": 'https' is the only allowed URL scheme${form}, ${at}.url: Invalid value: "b": fragments are not permitted in the URL, ${at}.url: Invalid value: "a": query parameters are not permitted in the URL]`,
        `422 [${at}.url: Invalid value: "": host must be specified${form}, ${at}.url: Invalid value: "a:b": user information is not permitted in the URL]`,
        `422 [${at}.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive, ${at}.service.path: Invalid value: "a//b": must start with a '/', ${at}.service.path: Invalid value: "a//b": segment[0] may not be empty, ${at}.service.path: Invalid value: "a//b": segment[1] may not be empty]`,
        `422 [${at}.service.name: Required value, ${at}.service.namespace: Required value]`,
        "201 undefined",
        `422 [${versions}[1]: Invalid value: "v3": duplicate version, ${versions}[2]: Invalid value: "A": ${label}, ${versions}: Invalid value: ["v3","v3","A"]: must include at least one of v1, v1beta1]`,
        "201 undefined"
      ])
    })
  )
})
