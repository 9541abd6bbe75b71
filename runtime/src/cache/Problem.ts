/**
 * What keeps a copy from being current, sorted by what to do about it.
 */
import { type ApiError, askedMillis } from "../client/ApiError.ts"
import * as Resource from "../resource/Resource.ts"

/**
 * - `expired`: the resourceVersion or the token is too old (or cannot be right): ask for the present state
 * - `missing`: the kind is not served
 * - `denied`: no permission, or no valid credentials
 * - `refused`: the server does not understand the request
 * - `throttled`: the server asks to be left alone
 * - `unreachable`: no answer
 * - `unavailable`: any other failure of the server
 */
export type Kind = "expired" | "missing" | "denied" | "refused" | "throttled" | "unreachable" | "unavailable"

/** A request that failed. */
export interface Problem {
  readonly kind: Kind
  /** The permission that the request needed. */
  readonly verb: "list" | "watch"
  readonly message: string
  /** Absent when the server gave none: it ended the initial state early. */
  readonly error: ApiError | undefined
  /** The watch was accepted, and failed then. */
  readonly isInStream?: boolean
}

/** What a failure means to a copy. */
export const kindOf = (error: ApiError): Kind => {
  switch (error._tag) {
    case "Expired":
      return "expired"
    case "NotFound":
      return "missing"
    case "Forbidden":
    case "Unauthorized":
      return "denied"
    case "BadRequest":
    case "Invalid":
      return "refused"
    case "TooManyRequests":
      return "throttled"
    case "Transport":
      return "unreachable"
    case "Timeout":
      // A server restored from a backup is behind the resourceVersion and may never reach it.
      return error.causes.some(({ reason }) => reason === "ResourceVersionTooLarge") ||
        error.message.includes("Too large resource version")
        ? "expired"
        : "unavailable"
    default:
      return "unavailable"
  }
}

/** The failure of a request that needed `verb`. */
export const of = (error: ApiError, verb: Problem["verb"]): Problem => ({
  kind: kindOf(error),
  verb,
  message: error.message,
  error
})

/**
 * First and longest delay, in ms, before they are lengthened by up to half. What appears (a server, a CRD, a right) shall be
 * noticed within seconds; of a server that comes back, all that follows has to happen within five, but after a long outage.
 */
const delays: { readonly [kind in Kind]: readonly [base: number, cap: number] } = {
  expired: [200, 30_000],
  missing: [1000, 5000],
  denied: [200, 30_000],
  refused: [200, 30_000],
  throttled: [200, 30_000],
  unreachable: [200, 2000],
  unavailable: [200, 30_000]
}

/** After so many connections in a row that failed, some five minutes, the delay grows: all watches of all managers add up. */
export const patientAttempts = 128

/** The longest delay to a server that cannot be reached for long, in ms: that of client-go. */
export const longOutageMillis = 30_000

/** How long to wait after the `attempt`-th failure (from 1) in a row, in ms, and not shorter than the server asked for. */
export const delay = (kind: Kind, attempt: number, atLeast = 0): number => {
  const [base, cap] = delays[kind]
  const late = kind === "unreachable" ? attempt - patientAttempts : 0
  if (late > 0) return Math.max(atLeast, Math.min(longOutageMillis, cap * 2 ** Math.min(late, 16)))
  return Math.max(atLeast, Math.min(cap, base * 2 ** Math.min(attempt - 1, 16)))
}

/** How long the server asks to be left alone, in ms. */
export const retryAfter = (error: ApiError | undefined): number =>
  (error === undefined ? undefined : askedMillis(error)) ?? 0

/** One line that names the kind, where, what fails, and what would help. */
export const describe = (problem: Problem, resource: Resource.Any, namespace: string | undefined): string => {
  const where = !resource.namespaced
    ? ""
    : namespace === undefined
      ? " in all namespaces"
      : ` in namespace ${namespace}`
  const what = `cannot ${problem.verb} ${Resource.nameOf(resource)}${where}`
  switch (problem.kind) {
    case "missing":
      return `${what}: the API server does not serve ${Resource.apiVersionOf(resource)} ${resource.kind}; install its CustomResourceDefinition`
    case "denied":
      return problem.error?._tag === "Unauthorized"
        ? `${what}: ${problem.message}`
        : `${what}: it takes the verbs list and watch on ${resource.plural} of API group "${resource.group}"${where}; ${problem.message}`
    default:
      return `${what}: ${problem.message}`
  }
}
