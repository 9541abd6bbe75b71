/**
 * Writes of a controller that may lead nowhere, counted by object: see `HotLoopObserver` for the rules.
 *
 * An object has one counter until it is suspicious. It becomes suspicious at its second attempt that writes, if the pause before was
 * shorter than {@link windowMillis}, and neither had a new generation. From then on the memory keeps which fields each attempt wrote.
 * The first attempt after a restart counts as one for a new generation.
 *
 * Plain state, bounded in bytes ({@link capacity}): the objects that were written longest ago go first. It keeps hashes of names and
 * values, and the text of the last report on each object. It outlives the terms of a leader, so that a loop is not reported twice within a moment. Times are
 * milliseconds of the Clock.
 */
import type * as Result from "effect/Result"
import * as Bounded from "../resource/Bounded.ts"
import * as Halves from "../resource/Halves.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as Text from "../resource/Text.ts"
import type * as Metric from "../telemetry/Metric.ts"

/** The window in which writes of a field are counted, in ms. */
export const windowMillis = 30_000

/** Why a loop is suspected. */
export type Reason = (typeof Metric.hotLoopReasons)[number]

/**
 * The number of writes of a field within the window that is reported. An object may go through some phases without another cause, so
 * the limit for rewrites is higher; a loop does hundreds in a second.
 */
export const limits = { fight: 5, rewrite: 10 } as const

/** The reasons whose writes are counted. */
export type Counted = keyof typeof limits

/** A reported field is not reported again within this time, in ms. */
const silenceMillis = 600_000

/** How long a loop lasts after the last write that belonged to it, in ms. */
export const recentMillis = 300_000

/** The approximate limit of the memory of a controller, in bytes. */
export const capacity = 8 * 1024 * 1024

/** The longest note of a loop, in characters: that of an Event. */
const longestNote = 1024

/** The fields of a place that the memory keeps. */
export const mostFields = 64

/** The places of an object that the memory keeps. */
const mostPlaces = 128

/** The field that differs between an object and the next one of its name: a write of it is a creation. */
export const existence = "metadata.uid"

/** A field, and a text that stands for what was written there. */
export type WrittenField = readonly [field: string, value: string]

/** An object that is about to be repaired: in the cache, and on the server, or the tag of the error that the read met. */
export interface Seen {
  readonly cached: KubernetesObject
  readonly live: Result.Result<KubernetesObject, string>
}

/** Fields of a written object that the API server stores with another value than it received. */
export interface Altered {
  readonly fields: ReadonlyArray<string>
  /** The object as the server answered. */
  readonly answer: KubernetesObject
  /** Whether this is the first object of its kind with these fields. */
  readonly isNews: boolean
}

/** A loop, as it was reported. */
export interface Loop {
  readonly reason: Reason
  /** The manager on the other side; undefined if it is not known, or if there is none. */
  readonly manager: string | undefined
  /** One or two sentences with the cause and the fix. */
  readonly note: string
}

/** The last loop of an object. Times are milliseconds of the Clock. */
export interface LastLoop extends Loop {
  /** When it was reported. */
  readonly since: number
  /** The last write that belonged to it. */
  readonly at: number
}

/** A fight that lasts: its note, and when it is over without another write, in ms of the Clock. */
export interface Fight {
  readonly note: string
  readonly until: number
}

/** A write of an object, for the detection of hot loops. */
export interface Change {
  /** The object that was written: `Deployment default/shop`. */
  readonly place: string
  /** The fields that it changed. */
  readonly written: () => ReadonlyArray<WrittenField>
  /** The object before the write, where a report may follow. */
  readonly seen?: Seen | undefined
  readonly altered?: Altered | undefined
}

/**
 * The writes of one controller. A `place` is an object that was written, such as `Deployment default/shop`. The `uid` is that of the object
 * that is reconciled.
 */
export interface HotLoop {
  /** Counts an attempt that wrote, and returns whether its object is suspicious now. */
  readonly wrote: (uid: string, generation: number | undefined, now: number) => boolean
  /** Enters a write of a place. Returns the fields that the previous write set to the same value: another manager changed them since. */
  readonly repeated: (uid: string, place: string, written: ReadonlyArray<WrittenField>) => ReadonlyArray<string>
  /** Counts a write of these fields. Returns those that reach the limit and were not reported lately. */
  readonly count: (
    uid: string,
    reason: Counted,
    place: string,
    fields: ReadonlyArray<string>,
    now: number
  ) => ReadonlyArray<string>
  /** Keeps the report of a loop, in place of the one before. A fight that lasts stays. */
  readonly found: (uid: string, loop: Loop, now: number) => void
  /** The last loop of an object. */
  readonly lastLoop: (uid: string) => LastLoop | undefined
  /** The fight of an object that lasts. While no object is in a fight, it compares two numbers. */
  readonly fight: (uid: string, now: number) => Fight | undefined
  /** Whether the next repair of a field of this place is due for a report. */
  readonly isDue: (uid: string, place: string, now: number) => boolean
  /** Forgets an object that is gone. */
  readonly forget: (uid: string) => void
  /** Forgets all other objects, after a time in which deletions may have been missed. */
  readonly retain: (uids: ReadonlySet<string>) => void
  /** The number of objects in the memory, and its approximate size in bytes. */
  readonly size: () => { readonly keys: number; readonly bytes: number }
}

interface Counter {
  readonly reason: Counted
  times: ReadonlyArray<number>
  reportedAt: number
}

interface Place {
  /** Hashes of the fields and values of the last write. */
  written: ReadonlySet<number>
  readonly counters: Map<number, Counter>
}

interface Known extends Halves.Weighed {
  generation: number | undefined
  wroteAt: number
  writes: number
  /** By the hashes of their names; none before the object is suspicious. */
  places: Map<number, Place> | undefined
  loop: LastLoop | undefined
}

const hash = (...texts: ReadonlyArray<string>): number => Bun.hash.xxHash32(texts.join("\n"))

/** The approximate bytes of an object, measured as the heap's growth over some thousands. */
const bytesOf = ({ loop, places }: Known): number => {
  let bytes = loop === undefined ? 250 : 350 + Text.bytes(loop.note) + Text.bytes(loop.manager)
  for (const { counters, written } of places?.values() ?? []) bytes += 400 + 40 * written.size + 200 * counters.size
  return bytes
}

const none: ReadonlySet<number> = new Set()

const isSilent = ({ reportedAt }: Counter, now: number): boolean => now - reportedAt < silenceMillis

const lately = ({ times }: Counter, now: number): ReadonlyArray<number> =>
  times.filter((time) => now - time < windowMillis)

const fightOf = (loop: LastLoop | undefined, now: number): Fight | undefined =>
  loop?.reason === "fight" && now - loop.at < recentMillis
    ? { note: loop.note, until: loop.at + recentMillis }
    : undefined

/** An empty memory. */
export const make = (most: number = capacity): HotLoop => {
  const objects = Halves.make<Known>(most)
  /** The last write in a fight of any object. */
  let foughtAt = Number.NEGATIVE_INFINITY
  const change = <A>(uid: string, by: (known: Known) => A): A => {
    const known = objects.open(uid, () => ({
      generation: undefined,
      wroteAt: Number.NEGATIVE_INFINITY,
      writes: 0,
      places: undefined,
      loop: undefined,
      bytes: 0
    }))
    const result = by(known)
    objects.weigh(known, bytesOf(known))
    return result
  }
  const changePlace = <A>(uid: string, name: string, by: (place: Place, known: Known) => A): A =>
    change(uid, (known) => {
      known.places ??= new Map()
      const key = hash(name)
      const place = known.places.get(key) ?? { written: none, counters: new Map() }
      Bounded.put(known.places, key, place, mostPlaces)
      return by(place, known)
    })
  const placeOf = (uid: string, name: string): Place | undefined => objects.get(uid)?.places?.get(hash(name))

  return {
    wrote: (uid, generation, now) =>
      change(uid, (known) => {
        const isNew = known.generation !== generation
        if (isNew || now - known.wroteAt >= windowMillis) {
          known.writes = 0
          for (const place of known.places?.values() ?? []) {
            place.written = none
            for (const counter of place.counters.values()) counter.times = []
          }
        }
        known.generation = generation
        known.wroteAt = now
        if (!isNew) known.writes++
        return known.writes > 1
      }),
    repeated: (uid, name, written) =>
      changePlace(uid, name, (place) => {
        const before = place.written
        const entries = written.slice(0, mostFields).map(([field, value]) => [field, hash(field, value)] as const)
        place.written = new Set(entries.map(([, entry]) => entry))
        return entries.filter(([, entry]) => before.has(entry)).map(([field]) => field)
      }),
    count: (uid, reason, name, fields, now) =>
      changePlace(uid, name, ({ counters }, known) =>
        fields.slice(0, mostFields).filter((field) => {
          const key = hash(reason, field)
          const counter = counters.get(key) ?? { reason, times: [], reportedAt: Number.NEGATIVE_INFINITY }
          counter.times = [...lately(counter, now), now].slice(-limits[reason])
          Bounded.put(counters, key, counter, mostFields)
          if (counter.times.length < limits[reason]) return false
          if (known.loop?.reason === reason) known.loop = { ...known.loop, at: now }
          if (reason === "fight") foughtAt = now
          if (isSilent(counter, now)) return false
          counter.reportedAt = now
          return true
        })
      ),
    found: (uid, { manager, note, reason }, now) =>
      change(uid, (known) => {
        if (reason !== "fight" && fightOf(known.loop, now) !== undefined) return
        known.loop = { reason, manager, note: Text.clip(note, longestNote), since: now, at: now }
      }),
    lastLoop: (uid) => objects.get(uid)?.loop,
    fight: (uid, now) => (now - foughtAt < recentMillis ? fightOf(objects.get(uid)?.loop, now) : undefined),
    isDue: (uid, name, now) =>
      [...(placeOf(uid, name)?.counters.values() ?? [])].some(
        (counter) =>
          counter.reason === "fight" && lately(counter, now).length >= limits.fight - 1 && !isSilent(counter, now)
      ),
    forget: (uid) => void objects.delete(uid),
    retain: (uids) => {
      for (const uid of objects.keys()) if (!uids.has(uid)) objects.delete(uid)
    },
    size: objects.size
  }
}
