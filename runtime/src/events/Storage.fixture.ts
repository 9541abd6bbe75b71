/** The storage of the API server in memory, for the tests of events, controllers and managers. */
import * as Json from "./Json.fixture.ts"

/** The place of an object: `deployments.apps`, and its namespace and name. */
export interface Place {
  readonly collection: string
  readonly key: string
}

/** An object, with the fields that each field manager applied or wrote. */
export interface Stored {
  readonly object: Json.Fields
  readonly intents: ReadonlyMap<string, Json.Json>
}

/** A change of an object. */
export interface Event {
  readonly type: "ADDED" | "MODIFIED" | "DELETED"
  readonly revision: number
  readonly collection: string
  readonly object: Json.Fields
  readonly before: Json.Fields | undefined
}

/** The author of a write. `claims`: by an apply, which changes ownership even if the object has all fields. */
export interface Writer {
  readonly manager: string
  readonly intent: Json.Json
  readonly claims?: boolean
}

/** The objects of a server. */
export interface Storage {
  readonly get: (place: Place) => Stored | undefined
  readonly list: (collection: string) => ReadonlyArray<Json.Fields>
  /** Stores an object, or removes it if it is being deleted and has no finalizer. Returns the object of the response. */
  readonly put: (place: Place, object: Json.Fields, writer: Writer) => Json.Fields
  /** Deletes an object. Returns the object if a finalizer keeps it. */
  readonly remove: (place: Place) => Json.Fields | undefined
  readonly revision: () => number
  readonly history: ReadonlyArray<Event>
}

/** The metadata of an object. */
export const meta = (object: Json.Fields | undefined): Json.Fields =>
  Json.isFields(object?.metadata) ? object.metadata : {}

const isHeld = (object: Json.Fields): boolean => {
  const { finalizers } = meta(object)
  return Array.isArray(finalizers) && finalizers.length > 0
}

/**
 * An empty storage.
 *
 * @param stores turns each written object into the stored one
 * @param publish called at every change
 */
export const make = (stores: (object: Json.Fields) => Json.Fields, publish: (event: Event) => void): Storage => {
  const tables = new Map<string, Map<string, Stored>>()
  const history: Array<Event> = []
  let revision = 100
  let uids = 0

  const table = (collection: string): Map<string, Stored> => {
    const found = tables.get(collection) ?? new Map<string, Stored>()
    tables.set(collection, found)
    return found
  }

  const tell = (type: Event["type"], { collection }: Place, object: Json.Fields, before?: Json.Fields): void => {
    const event: Event = { type, revision, collection, object, before }
    history.push(event)
    publish(event)
  }

  const put: Storage["put"] = (place, next, { claims = false, intent, manager }) => {
    const rows = table(place.collection)
    const before = rows.get(place.key)
    const old = before?.object
    const known = stores(next)
    const isNewClaim = claims && !Json.equal(before?.intents.get(manager), intent)
    if (old !== undefined && Json.equal(known, old) && !isNewClaim) return old
    const isNewGeneration =
      !Json.equal(known.spec, old?.spec) || meta(known).deletionTimestamp !== meta(old).deletionTimestamp
    const generation = Number(meta(old).generation ?? 0) + (isNewGeneration ? 1 : 0)
    const object: Json.Fields = {
      ...known,
      metadata: {
        ...meta(known),
        uid: meta(old).uid ?? `uid-${++uids}`,
        creationTimestamp: "2026-11-20T00:00:00Z",
        resourceVersion: String(++revision),
        ...(known.spec === undefined ? {} : { generation })
      }
    }
    if (meta(object).deletionTimestamp !== undefined && !isHeld(object)) {
      rows.delete(place.key)
      tell("DELETED", place, object, old)
      return object
    }
    rows.set(place.key, { object, intents: new Map(before?.intents).set(manager, intent) })
    tell(old === undefined ? "ADDED" : "MODIFIED", place, object, old)
    return object
  }

  return {
    get: ({ collection, key }) => table(collection).get(key),
    list: (collection) => Array.from(table(collection).values(), ({ object }) => object),
    put,
    remove: (place) => {
      const old = table(place.collection).get(place.key)?.object
      if (old === undefined) return undefined
      if (isHeld(old)) {
        const metadata = { ...meta(old), deletionTimestamp: "2026-11-20T01:00:00Z" }
        return put(place, { ...old, metadata }, { manager: "", intent: {} })
      }
      table(place.collection).delete(place.key)
      tell("DELETED", place, { ...old, metadata: { ...meta(old), resourceVersion: String(++revision) } }, old)
      return undefined
    },
    revision: () => revision,
    history
  }
}
