/**
 * The memory and the time that objects of other users cost the program: each kind that it watches gets the worst objects that etcd stores.
 */
import { describe, expect, test } from "bun:test"
import * as Budget from "@homeostat/runtime/cache/Budget"
import * as Informer from "@homeostat/runtime/cache/Informer"
import * as Owned from "@homeostat/runtime/controller/Owned"
import * as Transforms from "@homeostat/runtime/manager/Transforms"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import * as Resource from "@homeostat/runtime/resource/Resource"
import { Clock, Effect, Logger } from "effect"
import { program } from "../../../controllers/main.ts"

/** The most characters that etcd stores, and the most of annotations. */
const mostCharacters = 1_500_000
const mostAnnotations = 262_144

const many = <A>(length: number, make: (at: number) => A) => Array.from({ length }, (_, at) => make(at))
const keyed = (length: number, value: unknown) => Object.fromEntries(many(length, (at) => [`k${at}`, value]))

/** The fields of the worst objects. Those of another kind do no harm: the API server would not store them. */
const worst: { readonly [what: string]: { readonly metadata?: object; readonly [field: string]: unknown } } = {
  "one large value": {
    spec: { text: "x".repeat(1_200_000) },
    metadata: { annotations: { note: "x".repeat(mostAnnotations) } }
  },
  "many labels": { metadata: { labels: keyed(90_000, "") } },
  "many owners": {
    metadata: {
      ownerReferences: many(14_000, (at) => ({
        apiVersion: "v1",
        kind: "Pod",
        name: `p${at}`,
        uid: `uid-of-pod-${at}`
      }))
    }
  },
  "many finalizers": { metadata: { finalizers: many(60_000, (at) => `example.com/${at}`) } },
  "many keys": { data: keyed(100_000, ""), stringData: {} },
  "many entries": { spec: { list: many(400_000, () => ({})) } },
  "a long target": { spec: { scaleTargetRef: { apiVersion: "v1", kind: "Pod", name: "x".repeat(1_400_000) } } },
  "many selectors": { spec: { selector: { matchLabels: keyed(90_000, "") }, podSelector: {} } },
  "a long image": {
    spec: { template: { spec: { containers: [{ name: "mover", image: "x".repeat(1_200_000), args: [] }] } } }
  },
  "long annotations of a mover": {
    spec: { text: "x".repeat(600_000) },
    metadata: { annotations: { "backup.example.com/claims": "x".repeat(mostAnnotations - 100) } }
  },
  "many containers and statuses": {
    spec: {
      containers: many(8_000, (at) => ({ name: `c${at}`, image: "i", readinessProbe: { tcpSocket: { port: 80 } } }))
    },
    status: { containerStatuses: many(8_000, (at) => ({ name: `c${at}`, ready: true, image: "i", state: {} })) }
  },
  "many conditions": {
    status: { conditions: many(20_000, (at) => ({ type: `T${at}`, status: "True", reason: "R", message: "m" })) }
  }
}

/** The owner in the metadata of an object, which a tenant can write. */
const claims = (kind: Resource.Any) => ({
  ownerReferences: [
    { apiVersion: Resource.apiVersionOf(kind), kind: kind.kind, name: "a", uid: "a", controller: true }
  ],
  annotations: { [Owned.intentAnnotation]: "x" }
})

/** Labels that a selector of the program selects: `a=b`, `a in (b, c)` and `a`. */
const selectedBy = (selector: string | undefined) =>
  Object.fromEntries(
    Array.from((selector ?? "").matchAll(/([^\s,=()]+)(?: in \(([^,)]+)[^)]*\)|=([^,]+))?(?:,|$)/g), (found) => [
      found[1] ?? "",
      found[2] ?? found[3] ?? ""
    ])
  )

const objectOf = (
  { resource: kind, trigger }: (typeof watched)[number],
  what: string,
  owner: object
): KubernetesObject => {
  const { metadata, ...fields } = worst[what] ?? {}
  const identity = {
    name: "large",
    namespace: "tenant",
    uid: "u",
    resourceVersion: "7",
    creationTimestamp: "2026-11-29T00:00:00Z"
  }
  const { labels }: { readonly labels?: object } = metadata ?? {}
  const all = { ...owner, ...metadata, ...identity, labels: { ...labels, ...selectedBy(trigger?.select?.labels) } }
  const projected = kind.projection === "metadata" ? {} : fields
  return { apiVersion: Resource.apiVersionOf(kind), kind: kind.kind, ...projected, metadata: all }
}

const { controllers } = program
const transformOf = Transforms.of(controllers)

/** Each cache of the program, with those who read its changes. */
const watched = controllers.flatMap((controller) => [
  { controller, resource: controller.resource, indexes: controller.indexes, trigger: undefined },
  ...controller.triggers.map((trigger) => ({
    controller,
    resource: trigger.resource,
    indexes: trigger.indexes,
    trigger
  }))
])

/** The kinds whose objects belong to the program: it reads them whole. */
const own = new Set(controllers.map(({ resource }) => Resource.nameOf(resource)))

/** The cached object, after the transform, the indexes, the predicate and the map. */
const follow = ({ indexes, resource, trigger }: (typeof watched)[number], object: KubernetesObject) =>
  Effect.gen(function* () {
    const { informer, run } = Informer.make({
      resource,
      indexes,
      namespaces: [undefined],
      transform: transformOf(resource),
      clock: yield* Clock.Clock,
      source: () => ({
        page: () => Effect.succeed({ items: [object], resourceVersion: "8" }),
        watch: () => Effect.never
      })
    })
    informer.subscribe((changes) => {
      for (const change of changes) if (trigger?.predicate?.(change) !== false) trigger?.map(change.object)
    })
    yield* Effect.raceFirst(run, informer.synced)
    return informer.store.get("tenant/large")
  })

/** An object that counts the fields that are read, and the keys that are listed. */
const counting = (read: (fields: number) => void) => {
  const wrap = <A extends object>(value: A): A =>
    new Proxy(value, {
      get: (target, field, receiver) => {
        read(1)
        const found: unknown = Reflect.get(target, field, receiver)
        return typeof found === "object" && found !== null ? wrap(found) : found
      },
      ownKeys: (target) => {
        const keys = Reflect.ownKeys(target)
        read(keys.length)
        return keys
      }
    })
  return wrap
}

const none = {}

const name = ({ controller, resource, trigger }: (typeof watched)[number]) =>
  `${Resource.identityOf(resource)} of ${trigger === undefined ? controller.name : `${controller.name}, ${trigger.relation} ${trigger.select?.labels ?? ""}`}`

describe("The worst objects", () => {
  test("have nearly the size that etcd stores", () => {
    for (const what of Object.keys(worst)) {
      const { length } = JSON.stringify(worst[what])
      expect([what, length > 600_000 && length < mostCharacters + mostAnnotations]).toEqual([what, true])
    }
  })
})

/** One of each cache. */
const caches = [...new Map(watched.map((each) => [name(each), each])).values()]

const run = <A>(effect: Effect.Effect<A>) => Effect.runPromise(Effect.provide(effect, Logger.layer([])))

/** The bytes of an object without an owner. The program reads the objects of its own kinds whole. */
const foreignBytesOf = ({ resource }: (typeof watched)[number]): number =>
  own.has(Resource.nameOf(resource)) ? Budget.mostBytes : Budget.foreignBytes

/** The bytes of an object that says that it has an owner of the program: whole for a child, because a reconcile compares all of it. */
const claimedBytesOf = ({ controller, resource, trigger }: (typeof watched)[number]): number =>
  trigger?.relation !== "watch"
    ? Budget.mostBytes
    : // The names of the claims of a mover.
      resource.kind === "Job" && controller.resource.group === "backup.example.com"
      ? 64 * 1024
      : foreignBytesOf({ controller, resource, trigger, indexes: [] })

describe("The cache of the program keeps little of the worst objects", () => {
  for (const each of caches) {
    test(name(each), async () => {
      for (const what of Object.keys(worst)) {
        for (const owner of [none, claims(each.controller.resource)]) {
          const kept = await run(follow(each, objectOf(each, what, owner)))
          const most = owner === none ? foreignBytesOf(each) : claimedBytesOf(each)
          const size = JSON.stringify(kept).length
          expect(kept?.metadata.name).toBe("large")
          expect([what, Budget.exceeds(kept, most), size <= most ? "small" : size]).toEqual([what, false, "small"])
        }
      }
    })
  }
})

describe("The program reads each field of the worst objects once, at most", () => {
  for (const each of caches) {
    test(name(each), async () => {
      for (const what of Object.keys(worst)) {
        let fields = 0
        const wrap = counting((count) => {
          fields += count
        })
        await run(follow(each, wrap(objectOf(each, what, claims(each.controller.resource)))))
        // The engine lists the 100,000 keys of an object before the first one. Then the budget ends the reads.
        expect([what, fields < 125_000 ? "little" : fields]).toEqual([what, "little"])
      }
    })
  }
})
