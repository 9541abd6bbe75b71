/**
 * Describes a forbidden request (403) or a rejected object (422, or any code by admission) in one line: the request and the server's message, without long
 * values, objects, and values of secret fields.
 *
 * @internal
 */
import * as Secrecy from "../telemetry/Secrecy.ts"
import * as ApiError from "./ApiError.ts"
import * as Permission from "./Permission.ts"

/** The beginning of each description. */
export const opening = "The API server refuses "

/** The longest description, in characters: `kubectl describe` shows an Event of this length completely. */
const longest = 1024

/** Only a change of the program fixes that, because the generated roles contain what controllers declare. */
const undeclared = ", and the controller does not declare it: add it to access"

/** Text beyond this many characters is dropped before the search for secrets, whose cost grows with it. */
const longestRead = 8192

/** A text as one line without possible secrets, cut to 1024 characters. */
export const line = (text: string, most = longest): string => {
  const masked = Secrecy.masked(text.slice(0, longestRead)).replace(/\s+/g, " ").trim()
  return masked.length > most ? `${masked.slice(0, most - 1)}…` : masked
}

/**
 * Describes the error in at most 1024 characters. For a missing permission (403) it adds the rule, and also the declaration if
 * `declares` is false.
 */
export const describe = (
  error: ApiError.Answered,
  declares: (permission: Permission.Permission) => boolean = () => true
): string => {
  if (error instanceof ApiError.Invalid && !isDenied(error)) return line(opening + rejection(error))
  if (!(error instanceof ApiError.Forbidden)) return line(opening + error.message)
  const permission = Permission.missing(error)
  // The server may list all rules of a role, so the rule to add comes after them.
  const hint = permission === undefined || declares(permission) ? "" : undeclared
  const text =
    permission === undefined
      ? error.message
      : `${line(error.message, longest / 2)}; ${Permission.describe(permission)}${hint}`
  return line(opening + text)
}

const rejection = ({ causes, details, message, request }: ApiError.Invalid): string => {
  if (causes.length === 0) return message
  const isSecret = details.kind === "Secret"
  const fields = causes.map((cause) => {
    const text = withoutValue(cause, isSecret)
    return cause.field === "" ? text : `${cause.field}: ${text}`
  })
  const what = details.name === "" ? "" : `${details.kind} "${details.name}" is invalid: `
  return `${request.method} ${request.path}: ${what}${fields.join("; ")}`
}

/** The beginning of a cause that quotes the field's value. */
const quoting = /^(Invalid value|Unsupported value|Duplicate value|Not found): /

/** A short value of the field as the server quotes it: a text, a number or another word. */
const short = /^(?:"(?:[^"\\]|\\.){0,62}"|[-+.\w]{1,64})(?=: |$)/

/** The message of a cause. Omits a long, secret or object value, which may be a whole pod template with its variables. */
const withoutValue = ({ field, message }: ApiError.Cause, isSecret: boolean): string => {
  const [first = ""] = message.slice(0, longestRead).split("\n", 1)
  const [head] = quoting.exec(first) ?? []
  if (head === undefined) return first
  const rest = first.slice(head.length)
  const [value] = short.exec(rest) ?? []
  const name = field.slice(field.lastIndexOf(".") + 1)
  const isHidden = isSecret || Secrecy.fields([[name, "value"]])[name] !== "value"
  if (value !== undefined && !isHidden) return first
  const end = value?.length ?? Math.max(...['"', "}", "]"].map((close) => rest.lastIndexOf(`${close}: `))) + 1
  const detail = end === 0 ? "" : rest.slice(end + 2)
  return detail === "" ? head.slice(0, -2) : head + detail
}

/**
 * Whether the API server rejects an object (422), so that only another object can succeed. False for a failed `test` of a JSON patch,
 * which has the same status and means that another write came first.
 */
export const isRejection = (error: unknown): error is ApiError.Invalid =>
  error instanceof ApiError.Invalid &&
  (error.causes.length > 0 || !error.message.includes("the server rejected our request"))

/** The beginning and the end of kube-apiserver's words for a denial by a webhook, and by a ValidatingAdmissionPolicy. */
const denials = [
  ['admission webhook "', '" denied the request'],
  ["ValidatingAdmissionPolicy '", "' denied request"]
] as const

/**
 * Whether admission denies an object: a webhook with any code (ingress-nginx answers 400 for a host and path of another Ingress), or a
 * ValidatingAdmissionPolicy, which answers 422 by default. It may accept the object later.
 */
export const isDenied = (error: unknown): error is ApiError.Answered =>
  ApiError.isApiError(error) &&
  ApiError.isAnswer(error) &&
  denials.some(([begin, end]) => error.message.includes(begin) && error.message.includes(end))

/**
 * Whether an apply has an object that does not match the schema of its kind: an unknown field, a value of another type, or two items
 * with the same key. The API server answers with 500.
 */
export const isMistyped = (error: unknown): error is ApiError.ServerError =>
  error instanceof ApiError.ServerError && error.message.includes(": failed to create typed patch object ")

/**
 * Whether the API server failed for a request (5xx), for example because a webhook does not answer. The same request may succeed later,
 * and others may succeed now.
 */
export const isFailure = (error: unknown): error is ApiError.ServerError | ApiError.Timeout =>
  (error instanceof ApiError.ServerError || error instanceof ApiError.Timeout) && !isDenied(error) && !isMistyped(error)

/**
 * Whether admission refuses an object, so that the same object may be accepted later: {@link isDenied}, or a 422 that names no field, as
 * validation always does.
 */
export const isByAdmission = (error: unknown): error is ApiError.Answered =>
  isDenied(error) || (isRejection(error) && error.causes.every(({ field }) => field === ""))
