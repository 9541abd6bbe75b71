/** The cache of a replay: reads get the recorded results, in their order. A read that the recording does not have stops the replay. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import { Cache } from "../cache/Cache.ts"
import type { Filter } from "../cache/Store.ts"
import * as Transform from "../cache/Transform.ts"
import * as Undeclared from "../cache/Undeclared.ts"
import type { Client } from "../client/Client.ts"
import * as Drift from "../controller/Drift.ts"
import type { Document, ReadDocument } from "../manager/recordings/Document.ts"
import * as Decoding from "../resource/Decoding.ts"
import { type KubernetesObject, keyString } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as Known from "./Known.ts"
import type { Trail } from "./Trail.ts"

/** The parts of a cache. */
export interface Options {
  readonly document: Document
  readonly known: Known.Known
  readonly trail: Trail
  /** Reads the objects of which the cache has only the metadata. */
  readonly client: Client["Service"]
  /** Whether the controller declares the kind. */
  readonly declares: (resource: Resource.Any) => boolean
  /** Called at each read. */
  readonly stir: () => void
}

/** The result of a read; null if the cache had no such object. */
type Found = KubernetesObject | null | ReadonlyArray<KubernetesObject>

const isSame = (one: unknown, other: unknown): boolean =>
  Drift.equal(Drift.json({ value: one }), Drift.json({ value: other }))

const isList = (found: Found): found is ReadonlyArray<KubernetesObject> => Array.isArray(found)

const shown = (found: Found): string =>
  isList(found)
    ? `${found.length} ${found.length === 1 ? "object" : "objects"}`
    : found === null
      ? "not found"
      : `resourceVersion ${found.metadata.resourceVersion}`

const filtered = (filter: Filter | undefined): string => {
  const { index, labels, namespace } = filter ?? {}
  return [
    ...(namespace === undefined ? [] : [`namespace ${namespace}`]),
    ...(labels === undefined ? [] : [`labels ${JSON.stringify(labels)}`]),
    ...(index === undefined ? [] : [`index ${index.name}=${index.value}`])
  ].join(", ")
}

/** The cache. */
export const make = ({ client, declares, document, known, stir, trail }: Options): Cache["Service"] => {
  const { objects, reads } = document
  /** The number of replayed reads of each kind. */
  const made = new Map<string, number>()

  const foundOf = ({ found, verb }: ReadDocument): Found =>
    verb === "get"
      ? (objects[typeof found === "number" ? found : -1] ?? null)
      : (found === undefined ? [] : [found].flat()).flatMap((index) => objects[index] ?? [])

  /** The objects with the writes of the replay itself. */
  const current = (kind: string, found: ReadonlyArray<KubernetesObject>): ReadonlyArray<KubernetesObject> =>
    found.flatMap((object) => {
      const written = known.written(`${kind} ${keyString(object.metadata)}`)
      return written === undefined ? [object] : written === null ? [] : [written]
    })

  /** The next recorded result of these reads, and the last one for further reads. Undefined without any. */
  const next = (id: string, isIt: (read: ReadDocument) => boolean): Found | undefined => {
    const nth = made.get(id) ?? 0
    made.set(id, nth + 1)
    const recorded = reads.filter(isIt)
    const read = recorded[nth] ?? recorded.at(-1)
    return read === undefined ? undefined : foundOf(read)
  }

  const report = <A extends Found>(what: string, found: A): A => {
    trail.add({ step: "read", what, found: shown(found) })
    return found
  }

  /** Ends the attempt at a read without a recorded result. */
  const absent = (resource: Resource.Any, what: string): Effect.Effect<never> => {
    if (!declares(resource)) return Effect.die(Undeclared.ofKind(resource, document.controller))
    trail.stop(`the recording does not have the read: ${what}`, what)
    return Effect.interrupt
  }

  const many = <A extends KubernetesObject>(
    resource: Resource.Resource<A, never>,
    what: string,
    isIt: (read: ReadDocument) => boolean
  ) =>
    Effect.suspend(() => {
      stir()
      const found = next(what, isIt)
      if (found === undefined || !isList(found)) return absent(resource, what)
      const shown = report(what, current(Resource.nameOf(resource), found))
      return Decoding.all(
        resource,
        shown.filter((object) => !Transform.isPartial(resource, object))
      )
    })

  const isOf = (verb: ReadDocument["verb"], resource: Resource.Any) => {
    const identity = Resource.identityOf(resource)
    return (read: ReadDocument): boolean => read.verb === verb && read.resource === identity
  }

  const byOwner = <A extends KubernetesObject>(resource: Resource.Resource<A, never>, owner: KubernetesObject) => {
    const isIt = isOf("byOwner", resource)
    const what = `${Resource.nameOf(resource)} of ${owner.kind ?? "owner"} ${keyString(owner.metadata)}`
    return many(resource, what, (read) => isIt(read) && read.owner === owner.metadata.uid)
  }

  const get: Cache["Service"]["get"] = (resource, key) =>
    Effect.suspend(() => {
      stir()
      const text = keyString(key)
      const what = `${resource.kind} ${text}`
      const place = Known.placeOf(resource, key)
      const isIt = isOf("get", resource)
      const recorded = next(`get ${place}`, (read) => isIt(read) && read.key === text)
      // Null is a result, too. A later read of the recording may have the object.
      const found = [known.written(place), recorded, known.get(place)].find((each) => each !== undefined)
      if (found === undefined || (found !== null && isList(found))) return absent(resource, what)
      report(what, found)
      if (found === null) return Effect.succeedNone
      if (Transform.isPartial(resource, found)) {
        return Effect.catchTag(Effect.asSome(client.get(resource, key)), "NotFound", () => Effect.succeedNone)
      }
      return Effect.fromResult(Result.map(resource.decode(found), Option.some))
    })

  const cache: Cache["Service"] = Cache.of({
    informer: () => Effect.die(new Error("a replay has no informers")),
    informers: () => [],
    within: () => cache,
    sees: () => true,
    synced: Effect.void,
    get,
    // The recording has what the live cache kept.
    getWhole: (resource, key) => get(resource, key),
    list: (resource, filter) => {
      const isIt = isOf("list", resource)
      const words = filtered(filter)
      const what = `list of ${Resource.nameOf(resource)}${words === "" ? "" : ` (${words})`}`
      return many(resource, what, (read) => isIt(read) && isSame(read.filter ?? {}, filter ?? {}))
    },
    byOwner,
    dependents: (owner, resources) =>
      Effect.map(
        Effect.forEach(resources, (resource) =>
          Effect.map(byOwner<KubernetesObject>(resource, owner), ({ items }) =>
            items.map((object) => ({ resource, object }))
          )
        ),
        (found) => found.flat()
      )
  })
  return cache
}
