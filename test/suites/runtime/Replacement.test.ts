/** The runtime replaces a child with a changed immutable field only if its controller requests it. */
import { describe, expect } from "bun:test"
import { BuiltIn, Client, Condition, Controller, KubernetesObject, Owned, Patch, Result } from "@homeostat/runtime"
import { eventually } from "@homeostat/testkit/Eventually"
import * as Harness from "@homeostat/testkit/Harness"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Shop } from "./Shops.ts"

const key = { namespace: "default", name: "shop" }

/** Each Shop has a Job for its version. */
const migrating = (onImmutable: "Fail" | "Replace", removes = true) =>
  Controller.make("shop", {
    for: Shop,
    owns: [Owned.kind(BuiltIn.Job, { removes })],
    reconcile: ({ spec, ...shop }) =>
      Effect.as(
        Owned.apply(
          shop,
          BuiltIn.Job,
          {
            metadata: { name: shop.metadata.name, labels: { page: spec.page } },
            spec: {
              template: {
                spec: {
                  restartPolicy: "Never",
                  containers: [
                    { name: "migrate", image: spec.version === "" ? "" : `registry.test/shop:${spec.version}` }
                  ]
                }
              }
            }
          },
          { onImmutable }
        ),
        Result.done
      )
  })

const create = Client.create(Shop, { metadata: key, spec: { page: "hello", version: "1" } })
const change = (spec: object) => Client.patch(Shop, key, Patch.merge({ spec }))
const job = Client.get(BuiltIn.Job, key)
const imageOf = ({ spec }: BuiltIn.Job) => spec?.template.spec?.containers[0]?.image
const stalled = Effect.map(
  Client.get(Shop, key),
  ({ status }) => Condition.find(status?.conditions, "Stalled")?.message
)

describe("A child with an immutable field", () => {
  const running: Harness.ControllerOptions = { kubelet: { pods: () => ({}) } }

  Harness.of([migrating("Replace")], running)("is replaced when the pods of the old one have ended", () =>
    Effect.gen(function* () {
      yield* create
      yield* TestClock.adjust("5 seconds")
      const first = yield* job
      const pods = yield* Client.list(BuiltIn.Pod, { namespace: "default" })
      const [pod] = pods.items
      if (pod === undefined) return expect.unreachable("no pod")
      const podKey = KubernetesObject.keyOf(pod)
      yield* Client.patch(BuiltIn.Pod, podKey, Patch.merge({ metadata: { finalizers: ["example.com/hold"] } }))
      yield* change({ version: "2" })
      yield* TestClock.adjust("1 minute")
      const leaving = yield* job
      expect([leaving.metadata.uid, imageOf(leaving)]).toEqual([first.metadata.uid, "registry.test/shop:1"])
      expect(leaving.metadata.deletionTimestamp).toBeDefined()
      yield* Client.patch(BuiltIn.Pod, podKey, Patch.merge({ metadata: { finalizers: [] } }))
      const second = yield* eventually("another Job", job, ({ metadata }) => metadata.uid !== first.metadata.uid)
      expect(imageOf(second)).toBe("registry.test/shop:2")
    })
  )

  Harness.of([migrating("Replace")])("is changed in place if the API server accepts that", () =>
    Effect.gen(function* () {
      yield* create
      yield* TestClock.adjust("5 seconds")
      const { metadata } = yield* job
      yield* change({ page: "bye" })
      yield* TestClock.adjust("5 seconds")
      const changed = yield* job
      expect(changed.metadata.labels).toMatchObject({ page: "bye" })
      expect(changed.metadata.uid).toBe(metadata.uid)
    })
  )

  Harness.of([migrating("Fail")])("stays by default, and the error shows how to replace it", () =>
    Effect.gen(function* () {
      yield* create
      yield* TestClock.adjust("5 seconds")
      yield* change({ version: "2" })
      yield* TestClock.adjust("1 minute")
      expect(imageOf(yield* job)).toBe("registry.test/shop:1")
      const message = yield* stalled
      expect(message).toContain("spec.template: Invalid value: field is immutable")
      expect(message).toEndWith('; set onImmutable: "Replace" to delete the child and create it again')
    })
  )

  Harness.of([migrating("Replace")])("stays if the API server would refuse the new one, too", () =>
    Effect.gen(function* () {
      yield* create
      yield* TestClock.adjust("5 seconds")
      const { metadata } = yield* job
      yield* change({ version: "" })
      yield* TestClock.adjust("1 minute")
      expect((yield* job).metadata.uid).toBe(metadata.uid)
      expect(yield* stalled).toContain("spec.template.spec.containers[0].image: Required value")
    })
  )

  Harness.of([migrating("Replace")])("stays after a deletion that orphans it, and costs a few requests", ({ faults }) =>
    Effect.gen(function* () {
      yield* create
      yield* TestClock.adjust("5 seconds")
      const { metadata } = yield* job
      yield* Client.delete(Shop, key, { propagation: "Orphan" })
      yield* TestClock.adjust("5 seconds")
      const requests = faults.record()
      yield* Client.create(Shop, { metadata: key, spec: { page: "hello", version: "2" } })
      yield* TestClock.adjust("1 second")
      expect(requests.filter(({ path }) => path.endsWith("/jobs/shop")).length).toBeLessThan(10)
      expect((yield* job).metadata.uid).toBe(metadata.uid)
      expect(yield* stalled).toContain("spec.template: Invalid value: field is immutable")
    })
  )

  Harness.of([migrating("Replace", false)])("is not replaced without the declaration of removals", () =>
    Effect.gen(function* () {
      yield* create
      yield* TestClock.adjust("5 seconds")
      yield* change({ version: "2" })
      yield* TestClock.adjust("1 minute")
      expect(imageOf(yield* job)).toBe("registry.test/shop:1")
      expect(yield* stalled).toContain("add Owned.kind(Job, { removes: true }) to owns")
    })
  )
})
