import { describe, expect } from "bun:test"
import { Effect, TestClock } from "effect"
import { effect } from "../Test.ts"
import * as ApiServer from "./ApiServer.ts"
import { ask, configMaps, make, merge, thing, things } from "./Client.fixture.ts"
import * as Json from "./Json.ts"

const metadata = (body: Json.JsonObject) => Json.object(body.metadata)

describe("Create", () => {
  effect("gives what only the server gives, whatever the body says of it", () =>
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

  effect("generates names that fit", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const generate = (generateName: string) => ask(server, "POST", configMaps, { metadata: { generateName } })
      expect(metadata((yield* generate("w-")).body).name).toMatch(/^w-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
      expect(String(metadata((yield* generate("x".repeat(70))).body).name)).toHaveLength(63)
    })
  )

  effect("tried only, does all but the writing", () =>
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
  effect("that changes nothing writes nothing", () =>
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

  effect("keeps what only the server changes", () =>
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

  effect("of another object of that name is refused", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const { body } = yield* ask(server, "POST", things, thing("a"))
      const other = yield* ask(server, "PUT", `${things}/a`, { ...body, metadata: { ...metadata(body), uid: "zzz" } })
      expect(other.body).toMatchObject({ code: 409, reason: "Conflict" })
      expect(other.body.message).toContain("Precondition failed: UID in precondition: zzz, UID in object meta: ")
    })
  )

  effect("makes what is not there where the kind allows it", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
      expect((yield* ask(server, "PUT", `${leases}/a`, { metadata: { name: "a" } })).status).toBe(201)
      expect((yield* ask(server, "PUT", `${configMaps}/a`, { metadata: { name: "a" } })).status).toBe(404)
    })
  )
})

describe("Delete", () => {
  effect("takes an object away at once and answers with what it was", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const made = yield* ask(server, "POST", things, thing("a"))
      const { body, status } = yield* ask(server, "DELETE", `${things}/a`)
      expect(status).toBe(200)
      expect(body).toEqual({
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Success",
        details: { name: "a", group: "probe.io", kind: "things", uid: metadata(made.body).uid ?? null }
      })
      expect((yield* ask(server, "DELETE", `${things}/a`)).status).toBe(404)
    })
  )

  effect("waits for finalizers, and ends with the last", () =>
    Effect.gen(function* () {
      const server = yield* make()
      yield* ask(server, "POST", things, thing("a", {}, { finalizers: ["x.io/y"] }))
      const first = yield* ask(server, "DELETE", `${things}/a`)
      expect(metadata(first.body)).toMatchObject({ deletionGracePeriodSeconds: 0, generation: 2 })
      yield* TestClock.adjust("1 minute")
      expect((yield* ask(server, "DELETE", `${things}/a`)).text).toBe(first.text)
      const again = yield* ask(server, "POST", things, thing("a"))
      expect(again.body.message).toBe('object is being deleted: things.probe.io "a" already exists')
      const added = yield* merge(server, `${things}/a`, { metadata: { finalizers: ["x.io/y", "x.io/z"] } })
      expect(added.body.message).toContain('found new finalizers []string{"x.io/z"}')
      expect((yield* merge(server, `${things}/a`, { metadata: { finalizers: [] } })).status).toBe(200)
      expect((yield* ask(server, "GET", `${things}/a`)).status).toBe(404)
    })
  )

  const policies: ReadonlyArray<
    readonly [asked: Json.JsonObject, finalizers: ReadonlyArray<string> | "gone", status: number]
  > = [
    [{ propagationPolicy: "Foreground" }, ["foregroundDeletion"], 200],
    [{ propagationPolicy: "Orphan" }, ["orphan"], 200],
    [{ propagationPolicy: "Background" }, "gone", 200],
    [{ orphanDependents: true }, ["orphan"], 200],
    [{ orphanDependents: false }, "gone", 200]
  ]
  for (const [asked, finalizers, status] of policies) {
    effect(`with ${JSON.stringify(asked)} leaves ${JSON.stringify(finalizers)}`, () =>
      Effect.gen(function* () {
        const server = yield* make()
        yield* ask(server, "POST", things, thing("a"))
        expect((yield* ask(server, "DELETE", `${things}/a`, asked)).status).toBe(status)
        const { body } = yield* ask(server, "GET", `${things}/a`)
        expect(body.code === 404 ? "gone" : Json.list(metadata(body).finalizers)).toEqual(finalizers)
      })
    )
  }

  effect("gives a pod that runs its time, which can only be shortened", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const pods = "/api/v1/namespaces/default/pods"
      const containers = [{ name: "c", image: "i" }]
      yield* TestClock.setTime(Date.parse("2026-11-20T10:00:00Z"))
      yield* ask(server, "POST", pods, { metadata: { name: "a" }, spec: { containers, nodeName: "n" } })
      const end = (asked: Json.JsonObject) =>
        Effect.map(ask(server, "DELETE", `${pods}/a`, asked), ({ body }) => [
          metadata(body).deletionTimestamp,
          metadata(body).deletionGracePeriodSeconds
        ])
      expect(yield* end({})).toEqual(["2026-11-20T10:00:30Z", 30])
      expect(yield* end({ gracePeriodSeconds: 60 })).toEqual(["2026-11-20T10:00:30Z", 30])
      expect(yield* end({ gracePeriodSeconds: 10 })).toEqual(["2026-11-20T10:00:10Z", 10])
      yield* TestClock.adjust("1 minute")
      expect(yield* end({ gracePeriodSeconds: 5 })).toEqual(["2026-11-20T10:01:00Z", 1])
      expect((yield* ask(server, "GET", `${pods}/a`)).status).toBe(200)
      yield* end({ gracePeriodSeconds: 0 })
      expect((yield* ask(server, "GET", `${pods}/a`)).status).toBe(404)
    })
  )

  effect("of many takes those that are chosen", () =>
    Effect.gen(function* () {
      const server = yield* make()
      for (const [name, app] of [
        ["a", "x"],
        ["b", "x"],
        ["c", "y"]
      ] as const) {
        yield* ask(server, "POST", things, thing(name, {}, { labels: { app } }))
      }
      const { body } = yield* ask(server, "DELETE", `${things}?labelSelector=app%3Dx`)
      expect(Json.objects(body.items).map(({ metadata }) => Json.at(metadata, "name"))).toEqual(["a", "b"])
      const left = yield* ask(server, "GET", things)
      expect(Json.objects(left.body.items).map(({ metadata }) => Json.at(metadata, "name"))).toEqual(["c"])
    })
  )

  effect("ends a namespace when its content is gone and somebody says so", () =>
    Effect.gen(function* () {
      const server = yield* make()
      yield* ask(server, "POST", "/api/v1/namespaces", { metadata: { name: "x" } })
      const { body } = yield* ask(server, "DELETE", "/api/v1/namespaces/x")
      expect(Json.at(body, "status", "phase")).toBe("Terminating")
      const inside = yield* ask(server, "POST", "/api/v1/namespaces/x/configmaps", { metadata: { name: "a" } })
      expect(inside.body).toMatchObject({
        code: 403,
        details: { causes: [{ reason: "NamespaceTerminating", field: "metadata.namespace" }] }
      })
      const finalized = yield* ask(server, "PUT", "/api/v1/namespaces/x/finalize", { ...body, spec: {} })
      expect(finalized.status).toBe(200)
      expect((yield* ask(server, "GET", "/api/v1/namespaces/x")).status).toBe(404)
    })
  )
})

const jobs = "/apis/batch/v1/namespaces/default/jobs"
const services = "/api/v1/namespaces/default/services"
const job = (name: string, spec: Json.JsonObject = {}): Json.JsonObject => ({
  metadata: { name },
  spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "app", image: "a" }] } }, ...spec }
})
const apply = (server: ApiServer.ApiServer, path: string, body: Json.JsonObject) =>
  ask(server, "PATCH", `${path}?fieldManager=ann`, body, {
    headers: { "content-type": "application/apply-patch+yaml" }
  })

describe("What a kube-apiserver does with what is seldom said", () => {
  effect("a PUT with an empty list of managers forgets them", () =>
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

  effect("of a name that is taken is told that none was generated where one could have been", () =>
    Effect.gen(function* () {
      const server = yield* make()
      yield* ask(server, "POST", things, thing("a"))
      const { body } = yield* ask(server, "POST", things, thing("a", {}, { generateName: "a-" }))
      expect(body.message).toEndWith(
        '"a" already exists, the server was not able to generate a unique name for the object'
      )
    })
  )

  effect("a prefix of names is only looked at when there is no name yet, or all of it is looked at again", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const prefix = { metadata: { generateName: "A_" } }
      yield* ask(server, "POST", things, thing("a"))
      expect((yield* merge(server, `${things}/a`, prefix)).status).toBe(200)
      yield* ask(server, "POST", configMaps, { metadata: { name: "a" } })
      expect((yield* merge(server, `${configMaps}/a`, prefix)).status).toBe(422)
    })
  )

  effect("owners that a patch names twice are told of in other words", () =>
    Effect.gen(function* () {
      const server = yield* make()
      yield* ask(server, "POST", things, thing("a"))
      const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid: "u" }
      const { headers } = yield* merge(server, `${things}/a`, { metadata: { ownerReferences: [owner, owner] } })
      expect(headers.warning).toContain("duplicate entries after mutating admission happens;")
    })
  )

  effect("the labels of a job that has none are those of its template, stored by the next write only", () =>
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

  effect("the deletion of a job warns that its pods stay, unless it says what becomes of them", () =>
    Effect.gen(function* () {
      const server = yield* ApiServer.make()
      yield* ask(server, "POST", jobs, job("a"))
      const silent = yield* ask(server, "DELETE", `${jobs}/a?dryRun=All&propagationPolicy=Background`)
      expect(silent.headers.warning).toBeUndefined()
      const { headers } = yield* ask(server, "DELETE", `${jobs}/a`, { propagationPolicy: null })
      expect(headers.warning).toContain("child pods are preserved by default")
    })
  )

  effect("what nothing comes of here is stored with a warning, once", () =>
    Effect.gen(function* () {
      const server = yield* ApiServer.make()
      const quotas = "/api/v1/namespaces/default/resourcequotas"
      const quota = { metadata: { name: "a" }, spec: { hard: { pods: "1" } } }
      const { headers, status } = yield* ask(server, "POST", quotas, quota)
      expect(status).toBe(201)
      expect(headers.warning).toBe('299 - "the embedded cluster stores a ResourceQuota, and nothing comes of it"')
      expect((yield* merge(server, `${quotas}/a`, { spec: { hard: { pods: "2" } } })).headers.warning).toBeUndefined()
    })
  )

  effect("a deletion with a version that takes the finalizers and the object at once fails", () =>
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

  effect("what is applied and is no value of Go's type is refused", () =>
    Effect.gen(function* () {
      const server = yield* ApiServer.make()
      const { body, status } = yield* apply(server, `${jobs}/a`, {
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

  effect("a PUT makes a service, by its status one without an address", () =>
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
