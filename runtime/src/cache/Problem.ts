/**
 * The errors that keep a copy from being current, by how the reflector reacts.
 */
import { type ApiError, askedMillis } from "../client/ApiError.ts"
import * as Resource from "../resource/Resource.ts"

/**
 * - `expired`: the resourceVersion or the continue token is too old, or impossible: the reflector lists again
 * - `missing`: the server does not serve the kind
 * - `denied`: no permission, or no valid credentials
 * - `refused`: the server does not accept the request
 * - `throttled`: the server answered 429
 * - `unreachable`: the server did not answer
 * - `unavailable`: any other error of the server
 */
export type Kind = "expired" | "missing" | "denied" | "refused" | "throttled" | "unreachable" | "unavailable"

/** A request that failed. */
export interface Problem {
  readonly kind: Kind
  /** The permission that the request needed. */
  readonly verb: "list" | "watch"
  readonly message: string
  /** Absent when the server ended the initial events early, without an error. */
  readonly error: ApiError | undefined
  /** The watch failed after the server had accepted it. */
  readonly isInStream?: boolean
}

/** The kind of an error. */
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

/** The problem of a request that needed `verb`. */
export const of = (error: ApiError, verb: Problem["verb"]): Problem => ({
  kind: kindOf(error),
  verb,
  message: error.message,
  error
})

/**
 * The first and the longest delay in ms, before jitter adds up to half. The reflector must notice a new CRD or permission within
 * seconds. After a short outage of the server, the informers must be current within five seconds.
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

/** After this many failed connections in a row, about five minutes, the delay grows: the watches of all managers add up. */
export const patientAttempts = 128

/** The longest delay in ms during a long outage, as in client-go. */
export const longOutageMillis = 30_000

/** The delay in ms after the `attempt`-th failure (from 1) in a row, at least `atLeast`. */
export const delay = (kind: Kind, attempt: number, atLeast = 0): number => {
  const [base, cap] = delays[kind]
  const late = kind === "unreachable" ? attempt - patientAttempts : 0
  if (late > 0) return Math.max(atLeast, Math.min(longOutageMillis, cap * 2 ** Math.min(late, 16)))
  return Math.max(atLeast, Math.min(cap, base * 2 ** Math.min(attempt - 1, 16)))
}

/** The delay in ms after the `attempt`-th look (from 1) for an optional kind that the server does not serve. Jitter adds up to half. */
export const lookMillis = (attempt: number): number => Math.min(30_000, 1000 * 2 ** Math.min(attempt - 1, 16))

/** The Retry-After of the server, in ms; 0 if it sent none. */
export const retryAfter = (error: ApiError | undefined): number =>
  (error === undefined ? undefined : askedMillis(error)) ?? 0

/** One line about an optional kind that the server does not serve. */
export const describeAbsent = (resource: Resource.Any): string =>
  `${Resource.nameOf(resource)}: the API server does not serve ${Resource.apiVersionOf(resource)} ${resource.kind}, and the controllers run without the kind; the manager looks for it every 30 to 45 seconds`

/** One line with the verb, the kind, the namespace, the error and the fix. */
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
        : `${what}: requires permission to list and watch ${Resource.nameOf(resource)}${where}; ${problem.message}`
    default:
      return `${what}: ${problem.message}`
  }
}
