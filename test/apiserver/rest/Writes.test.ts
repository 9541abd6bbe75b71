import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as ApiServer from "../http/ApiServer.ts"
import { type Answer, ask, configMaps, make, merge, thing, things } from "../http/Client.fixture.ts"
import * as Json from "../model/Json.ts"

const apply = (server: ApiServer.ApiServer, path: string, body: Json.JsonObject) =>
  ask(server, "PATCH", path, body, { headers: { "content-type": "application/apply-patch+yaml" } })

const metadata = (body: Json.JsonObject) => Json.object(body.metadata)

describe("Create", () => {
  effect("sets the fields that only the server sets, whatever the body contains", () =>
    Effect.gen(function* () {
      const server = yield* make()
      yield* TestClock.setTime(Date.parse("2026-11-20T10:00:00.750Z"))
      const claimed = {
        uid: "mine",
        creationTimestamp: "2000-01-01T00:00:00Z",
        deletionTimestamp: "2000-01-01T00:00:00Z"
      }
      const { body, status } = yield* ask(server, "POST", things, thing("a", { status: { phase: "up" } }, claimed))
      expect(status).toBe(201)
      expect(metadata(body)).toMatchObject({
        name: "a",
        namespace: "default",
        creationTimestamp: "2026-11-20T10:00:00Z",
        generation: 1,
        resourceVersion: String(server.store.revision)
      })
      expect(metadata(body).uid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      expect(metadata(body).deletionTimestamp).toBeUndefined()
      expect(body.status).toBeUndefined()
    })
  )

  effect("generates names within the limit of length", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const generate = (generateName: string) => ask(server, "POST", configMaps, { metadata: { generateName } })
      expect(metadata((yield* generate("w-")).body).name).toMatch(/^w-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
      expect(String(metadata((yield* generate("x".repeat(70))).body).name)).toHaveLength(63)
    })
  )

  effect("as a dry run does everything but the write", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const before = server.store.revision
      const { body, status } = yield* ask(server, "POST", `${things}?dryRun=All`, thing("a"))
      expect(status).toBe(201)
      expect(metadata(body).uid).toBeDefined()
      expect(metadata(body).resourceVersion).toBeUndefined()
      expect(server.store.revision).toBe(before)
    })
  )
})

describe("Update", () => {
  effect("without a change writes nothing", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const { body } = yield* ask(server, "POST", things, thing("a", { spec: { color: "red" } }))
      const before = server.store.revision
      yield* TestClock.adjust("1 hour")
      const put = yield* ask(server, "PUT", `${things}/a`, body)
      const patched = yield* merge(server, `${things}/a`, { spec: { color: "red" } })
      expect([put.text, patched.text]).toEqual([`${JSON.stringify(body)}\n`, `${JSON.stringify(body)}\n`])
      expect(server.store.revision).toBe(before)
    })
  )

  effect("keeps the fields that only the server changes", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const { body } = yield* ask(server, "POST", things, thing("a"))
      const { uid: _, ...rest } = metadata(body)
      const changed = yield* ask(server, "PUT", `${things}/a`, {
        ...body,
        spec: { color: "blue" },
        metadata: { ...rest, creationTimestamp: "2000-01-01T00:00:00Z", generation: 9 }
      })
      expect(metadata(changed.body)).toMatchObject({
        uid: metadata(body).uid,
        creationTimestamp: metadata(body).creationTimestamp,
        generation: 2
      })
    })
  )

  effect("of another object of the same name is rejected", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const { body } = yield* ask(server, "POST", things, thing("a"))
      const other = yield* ask(server, "PUT", `${things}/a`, { ...body, metadata: { ...metadata(body), uid: "zzz" } })
      expect(other.body).toMatchObject({ code: 409, reason: "Conflict" })
      expect(other.body.message).toContain("Precondition failed: UID in precondition: zzz, UID in object meta: ")
    })
  )

  const changes: ReadonlyArray<
    readonly [what: string, change: (server: ApiServer.ApiServer, live: Json.JsonObject) => Effect.Effect<Answer>]
  > = [
    ["a PUT", (server, live) => ask(server, "PUT", `${things}/a?dryRun=All`, { ...live, spec: { color: "blue" } })],
    ["a merge patch", (server) => merge(server, `${things}/a?dryRun=All`, { spec: { color: "blue" } })],
    [
      "an apply",
      (server) =>
        apply(server, `${things}/a?dryRun=All&fieldManager=ann&force=true`, thing("a", { spec: { color: "blue" } }))
    ]
  ]
  for (const [what, change] of changes) {
    effect(`as a dry run of ${what} answers the change and stores nothing`, () =>
      Effect.gen(function* () {
        const server = yield* make()
        yield* ask(server, "POST", things, thing("a", { spec: { color: "red" } }))
        const live = yield* ask(server, "GET", `${things}/a`)
        const before = server.store.revision
        const { body, status } = yield* change(server, live.body)
        expect(status).toBe(200)
        expect(body).toMatchObject({ spec: { color: "blue" }, metadata: { generation: 2 } })
        expect((yield* ask(server, "GET", `${things}/a`)).text).toBe(live.text)
        expect(server.store.revision).toBe(before)
      })
    )
  }

  effect("as a dry run creates no object and does not end a deletion", () =>
    Effect.gen(function* () {
      const server = yield* make()
      yield* ask(server, "POST", things, thing("a", {}, { finalizers: ["x.io/y"] }))
      yield* ask(server, "DELETE", `${things}/a`)
      const before = server.store.revision
      const lease = "/apis/coordination.k8s.io/v1/namespaces/default/leases/a"
      const answers = [
        yield* ask(server, "PUT", `${lease}?dryRun=All`, { metadata: { name: "a" } }),
        yield* merge(server, `${things}/a?dryRun=All`, { metadata: { finalizers: null } })
      ]
      expect(answers.map(({ status }) => status)).toEqual([201, 200])
      expect((yield* ask(server, "GET", lease)).status).toBe(404)
      expect((yield* ask(server, "GET", `${things}/a`)).status).toBe(200)
      expect(server.store.revision).toBe(before)
    })
  )

  effect("does not take back a deletion that waits for a finalizer", () =>
    Effect.gen(function* () {
      const server = yield* make()
      yield* ask(server, "POST", things, thing("a", {}, { finalizers: ["x.io/y"] }))
      const { body } = yield* ask(server, "DELETE", `${things}/a`)
      const { deletionGracePeriodSeconds: _, deletionTimestamp, ...rest } = metadata(body)
      const put = yield* ask(server, "PUT", `${things}/a`, { ...body, metadata: rest, spec: { color: "blue" } })
      expect(put.body).toMatchObject({
        spec: { color: "blue" },
        metadata: { deletionTimestamp, deletionGracePeriodSeconds: 0 }
      })
      const patched = yield* merge(server, `${things}/a`, { metadata: { deletionTimestamp: null, labels: { a: "b" } } })
      expect(metadata(patched.body)).toMatchObject({ deletionTimestamp, labels: { a: "b" } })
      yield* merge(server, `${things}/a`, { metadata: { finalizers: null } })
      expect((yield* ask(server, "GET", `${things}/a`)).status).toBe(404)
    })
  )

  effect("creates a missing object if the kind allows it", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
      expect((yield* ask(server, "PUT", `${leases}/a`, { metadata: { name: "a" } })).status).toBe(201)
      expect((yield* ask(server, "PUT", `${configMaps}/a`, { metadata: { name: "a" } })).status).toBe(404)
    })
  )
})

const jobs = "/apis/batch/v1/namespaces/default/jobs"
const services = "/api/v1/namespaces/default/services"
const job = (name: string, spec: Json.JsonObject = {}): Json.JsonObject => ({
  metadata: { name },
  spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "app", image: "a" }] } }, ...spec }
})
describe("Rare requests to a kube-apiserver", () => {
  effect("a PUT with an empty list of managers removes all managers", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const { body } = yield* ask(server, "POST", configMaps, { metadata: { name: "a" }, data: { a: "b" } })
      expect(Json.objects(metadata(body).managedFields)).toHaveLength(1)
      const forgotten = { ...body, metadata: { ...metadata(body), managedFields: [] } }
      const put = yield* ask(server, "PUT", `${configMaps}/a`, forgotten)
      expect(metadata(put.body).managedFields).toBeUndefined()
    })
  )

  effect("a selfLink is not stored", () =>
    Effect.gen(function* () {
      const server = yield* make()
      yield* ask(server, "POST", things, thing("a"))
      yield* merge(server, `${things}/a`, { metadata: { selfLink: "/a", labels: { a: "b" } } })
      const { body } = yield* ask(server, "GET", `${things}/a`)
      expect(metadata(body)).toMatchObject({ labels: { a: "b" } })
      expect(metadata(body).selfLink).toBeUndefined()
    })
  )

  effect("a conflict of a taken name reports that generateName found no other name", () =>
    Effect.gen(function* () {
      const server = yield* make()
      yield* ask(server, "POST", things, thing("a"))
      const { body } = yield* ask(server, "POST", things, thing("a", {}, { generateName: "a-" }))
      expect(body.message).toEndWith(
        '"a" already exists, the server was not able to generate a unique name for the object'
      )
    })
  )

  effect("a generateName is validated only without a name, or with the whole object", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const prefix = { metadata: { generateName: "A_" } }
      yield* ask(server, "POST", things, thing("a"))
      expect((yield* merge(server, `${things}/a`, prefix)).status).toBe(200)
      const complete = yield* ApiServer.make()
      const accounts = "/api/v1/namespaces/default/serviceaccounts"
      yield* ask(complete, "POST", accounts, { metadata: { name: "a" } })
      expect((yield* merge(complete, `${accounts}/a`, prefix)).status).toBe(422)
    })
  )

  effect("the warning about duplicate owners in a patch has other words", () =>
    Effect.gen(function* () {
      const server = yield* make()
      yield* ask(server, "POST", things, thing("a"))
      const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid: "u" }
      const { headers } = yield* merge(server, `${things}/a`, { metadata: { ownerReferences: [owner, owner] } })
      expect(headers.warning).toContain("duplicate entries after mutating admission happens;")
    })
  )

  effect("the labels of a job without labels come from its template, and only the next write stores them", () =>
    Effect.gen(function* () {
      const server = yield* ApiServer.make()
      const { body } = yield* ask(server, "POST", jobs, job("a"))
      expect(metadata(body).labels).toEqual(Json.at(body, "spec", "template", "metadata", "labels") ?? {})
      const version = metadata(body).resourceVersion
      const first = yield* merge(server, `${jobs}/a`, {})
      const second = yield* merge(server, `${jobs}/a`, {})
      expect(metadata(first.body).resourceVersion).not.toBe(version)
      expect(metadata(second.body).resourceVersion).toBe(metadata(first.body).resourceVersion)
    })
  )

  effect("the deletion of a job warns that its pods stay, unless it has a propagation policy", () =>
    Effect.gen(function* () {
      const server = yield* ApiServer.make()
      yield* ask(server, "POST", jobs, job("a"))
      const silent = yield* ask(server, "DELETE", `${jobs}/a?dryRun=All&propagationPolicy=Background`)
      expect(silent.headers.warning).toBeUndefined()
      const { headers } = yield* ask(server, "DELETE", `${jobs}/a`, { propagationPolicy: null })
      expect(headers.warning).toContain("child pods are preserved by default")
    })
  )

  effect("a field without an effect in the embedded cluster is stored with a warning, once", () =>
    Effect.gen(function* () {
      const server = yield* ApiServer.make()
      const scalers = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
      const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "a" }
      const scaler = { metadata: { name: "a" }, spec: { scaleTargetRef, maxReplicas: 2 } }
      const { headers, status } = yield* ask(server, "POST", scalers, scaler)
      expect(status).toBe(201)
      expect(headers.warning).toBe(
        '299 - "the embedded cluster stores a HorizontalPodAutoscaler, and nothing comes of it"'
      )
      expect((yield* merge(server, `${scalers}/a`, { spec: { maxReplicas: 3 } })).headers.warning).toBeUndefined()
    })
  )

  effect("a Job with fields that the embedded cluster ignores is stored with a warning for each", () =>
    Effect.gen(function* () {
      const server = yield* ApiServer.make()
      const ignored = { completionMode: "Indexed", completions: 2, backoffLimitPerIndex: 1, maxFailedIndexes: 1 }
      const { headers, status } = yield* ask(server, "POST", jobs, job("a", ignored))
      expect(status).toBe(201)
      expect(headers.warning).toBe(
        '299 - "the embedded cluster ignores spec.backoffLimitPerIndex", 299 - "the embedded cluster ignores spec.maxFailedIndexes"'
      )
    })
  )

  effect("a HorizontalPodAutoscaler is stored with a warning", () =>
    Effect.gen(function* () {
      const server = yield* ApiServer.make()
      const path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
      const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "d" }
      const { headers } = yield* ask(server, "POST", path, {
        metadata: { name: "a" },
        spec: { maxReplicas: 2, scaleTargetRef }
      })
      expect(headers.warning).toContain("the embedded cluster stores a HorizontalPodAutoscaler")
    })
  )

  effect("a deletion with a version fails if it removes the finalizers and the object at once", () =>
    Effect.gen(function* () {
      const server = yield* make()
      yield* ask(server, "POST", things, thing("a"))
      const first = yield* ask(server, "DELETE", `${things}/a`, { propagationPolicy: "Foreground" })
      const { resourceVersion } = metadata(first.body)
      const preconditions = { resourceVersion: resourceVersion ?? null }
      const second = yield* ask(server, "DELETE", `${things}/a`, { orphanDependents: false, preconditions })
      expect(second.status).toBe(409)
      expect(second.body.message).toContain("Precondition failed: ResourceVersion in precondition: , ")
      expect((yield* ask(server, "DELETE", `${things}/a`, { orphanDependents: false })).status).toBe(200)
    })
  )

  effect("an apply with a value of a wrong Go type is rejected", () =>
    Effect.gen(function* () {
      const server = yield* ApiServer.make()
      const { body, status } = yield* apply(server, `${jobs}/a?fieldManager=ann`, {
        apiVersion: "batch/v1",
        kind: "Job",
        ...job("a", { parallelism: 1.5 }),
        metadata: { name: "a", namespace: "default" }
      })
      expect(status).toBe(500)
      expect(body.message).toBe(
        "failed to convert new object (default/a; batch/v1, Kind=Job) to proper version: unable to convert unstructured object to batch/v1, Kind=Job: cannot convert float64 to int32"
      )
    })
  )

  effect("a PUT creates a service, and a PUT of its status creates one without an address", () =>
    Effect.gen(function* () {
      const server = yield* ApiServer.make()
      const body = { metadata: { name: "a", resourceVersion: "7" }, spec: { ports: [{ port: 80 }] } }
      expect((yield* ask(server, "PUT", `${services}/a`, body)).status).toBe(201)
      const named = { ...body, metadata: { name: "b" } }
      const { body: made, status } = yield* ask(server, "PUT", `${services}/b/status`, named)
      expect(status).toBe(201)
      expect(Json.at(made, "spec", "clusterIP")).toBeUndefined()
    })
  )
})
