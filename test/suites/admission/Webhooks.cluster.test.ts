/** Admission webhooks behave the same on every API server. */
import { describe, expect } from "bun:test"
import * as Json from "@homeostat/apiserver/model/Json"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect } from "effect"
import * as Schema from "../comparison/Schema.ts"
import { eventually } from "../conformance/Case.ts"
import * as Definitions from "../conformance/Definitions.ts"
import * as Scene from "../conformance/Scene.ts"
import * as Hooks from "./Hooks.ts"
import * as Webhook from "./Webhook.ts"

const mutating = "MutatingWebhookConfiguration"
const validating = "ValidatingWebhookConfiguration"
const merge = { contentType: "application/merge-patch+json" }

/** A webhook on the network. */
const started = (cluster: Parameters<typeof Scene.make>[0], answer: Webhook.Answer, dns: ReadonlyArray<string> = []) =>
  Effect.gen(function* () {
    const scene = yield* Scene.make(cluster)
    const webhook = yield* Webhook.start(Hooks.answering(answer), dns)
    return { scene, webhook, maps: scene.path("configmaps"), map: (name: string) => scene.path("configmaps", name) }
  })

/** The AdmissionRequest of a review, without the parts in which servers differ. */
const request = (review: Json.JsonObject | undefined): Json.JsonObject => {
  const { uid, userInfo, ...others } = Json.object(review?.request)
  expect(Json.text(uid)).toMatch(/^[0-9a-f-]{36}$/)
  expect(Json.list(Json.at(userInfo, "groups"))).toContain("system:masters")
  return others
}

const add = (path: string, value: Json.Json) => ({ op: "add", path, value })

describe.concurrent("Mutating webhooks", () => {
  Shared.cluster("they change the object, in the order of the names of their configurations", (cluster) =>
    Effect.gen(function* () {
      const { maps, scene, webhook } = yield* started(cluster, (review, path) => {
        const seen = Object.keys(Json.object(Json.at(review.request, "object", "data")))
          .sort()
          .join()
        return path === "/none" ? Hooks.allowed(review) : Hooks.patching(review, add(`/data/${path.slice(1)}`, seen))
      })
      const rules = [Hooks.rule("configmaps", "CREATE", "UPDATE")]
      const hook = (name: string) => Hooks.hook(name, webhook.at(`/${name}`), rules)
      yield* Hooks.install(scene, webhook, mutating, [hook("c"), hook("none")], "b-")
      yield* Hooks.install(scene, webhook, mutating, [hook("b"), hook("a")], "a-")
      const made = yield* scene.done("POST", maps, { json: Hooks.configMap("m", { data: { x: "" } }) })
      expect(made.data).toEqual({ x: "", b: "x", a: "b,x", c: "a,b,x" })
      // The fields that webhooks add have no owner.
      expect(Json.at(made, "metadata", "managedFields")).toEqual([
        expect.objectContaining({ fieldsV1: { "f:data": { ".": {}, "f:x": {} } } })
      ])
    })
  )

  Shared.cluster("the server defaults, prunes and validates their results", (cluster) =>
    Effect.gen(function* () {
      const { scene, webhook } = yield* started(cluster, (review) => {
        const patch = Json.at(review.request, "object", "spec", "patch")
        return Hooks.patching(review, ...Json.objects(JSON.parse(String(patch)) as Json.Json))
      })
      const spec = Schema.object({
        patch: Schema.text,
        size: Schema.integer,
        part: Schema.object({ filled: { type: "string", default: "yes" } })
      })
      const things = yield* Definitions.install(scene, {
        versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: Schema.object({ spec }) } }]
      })
      yield* Hooks.install(scene, webhook, mutating, [
        Hooks.hook("change", webhook.at("/"), [Hooks.rule("things", "CREATE")])
      ])
      const made = (name: string, ...patch: ReadonlyArray<Json.JsonObject>) =>
        scene.request("POST", things.path(), { json: things.thing(name, { spec: { patch: JSON.stringify(patch) } }) })
      const filled = yield* made("a", add("/spec/part", {}), add("/spec/unknown", 1))
      expect(filled.status).toBe(201)
      expect(Json.object(Json.at(filled.body, "spec")).part).toEqual({ filled: "yes" })
      expect(Json.object(Json.at(filled.body, "spec")).unknown).toBeUndefined()
      const invalid = yield* made("b", add("/spec/size", "many"))
      expect([invalid.status, Json.at(invalid.body, "message")]).toEqual([
        422,
        `Thing.${things.group} "b" is invalid: spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"`
      ])
      const impossible = yield* made("c", { op: "remove", path: "/spec/none" })
      expect([impossible.status, Json.at(impossible.body, "reason")]).toEqual([500, "InternalError"])
      expect((yield* scene.request("GET", things.path("c"))).status).toBe(404)
      const renamed = yield* made("d", { op: "replace", path: "/metadata/namespace", value: "other" })
      expect([renamed.status, Json.at(renamed.body, "message")]).toEqual([
        400,
        "the namespace of the provided object does not match the namespace sent on the request"
      ])
    })
  )

  Shared.cluster("an earlier webhook with the policy IfNeeded is called again", (cluster) =>
    Effect.gen(function* () {
      const { maps, scene, webhook } = yield* started(cluster, (review, path) => {
        const name = path.slice(1)
        const data = Json.object(Json.at(review.request, "object", "data"))
        return Hooks.patching(review, add(`/data/${name}`, `${Json.text(data[name]) ?? ""}${Object.keys(data).length}`))
      })
      const rules = [Hooks.rule("configmaps", "CREATE")]
      const hook = (name: string, reinvocationPolicy: string) =>
        Hooks.hook(name, webhook.at(`/${name}`), rules, { reinvocationPolicy })
      yield* Hooks.install(scene, webhook, mutating, [
        hook("a", "IfNeeded"),
        hook("b", "Never"),
        hook("c", "IfNeeded"),
        hook("d", "IfNeeded")
      ])
      const made = yield* scene.done("POST", maps, { json: Hooks.configMap("m", { data: { x: "" } }) })
      expect(made.data).toEqual({ x: "", a: "15", b: "2", c: "35", d: "45" })
    })
  )

  Shared.cluster(
    "a patch that changes nothing leads to a second call only as the first patch of a built-in kind",
    (cluster) =>
      Effect.gen(function* () {
        const { maps, scene, webhook } = yield* started(cluster, (review, path) =>
          path === "/first" ? Hooks.allowed(review) : Hooks.patching(review, add("/metadata/labels", { a: "b" }))
        )
        const schema = { openAPIV3Schema: Schema.object({ spec: Schema.open }) }
        const things = yield* Definitions.install(scene, {
          versions: [{ name: "v1", served: true, storage: true, schema }]
        })
        const rules = [Hooks.rule("configmaps", "CREATE"), Hooks.rule("things", "CREATE")]
        const hook = (name: string) =>
          Hooks.hook(name, webhook.at(`/${name}`), rules, { reinvocationPolicy: "IfNeeded" })
        yield* Hooks.install(scene, webhook, mutating, [hook("first"), hook("same"), hook("same-again")])
        const metadata = { labels: { a: "b" } }
        yield* scene.done("POST", maps, { json: Hooks.configMap("m", { metadata }) })
        // A kube-apiserver compares the times of the managers before and after they lost their nanoseconds.
        expect(webhook.reviews.splice(0)).toHaveLength(4)
        yield* things.create("t", { spec: {}, metadata })
        expect(webhook.reviews).toHaveLength(3)
      })
  )

  Shared.cluster(
    "policies and webhooks with the policy IfNeeded are called again after a change by the others",
    (cluster) =>
      Effect.gen(function* () {
        const { maps, map, scene, webhook } = yield* started(cluster, (review) => {
          const data = Json.object(Json.at(review.request, "object", "data"))
          return Hooks.patching(review, add("/data/hook", `${Json.text(data.hook) ?? ""}${Object.keys(data).length}`))
        })
        const rules = [Hooks.rule("configmaps", "CREATE")]
        const policies = ["Never", "IfNeeded"]
        const selector = (label: string, value: string) => ({ objectSelector: { matchLabels: { [label]: value } } })
        for (const policy of policies) yield* Hooks.policy(scene, policy, rules, selector("policy", policy))
        yield* Hooks.install(
          scene,
          webhook,
          mutating,
          policies.map((reinvocationPolicy) =>
            Hooks.hook(reinvocationPolicy.toLowerCase(), webhook.at("/"), rules, {
              reinvocationPolicy,
              ...selector("hook", reinvocationPolicy)
            })
          )
        )
        const made = (policy: string, hook: string) =>
          Effect.gen(function* () {
            const metadata = { labels: { policy, hook } }
            const { data } = yield* scene.done("POST", maps, {
              json: Hooks.configMap("m", { metadata, data: { x: "" } })
            })
            yield* scene.done("DELETE", map("m"))
            return data
          })
        yield* eventually(
          Effect.map(made("IfNeeded", "absent"), (data) => expect(Json.object(data).policy).toBeDefined())
        )
        yield* eventually(Effect.map(made("Never", "absent"), (data) => expect(Json.object(data).policy).toBeDefined()))
        expect(yield* made("Never", "absent")).toEqual({ x: "", policy: "1" })
        expect(yield* made("IfNeeded", "absent")).toEqual({ x: "", policy: "12" })
        expect(yield* made("absent", "IfNeeded")).toEqual({ x: "", hook: "1" })
        expect(yield* made("Never", "Never")).toEqual({ x: "", policy: "1", hook: "2" })
        expect(yield* made("Never", "IfNeeded")).toEqual({ x: "", policy: "1", hook: "2" })
        expect(yield* made("IfNeeded", "Never")).toEqual({ x: "", policy: "13", hook: "2" })
        expect(yield* made("IfNeeded", "IfNeeded")).toEqual({ x: "", policy: "13", hook: "23" })
      })
  )

  Shared.cluster("they see the changes of admission plugins, which run again after the webhooks", (cluster) =>
    Effect.gen(function* () {
      const { scene, webhook } = yield* started(cluster, (review) => {
        const spec = Json.object(Json.at(review.request, "object", "spec"))
        const seen = `${String(spec.priority)} ${Json.list(spec.tolerations).length}`
        return Hooks.patching(
          review,
          add("/metadata/annotations", { seen }),
          ...(Json.list(spec.tolerations).length > 0 ? [{ op: "remove", path: "/spec/tolerations" }] : [])
        )
      })
      yield* Hooks.install(scene, webhook, mutating, [
        Hooks.hook("pods", webhook.at("/"), [Hooks.rule("pods", "CREATE")])
      ])
      const pod = {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "p" },
        spec: { containers: [{ name: "c", image: "i" }] }
      }
      const made = yield* scene.done("POST", scene.path("pods"), { json: pod })
      expect(Json.at(made, "metadata", "annotations")).toEqual({ seen: "0 2" })
      expect(Json.list(Json.at(made, "spec", "tolerations"))).toHaveLength(2)
      expect(webhook.reviews).toHaveLength(1)
    })
  )
})

describe.concurrent("Validating webhooks", () => {
  Shared.cluster("the answer to a denial is the status of the webhook", (cluster) =>
    Effect.gen(function* () {
      const { maps, map, scene, webhook } = yield* started(cluster, (review) => Hooks.allowed(review))
      const rules = [Hooks.rule("configmaps", "CREATE", "UPDATE", "DELETE")]
      yield* Hooks.install(scene, webhook, validating, [Hooks.hook("deny", webhook.at("/"), rules)])
      yield* scene.done("POST", maps, { json: Hooks.configMap("m") })
      const refused = (status: Json.JsonObject | undefined) =>
        Effect.gen(function* () {
          webhook.answer(Hooks.answering((review) => Hooks.denied(review, status)))
          const { body } = yield* scene.request("PATCH", map("m"), { json: { data: { a: "b" } }, ...merge })
          const { metadata: _, ...others } = Json.object(body)
          return others
        })
      const denied = 'admission webhook "deny.example.com" denied the request'
      const failure = { apiVersion: "v1", kind: "Status", status: "Failure" }
      expect(yield* refused(undefined)).toEqual({ ...failure, code: 400, message: `${denied} without explanation` })
      expect(yield* refused({ message: "not today" })).toEqual({
        ...failure,
        code: 400,
        message: `${denied}: not today`
      })
      expect(yield* refused({ code: 403, reason: "Forbidden" })).toEqual({
        ...failure,
        code: 403,
        reason: "Forbidden",
        message: `${denied}: Forbidden`
      })
      expect(
        yield* refused({
          code: 422,
          message: "m",
          reason: "Invalid",
          details: { name: "n", causes: [{ field: "f", message: "c" }] }
        })
      ).toEqual({
        ...failure,
        code: 422,
        reason: "Invalid",
        message: `${denied}: m`,
        details: { name: "n", causes: [{ field: "f", message: "c" }] }
      })
      const kept = yield* scene.request("DELETE", map("m"))
      expect([kept.status, Json.at(kept.body, "message")]).toEqual([422, `${denied}: m`])
      expect(yield* scene.done("GET", map("m"))).not.toHaveProperty("data")
    })
  )

  Shared.cluster("warnings reach the client, also with a denial", (cluster) =>
    Effect.gen(function* () {
      const { maps, scene, webhook } = yield* started(cluster, (review) =>
        Hooks.allowed(review, { warnings: ["careful", 'with "quotes"'], auditAnnotations: { a: "b" } })
      )
      yield* Hooks.install(scene, webhook, validating, [
        Hooks.hook("warn", webhook.at("/"), [Hooks.rule("configmaps", "CREATE")])
      ])
      const made = yield* scene.request("POST", maps, { json: Hooks.configMap("m") })
      expect([made.status, made.headers.get("warning")]).toEqual([201, '299 - "careful", 299 - "with \\"quotes\\""'])
      webhook.answer(Hooks.answering((review) => Hooks.allowed(review, { allowed: false, warnings: ["denied"] })))
      const denied = yield* scene.request("POST", maps, { json: Hooks.configMap("n") })
      expect([denied.status, denied.headers.get("warning")]).toEqual([400, '299 - "denied"'])
    })
  )

  Shared.cluster("the server calls them after the validation of the object, and in parallel", (cluster) =>
    Effect.gen(function* () {
      let waiting: Array<() => void> = []
      const { maps, scene, webhook } = yield* started(
        cluster,
        (review) =>
          new Promise((resolve) => {
            waiting.push(() => resolve(Response.json(Hooks.allowed(review))))
            if (waiting.length < 2) return
            for (const go of waiting) go()
            waiting = []
          })
      )
      const rules = [Hooks.rule("configmaps", "CREATE")]
      yield* Hooks.install(scene, webhook, validating, [
        Hooks.hook("one", webhook.at("/1"), rules),
        Hooks.hook("two", webhook.at("/2"), rules)
      ])
      const invalid = yield* scene.request("POST", maps, { json: Hooks.configMap("m", { data: { "a/b": "" } }) })
      expect(invalid.status).toBe(422)
      expect(webhook.reviews).toEqual([])
      yield* scene.done("POST", maps, { json: Hooks.configMap("m") })
      expect(webhook.reviews).toHaveLength(2)
    })
  )
})

describe.concurrent("Admission webhooks", () => {
  Shared.cluster("a review describes the request", (cluster) =>
    Effect.gen(function* () {
      const { maps, map, scene, webhook } = yield* started(cluster, (review) => Hooks.allowed(review))
      const rules = [Hooks.rule("configmaps", "*")]
      yield* Hooks.install(scene, webhook, mutating, [Hooks.hook("first", webhook.at("/"), rules)])
      yield* Hooks.install(scene, webhook, validating, [Hooks.hook("second", webhook.at("/"), rules)])
      const common = {
        kind: { group: "", version: "v1", kind: "ConfigMap" },
        resource: { group: "", version: "v1", resource: "configmaps" },
        requestKind: { group: "", version: "v1", kind: "ConfigMap" },
        requestResource: { group: "", version: "v1", resource: "configmaps" },
        namespace: scene.namespace,
        dryRun: false
      }
      const taken = () => webhook.reviews.splice(0).map(request)
      const made = yield* scene.done("POST", `${maps}?fieldManager=me`, {
        json: { ...Hooks.configMap(""), metadata: { generateName: "m-" } }
      })
      const name = String(Json.at(made, "metadata", "name"))
      const [beforeCreate, afterCreate] = taken()
      const created = { ...common, operation: "CREATE", oldObject: null }
      const createOptions = { apiVersion: "meta.k8s.io/v1", kind: "CreateOptions", fieldManager: "me" }
      expect(beforeCreate).toMatchObject({ ...created, options: createOptions })
      expect(beforeCreate?.name).toBeUndefined()
      expect(Object.keys(Json.object(Json.at(beforeCreate, "object", "metadata"))).sort()).toEqual([
        "generateName",
        "managedFields",
        "namespace"
      ])
      expect(afterCreate).toMatchObject({ ...created, name, options: createOptions })
      expect(Json.at(afterCreate, "object", "metadata", "uid")).toBe(String(Json.at(made, "metadata", "uid")))
      const changed = yield* scene.done("PATCH", `${map(name)}?dryRun=All`, { json: { data: { a: "b" } }, ...merge })
      const [beforeUpdate, afterUpdate] = taken()
      const updated = { ...common, operation: "UPDATE", name, dryRun: true, oldObject: made }
      expect(beforeUpdate).toMatchObject({
        ...updated,
        options: { apiVersion: "meta.k8s.io/v1", kind: "UpdateOptions", dryRun: ["All"] }
      })
      expect(Json.at(beforeUpdate, "options")).toEqual({
        apiVersion: "meta.k8s.io/v1",
        kind: "UpdateOptions",
        dryRun: ["All"]
      })
      expect(Json.at(beforeUpdate, "object", "data")).toEqual({ a: "b" })
      expect(afterUpdate).toMatchObject({ ...updated, object: changed })
      yield* scene.done("DELETE", map(name))
      const deleted = { ...common, operation: "DELETE", object: null, oldObject: made }
      const deletions = taken()
      expect(deletions).toHaveLength(2)
      for (const one of deletions) {
        expect(one).toMatchObject({
          ...deleted,
          name,
          options: { apiVersion: "meta.k8s.io/v1", kind: "DeleteOptions" }
        })
      }
    })
  )

  Shared.cluster("the server calls them for each object of a collection", (cluster) =>
    Effect.gen(function* () {
      const { maps, map, scene, webhook } = yield* started(cluster, (review) =>
        Json.at(review.request, "oldObject", "metadata", "name") === "b" ? Hooks.denied(review) : Hooks.allowed(review)
      )
      for (const name of ["a", "b", "c"]) {
        yield* scene.done("POST", maps, { json: Hooks.configMap(name, { metadata: { labels: { mine: "yes" } } }) })
      }
      yield* Hooks.install(scene, webhook, validating, [
        Hooks.hook("collection", webhook.at("/"), [Hooks.rule("configmaps", "DELETE")])
      ])
      const answer = yield* scene.request("DELETE", `${maps}?labelSelector=mine%3Dyes`)
      expect([answer.status, Json.at(answer.body, "message")]).toEqual([
        400,
        'admission webhook "collection.example.com" denied the request without explanation'
      ])
      expect((yield* scene.request("GET", map("a"))).status).toBe(404)
      expect((yield* scene.request("GET", map("b"))).status).toBe(200)
      expect(webhook.reviews.map((review) => request(review).name)).not.toContain("a")
    })
  )

  Shared.cluster("the server calls them for a subresource only if a rule names it", (cluster) =>
    Effect.gen(function* () {
      const { scene, webhook } = yield* started(cluster, (review) => Hooks.allowed(review))
      const webapps = scene.webapps
      // A kube-apiserver calls a webhook again if its cached object was stale at the first call.
      const latest = () =>
        webhook.reviews
          .map(request)
          .filter(
            ({ subResource }, index, all) => all[index + 1]?.subResource !== subResource || index + 1 === all.length
          )
      yield* scene.create("w", { spec: { image: "a", replicas: 1 } })
      yield* Hooks.install(scene, webhook, validating, [
        Hooks.hook("main", webhook.at("/main"), [Hooks.rule("webapps", "UPDATE")]),
        Hooks.hook("parts", webhook.at("/parts"), [Hooks.rule("webapps/*", "UPDATE")])
      ])
      yield* scene.done("PATCH", `${webapps("w")}/status`, { json: { status: { readyReplicas: 1 } }, ...merge })
      yield* scene.done("PATCH", `${webapps("w")}/scale`, { json: { spec: { replicas: 2 } }, ...merge })
      const requests = latest()
      expect(
        requests.map(({ kind, object, requestSubResource, subResource }) => [
          Json.at(kind, "kind"),
          subResource,
          requestSubResource,
          Json.at(object, "kind")
        ])
      ).toEqual([
        ["WebApp", "status", "status", "WebApp"],
        ["Scale", "scale", "scale", "Scale"]
      ])
      expect(requests[1]).toMatchObject({ object: { spec: { replicas: 2 } }, oldObject: { spec: { replicas: 1 } } })
      webhook.reviews.length = 0
      yield* scene.done("PATCH", webapps("w"), { json: { spec: { replicas: 3 } }, ...merge })
      expect(latest().map(({ subResource }) => subResource)).toEqual([undefined])
    })
  )

  Shared.cluster("selectors and match conditions choose the objects", (cluster) =>
    Effect.gen(function* () {
      const { maps, map, scene, webhook } = yield* started(cluster, (review, path) =>
        Hooks.denied(review, { message: path })
      )
      const rules = [Hooks.rule("configmaps", "CREATE", "UPDATE")]
      const conditions = [{ name: "big", expression: "object.metadata.name.startsWith('big')" }]
      yield* Hooks.install(scene, webhook, validating, [
        Hooks.hook("label", webhook.at("/label"), rules, { objectSelector: { matchLabels: { no: "way" } } }),
        Hooks.hook("condition", webhook.at("/condition"), rules, { matchConditions: conditions }),
        Hooks.hook("elsewhere", webhook.at("/elsewhere"), rules, {
          namespaceSelector: { matchLabels: { a: scene.namespace } }
        }),
        Hooks.hook("cluster", webhook.at("/cluster"), [{ ...rules[0], scope: "Cluster" }]),
        Hooks.hook("broken", webhook.at("/broken"), [Hooks.rule("secrets", "CREATE")], {
          matchConditions: [{ name: "broken", expression: "object.data.none == ''" }]
        }),
        Hooks.hook("lenient", webhook.at("/lenient"), [Hooks.rule("services", "CREATE")], {
          failurePolicy: "Ignore",
          matchConditions: [{ name: "broken", expression: "object.data.none == ''" }]
        })
      ])
      const messageFor = (name: string, metadata: Json.JsonObject = {}) =>
        Effect.map(scene.request("POST", maps, { json: Hooks.configMap(name, { metadata }) }), ({ body }) =>
          Json.at(body, "message")
        )
      expect(yield* messageFor("plain")).toBeUndefined()
      expect(yield* messageFor("labelled", { labels: { no: "way" } })).toBe(
        'admission webhook "label.example.com" denied the request: /label'
      )
      expect(yield* messageFor("bigger")).toBe(
        'admission webhook "condition.example.com" denied the request: /condition'
      )
      const patched = yield* scene.request("PATCH", map("plain"), {
        json: { metadata: { labels: { no: "way" } } },
        ...merge
      })
      expect(patched.status).toBe(400)
      const secret = yield* scene.request("POST", scene.path("secrets"), {
        json: { apiVersion: "v1", kind: "Secret", metadata: { name: "s" } }
      })
      expect([secret.status, Json.at(secret.body, "message")]).toEqual([
        403,
        `secrets "s" is forbidden: expression 'object.data.none == ''' resulted in error: no such key: data`
      ])
      const service = { apiVersion: "v1", kind: "Service", metadata: { name: "s" }, spec: { ports: [{ port: 1 }] } }
      expect((yield* scene.request("POST", scene.path("services"), { json: service })).status).toBe(201)
    })
  )

  Shared.cluster(
    "a rule for another version gets the object in that version, unless it wants the exact one",
    (cluster) =>
      Effect.gen(function* () {
        const { scene, webhook } = yield* started(cluster, (review) =>
          Hooks.patching(review, add("/metadata/labels", { seen: String(Json.at(review.request, "kind", "version")) }))
        )
        const schema = { openAPIV3Schema: Schema.object({ spec: Schema.open }) }
        const things = yield* Definitions.install(scene, {
          versions: [
            { name: "v1", served: true, storage: true, schema },
            { name: "v2", served: true, storage: false, schema }
          ]
        })
        const v2 = Definitions.of(scene, things.group, "v2")
        yield* Definitions.served(scene, v2.path())
        const rules = [{ ...Hooks.rule("things", "CREATE"), apiVersions: ["v1"] }]
        yield* Hooks.install(scene, webhook, mutating, [Hooks.hook("any", webhook.at("/"), rules)])
        yield* Hooks.install(scene, webhook, validating, [
          Hooks.hook("exact", webhook.at("/exact"), rules, { matchPolicy: "Exact" })
        ])
        const made = yield* v2.create("a", { spec: {} })
        expect(made).toMatchObject({ apiVersion: `${things.group}/v2`, metadata: { labels: { seen: "v1" } } })
        expect(webhook.reviews.map(request)).toEqual([
          expect.objectContaining({
            kind: { group: things.group, version: "v1", kind: "Thing" },
            resource: { group: things.group, version: "v1", resource: "things" },
            requestKind: { group: things.group, version: "v2", kind: "Thing" },
            requestResource: { group: things.group, version: "v2", resource: "things" },
            object: expect.objectContaining({ apiVersion: `${things.group}/v1` })
          })
        ])
      })
  )

  Shared.cluster("a webhook that fails fails the request, or is ignored", (cluster) =>
    Effect.gen(function* () {
      const { maps, map, scene, webhook } = yield* started(cluster, (review) => Hooks.allowed(review))
      const rules = [Hooks.rule("configmaps", "CREATE")]
      const hook = (name: string, kind: string, failurePolicy: string) =>
        Hooks.hook(name, webhook.at(`/${kind}`), rules, {
          failurePolicy,
          timeoutSeconds: 1,
          objectSelector: { matchLabels: { policy: failurePolicy, kind } }
        })
      const both = (kind: string) => [hook(`${kind}-fail`, kind, "Fail"), hook(`${kind}-ignore`, kind, "Ignore")]
      yield* Hooks.install(scene, webhook, mutating, both("mutating"))
      yield* Hooks.install(scene, webhook, validating, both("validating"))
      const attempt = (kind: string, error: string, answer: Webhook.Answer) =>
        Effect.gen(function* () {
          webhook.answer(Hooks.answering(answer))
          const create = (policy: string) =>
            scene.request("POST", maps, {
              json: Hooks.configMap(policy.toLowerCase(), { metadata: { labels: { policy, kind } } })
            })
          const failed = yield* create("Fail")
          const message = String(Json.at(failed.body, "message")).replaceAll(/"[0-9a-f-]{36}"/g, "UID")
          expect(message).toBe(`Internal error occurred: failed calling webhook "${kind}-fail.example.com": ${error}`)
          expect([failed.status, Json.at(failed.body, "reason")]).toEqual([500, "InternalError"])
          expect((yield* scene.request("GET", map("fail"))).status).toBe(404)
          expect((yield* create("Ignore")).status).toBe(201)
          yield* scene.done("DELETE", map("ignore"))
        })
      const invalid = "received invalid webhook response:"
      for (const kind of ["mutating", "validating"]) {
        yield* attempt(kind, `${invalid} webhook response was absent`, ({ response: _, ...review }) => review)
        yield* attempt(kind, `${invalid} expected response.uid=UID, got "other"`, (review) =>
          Hooks.allowed(review, { uid: "other" })
        )
        const down = () => new Response("down", { status: 503 })
        yield* attempt(kind, "failed to call webhook: the server is currently unable to handle the request", down)
        const late = async (review: Json.JsonObject) => {
          await Bun.sleep(1500)
          return Response.json(Hooks.allowed(review))
        }
        const url = `https://127.0.0.1:${webhook.port}/${kind}?timeout=1s`
        yield* attempt(kind, `failed to call webhook: Post "${url}": context deadline exceeded`, late)
      }
      yield* attempt("validating", `${invalid} validating webhook may not return response.patch`, (review) =>
        Hooks.patching(review, add("/data", {}))
      )
      yield* attempt("mutating", `${invalid} webhook returned response.patch but not response.patchType`, (review) =>
        Hooks.allowed(review, { patch: "W10=" })
      )
      yield* webhook.stop
      for (const kind of ["mutating", "validating"]) {
        const address = `127.0.0.1:${webhook.port}`
        const url = `https://${address}/${kind}?timeout=1s`
        yield* attempt(
          kind,
          `failed to call webhook: Post "${url}": dial tcp ${address}: connect: connection refused`,
          (review) => Hooks.allowed(review)
        )
      }
    })
  )

  Shared.cluster("the certificate of a webhook is verified", (cluster) =>
    Effect.gen(function* () {
      const { maps, scene, webhook } = yield* started(cluster, (review) => Hooks.allowed(review))
      const other = yield* Webhook.start((review) => Hooks.allowed(review))
      const config = { ...webhook.at("/"), caBundle: other.caBundle }
      yield* Hooks.install(scene, webhook, validating, [
        Hooks.hook("other-issuer", config, [Hooks.rule("configmaps", "CREATE")])
      ])
      const made = yield* scene.request("POST", maps, { json: Hooks.configMap("m") })
      const url = `https://127.0.0.1:${webhook.port}/?timeout=10s`
      expect(made.status).toBe(500)
      expect(String(Json.at(made.body, "message"))).toStartWith(
        `Internal error occurred: failed calling webhook "other-issuer.example.com": failed to call webhook: Post "${url}": tls: failed to verify certificate: x509: certificate signed by unknown authority`
      )
    })
  )

  Shared.cluster("a webhook is found by its Service", (cluster) =>
    Effect.gen(function* () {
      const scene = yield* Scene.make(cluster)
      const webhook = yield* Webhook.start(
        Hooks.answering((review, path) => Hooks.denied(review, { message: path })),
        [`hooks.${scene.namespace}.svc`]
      )
      yield* scene.done("POST", scene.path("services"), {
        json: {
          apiVersion: "v1",
          kind: "Service",
          metadata: { name: "hooks" },
          spec: { type: "ExternalName", externalName: "localhost" }
        }
      })
      const service = (name: string, path: string) => ({
        service: { namespace: scene.namespace, name, path, port: webhook.port },
        caBundle: webhook.caBundle
      })
      yield* Hooks.install(scene, webhook, validating, [
        Hooks.hook("found", service("hooks", "/a/b"), [Hooks.rule("configmaps", "CREATE")]),
        Hooks.hook("lost", service("none", "/a"), [Hooks.rule("secrets", "CREATE")])
      ])
      yield* eventually(
        Effect.map(scene.request("POST", scene.path("configmaps"), { json: Hooks.configMap("m") }), ({ body }) =>
          expect(Json.at(body, "message")).toBe('admission webhook "found.example.com" denied the request: /a/b')
        )
      )
      const lost = yield* scene.request("POST", scene.path("secrets"), {
        json: { apiVersion: "v1", kind: "Secret", metadata: { name: "s" } }
      })
      expect(Json.at(lost.body, "message")).toBe(
        `Internal error occurred: failed calling webhook "lost.example.com": failed to call webhook: Post "https://none.${scene.namespace}.svc:${webhook.port}/a?timeout=10s": service "none" not found`
      )
    })
  )

  Shared.cluster("the server calls no webhook for the configurations of webhooks", (cluster) =>
    Effect.gen(function* () {
      const { scene, webhook } = yield* started(cluster, (review) => Hooks.denied(review))
      const everything = {
        apiGroups: ["admissionregistration.k8s.io"],
        apiVersions: ["*"],
        resources: ["*"],
        operations: ["*"]
      }
      const name = yield* Hooks.install(scene, webhook, validating, [
        Hooks.hook("everything", webhook.at("/"), [everything])
      ])
      const path = `/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/${name}`
      yield* scene.done("PATCH", path, { json: { metadata: { labels: { a: "b" } } }, ...merge })
      expect(webhook.reviews).toEqual([])
    })
  )

  Shared.cluster(
    "the server calls them for the writes of controllers",
    (cluster) =>
      Effect.gen(function* () {
        const { scene, webhook } = yield* started(cluster, (review) =>
          Json.at(review.request, "operation") === "CREATE"
            ? Hooks.patching(review, add("/metadata/labels/hooked", "yes"))
            : Hooks.allowed(review)
        )
        yield* Hooks.install(scene, webhook, mutating, [
          Hooks.hook("pods", webhook.at("/"), [Hooks.rule("pods", "CREATE", "DELETE")])
        ])
        const labels = { app: "a" }
        const template = { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } }
        yield* scene.done("POST", scene.path("apps/v1/deployments"), {
          json: {
            apiVersion: "apps/v1",
            kind: "Deployment",
            metadata: { name: "d" },
            spec: { replicas: 2, selector: { matchLabels: labels }, template }
          }
        })
        yield* eventually(
          Effect.map(scene.done("GET", scene.path("pods")), ({ items }) =>
            expect(Json.objects(items).map((pod) => Json.at(pod, "metadata", "labels", "hooked"))).toEqual([
              "yes",
              "yes"
            ])
          )
        )
        const options = { apiVersion: "meta.k8s.io/v1", kind: "CreateOptions" }
        expect(
          webhook.reviews.map(({ request }) => [Json.at(request, "operation"), Json.at(request, "options")])
        ).toEqual([
          ["CREATE", options],
          ["CREATE", options]
        ])
      }),
    { controllers: true }
  )
})
