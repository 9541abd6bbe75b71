/**
 * What a controller remembers of its writes in order to notice that they lead nowhere: a field that is put back again and again
 * because somebody else keeps changing it, and one that is written again and again though nothing has happened.
 *
 * Plain state, bounded in bytes ({@link capacity}); the objects written longest ago are forgotten first. It keeps hashes of names and
 * values, never a text, and times only of fields that were put back: most writes are one of a kind. It outlives the terms of a leader,
 * so that the detector does not report a loop twice within a moment. Times are milliseconds of the Clock.
 */
import * as Halves from "../resource/Halves.ts"
import * as Hashed from "../resource/Hashed.ts"
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

/** Bytes of a controller's memory, about: some 8,000 objects of which a status with twelve fields was written. */
export const capacity = 8 * 1024 * 1024

/** How many fields of a place are remembered. */
export const mostFields = 64

/** How many places of an object are remembered. */
const mostPlaces = 128

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

/** Where the creations of a child are counted that followed its deletion: as {@link recreatedField} and as {@link untold}. */
export const recreated = (uid: string, kind: string, key: string): Place => ({ uid, place: `recreated ${kind} ${key}` })

/** The field that differs between an object and the next of its name. */
export const recreatedField = "metadata.uid"

/** The name of a count that no report silences. */
export const untold = ""

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
  readonly report: (reason: Reason, at: Place, fields: ReadonlyArray<string>, now: number) => ReadonlyArray<string>
  /** Enters that a write of our own gave this resourceVersion, to whatever object. */
  readonly own: (uid: string, resourceVersion: string) => void
  /** Whether one did. */
  readonly isOwn: (uid: string, resourceVersion: string) => boolean
  /** Forgets an object that is gone. */
  readonly forget: (uid: string) => void
  /** Forgets all others: for when some may have gone unnoticed. */
  readonly retain: (uids: ReadonlySet<string>) => void
  /** How many objects are remembered, and what that takes, about. */
  readonly size: () => { readonly objects: number; readonly bytes: number }
}

interface Field extends Hashed.Hashed {
  /** A hash of what was written last; 0 where that is not known any more. */
  value: number
  /** When, as a number that grows with each value that is written to the place. */
  writtenAs: number
  times: ReadonlyArray<number> | undefined
  toldAt: number | undefined
}

interface Part extends Hashed.Hashed {
  readonly fields: Array<Field>
  writes: number
}

interface Known extends Halves.Weighed {
  readonly places: Array<Part>
  readonly versions: Array<number>
  generation: number | undefined
}

/** The approximate bytes of an object, a place and so on, measured as the heap's growth over 10,000 of them. */
const bytesOf = ({ places, versions }: Known): number => {
  let bytes = 300 + 8 * versions.length
  for (const { fields } of places) {
    bytes += 150 + 100 * fields.length
    for (const { times } of fields) if (times !== undefined) bytes += 120
  }
  return bytes
}

const field = (part: Part, name: string): Field =>
  Hashed.refresh(
    part.fields,
    name,
    (hash) => ({ name: hash, value: 0, writtenAs: 0, times: undefined, toldAt: undefined }),
    mostFields
  )

const isSilent = (entry: Field | undefined, now: number): boolean =>
  entry?.toldAt !== undefined && now - entry.toldAt < silenceMillis

const unwrite = ({ fields }: Part): void => {
  for (const entry of fields) entry.times = undefined
}

/**
 * An empty memory.
 *
 * @param count told of each loop that is told
 */
export const make = (count: (reason: Reason) => void = () => {}, most: number = capacity): HotLoop => {
  const objects = Halves.make<Known>(most)

  /** Changes what is known of an object. */
  const change = (uid: string, by: (known: Known) => void): void => {
    const known = objects.open(uid, () => ({ places: [], versions: [], generation: undefined, bytes: 0 }))
    by(known)
    objects.weigh(known, bytesOf(known))
  }
  const changePart = ({ place, uid }: Place, by: (part: Part) => void): void =>
    change(uid, ({ places }) =>
      by(Hashed.refresh(places, place, (name) => ({ name, fields: [], writes: 0 }), mostPlaces))
    )
  const fieldsOf = ({ place, uid }: Place): ReadonlyArray<Field> =>
    Hashed.find(objects.get(uid)?.places ?? [], place)?.fields ?? []

  return {
    due: (at, names, now, limit) => {
      const fields = fieldsOf(at)
      return names.filter((name) => {
        const entry = Hashed.find(fields, name)
        const lately = entry?.times?.filter((time) => now - time < windowMillis).length ?? 0
        return lately + 1 >= limit && !isSilent(entry, now)
      })
    },
    wrote: (at, names, now) =>
      changePart(at, (part) => {
        for (const name of names.slice(0, mostFields)) {
          const entry = field(part, name)
          entry.times = [...(entry.times ?? []), now].slice(-rewrites)
        }
      }),
    valued: (at, values) =>
      changePart(at, (part) => {
        for (const [name, value] of values.slice(0, mostFields)) {
          const hashes = Hashed.path(name)
          // A whole of which a part is written is another one.
          for (const entry of part.fields) if (hashes.includes(entry.name)) entry.value = 0
          const entry = field(part, name)
          entry.value = Hashed.of(value)
          entry.writtenAs = ++part.writes
        }
      }),
    undone: (at, values) => {
      const fields = fieldsOf(at)
      return values.flatMap(([name, value]) => {
        const entry = Hashed.find(fields, name)
        if (entry?.value !== Hashed.of(value)) return []
        const hashes = Hashed.path(name)
        // A write of the whole has renewed its parts.
        const isOver = fields.some((other) => other.writtenAs > entry.writtenAs && hashes.includes(other.name))
        return isOver ? [] : [name]
      })
    },
    intends: (at, intent) => {
      const value = Hashed.of(intent)
      const isSame = Hashed.find(fieldsOf(at), "")?.value === value
      changePart(at, (part) => {
        field(part, "").value = value
        if (!isSame) unwrite(part)
      })
      return isSame
    },
    generation: (uid, generation) => {
      const known = objects.get(uid)
      if (known === undefined || known.generation === generation) return
      const isFirst = known.generation === undefined
      known.generation = generation
      if (!isFirst) known.places.forEach(unwrite)
    },
    report: (reason, at, names, now) => {
      const fields = fieldsOf(at)
      const news = names.slice(0, mostFields).filter((name) => !isSilent(Hashed.find(fields, name), now))
      if (news.length === 0) return news
      changePart(at, (part) => {
        for (const name of news) field(part, name).toldAt = now
      })
      count(reason)
      return news
    },
    own: (uid, resourceVersion) =>
      change(uid, ({ versions }) => {
        versions.push(Hashed.of(resourceVersion))
        if (versions.length > mostVersions) versions.shift()
      }),
    isOwn: (uid, resourceVersion) => objects.get(uid)?.versions.includes(Hashed.of(resourceVersion)) ?? false,
    forget: (uid) => {
      objects.delete(uid)
    },
    retain: (uids) => {
      for (const uid of objects.keys()) if (!uids.has(uid)) objects.delete(uid)
    },
    size: () => {
      const { bytes, keys } = objects.size()
      return { objects: keys, bytes }
    }
  }
}
