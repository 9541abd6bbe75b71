/** The requests and attempts of a world as lines in the order of their times. */

import * as Wire from "./Wire.ts"
import type * as World from "./World.ts"

/** How much of a request's body a line shows. */
const longestBody = 160

const clock = (millis: number): string => {
  const seconds = Math.max(0, millis) / 1000
  return `${String(Math.floor(seconds / 60)).padStart(2, "0")}:${(seconds % 60).toFixed(3).padStart(6, "0")}`
}

/** The lines since a time, in epoch milliseconds. */
export const of = ({ attempts, director }: World.World, since: number): ReadonlyArray<string> => {
  const requests = director.sent.map((sent) => {
    const { at, body, process, status } = sent
    const content = body === undefined ? "" : ` ${body.slice(0, longestBody)}${body.length > longestBody ? "…" : ""}`
    return { at, text: `${process} ${Wire.textOf(sent)} → ${status ?? "no answer"}${content}` }
  })
  const ended = attempts
    .filter(({ startedAt }) => startedAt >= since)
    .map(({ controller, finishedAt, key, outcome, resourceVersion, triggers }) => ({
      at: finishedAt,
      text: `${controller} ${key}: ${outcome._tag} (cached resourceVersion ${resourceVersion ?? "none"}, ${triggers.map(({ kind }) => kind).join(", ")})`
    }))
  return [...requests, ...ended]
    .sort((one, other) => one.at - other.at)
    .map(({ at, text }) => `${clock(at - since)} ${text}`)
}
