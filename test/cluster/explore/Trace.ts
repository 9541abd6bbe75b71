/** The requests and attempts of a world, for the message of a violation. */

import type { Attempt } from "@homeostat/runtime/controller/Attempt"
import * as Attempts from "../Attempts.ts"
import { askedOf } from "../RequestMatch.ts"
import type { Witness } from "./Evidence.ts"
import * as Fold from "./Fold.ts"
import * as Wire from "./Wire.ts"
import type * as World from "./World.ts"

/** The maximum length of a request body in a line. */
const longestBody = 160

/** Returns the key of the object of a request: `default/shop`. */
export const keyOf = ({ name, namespace }: Wire.Sent["asked"]): string =>
  namespace === "" ? name : `${namespace}/${name}`

/** Whether a key is the name of one object, and not a mask for generated names. */
const exact = (object: string): boolean => !/[*<]/.test(object)

const lineOf = (sent: Wire.Sent): Fold.Line => {
  const { at, body, process, stale, status } = sent
  const content = body === undefined ? "" : ` ${body.slice(0, longestBody)}${body.length > longestBody ? "…" : ""}`
  const old = stale.length === 0 ? "" : ` (stale: ${stale.join(", ")})`
  const same = `${process} ${Wire.textOf(sent)} → ${status ?? "no answer"}`
  return { at, same, text: `${same}${old}${content}` }
}

const lineOfAttempt = ({ controller, finishedAt, key, outcome, resourceVersion, triggers }: Attempt): Fold.Line => {
  const same = `${controller} ${key}: ${outcome._tag}`
  const version = `cached resourceVersion ${resourceVersion ?? "none"}`
  return { at: finishedAt, same, text: `${same} (${[version, ...triggers.map(({ kind }) => kind)].join(", ")})` }
}

/** Whether a request belongs to an attempt. */
const isIn = ({ finishedAt, startedAt }: Attempt, paths: ReadonlySet<string>, { at, path }: Wire.Sent): boolean =>
  at >= startedAt && at <= finishedAt && paths.has(path)

/** The input of a trace. */
export interface Course {
  /** The requests since the start of the step. */
  readonly sent: ReadonlyArray<Wire.Sent>
  readonly attempts: ReadonlyArray<Attempt>
  /** The number of requests before the end of an attempt. */
  readonly requestsBefore: ReadonlyMap<Attempt, number>
}

/** Returns the evidence of a course since a time, in epoch milliseconds. */
export const ofCourse =
  ({ attempts, requestsBefore, sent }: Course, since: number): Witness =>
  (objects = []) => {
    const recent = attempts.filter(({ startedAt }) => startedAt >= since)
    const keys = new Set(objects)
    const isAbout = ({ exchanges, key }: Attempt) =>
      keys.has(key) || exchanges.some(({ request }) => keys.has(keyOf(askedOf(request))))
    const own = objects.every(exact) ? recent.filter(isAbout) : []
    const shown = own.length === 0 ? recent : own
    const parts = own.map(
      (attempt) => [attempt, new Set(attempt.exchanges.map(({ request }) => request.path))] as const
    )
    const isShown = (one: Wire.Sent) =>
      own.length === 0 || keys.has(keyOf(one.asked)) || parts.some(([attempt, paths]) => isIn(attempt, paths, one))
    const placed = [
      ...sent.flatMap((one, index) => (isShown(one) ? [{ place: index, line: lineOf(one) }] : [])),
      ...shown.map((attempt) => ({ place: (requestsBefore.get(attempt) ?? 0) - 0.5, line: lineOfAttempt(attempt) }))
    ]
    const lines = placed.sort((one, other) => one.place - other.place).map(({ line }) => line)
    const journal = Attempts.make()
    for (const attempt of shown) journal.record(attempt)
    const now = Math.max(since, ...lines.map(({ at }) => at))
    return { trace: Fold.of(lines, since), why: journal.describe(undefined, now) }
  }

/** Returns the evidence of a world since a time, in epoch milliseconds. */
export const of = ({ attempts, director, requestsBefore }: World.World, since: number): Witness => {
  // The evidence ends here, although later attempts and the answers to requests of a dead process may follow.
  const sent = director.sent.map((one) => ({ ...one }))
  return ofCourse({ attempts: [...attempts], requestsBefore, sent }, since)
}

/** Returns the evidence of the requests before a crash. */
export const untilCrash = (sent: ReadonlyArray<Wire.Sent>, since: number): Witness =>
  ofCourse({ attempts: [], requestsBefore: new Map(), sent }, since)

/** Joins the evidence of two courses, with a line between them. */
export const joined =
  (before: Witness, line: string, after: Witness): Witness =>
  (objects) => {
    const { trace, why } = after(objects)
    return { trace: [...before(objects).trace, line, ...trace], why }
  }
