/**
 * Explains why a controller reconciled an object or not. The first sentence of an explanation is the answer, and the facts for it
 * follow. Pure: `WhyGather` gathers the facts, and `WhyText` renders the explanation.
 */

import type { LastLoop } from "../../controller/HotLoop.ts"
import type { TriggerEvent } from "../../controller/Trigger.ts"
import type * as Admissions from "./Admissions.ts"
import { answerOf, type Verdict } from "./Answer.ts"
import { type ConditionFact, conditionsOf, dueOf, type Facts, observedOf } from "./Facts.ts"
import { setterOf, type Writer, writersOf } from "./Fields.ts"
import * as Health from "./Health.ts"
import type { Ignored, Run } from "./Journal.ts"
import { sentence, wordsOf } from "./Words.ts"

/** A trigger of the object. */
export interface Woken {
  readonly kind: TriggerEvent["kind"]
  readonly source: TriggerEvent["source"]
  /** Whether it is a write of this process. */
  readonly own: boolean
  readonly at: string
  /** In words. */
  readonly text: string
}

/** An answer of an admission webhook. Times are RFC 3339 with milliseconds. */
export type Reviewed = Omit<Admissions.Entry, "at" | "since"> & { readonly at: string; readonly since: string }

/** An explanation. Times are RFC 3339 with milliseconds. */
export interface Explanation {
  readonly verdict: Verdict
  /** For scripts: the exit code of the command. */
  readonly health: Health.Health
  /** The state of the object, as the metric `homeostat_objects` counts it. */
  readonly state: Facts["state"]
  /** One or two sentences. */
  readonly answer: string
  /** The next step, or a check. */
  readonly hints: ReadonlyArray<string>
  readonly at: string
  readonly object: {
    readonly kind: string
    readonly resource: string
    readonly namespace: string | undefined
    readonly name: string
    /** Whether the object exists; absent if the API server did not answer. */
    readonly exists: boolean | undefined
    /** Whether it is in the cache of this process. */
    readonly seen: boolean
    readonly uid: string | undefined
    readonly generation: number | undefined
    /** The observed generation in its status. */
    readonly observedGeneration: number | undefined
    readonly resourceVersion: string | undefined
    readonly createdAt: string | undefined
    readonly deletionRequestedAt: string | undefined
  }
  readonly conditions: ReadonlyArray<ConditionFact>
  /** The last hot loop, with times in RFC 3339. */
  readonly loop?: (Omit<LastLoop, "at" | "since"> & { readonly at: string; readonly since: string }) | undefined
  /** All finalizers that delay its deletion. `by`: the field manager that added one. */
  readonly finalizers: ReadonlyArray<{ readonly name: string; readonly ours: boolean; readonly by: string | undefined }>
  readonly next: { readonly at: string | undefined; readonly why: string } | undefined
  /** The triggers of the next run, or else those of the last run. */
  readonly wokenBy: { readonly waiting: boolean; readonly count: number; readonly triggers: ReadonlyArray<Woken> }
  /** Newest first. */
  readonly runs: ReadonlyArray<
    Omit<Run, "startedAt" | "finishedAt" | "since" | "triggers" | "next"> & {
      readonly startedAt: string
      readonly since: string
      readonly tookMillis: number
      /** The trace ID of the recording, for `replay`; absent if this process has none. */
      readonly recording?: string | undefined
      readonly triggers: ReadonlyArray<Woken>
    }
  >
  /** Newest first. */
  readonly ignored: ReadonlyArray<Omit<Ignored, "at"> & { readonly at: string; readonly own: boolean }>
  /** Answers of the admission webhooks about the object, newest first. */
  readonly webhooks: ReadonlyArray<Reviewed>
  readonly writers: ReadonlyArray<Writer>
  /** Its children, each with the other managers that write it. */
  readonly children: ReadonlyArray<{
    readonly kind: string
    readonly key: string
    readonly exists: boolean | undefined
    readonly others: ReadonlyArray<Writer>
  }>
  /** Why the API server did not answer, each reason once. */
  readonly unknown: ReadonlyArray<string>
  readonly controller: {
    readonly name: string
    readonly workers: number
    readonly busy: number | undefined
    readonly fieldManager: string
    readonly election: Facts["election"]
    readonly reachable: boolean
    readonly caches: Facts["caches"]
  }
}

const iso = (at: number): string => new Date(at).toISOString()

/** Answers of admission webhooks, newest first. */
export const reviewed = (entries: ReadonlyArray<Admissions.Entry>): ReadonlyArray<Reviewed> =>
  entries.toReversed().map((each) => ({ ...each, at: iso(each.at), since: iso(each.since) }))

/** The object of an explanation, for the words about its triggers. */
type Viewpoint = Pick<Facts, "isOwn" | "key" | "kind" | "recordingOf">

const wokenOf =
  (facts: Viewpoint) =>
  (fired: TriggerEvent): Woken => {
    const own = fired.source !== undefined && fired.kind !== "startup" && facts.isOwn(fired.source)
    return {
      kind: fired.kind,
      source: fired.source,
      own,
      at: iso(fired.at),
      text: `${wordsOf(fired, { ...facts.key, kind: facts.kind })}${own ? " by this controller" : ""}`
    }
  }

const nextOf = (facts: Facts, verdict: Verdict): Explanation["next"] => {
  const { entry, queue } = facts
  if (queue === undefined || Health.isOpen(verdict)) return undefined
  const stop = facts.election?.stop
  if (stop !== undefined) return { at: iso(stop.until), why: "when the stop of all writes ends" }
  const { position } = queue
  const last = entry?.runs.at(-1)
  const due = dueOf(facts)
  if (position._tag === "Ready") return { at: undefined, why: "as soon as a worker is free" }
  if (position._tag === "Processing" && due === undefined) {
    return { at: undefined, why: position.again ? "right after this run" : "nothing before something changes" }
  }
  if (due === undefined) return { at: undefined, why: "nothing before something changes" }
  const why =
    last?.outcome === "Failed" || last?.outcome === "Unreachable"
      ? `retry ${last.number}, as the last attempt failed`
      : last?.outcome === "Requeue"
        ? "as the controller requeued it"
        : "as the controller asked for"
  return { at: iso(due), why }
}

/**
 * The attempts of an object for an explanation, the newest first.
 *
 * @internal
 */
export const runsOf = (runs: ReadonlyArray<Run>, viewpoint: Viewpoint): Explanation["runs"] =>
  runs.toReversed().map(({ finishedAt, next, since, startedAt, triggers, ...run }) => {
    const recording = viewpoint.recordingOf?.(run.id)
    return {
      ...run,
      startedAt: iso(startedAt),
      since: iso(since),
      tookMillis: finishedAt - startedAt,
      ...(recording !== undefined && { recording }),
      triggers: triggers.map(wokenOf(viewpoint))
    }
  })

/** Explains the facts. */
export const explain = (facts: Facts): Explanation => {
  const { cached, controller, entry, key, live, now, queue } = facts
  const object = cached ?? (live._tag === "There" ? live.object : undefined)
  const stored = live._tag === "There" ? live.object : undefined
  const woken = wokenOf(facts)
  const waiting = (queue?.triggers ?? []).filter(({ kind }) => kind !== "given_up")
  const last = entry?.runs.at(-1)
  const { answer, hints = [], verdict } = answerOf(facts)
  const stale = facts.caches.flatMap(({ problem, synced }) => (synced && problem !== undefined ? [problem] : []))
  const unknown = [live, ...facts.children.map((child) => child.live)].flatMap((each) =>
    each._tag === "Unknown" ? [each.reason] : []
  )
  return {
    verdict,
    health: Health.of(verdict, facts.state),
    state: facts.state,
    answer,
    hints: [
      ...hints,
      ...(facts.election?.overlap === undefined ? [] : [sentence(`Beware: ${facts.election.overlap}`)]),
      ...new Set(stale.map((problem) => `What is known may be old: ${sentence(problem)}`))
    ],
    at: iso(now),
    object: {
      kind: facts.kind,
      resource: facts.resource,
      namespace: key.namespace,
      name: key.name,
      exists: live._tag === "Unknown" ? undefined : live._tag === "There",
      seen: cached !== undefined,
      uid: object?.metadata.uid,
      generation: object?.metadata.generation,
      observedGeneration: observedOf(cached),
      resourceVersion: object?.metadata.resourceVersion,
      createdAt: object?.metadata.creationTimestamp,
      deletionRequestedAt: object?.metadata.deletionTimestamp
    },
    conditions: conditionsOf(cached),
    ...(facts.loop !== undefined && { loop: { ...facts.loop, at: iso(facts.loop.at), since: iso(facts.loop.since) } }),
    finalizers: (object?.metadata.finalizers ?? []).map((name) => ({
      name,
      ours: controller.finalizers.includes(name),
      by: setterOf(stored, name)
    })),
    next: nextOf(facts, verdict),
    wokenBy:
      waiting.length > 0
        ? { waiting: true, count: waiting.length + (queue?.dropped ?? 0), triggers: waiting.map(woken) }
        : { waiting: false, count: last?.coalesced ?? 0, triggers: (last?.triggers ?? []).map(woken) },
    runs: runsOf(entry?.runs ?? [], facts),
    ignored: facts.ignored.toReversed().map((each) => ({ ...each, at: iso(each.at) })),
    webhooks: reviewed(facts.admissions),
    writers: stored === undefined ? [] : writersOf(stored),
    children: facts.children.map((child) => ({
      kind: child.kind,
      key: child.key,
      exists: child.live._tag === "Unknown" ? undefined : child.live._tag === "There",
      others:
        child.live._tag === "There"
          ? writersOf(child.live.object).filter(
              // Other managers usually write the status of a child.
              ({ manager, subresource }) => manager !== controller.fieldManager && subresource !== "status"
            )
          : []
    })),
    unknown: [...new Set(unknown)],
    controller: {
      name: controller.name,
      workers: controller.workers,
      busy: queue?.busy,
      fieldManager: controller.fieldManager,
      election: facts.election,
      reachable: facts.reachable,
      caches: facts.caches
    }
  }
}
