/**
 * The worst fact about an object that this process reconciles. It leads the answer, because an attempt without an error says little: the
 * attempts of a fight have none, and an object that its controller can only report on has none either.
 */
import * as HotLoop from "../../controller/HotLoop.ts"
import { isPaused } from "../../resource/PauseAnnotation.ts"
import { type ConditionFact, conditionsOf, type Facts, named } from "./Facts.ts"
import { past, span } from "./Time.ts"
import { listed, nameIn, sentence } from "./Words.ts"

/** The facts that can lead, the worst first. A failing attempt and a deletion say more than each of them, and lead by themselves. */
export const all = ["fight", "loop", "not-ready", "drift", "paused"] as const

/** A fact that can lead. */
export type Trouble = (typeof all)[number]

/** An answer that begins with a trouble. */
export interface Found {
  readonly verdict: Trouble
  /** One or two sentences. */
  readonly answer: string
  readonly hints?: ReadonlyArray<string>
}

/** How long a correction leads, in ms. */
export const recentMillis = HotLoop.recentMillis

/** The condition that says why an object is not ready. */
const reasonOf = (conditions: ReadonlyArray<ConditionFact>): ConditionFact | undefined =>
  conditions.find(({ status, type }) => type === "Stalled" && status === "True") ??
  conditions.find(({ type }) => type === "Ready")

/** `its condition Ready has been False for 3m: Rollout: 1 of 3 ready.` */
const words = ({ lastTransitionTime, message, reason, status, type }: ConditionFact, now: number): string => {
  const since = Date.parse(lastTransitionTime)
  const age = Number.isNaN(since) ? "" : ` for ${span(now - since)}`
  return `its condition ${type} has been ${status}${age}: ${[reason, message].filter((text) => text !== "").join(": ")}`
}

const ofLoop = (facts: Facts, isFight: boolean): Found | undefined => {
  const { loop, now } = facts
  if (loop === undefined || loop.reason === "altered" || (loop.reason === "fight") !== isFight) return undefined
  if (now - loop.at >= HotLoop.recentMillis) return undefined
  const what = isFight
    ? `${named(facts)} is in a fight with ${loop.manager ?? "another manager"}`
    : `Controller ${facts.controller.name} writes ${named(facts)} to no effect`
  return { verdict: isFight ? "fight" : "loop", answer: `${what}, last ${past(loop.at, now)}: ${sentence(loop.note)}` }
}

const notReady = (facts: Facts): Found | undefined => {
  const condition = reasonOf(conditionsOf(facts.cached))
  const isReady = condition === undefined || (condition.type === "Ready" && condition.status === "True")
  return isReady
    ? undefined
    : { verdict: "not-ready", answer: sentence(`${named(facts)} is not ready: ${words(condition, facts.now)}`) }
}

const drift = (facts: Facts): Found | undefined => {
  const { entry, kind, key, now } = facts
  const repaired = (entry?.runs ?? []).flatMap(({ corrections, finishedAt }) =>
    now - finishedAt < recentMillis
      ? corrections.flatMap((each) => (each.reason === "drift" ? [{ ...each, at: finishedAt }] : []))
      : []
  )
  const last = repaired.at(-1)
  if (last === undefined) return undefined
  const what = last.fields.length === 0 ? "" : `${listed(last.fields)} of `
  const times = repaired.filter((each) => each.kind === last.kind && each.key === last.key).length
  const often = times > 1 ? ` (${times} times in ${span(recentMillis)})` : ""
  return {
    verdict: "drift",
    answer: `${last.manager ?? "Another manager"} changed ${what}${nameIn(last, { ...key, kind })}, and controller ${facts.controller.name} put it back ${past(last.at, now)}${often}.`,
    hints: [
      last.manager === undefined
        ? `The API server's audit log names the manager. Either it stops, or ${named(facts)} asks for what it wants.`
        : `Either ${last.manager} stops, or ${named(facts)} asks for what it wants.`
    ]
  }
}

/** A pause by the controller's own means, such as `spec.suspend`. A pause by annotation has an answer of its own. */
const ofPause = (facts: Facts): Found | undefined => {
  const { cached } = facts
  const ready = conditionsOf(cached).find(({ type }) => type === "Ready")
  if (facts.state !== "Paused" || cached === undefined || ready === undefined || isPaused(cached)) return undefined
  return { verdict: "paused", answer: sentence(`${named(facts)} is paused: ${words(ready, facts.now)}`) }
}

const rules: { readonly [trouble in Trouble]: (facts: Facts) => Found | undefined } = {
  fight: (facts) => ofLoop(facts, true),
  loop: (facts) => ofLoop(facts, false),
  "not-ready": (facts) => (facts.state === "Paused" ? undefined : notReady(facts)),
  drift,
  paused: ofPause
}

/** The worst trouble; undefined if there is none. */
export const worst = (facts: Facts): Found | undefined => {
  for (const trouble of all) {
    const found = rules[trouble](facts)
    if (found !== undefined) return found
  }
  return undefined
}
