/**
 * What a controller remembers of its writes in order to notice that they lead nowhere: a field that is put back again and again
 * because somebody else keeps changing it, and one that is written again and again though nothing has happened.
 *
 * Plain state, bounded: {@link mostObjects} objects, {@link mostFields} fields of each; what was written longest ago is forgotten
 * first. It keeps the names of fields, and of values only a hash. It outlives the terms of a leader, so that what was told is
 * not told again a moment later. Times are milliseconds of the Clock.
 */
import * as Bounded from "../resource/Bounded.ts"
import type * as Metric from "../telemetry/Metric.ts"

/** Writes of a field are counted for so long. */
export const windowMillis = 30_000

/** So many times within the window a field is put back before it is told. Somebody who tries something by hand does less. */
export const repairs = 5

/**
 * So many times within the window a field is written without a cause before it is told. More than for a repair, as an object may
 * well go through some phases of its own accord; a true loop does hundreds in a second.
 */
export const rewrites = 10

/** Who asks to look again only after so long may well have progress to tell each time: what such a run writes has a cause. */
export const patientMillis = 1000

/** What was told of a field is not told again for so long. */
export const silenceMillis = 600_000

/** How many objects are remembered. */
export const mostObjects = 4096

/** How many fields of an object are remembered. */
export const mostFields = 64

/**
 * How many of its own writes are remembered per object: those of a few reconciles, as their echoes come within milliseconds. Their
 * order is not that of the writes, so the echoes that a run is told of may be those of any of them.
 */
export const mostVersions = 128

/** Why a loop is suspected. */
export type Reason = (typeof Metric.hotLoopReasons)[number]

/** Fields of an object that is reconciled (by its uid), or of a child of it: `place` is `Deployment default/shop`. */
export interface Place {
  readonly uid: string
  readonly place: string
}

/** A field, and a hash of the value that it is to have. */
export type Valued = readonly [field: string, hash: string]

/** What is remembered. All of it is synchronous. */
export interface HotLoop {
  /** Those of the fields whose next write will be the `limit`th within the window, or one after, and that were not told lately. */
  readonly due: (at: Place, fields: ReadonlyArray<string>, now: number, limit: number) => ReadonlyArray<string>
  /** Enters a write of these fields. */
  readonly wrote: (at: Place, fields: ReadonlyArray<string>, now: number) => void
  /** Enters the values that were written, so that writing the same again can be told from writing something new. */
  readonly valued: (at: Place, values: ReadonlyArray<Valued>) => void
  /** Those of the fields that had just this value when they were written last: somebody has undone it. */
  readonly undone: (at: Place, values: ReadonlyArray<Valued>) => ReadonlyArray<string>
  /**
   * Enters what is wanted of a place, and says whether just that was wanted before. Where it is something new, what was written
   * there so far counts no more.
   */
  readonly intends: (at: Place, intent: string) => boolean
  /** With another generation than the last time, nothing that was written for an object so far counts any more. */
  readonly generation: (uid: string, generation: number | undefined) => void
  /** Those of the fields that were not told for {@link silenceMillis}; from now on they are. If there are any, it counts as one loop. */
  readonly tell: (reason: Reason, at: Place, fields: ReadonlyArray<string>, now: number) => ReadonlyArray<string>
  /** Enters that a write of our own gave this resourceVersion, to whatever object. */
  readonly own: (uid: string, resourceVersion: string) => void
  /** Whether one did. */
  readonly isOwn: (uid: string, resourceVersion: string) => boolean
  /** Forgets an object that is gone. */
  readonly forget: (uid: string) => void
  /** Forgets all others: for when some may have gone unnoticed. */
  readonly retain: (uids: ReadonlySet<string>) => void
  /** How many objects are remembered. */
  readonly size: () => number
}

interface Field {
  readonly place: string
  readonly times: Array<number>
  value: string | undefined
  toldAt: number | undefined
}

interface Known {
  readonly fields: Map<string, Field>
  readonly versions: Array<string>
  generation: number | undefined
}

/** The entry of a key, which is the youngest from now on. */
const refresh = <A>(map: Map<string, A>, key: string, make: () => A, most: number): A => {
  const entry = map.get(key) ?? make()
  Bounded.put(map, key, entry, most)
  return entry
}

const isWithin = (field: string, whole: string): boolean =>
  field.startsWith(whole) && (field[whole.length] === "." || field[whole.length] === "[")

/**
 * An empty memory.
 *
 * @param count told of each loop that is told
 */
export const make = (count: (reason: Reason) => void = () => {}): HotLoop => {
  const objects = new Map<string, Known>()
  const keyOf = (place: string, field: string): string => `${place} ${field}`

  const object = (uid: string): Known =>
    refresh(objects, uid, () => ({ fields: new Map(), versions: [], generation: undefined }), mostObjects)
  const field = ({ place, uid }: Place, name: string): Field =>
    refresh(
      object(uid).fields,
      keyOf(place, name),
      () => ({ place, times: [], value: undefined, toldAt: undefined }),
      mostFields
    )
  const find = ({ place, uid }: Place, name: string): Field | undefined =>
    objects.get(uid)?.fields.get(keyOf(place, name))
  const isSilent = (entry: Field | undefined, now: number): boolean =>
    entry?.toldAt !== undefined && now - entry.toldAt < silenceMillis

  return {
    due: (at, fields, now, limit) =>
      fields.filter((name) => {
        const entry = find(at, name)
        const lately = entry?.times.filter((time) => now - time < windowMillis).length ?? 0
        return lately + 1 >= limit && !isSilent(entry, now)
      }),
    wrote: (at, fields, now) => {
      for (const name of fields) {
        const { times } = field(at, name)
        times.push(now)
        if (times.length > rewrites) times.shift()
      }
    },
    valued: (at, values) => {
      for (const [name, value] of values) {
        // Of a whole that is written anew the parts are new as well, and a whole of which a part is written is another one.
        for (const [key, entry] of object(at.uid).fields) {
          const other = key.slice(at.place.length + 1)
          if (entry.place === at.place && (isWithin(other, name) || isWithin(name, other))) entry.value = undefined
        }
        field(at, name).value = value
      }
    },
    undone: (at, values) => values.flatMap(([name, value]) => (find(at, name)?.value === value ? [name] : [])),
    intends: (at, intent) => {
      const whole = field(at, "")
      if (whole.value === intent) return true
      whole.value = intent
      for (const entry of object(at.uid).fields.values()) {
        if (entry.place === at.place) entry.times.length = 0
      }
      return false
    },
    generation: (uid, generation) => {
      const known = objects.get(uid)
      if (known === undefined || known.generation === generation) return
      const isFirst = known.generation === undefined
      known.generation = generation
      if (isFirst) return
      for (const { times } of known.fields.values()) times.length = 0
    },
    tell: (reason, at, fields, now) => {
      const news = fields.filter((name) => !isSilent(find(at, name), now))
      for (const name of news) field(at, name).toldAt = now
      if (news.length > 0) count(reason)
      return news
    },
    own: (uid, resourceVersion) => {
      const { versions } = object(uid)
      versions.push(resourceVersion)
      if (versions.length > mostVersions) versions.shift()
    },
    isOwn: (uid, resourceVersion) => objects.get(uid)?.versions.includes(resourceVersion) ?? false,
    forget: (uid) => {
      objects.delete(uid)
    },
    retain: (uids) => {
      for (const uid of objects.keys()) if (!uids.has(uid)) objects.delete(uid)
    },
    size: () => objects.size
  }
}
