/**
 * Sets of children: the runtime creates listed children, deletes children that are no longer listed, and orders them by their dependencies.
 */
import { describe, expect } from "bun:test"
import {
  BuiltIn,
  Client,
  Condition,
  Controller,
  KubernetesObject,
  Owned,
  Patch,
  type Resource,
  Result,
  Status
} from "@homeostat/runtime"
import { eventually } from "@homeostat/testkit/Eventually"
import type * as Faults from "@homeostat/testkit/Faults"
import * as Harness from "@homeostat/testkit/Harness"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { childrenOf, controller, owns, Shop } from "./Shops.ts"

const test = Harness.of([controller])

const key = { namespace: "default", name: "shop" }

const create = (spec: Shop["spec"]) => Client.create(Shop, { metadata: key, spec })

const change = (spec: object) => Client.patch(Shop, key, Patch.merge({ spec }))

const second = TestClock.adjust("1 second")

const ownedOf = <A extends KubernetesObject.KubernetesObject>(kind: Resource.Resource<A, never>) =>
  Effect.map(Client.list(kind, { namespace: "default" }), ({ items }) =>
    items
      .filter((child) => KubernetesObject.controllerOf(child)?.kind === "Shop")
      .map(({ metadata }) => `${kind.kind} ${metadata.name}`)
  )

/** The children that exist, as `Deployment shop`. */
const existing = Effect.map(
  Effect.all([ownedOf(BuiltIn.ConfigMap), ownedOf(BuiltIn.Job), ownedOf(BuiltIn.Deployment), ownedOf(BuiltIn.Service)]),
  (names) => names.flat()
)

const writes = (requests: ReadonlyArray<Faults.Recorded>) =>
  requests.flatMap(({ path, verb }) =>
    ["get", "list", "watch"].includes(verb) || path.includes("/events") || path.endsWith("/status")
      ? []
      : [`${verb} ${path.split("/").slice(-2).join("/")}`]
  )

const running = eventually(
  "the Deployment runs",
  Client.get(BuiltIn.Deployment, key),
  ({ status }) => status?.readyReplicas === 1
)

/** The state and message of the Shop's progress. */
const progress = Effect.map(Client.get(Shop, key), ({ status }) => {
  const [, ...rest] = status?.conditions ?? []
  const ready = Condition.find(status?.conditions, "Ready")
  return `${rest[0]?.type ?? "Ready"} ${ready?.reason}: ${ready?.message}`
})

/** The pods of Jobs end after ten seconds. */
const jobsEnd = (exitCode: number): Harness.ControllerOptions => ({
  kubelet: {
    pods: (pod) =>
      KubernetesObject.controllerOf(pod)?.kind === "Job" ? { ends: { after: "10 seconds", exitCode } } : undefined
  }
})

describe("A set of children", () => {
  test("contains the listed children, and loses the others", ({ faults }) =>
    Effect.gen(function* () {
      yield* create({ page: "Hello", version: "1" })
      yield* running
      expect(yield* existing).toEqual(["ConfigMap shop", "Job shop-1", "Deployment shop", "Service shop"])
      const requests = faults.record()
      yield* Client.patch(Shop, key, Patch.merge({ spec: { version: null } }))
      yield* TestClock.adjust("1 minute")
      expect(yield* existing).toEqual(["ConfigMap shop"])
      expect(writes(requests)).toEqual(["delete services/shop", "delete deployments/shop", "delete jobs/shop-1"])
      const events = yield* Client.list(BuiltIn.Event, { namespace: "default" })
      const removals = events.items.filter(({ reason }) => reason?.endsWith("Removed"))
      expect(removals.flatMap(({ note }) => note ?? []).sort()).toEqual([
        "Removed Job shop-1",
        "Removed Service shop, Deployment shop"
      ])
    }))

  test("without a difference causes no request", ({ faults }) =>
    Effect.gen(function* () {
      yield* create({ page: "Hello", version: "1" })
      yield* running
      yield* TestClock.adjust("1 minute")
      const requests = faults.record()
      yield* Client.patch(Shop, key, Patch.merge({ metadata: { labels: { again: "yes" } } }))
      yield* second
      expect(requests.filter(({ verb }) => verb !== "watch")).toEqual([])
    }))

  test("keeps children of other owners, and asks the API server about each only once", ({ faults }) =>
    Effect.gen(function* () {
      yield* create({ page: "Hello" })
      yield* second
      const made = yield* Client.get(BuiltIn.ConfigMap, key)
      const { annotations = {}, ownerReferences = [] } = made.metadata
      yield* Client.create(BuiltIn.ConfigMap, { metadata: { ...key, name: "created", ownerReferences } })
      yield* Client.apply(
        BuiltIn.ConfigMap,
        { metadata: { ...key, name: "applied", ownerReferences, annotations } },
        { fieldManager: "somebody", force: true }
      )
      yield* second
      const requests = faults.record()
      yield* Client.patch(Shop, key, Patch.merge({ metadata: { labels: { again: "yes" } } }))
      yield* second
      expect(requests.filter(({ verb }) => verb !== "watch")).toEqual([])
      expect(yield* existing).toEqual(["ConfigMap applied", "ConfigMap created", "ConfigMap shop"])
    }))

  test("with a rejected child still gets the others, and loses none", () =>
    Effect.gen(function* () {
      yield* create({ page: "Hello" })
      yield* second
      yield* change({ page: "Bye", version: "1", port: "no_name" })
      yield* running
      yield* change({ version: "2" })
      yield* TestClock.adjust("10 seconds")
      expect((yield* Client.get(BuiltIn.ConfigMap, key)).data).toEqual({ page: "Bye" })
      expect(yield* existing).toEqual(["ConfigMap shop", "Job shop-1", "Job shop-2", "Deployment shop"])
      expect(yield* progress).toContain("Stalled Invalid: ")
    }))
})

/** A Shop with a Service that may replace children of these kinds, and with the other children only if it has a version. */
const replacing = (replaces: ReadonlyArray<Resource.Any>) =>
  Controller.make("shop", {
    for: Shop,
    owns,
    reconcile: (shop) => {
      const { name } = shop.metadata
      const { port = "web", version } = shop.spec
      const service = Owned.child(
        BuiltIn.Service,
        { metadata: { name }, spec: { ports: [{ port: 80, name: port }] } },
        { replaces }
      )
      const others = childrenOf(shop).filter(({ kind }) => version !== undefined && kind !== BuiltIn.Service)
      return Effect.as(Owned.allSettled(shop, [service, ...others]), Result.done)
    }
  })

describe("A child that cannot be applied", () => {
  for (const [replaces, left] of [
    [[], ["Service shop"]],
    [[BuiltIn.ConfigMap], ["ConfigMap shop", "Service shop"]],
    // The Deployment needs the Job, and the Job needs the ConfigMap.
    [[BuiltIn.Deployment], ["ConfigMap shop", "Job shop-1", "Deployment shop", "Service shop"]]
  ] as const) {
    const kinds = replaces.map(({ kind }) => kind).join() || "no other kind"
    Harness.of([replacing(replaces)])(`and that replaces ${kinds} leaves ${left.length} children`, () =>
      Effect.gen(function* () {
        yield* create({ page: "Hello", version: "1" })
        yield* running
        yield* change({ port: "no_name", version: null })
        yield* TestClock.adjust("10 seconds")
        expect(yield* existing).toEqual([...left])
      })
    )
  }
})

describe("A child with dependencies", () => {
  Harness.of([controller], jobsEnd(0))("waits until they are ready, and then each change waits", () =>
    Effect.gen(function* () {
      yield* create({ page: "Hello", version: "1" })
      yield* TestClock.adjust("5 seconds")
      expect(yield* existing).toEqual(["ConfigMap shop", "Job shop-1", "Service shop"])
      expect(yield* progress).toBe(
        "Reconciling ChildrenNotReady: Job shop-1: 0 of 1 pods succeeded; Deployment shop waits for Job shop-1"
      )
      yield* TestClock.adjust("10 seconds")
      yield* running
      yield* second
      expect(yield* progress).toBe("Ready ChildrenReady: 4 of 4 children are ready")
      const image = Effect.map(
        Client.get(BuiltIn.Deployment, key),
        ({ spec }) => spec?.template.spec?.containers[0]?.image
      )
      yield* change({ version: "2" })
      yield* TestClock.adjust("5 seconds")
      expect(yield* image).toBe("registry.test/shop:1")
      expect(yield* existing).toContain("Job shop-1")
      yield* TestClock.adjust("10 seconds")
      expect(yield* image).toBe("registry.test/shop:2")
      expect(yield* existing).toEqual(["ConfigMap shop", "Job shop-2", "Deployment shop", "Service shop"])
    })
  )

  Harness.of([controller], jobsEnd(1))("waits while a Job has failed", () =>
    Effect.gen(function* () {
      yield* create({ page: "Hello", version: "1" })
      yield* TestClock.adjust("1 hour")
      expect(yield* existing).toEqual(["ConfigMap shop", "Job shop-1", "Service shop"])
      expect(yield* progress).toBe("Stalled ChildFailed: Job shop-1: Job has reached the specified backoff limit")
    })
  )

  test("is corrected while it waits", () =>
    Effect.gen(function* () {
      yield* create({ page: "Hello", version: "1" })
      yield* running
      const finalizers = ["example.com/hold"]
      yield* Client.patch(BuiltIn.Job, { ...key, name: "shop-1" }, Patch.merge({ metadata: { finalizers } }))
      yield* Client.delete(BuiltIn.Job, { ...key, name: "shop-1" })
      yield* second
      const containers = [{ name: "web", image: "registry.test/other:1" }]
      yield* Client.patch(BuiltIn.Deployment, key, Patch.merge({ spec: { template: { spec: { containers } } } }))
      yield* second
      const { spec } = yield* Client.get(BuiltIn.Deployment, key)
      expect(spec?.template.spec?.containers[0]?.image).toBe("registry.test/shop:1")
      yield* Client.patch(BuiltIn.Job, { ...key, name: "shop-1" }, Patch.merge({ metadata: { finalizers: [] } }))
    }))

  test("is removed, with its pods, before its dependencies are deleted", () =>
    Effect.gen(function* () {
      yield* create({ page: "Hello", version: "1" })
      yield* running
      const pods = yield* Client.list(BuiltIn.Pod, { namespace: "default", labelSelector: "app=shop" })
      const [pod] = pods.items
      if (pod === undefined) return expect.unreachable("no pod")
      const finalizers = ["example.com/hold"]
      const podKey = KubernetesObject.keyOf(pod)
      yield* Client.patch(BuiltIn.Pod, podKey, Patch.merge({ metadata: { finalizers } }))
      yield* change({ version: null })
      yield* TestClock.adjust("1 minute")
      expect(yield* existing).toEqual(["ConfigMap shop", "Job shop-1", "Deployment shop"])
      expect(yield* progress).toBe(
        "Reconciling RemovingChildren: Deployment shop is being deleted; Job shop-1 is deleted after Deployment shop"
      )
      yield* Client.patch(BuiltIn.Pod, podKey, Patch.merge({ metadata: { finalizers: [] } }))
      yield* TestClock.adjust("1 minute")
      expect(yield* existing).toEqual(["ConfigMap shop"])
    }))
})

/** A controller of Shops with other children, or with other declarations. */
const other = (
  children: (shop: Shop) => ReadonlyArray<Owned.Child>,
  owns: Controller.Options<Shop, never, never, never, never, never, never>["owns"] = [BuiltIn.ConfigMap]
) =>
  Controller.make("shop", {
    for: Shop,
    owns,
    finalizer: { name: "example.com/children", cleanup: (shop) => Owned.removeAll(shop) },
    reconcile: (shop) => Effect.as(Owned.all(shop, children(shop)), Result.done)
  })

const stalled = Effect.map(
  Client.get(Shop, key),
  ({ status }) => Condition.find(status?.conditions, "Stalled")?.message
)

const page = (name: string, after: ReadonlyArray<Owned.Child> = []) =>
  Owned.child(BuiltIn.ConfigMap, { metadata: { name } }, { after })

describe("A set that cannot be applied is a permanent error:", () => {
  Harness.of([other(() => [page("a"), page("a")])])("a child is in it twice", () =>
    Effect.gen(function* () {
      yield* create({ page: "Hello" })
      yield* second
      expect(yield* stalled).toBe(
        "The reconcile stopped: ConfigMap a is twice in a list of children (remove one, or rename one)"
      )
    })
  )

  Harness.of([other(() => [page("a", [page("b")])])])("a child waits for one that is not in it", () =>
    Effect.gen(function* () {
      yield* create({ page: "Hello" })
      yield* second
      expect(yield* stalled).toBe(
        "The reconcile stopped: ConfigMap a waits for ConfigMap b, which is not in the list of children (add it to the list)"
      )
    })
  )

  Harness.of([other(({ spec }) => (spec.version === undefined ? [] : [page("a")]))])(
    "a child is no longer in it, and the controller does not declare removals",
    () =>
      Effect.gen(function* () {
        yield* create({ page: "Hello", version: "1" })
        yield* second
        yield* change({ version: null })
        yield* second
        expect(yield* stalled).toBe(
          "The reconcile stopped: controller shop deletes configmaps and does not declare it: add Owned.kind(ConfigMap, { removes: true }) to owns"
        )
        expect(yield* existing).toEqual(["ConfigMap a"])
      })
  )
})

/** Another manager applies a child of the Shop, as another controller of Shops does. */
const applyAsAnother = (name: string) =>
  Effect.gen(function* () {
    const { metadata } = yield* Client.get(BuiltIn.ConfigMap, { ...key, name: "a" })
    const { annotations = {}, ownerReferences = [] } = metadata
    yield* Client.apply(
      BuiltIn.ConfigMap,
      { metadata: { ...key, name, ownerReferences, annotations } },
      { fieldManager: "somebody", force: true }
    )
    yield* second
  })

describe("A child of another controller of the same owner", () => {
  Harness.of([other(() => [page("a")])])("needs no declaration of removals, because it stays", ({ faults }) =>
    Effect.gen(function* () {
      yield* create({ page: "Hello" })
      yield* second
      yield* applyAsAnother("b")
      const requests = faults.record()
      yield* Client.patch(Shop, key, Patch.merge({ metadata: { labels: { again: "yes" } } }))
      yield* second
      expect(requests.filter(({ verb }) => verb !== "watch")).toEqual([])
      expect(yield* stalled).toBeUndefined()
      expect(yield* existing).toEqual(["ConfigMap a", "ConfigMap b"])
    })
  )

  Harness.of([
    other(
      ({ spec }) => spec.page.split(",").map((name) => page(name)),
      [Owned.kind(BuiltIn.ConfigMap, { removes: true })]
    )
  ])("is removed like others once this controller has applied it", () =>
    Effect.gen(function* () {
      yield* create({ page: "a" })
      yield* second
      yield* applyAsAnother("b")
      yield* change({ page: "a,b" })
      yield* second
      yield* change({ page: "a" })
      yield* second
      expect(yield* existing).toEqual(["ConfigMap a"])
    })
  )
})

const chain = other(() => {
  const pages: Array<Owned.Child> = []
  for (let number = 10; number < 40; number++) pages.push(page(`page-${number}`, [...pages]))
  return pages
})

Harness.of([chain])("children that each need all before them are created", () =>
  Effect.gen(function* () {
    yield* create({ page: "Hello" })
    yield* second
    expect(yield* existing).toHaveLength(30)
  })
)

describe("Children in a struct", () => {
  const controller = Controller.make("shop", {
    for: Shop,
    owns: [Owned.kind(BuiltIn.ConfigMap, { removes: true })],
    reconcile: (shop) =>
      Effect.gen(function* () {
        const first = page("first")
        const wanted = { first, second: shop.spec.page === "both" ? page("second", [first]) : undefined }
        const children = yield* Owned.all(shop, wanted)
        const { states } = children
        expect(states.first.child).toBe("ConfigMap first")
        expect(states.second?.child).toBe(wanted.second && "ConfigMap second")
        yield* Status.progress(shop, Owned.progress(children))
        return Result.done
      })
  })

  Harness.of([controller])("have their states by name, and an undefined member is removed", () =>
    Effect.gen(function* () {
      yield* create({ page: "both" })
      yield* second
      expect(yield* existing).toEqual(["ConfigMap first", "ConfigMap second"])
      expect(yield* progress).toContain("2 of 2 children are ready")
      yield* change({ page: "one" })
      yield* second
      expect(yield* existing).toEqual(["ConfigMap first"])
      expect(yield* progress).toContain("1 of 1 children are ready")
    })
  )
})

describe("A child that is invalid for its kind", () => {
  const port = { port: 80 }
  const service = Owned.child(BuiltIn.Service, { metadata: { name: "twice" }, spec: { ports: [port, port] } })

  Harness.of([other(() => [service, page("a")], [BuiltIn.ConfigMap, BuiltIn.Service])])(
    "is reported, and the other children are applied",
    ({ faults }) =>
      Effect.gen(function* () {
        yield* create({ page: "Hello" })
        yield* second
        expect(yield* existing).toEqual(["ConfigMap a"])
        expect(yield* stalled).toMatch(/^The API server refuses .*failed to create typed patch object/)
        const requests = faults.record()
        yield* TestClock.adjust("10 minutes")
        expect(writes(requests)).toEqual([])
      })
  )
})

describe("A clean-up that removes the children", () => {
  const first = page("first")
  const removing = other(() => [first, page("second", [first])], [Owned.kind(BuiltIn.ConfigMap, { removes: true })])

  Harness.of([removing])("keeps their order, and waits until they are gone", () =>
    Effect.gen(function* () {
      yield* create({ page: "Hello" })
      yield* second
      const finalizers = ["example.com/hold"]
      const held = { ...key, name: "second" }
      yield* Client.patch(BuiltIn.ConfigMap, held, Patch.merge({ metadata: { finalizers } }))
      yield* Client.delete(Shop, key)
      yield* TestClock.adjust("10 minutes")
      expect(yield* existing).toEqual(["ConfigMap first", "ConfigMap second"])
      expect((yield* Client.get(Shop, key)).metadata.finalizers).toEqual(["example.com/children"])
      yield* Client.patch(BuiltIn.ConfigMap, held, Patch.merge({ metadata: { finalizers: [] } }))
      yield* second
      expect(yield* existing).toEqual([])
      expect((yield* Client.list(Shop)).items).toEqual([])
    })
  )
})
