/**
 * Finds fields that are written again and again though nothing happened (the reason `rewrite` of `HotLoopDetector`) and children
 * that are created again and again after deletions (the reason `fight`), in the records of attempts.
 *
 * It counts the attempts that nothing woke but the echoes of the controller's own writes, or its own wish to run again within less
 * than {@link HotLoop.patientMillis}, and that changed something all the same. Retries do not count, as they back off, and a new
 * generation begins anew.
 */
import * as Effect from "effect/Effect"
import type { Exchange } from "../client/Exchange.ts"
import { FieldManager } from "../client/FieldManager.ts"
import { type KubernetesObject, keyString } from "../resource/KubernetesObject.ts"
import type { Attempt } from "./Attempt.ts"
import * as Drift from "./Drift.ts"
import * as HotLoop from "./HotLoop.ts"
import * as HotLoopReport from "./HotLoopReport.ts"

/**
 * Watches attempts for fields that are written again and again though nothing happened.
 *
 * @param isThere whether an object is there still: of one that went while it was reconciled nothing is to be remembered
 */
export const observer =
  (
    hotLoop: HotLoop.HotLoop,
    controller: {
      readonly fieldManager: string
      readonly isThere: (object: KubernetesObject) => boolean
    }
  ) =>
  (attempt: Attempt): Effect.Effect<void> =>
    Effect.suspend(() => {
      const { exchanges, object } = attempt
      if (exchanges.length === 0 || object === undefined || !controller.isThere(object)) return Effect.void
      const findings = [...rewritesOf(hotLoop, attempt, object), ...recreationsOf(hotLoop, attempt, object)]
      return findings.length === 0
        ? Effect.void
        : Effect.forEach(findings, (finding) => HotLoopReport.tellAfter(attempt, object, finding), {
            discard: true
          }).pipe(Effect.provideService(FieldManager, controller.fieldManager))
    })

const rewritesOf = (
  hotLoop: HotLoop.HotLoop,
  attempt: Attempt,
  object: KubernetesObject
): ReadonlyArray<HotLoopReport.Finding> => {
  const { finishedAt: now, generation } = attempt
  const { uid } = object.metadata
  const writes = attempt.exchanges.filter(({ write }) => write !== undefined && hasChanged(hotLoop, uid, write))
  if (writes.length === 0) return []
  for (const { write } of writes) if (write?.after !== undefined) hotLoop.own(uid, write.after)
  hotLoop.generation(uid, generation)
  if (!isSelfCaused(hotLoop, attempt, uid)) return []

  return Array.from(written(attempt, object, writes), ([place, fields]): HotLoopReport.Finding | undefined => {
    // Counted by itself: for a repair, a new intent is a reason to begin anew, and here it is what is looked for.
    const at = { uid, place: `rewritten ${place}` }
    const names = Array.from(fields)
    const due = hotLoop.due(at, names, now, HotLoop.rewrites)
    hotLoop.wrote(at, names, now)
    const news = hotLoop.report("rewrite", at, due, now)
    if (news.length === 0) return undefined
    const [was, values] = news.length > 1 ? ["were", "values that are"] : ["was", "a value that is"]
    const note = `${HotLoopReport.named(news, place)} ${was} written ${HotLoop.rewrites} times within ${HotLoopReport.seconds} s, though nothing woke controller ${attempt.controller} but itself: ${values} new each time, such as a time? Write ${news.length > 1 ? "them" : "it"} only when something else has changed.`
    return { reason: "rewrite", place, fields: news, manager: undefined, note }
  }).filter((finding) => finding !== undefined)
}

/** Children that are created again and again, because another manager deletes them. */
const recreationsOf = (
  hotLoop: HotLoop.HotLoop,
  { corrections, dropped, finishedAt: now, generation, triggers }: Attempt,
  object: KubernetesObject
): ReadonlyArray<HotLoopReport.Finding> =>
  corrections.flatMap(({ key, kind, reason }): ReadonlyArray<HotLoopReport.Finding> => {
    const isDeleted = ({ kind: fired, source }: Attempt["triggers"][number]): boolean =>
      fired === "owned.deleted" && source?.kind === kind && source.key === key
    if (reason !== "created" || (dropped === 0 && !triggers.some(isDeleted))) return []
    const { uid } = object.metadata
    const at = HotLoop.recreated(uid, kind, key)
    hotLoop.generation(uid, generation)
    const due = hotLoop.due(at, [HotLoop.recreatedField], now, HotLoop.repairs)
    hotLoop.wrote(at, [HotLoop.recreatedField, HotLoop.untold], now)
    const fields = hotLoop.report("fight", at, due, now)
    if (fields.length === 0) return []
    const place = `${kind} ${key}`
    const asker = `${object.kind ?? "the object"} ${keyString(object.metadata)}`
    const note = `${place} was deleted and created again ${HotLoop.repairs} times within ${HotLoopReport.seconds} s: another manager keeps deleting it; the API server's audit log says which. Either that manager stops deleting it, or ${asker} stops asking for it.`
    return [{ reason: "fight", place, fields, manager: undefined, note }]
  })

/** Of a write whose state before is not known, it shows in the version: that of a write before means that nothing changed. */
const hasChanged = (
  hotLoop: HotLoop.HotLoop,
  uid: string,
  { after, changed }: NonNullable<Exchange["write"]>
): boolean => changed ?? (after !== undefined && !hotLoop.isOwn(uid, after))

/** Runs that were asked for are as good as none that were caused, if they come at once: time that passes is a cause as well. */
const isSelfCaused = (hotLoop: HotLoop.HotLoop, { droppedNews, queuedAt, triggers }: Attempt, uid: string): boolean =>
  droppedNews === 0 &&
  triggers.every(
    ({ at, kind, source }) =>
      // An echo makes no delay end, so what was asked for is what was waited.
      (kind === "requeue_after" && queuedAt - at < HotLoop.patientMillis) ||
      (kind !== "startup" && source !== undefined && hotLoop.isOwn(uid, source.resourceVersion))
  )

/** What writes have changed: fields by place. */
const written = (
  attempt: Attempt,
  object: KubernetesObject,
  writes: ReadonlyArray<Exchange>
): ReadonlyMap<string, ReadonlySet<string>> => {
  const places = new Map<string, Set<string>>()
  const add = (place: string, fields: ReadonlyArray<string>): void => {
    const known = places.get(place) ?? new Set()
    for (const field of fields) known.add(field)
    if (known.size > 0) places.set(place, known)
  }
  for (const { request, write } of writes) {
    if (write === undefined) continue
    const key = request.namespace === undefined ? request.name : `${request.namespace}/${request.name}`
    const isItself = write.kind === attempt.kind && key === attempt.key
    if (write.verb === "patch") add(`${write.kind} ${key}`, patched(request, isItself ? Drift.json(object) : {}))
  }
  // An apply has the whole intent in its body; what of it was new is entered as a correction.
  for (const { fields, key, kind, reason } of attempt.corrections)
    if (reason === "intent") add(`${kind} ${key}`, fields)
  return places
}

/** The paths that a patch names and that were otherwise before. */
const patched = ({ body, headers }: Exchange["request"], before: Drift.Json): ReadonlyArray<string> => {
  // What a patch was sent with is what it was made of a moment ago: JSON.
  const patch: Drift.Json = body === undefined ? {} : (JSON.parse(body) as Drift.Json)
  if (Array.isArray(patch)) {
    const operations: ReadonlyArray<Drift.Json> = patch
    return operations.flatMap((operation) => (isOperation(operation) ? [pathOf(operation.path)] : []))
  }
  if (headers["content-type"]?.includes("merge-patch") !== true) return []
  return Drift.missing(patch, before).flatMap(({ have, path, want }) =>
    path === "metadata.resourceVersion" || (want === null && have === undefined) ? [] : [path]
  )
}

const isOperation = (value: Drift.Json): value is { readonly op: string; readonly path: string } =>
  typeof value === "object" && value !== null && "path" in value && "op" in value && value.op !== "test"

const pathOf = (pointer: string): string =>
  pointer.slice(1).replaceAll("/", ".").replaceAll("~1", "/").replaceAll("~0", "~")
