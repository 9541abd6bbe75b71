/**
 * The history of a controller's objects for `why`: the last attempts, ignored changes and deletions. It survives a lost Lease, and is
 * empty after a restart.
 *
 * It has two bounds: the number of attempts per object, and the bytes of all objects of a controller, by the length of each stored
 * text. The objects without news for the longest time keep only their last attempt, and are then evicted, see `Halves`.
 *
 * It stores only what `why` shows, never an object of the cluster.
 */
import type { Change } from "../../cache/Store.ts"
import type { Exchange } from "../../client/Exchange.ts"
import { type Attempt, messageOf, type Next, type Outcome } from "../../controller/Attempt.ts"
import type { Correction } from "../../controller/Reconciliation.ts"
import type { History } from "../../controller/Sources.ts"
import type { TriggerEvent } from "../../controller/Trigger.ts"
import * as Bounded from "../../resource/Bounded.ts"
import * as Halves from "../../resource/Halves.ts"
import { keyString } from "../../resource/KubernetesObject.ts"
import * as Text from "../../resource/Text.ts"
import * as Secrecy from "../../telemetry/Secrecy.ts"

/** A request that writes, whether it succeeded or not. */
export interface RecordedWrite {
  /** `apply`, `patch`, `create` and so on; for a failed request, the method in lower case. */
  readonly verb: string
  /** The kind, such as `Deployment`; for a failed request, the plural: `deployments`. */
  readonly what: string
  readonly key: string
  readonly subresource: string | undefined
  /** Whether the object changed; absent if that is not known. */
  readonly changed: boolean | undefined
  /** The tag of the `ApiError`, for a failed request. */
  readonly error: string | undefined
}

/** An attempt, or the last of several equal attempts in a row. Times are milliseconds of the Clock. */
export interface Run {
  /** The `reconcileID` of log lines. */
  readonly id: string
  readonly startedAt: number
  readonly finishedAt: number
  /** How long it waited for a worker. */
  readonly waitedMillis: number
  /** 1 for the first after a success; each failure or requeue in a row adds 1. */
  readonly number: number
  readonly uid: string | undefined
  readonly generation: number | undefined
  readonly resourceVersion: string | undefined
  readonly outcome: Outcome["_tag"]
  /** The error message of a failure. */
  readonly message: string | undefined
  readonly next: Next
  /** The newest triggers of the attempt, oldest first. */
  readonly triggers: ReadonlyArray<TriggerEvent>
  /** The number of all triggers. */
  readonly coalesced: number
  readonly writes: ReadonlyArray<RecordedWrite>
  /** The number of writes that `writes` omits. */
  readonly moreWrites: number
  readonly requests: number
  /** The differences that it corrected. */
  readonly corrections: ReadonlyArray<Correction>
  /** The trace of the attempt. `exported`: the trace was sent to a collector. */
  readonly trace: { readonly id: string; readonly exported: boolean } | undefined
  /** The number of equal attempts in a row. */
  readonly times: number
  /** When the first of them began. */
  readonly since: number
}

/** A change that a predicate ignored, or the last of several in a row for the same reason. */
export interface Ignored {
  readonly kind: TriggerEvent["kind"]
  readonly source: NonNullable<TriggerEvent["source"]>
  readonly uid: string
  readonly at: number
  /** The predicate and its reason. */
  readonly predicate: string
  readonly times: number
}

/** The history of one object. */
export interface ObjectHistory {
  /** Oldest first. */
  readonly runs: ReadonlyArray<Run>
  /** Ignored changes of the object itself, oldest first. */
  readonly ignored: ReadonlyArray<Ignored>
  readonly deleted: { readonly uid: string; readonly at: number } | undefined
}

/** The history of a controller's objects. All methods are synchronous. */
export interface Journal extends History {
  /** Removes the history of deleted objects, and ignored changes, after {@link retentionMillis}. */
  readonly expire: (now: number) => void
  readonly of: (key: string) => ObjectHistory | undefined
  /** The latest changes that a trigger's predicate ignored, oldest first. */
  readonly elsewhere: (trigger: object) => Iterable<Ignored>
  /** The number of objects, and the approximate bytes. */
  readonly size: () => { readonly keys: number; readonly bytes: number }
}

/** Attempts and ignored changes per object: enough for its recent history, and few enough to read. */
const mostRuns = 8
const mostIgnored = 3
/** Triggers and writes per attempt. */
const mostTriggers = 3
const mostWrites = 8
const mostCorrections = 4
const mostFields = 4
/** The longest stored message, in characters. */
const longest = 500
/** Ignored changes of other kinds, per trigger. */
const mostElsewhere = 200

/** Approximate bytes for the last eight attempts of some thousand objects of a controller. */
const youngCapacity = 4 * 1024 * 1024

/** Adds the bytes for the last attempt of 10,000 other objects. */
export const capacity = youngCapacity + 8 * 1024 * 1024

/** How long the history of a deleted object is kept, in ms: an hour, like Events. */
export const retentionMillis = 3_600_000

interface Page extends Halves.Weighed {
  runs: Array<Run>
  ignored: Array<Ignored>
  deleted: ObjectHistory["deleted"]
}

const none: ReadonlyArray<never> = []

/** The approximate bytes of a page, an attempt and so on, measured as the heap's growth over 100,000 of them, without long texts. */
const bytesOfPage = 200
const bytesOfRun = ({ corrections, message, triggers, writes }: Run): number => {
  let bytes = 300 + 200 * triggers.length + 150 * writes.length + 100 * corrections.length + Text.bytes(message)
  for (const { source } of triggers) bytes += Text.bytes(source?.key)
  for (const { key } of writes) bytes += Text.bytes(key)
  for (const { fields, key, manager } of corrections) {
    bytes += Text.bytes(key) + Text.bytes(manager)
    for (const field of fields) bytes += 30 + Text.bytes(field)
  }
  return bytes
}
const bytesOfIgnored = ({ predicate, source }: Ignored): number => 250 + Text.bytes(predicate) + Text.bytes(source.key)

/** Keeps only the last attempt of an object and its last trigger. Returns the remaining bytes. */
const shorten = (page: Page): number => {
  const last = page.runs.at(-1)
  const ignored = page.ignored.reduce((bytes, each) => bytes + bytesOfIgnored(each), 0)
  page.ignored = []
  if (last === undefined) return page.bytes - ignored
  const before = page.runs.reduce((bytes, run) => bytes + bytesOfRun(run), ignored)
  const run: Run = {
    ...last,
    triggers: last.triggers.slice(-1),
    writes: none,
    moreWrites: last.moreWrites + last.writes.length,
    corrections: none
  }
  page.runs = [run]
  return page.bytes - before + bytesOfRun(run)
}

/** An empty journal. */
export const make = (options: { readonly capacity?: number } = {}): Journal => {
  const elsewhere = new Map<object, Map<string, Ignored>>()
  /** The times of deletions, the earliest first. */
  const gone = new Map<string, number>()
  const most = options.capacity ?? capacity
  const pages = Halves.make<Page>(most, {
    young: (most * youngCapacity) / capacity,
    aged: shorten,
    dropped: (key) => gone.delete(key)
  })
  const open = (key: string): Page =>
    pages.open(key, () => ({ runs: [], ignored: [], deleted: undefined, bytes: bytesOfPage + Text.bytes(key) }))
  const grow = (page: Page, by: number): void => pages.weigh(page, page.bytes + by)

  return {
    record: (attempt) => {
      const page = open(attempt.key)
      const run = runOf(attempt)
      let by = bytesOfRun(run)
      const last = page.runs.at(-1)
      if (last !== undefined && isSame(last, run)) {
        by -= bytesOfRun(last)
        page.runs[page.runs.length - 1] = { ...run, times: last.times + 1, since: last.since }
      } else {
        page.runs.push(run)
        const dropped = page.runs.length > mostRuns ? page.runs.shift() : undefined
        if (dropped !== undefined) by -= bytesOfRun(dropped)
      }
      grow(page, by)
    },
    ignored: (key, kind, sourceKind, change, predicate) => {
      const page = open(key)
      const last = page.ignored.at(-1)
      const again = last !== undefined && last.predicate === Text.clip(predicate, longest) && last.kind === kind
      const ignored = ignoredOf(kind, sourceKind, change, predicate, again ? last.times + 1 : 1)
      const dropped = again ? page.ignored.pop() : page.ignored.length < mostIgnored ? undefined : page.ignored.shift()
      page.ignored.push(ignored)
      grow(page, bytesOfIgnored(ignored) - (dropped === undefined ? 0 : bytesOfIgnored(dropped)))
    },
    ignoredElsewhere: (trigger, kind, sourceKind, change, predicate) => {
      const sources = elsewhere.get(trigger) ?? new Map<string, Ignored>()
      elsewhere.set(trigger, sources)
      const key = keyString(change.object.metadata)
      const ignored = ignoredOf(kind, sourceKind, change, predicate, (sources.get(key)?.times ?? 0) + 1)
      Bounded.put(sources, key, ignored, mostElsewhere)
    },
    deleted: (key, uid, at) => {
      const page = open(key)
      page.deleted = { uid, at }
      gone.delete(key)
      gone.set(key, at)
      grow(page, 0)
    },
    expire: (now) => {
      for (const [key, at] of gone) {
        if (now - at < retentionMillis) break
        gone.delete(key)
        const page = pages.get(key)
        const uid = page?.runs.at(-1)?.uid
        // A new object with this name exists.
        if (page !== undefined && uid !== undefined && uid !== page.deleted?.uid) page.deleted = undefined
        else pages.delete(key)
      }
      for (const sources of elsewhere.values()) {
        for (const [key, { at }] of sources) {
          if (now - at < retentionMillis) break
          sources.delete(key)
        }
      }
    },
    of: pages.get,
    elsewhere: (trigger) => elsewhere.get(trigger)?.values() ?? [],
    size: pages.size
  }
}

const ignoredOf = (
  kind: TriggerEvent["kind"],
  sourceKind: string,
  { object: { metadata }, receivedAt }: Change,
  predicate: string,
  times: number
): Ignored => ({
  kind,
  source: { kind: sourceKind, key: keyString(metadata), resourceVersion: metadata.resourceVersion },
  uid: metadata.uid,
  at: receivedAt,
  predicate: Text.clip(predicate, longest),
  times
})

/** Whether the journal can keep the second attempt alone: neither wrote anything, and both had the same outcome. */
const isSame = (before: Run, after: Run): boolean =>
  before.outcome === after.outcome &&
  before.message === after.message &&
  before.uid === after.uid &&
  before.generation === after.generation &&
  before.next._tag === after.next._tag &&
  !before.writes.some(isNews) &&
  !after.writes.some(isNews)

/** The error message already shows a write that fails repeatedly. */
const isNews = ({ changed, error }: RecordedWrite): boolean => error === undefined && changed !== false

const messageOfOutcome = ({ outcome, secrets }: Pick<Attempt, "secrets" | "outcome">): string | undefined =>
  "error" in outcome
    ? Secrecy.masked(secrets.hide(messageOf(outcome.error)), longest).replaceAll(/(?<!\s)\s*\n\s*/g, " ")
    : undefined

const isWrite = ({ request, write }: Exchange): boolean => write !== undefined || request.method !== "GET"

/** Plural and subresource in the template of a path. */
const resourceIn = /\/([^/{}]+)(?:\/\{name\}(?:\/([^/{}]+))?)?$/

const writeOf = ({ error, request, write }: Exchange): RecordedWrite => {
  const { name = "", namespace } = request
  const [, plural = request.template, subresource] = resourceIn.exec(request.template) ?? []
  return {
    verb: write?.verb ?? request.method.toLowerCase(),
    what: write?.kind ?? plural,
    key: keyString({ namespace, name }),
    subresource: write === undefined ? subresource : write.subresource,
    changed: write?.changed,
    error
  }
}

const named = (field: string): string => Text.clip(field, Text.longestName)

const runOf = (attempt: Attempt): Run => {
  const writes = attempt.exchanges.length === 0 ? none : attempt.exchanges.filter(isWrite)
  const { corrections, outcome, root, triggers } = attempt
  return {
    id: attempt.id,
    startedAt: attempt.startedAt,
    finishedAt: attempt.finishedAt,
    waitedMillis: attempt.startedAt - attempt.queuedAt,
    number: attempt.number,
    uid: attempt.uid,
    generation: attempt.generation,
    resourceVersion: attempt.resourceVersion,
    outcome: outcome._tag,
    message: messageOfOutcome(attempt),
    next: attempt.next,
    triggers: triggers.length <= mostTriggers ? triggers : triggers.slice(-mostTriggers),
    coalesced: triggers.length + attempt.dropped,
    writes: writes.length === 0 ? none : writes.slice(0, mostWrites).map(writeOf),
    moreWrites: Math.max(0, writes.length - mostWrites),
    requests: attempt.requests,
    corrections:
      corrections.length === 0
        ? none
        : corrections
            .slice(0, mostCorrections)
            .map((each) => ({ ...each, fields: each.fields.slice(0, mostFields).map(named) })),
    trace: root === undefined ? undefined : { id: root.traceId, exported: root.recording.exported },
    times: 1,
    since: attempt.startedAt
  }
}
