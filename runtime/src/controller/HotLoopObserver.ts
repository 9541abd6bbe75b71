/**
 * Finds hot loops in the records of attempts and reports them. The controller continues as before.
 *
 * When the reconciled object is suspicious (see `HotLoop`), the observer counts for each field of each written object:
 *
 * - `fight`: the attempt wrote the value that the write before it had written. Another manager has changed the field between them, or has
 *   deleted a child that was created again.
 * - `rewrite`: only the attempt's own writes triggered it, or its own request to run again in less than {@link patientMillis}.
 * - `altered`: the answer to a write has another value than was sent, and not the same value in another notation. The object need not be suspicious.
 *
 * It does not count writes that change nothing. A new generation begins with no counts. Retries do not count as rewrites, because they
 * back off.
 */
import * as Effect from "effect/Effect"
import type { Exchange } from "../client/Exchange.ts"
import { FieldManager } from "../client/FieldManager.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import type { Attempt } from "./Attempt.ts"
import * as Drift from "./Drift.ts"
import * as HotLoop from "./HotLoop.ts"
import * as HotLoopReport from "./HotLoopReport.ts"
import * as OwnWrites from "./OwnWrites.ts"

/** A controller that requeues after this time, in ms, may write progress each time. */
export const patientMillis = 1000

/** The controller whose attempts are observed. */
interface Observed {
  readonly fieldManager: string
  /** The latest own writes, without those of the attempt. */
  readonly writes: OwnWrites.OwnWrites
  /** Whether an object still exists: the memory drops an object that was deleted during its reconcile. */
  readonly isThere: (object: KubernetesObject) => boolean
  /** Called for each loop. */
  readonly found: (reason: HotLoop.Reason) => void
}

/** Finds and reports loops. */
export const observer =
  (hotLoop: HotLoop.HotLoop, controller: Observed) =>
  (attempt: Attempt): Effect.Effect<void> => {
    const { exchanges, object } = attempt
    if (exchanges.length === 0 || object === undefined || !controller.isThere(object)) return Effect.void
    const findings = findingsOf(hotLoop, controller, attempt, object)
    for (const finding of findings) {
      controller.found(finding.reason)
      if (finding.isQuiet !== true) hotLoop.found(object.metadata.uid, finding, attempt.finishedAt)
    }
    return findings.length === 0
      ? Effect.void
      : Effect.forEach(findings, (finding) => HotLoopReport.report(attempt, object, finding), { discard: true }).pipe(
          Effect.provideService(FieldManager, controller.fieldManager)
        )
  }

/** Whether an earlier attempt for the same object wrote this version of an object. */
type IsOwn = (version: Parameters<OwnWrites.OwnWrites["find"]>[0]) => boolean

const findingsOf = (
  hotLoop: HotLoop.HotLoop,
  { fieldManager, writes: known }: Observed,
  attempt: Attempt,
  object: KubernetesObject
): ReadonlyArray<HotLoopReport.Finding> => {
  const { changes, finishedAt: now } = attempt
  const { uid } = object.metadata
  const key = OwnWrites.hash(attempt.key)
  const isOwn: IsOwn = (version) => known.find(version)?.key === key
  const writes = attempt.exchanges.filter(({ write }) => write !== undefined && hasChanged(write, isOwn))
  if (writes.length === 0) return []
  const altered = changes.flatMap((change) =>
    change.altered === undefined ? [] : [HotLoopReport.altered(change.place, change.altered, fieldManager)]
  )
  if (!hotLoop.wrote(uid, attempt.generation, now)) return altered

  const isAlone = isSelfCaused(attempt, isOwn)
  const loops = [...changes, ...patches(attempt, object, writes)].flatMap(({ place, seen, written }) => {
    const entries = written()
    const repeated = hotLoop.repeated(uid, place, entries)
    const fields = isAlone ? entries.flatMap(([field]) => (field === HotLoop.existence ? [] : [field])) : repeated
    const news = hotLoop.count(uid, isAlone ? "rewrite" : "fight", place, fields, now)
    if (news.length === 0) return []
    return isAlone
      ? [HotLoopReport.rewritten(place, news, attempt.controller)]
      : HotLoopReport.fights(object, place, news, seen, fieldManager)
  })
  return [...altered, ...loops]
}

/** Whether a write changed nothing. If the state before is unknown, the resourceVersion of an earlier write shows it. */
const hasChanged = ({ after, changed, uid }: NonNullable<Exchange["write"]>, isOwn: IsOwn): boolean =>
  changed ?? (after !== undefined && !isOwn({ uid, resourceVersion: after }))

/** Whether only the attempts themselves triggered this one. A long delay counts as a cause too. */
const isSelfCaused = ({ droppedNews, triggers }: Attempt, isOwn: IsOwn): boolean =>
  droppedNews === 0 &&
  triggers.every(
    ({ afterMillis, kind, source }) =>
      // An echo may have ended the delay, but only once.
      (afterMillis !== undefined && afterMillis < patientMillis) ||
      (kind !== "startup" && source !== undefined && isOwn(source))
  )

/** The patches and deletions that the reconcile sent without `Owned` and `Status`. A creation after a deletion repeats nothing. */
const patches = (
  { changes, key, kind }: Attempt,
  object: KubernetesObject,
  writes: ReadonlyArray<Exchange>
): ReadonlyArray<HotLoop.Change> => {
  const entered = new Set(changes.map(({ place }) => place))
  return writes.flatMap(({ request, write }): ReadonlyArray<HotLoop.Change> => {
    const name = request.namespace === undefined ? request.name : `${request.namespace}/${request.name}`
    const place = `${write?.kind} ${name}`
    if (entered.has(place) || (write?.verb !== "patch" && write?.verb !== "delete")) return []
    const before = place === `${kind} ${key}` ? Drift.json(object) : {}
    return [{ place, written: () => (write.verb === "patch" ? patched(request, before) : []) }]
  })
}

/** The paths that a patch changed, with the values. */
const patched = ({ body, headers }: Exchange["request"], before: Drift.Json): ReadonlyArray<HotLoop.WrittenField> => {
  // The fields of a patch are those of a moment ago: JSON.
  const patch: Drift.Json = body === undefined ? {} : (JSON.parse(body) as Drift.Json)
  const values: ReadonlyArray<readonly [string, Drift.Json | undefined]> = Array.isArray(patch)
    ? patch.flatMap((operation: Drift.Json) =>
        Drift.isRecord(operation) && typeof operation.path === "string" && operation.op !== "test"
          ? [[pathOf(operation.path), operation.value] as const]
          : []
      )
    : headers["content-type"]?.includes("merge-patch") === true
      ? Drift.missing(patch, before).flatMap(({ have, path, want }) =>
          want === null && have === undefined ? [] : [[path, want] as const]
        )
      : []
  return values.flatMap(([path, value]) =>
    path === "metadata.resourceVersion" ? [] : [[path, JSON.stringify(value) ?? ""] as const]
  )
}

const pathOf = (pointer: string): string =>
  pointer.slice(1).replaceAll("/", ".").replaceAll("~1", "/").replaceAll("~0", "~")
