/** Whether an object is healthy, for scripts: the exit code of `why`. */
import type { State } from "../../resource/ObjectState.ts"
import type { Verdict } from "./Answer.ts"

/** `unknown`: this process cannot say. */
export type Health = "healthy" | "unhealthy" | "unknown"

/** The exit codes of the command. 1 and 2 are those of all commands: an error, and an invalid command line. */
export const exitCodes: { readonly [health in Health]: number } = { healthy: 0, unhealthy: 3, unknown: 4 }

/** The header of an answer that has the health of the object. */
export const header = "homeostat-health"

/** The exit code for the value of {@link header}. Managers before 0.2 do not send it: 0. */
export const codeOf = (value: string | null): number =>
  value === "unhealthy" || value === "unknown" ? exitCodes[value] : 0

/** The verdicts that leave the state of the object open, and its next run too. */
const unknown: ReadonlyArray<Verdict> = [
  "absent",
  "denied",
  "deleted",
  "out-of-scope",
  "standby",
  "cache-not-synced",
  "not-seen-yet",
  "unreachable"
]

/** The verdicts about an object that is not healthy, whatever its conditions say. */
const unhealthy: ReadonlyArray<Verdict> = [
  "fight",
  "loop",
  "backoff",
  "failed-permanently",
  "given-up",
  "crd-narrowed",
  "writes-stopped",
  "deletion-blocked",
  "deleting"
]

/** Whether this process cannot say anything about the object. */
export const isOpen = (verdict: Verdict): boolean => unknown.includes(verdict)

/** The health of an object with this verdict. */
export const of = (verdict: Verdict, state: State): Health => {
  if (isOpen(verdict)) return "unknown"
  if (unhealthy.includes(verdict)) return "unhealthy"
  return state === "Ready" ? "healthy" : state === "Unknown" ? "unknown" : "unhealthy"
}

/** The worst of several: an object that some controller cannot answer for is not known to be healthy. */
export const worst = (all: ReadonlyArray<Health>): Health =>
  all.includes("unhealthy") ? "unhealthy" : all.length === 0 || all.includes("unknown") ? "unknown" : "healthy"
