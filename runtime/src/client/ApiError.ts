/**
 * The errors of requests, one class for each error that a caller can act on. Most come from the API server's response. `Transport`
 * means that there was no response, and says whether the request may have had an effect. `Fenced` means that the request was not
 * sent.
 *
 * `message` is one line: method and path of the request, then the server's message.
 */
import * as Data from "effect/Data"

/** The failed request. `path` is without the query. */
export interface RequestInfo {
  readonly method: string
  readonly path: string
}

/** One cause of an error: a field that is invalid, or that another field manager owns. */
export interface Cause {
  /** Such as `FieldValueRequired`, `FieldManagerConflict`, `NamespaceTerminating`. */
  readonly reason: string
  readonly message: string
  /** Path of the field from the object's root, such as `spec.replicas`; empty if the cause is not about a field. */
  readonly field: string
}

/**
 * The object of the response; each part is empty if the server omitted it. `kind` is the plural name, except for Invalid, where it is
 * the kind.
 */
export interface Details {
  readonly group: string
  readonly kind: string
  readonly name: string
  readonly uid: string
}

/** The fields of all errors with a response. */
export interface Answer {
  readonly message: string
  /** The HTTP status code. */
  readonly code: number
  /** The server's reason, such as `AlreadyExists`; empty if the response was not a Status. */
  readonly reason: string
  readonly causes: ReadonlyArray<Cause>
  readonly details: Details
  /** The delay that the server asks for, in ms. */
  readonly retryAfterMillis: number | undefined
  readonly request: RequestInfo
}

/** 404. With an empty `reason` the server does not serve the path: see {@link isUnserved}. */
export class NotFound extends Data.TaggedError("NotFound")<Answer> {}

/** 409 to a create: an object with this name exists. */
export class AlreadyExists extends Data.TaggedError("AlreadyExists")<Answer> {}

/** 409: a stale resourceVersion, a precondition that does not hold, or fields that another manager owns (`causes`). */
export class Conflict extends Data.TaggedError("Conflict")<Answer> {}

/** 422: the server rejects the object; `causes` names the fields. */
export class Invalid extends Data.TaggedError("Invalid")<Answer> {}

/** 403: not allowed by RBAC, by admission, or because the namespace is being deleted (`causes`). */
export class Forbidden extends Data.TaggedError("Forbidden")<Answer> {}

/** 401: the server rejects the credentials. */
export class Unauthorized extends Data.TaggedError("Unauthorized")<Answer> {}

/** 410: the resourceVersion or the continue token has expired; list again. */
export class Expired extends Data.TaggedError("Expired")<Answer> {}

/** 429: the server is overloaded. It did not process the request. */
export class TooManyRequests extends Data.TaggedError("TooManyRequests")<
  Answer & { readonly retryAfterMillis: number }
> {}

/** 408 or 504: the server timed out. A write may have happened. */
export class Timeout extends Data.TaggedError("Timeout")<Answer> {}

/** 5xx. A write may have happened. */
export class ServerError extends Data.TaggedError("ServerError")<Answer> {}

/** Any other unsuccessful response: the request itself is invalid. */
export class BadRequest extends Data.TaggedError("BadRequest")<Answer> {}

/**
 * No response: the server is unavailable, the connection broke, or the timeout passed.
 *
 * `outcome` is `unsent` if the server cannot have received the request, and `unknown` if it may have processed it. After a write with
 * an unknown outcome, read the object before you treat the write as failed.
 */
export class Transport extends Data.TaggedError("Transport")<{
  readonly message: string
  /** Such as `ECONNREFUSED`, `ECONNRESET`, `UNABLE_TO_VERIFY_LEAF_SIGNATURE`, `DEADLINE`. */
  readonly code: string
  /** The code in words. */
  readonly reason: string
  readonly outcome: "unsent" | "unknown"
  /** The URL of the API server. */
  readonly server: string
  readonly request: RequestInfo
}> {}

/** A write of a leader after its leadership ended (see `Fence`). It was not sent, and the next leader makes it again. */
export class Fenced extends Data.TaggedError("Fenced")<{
  readonly message: string
  readonly code: "FENCED"
  readonly reason: string
  readonly request: RequestInfo
}> {}

/** An error with a response of the server. */
export type Answered =
  | NotFound
  | AlreadyExists
  | Conflict
  | Invalid
  | Forbidden
  | Unauthorized
  | Expired
  | TooManyRequests
  | Timeout
  | ServerError
  | BadRequest

/** All errors of a request. */
export type ApiError = Answered | Transport | Fenced

const classes = [
  NotFound,
  AlreadyExists,
  Conflict,
  Invalid,
  Forbidden,
  Unauthorized,
  Expired,
  TooManyRequests,
  Timeout,
  ServerError,
  BadRequest,
  Transport,
  Fenced
] as const

/**
 * Whether a value is one of these errors.
 *
 * @example
 * ```ts
 * const error = yield* Effect.flip(Client.get(BuiltIn.ConfigMap, { namespace: "default", name: "gone" }))
 * ApiError.isApiError(error) // => true
 * ```
 */
export const isApiError = (u: unknown): u is ApiError => classes.some((type) => u instanceof type)

/**
 * The object does not exist. False if the server does not serve the kind.
 *
 * @example
 * ```ts
 * const gone = yield* Effect.flip(Client.scale.get(BuiltIn.Deployment, { namespace: "default", name: "gone" }))
 * ApiError.isNotFound(gone) // => true
 * ```
 */
export const isNotFound = (error: ApiError): error is NotFound => error._tag === "NotFound" && error.reason !== ""

/**
 * The server does not serve the path: the CRD is not installed, or not in that version.
 *
 * @example
 * ```ts
 * const None = Resource.make({ group: "none.example.com", version: "v1", kind: "None", plural: "nones" })
 * const error = yield* Effect.flip(Client.page(None))
 * ApiError.isUnserved(error) // => true
 * ```
 */
export const isUnserved = (error: ApiError): error is NotFound => error._tag === "NotFound" && error.reason === ""

/**
 * The namespace of the request is being deleted, so no object can be created in it.
 *
 * @example
 * ```ts
 * yield* Client.deleteAll(BuiltIn.ConfigMap, { namespace: "default", labelSelector: "app=old" }).pipe(
 *   Effect.catchIf(ApiError.isNamespaceTerminating, () => Effect.void)
 * )
 * ```
 */
export const isNamespaceTerminating = (error: ApiError): error is Forbidden =>
  error._tag === "Forbidden" && error.causes.some((cause) => cause.reason === "NamespaceTerminating")

/**
 * A conflict of server-side apply: `causes` names the fields and their managers.
 *
 * @example
 * ```ts
 * const page = { metadata: { namespace: "default", name: "page" }, data: { "index.html": "Bye" } }
 * const error = yield* Effect.flip(Client.apply(BuiltIn.ConfigMap, page, { fieldManager: "example" }))
 * ApiError.isApiError(error) && ApiError.isFieldConflict(error) // => true
 * ```
 */
export const isFieldConflict = (error: ApiError): error is Conflict =>
  error._tag === "Conflict" && error.causes.some((cause) => cause.reason === "FieldManagerConflict")

/** The wire form of an error, in bodies and in ERROR events of a watch. */
export interface Status {
  readonly kind: "Status"
  readonly message?: string
  readonly reason?: string
  readonly code?: number
  readonly details?: {
    readonly name?: string
    readonly group?: string
    readonly kind?: string
    readonly uid?: string
    readonly causes?: ReadonlyArray<Partial<Cause>>
    readonly retryAfterSeconds?: number
  }
}

/**
 * Whether a parsed body is a Status.
 *
 * @internal
 */
export const isStatus = (body: unknown): body is Status =>
  typeof body === "object" && body !== null && "kind" in body && body.kind === "Status"

// Messages appear in one field of one log line, so long error pages of proxies are cut.
const longestMessage = 2000

// The message lists each rule of the role after this text, which can be hundreds. The first rule is enough.
const unheld = "RBAC permissions not currently held:"
const longestUnheld = 200

const withoutRules = (text: string): string => {
  const end = text.indexOf(unheld) + unheld.length + longestUnheld
  return end < unheld.length + longestUnheld || end >= text.length ? text : `${text.slice(0, end)}…`
}

const oneLine = (text: string): string => {
  const line = withoutRules(text).replace(/\s+/g, " ").trim()
  return line.length > longestMessage ? `${line.slice(0, longestMessage)}…` : line
}

const classify = (answer: Answer): Answered => {
  switch (answer.code) {
    case 401:
      return new Unauthorized(answer)
    case 403:
      return new Forbidden(answer)
    case 404:
      return new NotFound(answer)
    case 409:
      return answer.reason === "AlreadyExists" ? new AlreadyExists(answer) : new Conflict(answer)
    case 410:
      return new Expired(answer)
    case 422:
      return new Invalid(answer)
    case 429:
      // client-go also waits a second if the server does not say how long.
      return new TooManyRequests({ ...answer, retryAfterMillis: answer.retryAfterMillis ?? 1000 })
    case 408:
    case 504:
      return new Timeout(answer)
    default:
      return answer.code >= 500 ? new ServerError(answer) : new BadRequest(answer)
  }
}

const hint = (code: number, reason: string): string => {
  if (code === 401) return " (the API server does not accept these credentials)"
  if (code === 404 && reason === "") return " (the API server does not serve this path: is the CRD installed?)"
  return ""
}

/**
 * The error of a Status, from a body or from an ERROR event of a watch. `code` is the default for a Status without a code.
 *
 * @param hide removes secrets from the texts of the server, before they are cut
 *
 * @internal
 */
export const fromStatus = (
  request: RequestInfo,
  status: Status,
  code: number,
  retryAfterMillis?: number | undefined,
  hide: (text: string) => string = (text) => text
): Answered => {
  const details = status.details
  const actual = status.code ?? code
  const reason = status.reason ?? ""
  const words = status.message === undefined || status.message === "" ? reason || `HTTP ${actual}` : status.message
  const seconds = details?.retryAfterSeconds
  return classify({
    message: `${request.method} ${request.path}: ${oneLine(hide(words))}${actual === 401 ? hint(actual, reason) : ""}`,
    code: actual,
    // A Status without a reason is a general error of the server, and does not mean that the path is not served.
    reason: reason === "" ? "Unknown" : reason,
    causes: (details?.causes ?? []).map((cause) => ({
      reason: cause.reason ?? "",
      message: hide(cause.message ?? ""),
      field: cause.field ?? ""
    })),
    details: {
      group: details?.group ?? "",
      kind: details?.kind ?? "",
      name: details?.name ?? "",
      uid: details?.uid ?? ""
    },
    retryAfterMillis: retryAfterMillis ?? (seconds === undefined || seconds <= 0 ? undefined : seconds * 1000),
    request
  })
}

/**
 * A `Retry-After` header in ms. Only seconds are supported, because API servers send no dates.
 *
 * @internal
 */
export const retryAfter = (header: string | null): number | undefined =>
  header !== null && /^\d{1,9}$/.test(header.trim()) ? Number(header) * 1000 : undefined

const parse = (body: string): unknown => {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

const local = (request: RequestInfo, message: string, code: number, reason: string): Answer => ({
  message: `${request.method} ${request.path}: ${message}`,
  code,
  reason,
  causes: [],
  details: { group: "", kind: "", name: "", uid: "" },
  retryAfterMillis: undefined,
  request
})

/**
 * The error of a response with any body: a Status, the plain text of a filter, or the page of a proxy.
 *
 * @param hide removes secrets from the texts of the server, before they are cut
 *
 * @internal
 */
export const fromResponse = (
  request: RequestInfo,
  response: {
    readonly status: number
    readonly headers: { readonly get: (name: string) => string | null }
    readonly body: string
  },
  hide: (text: string) => string = (text) => text
): Answered => {
  const wait = retryAfter(response.headers.get("retry-after"))
  const body = response.body.startsWith("{") ? parse(response.body) : undefined
  if (isStatus(body)) return fromStatus(request, body, response.status, wait, hide)
  const location = response.headers.get("location")
  const text =
    location === null
      ? oneLine(hide(response.body)).slice(0, 300) || `HTTP ${response.status}`
      : `HTTP ${response.status}, a redirect to ${location}: is this a Kubernetes API server?`
  return classify({
    ...local(request, text + hint(response.status, ""), response.status, ""),
    retryAfterMillis: wait
  })
}

/**
 * The error of a write that a fence stopped.
 *
 * @internal
 */
export const fenced = (request: RequestInfo, reason: string): Fenced =>
  new Fenced({ message: `${request.method} ${request.path}: not sent, ${reason}`, code: "FENCED", reason, request })

/**
 * Whether the error is a response of the server.
 *
 * @internal
 */
export const isAnswer = (error: ApiError): error is Answered => error._tag !== "Transport" && error._tag !== "Fenced"

/** See {@link askedMillis}. */
const longestUnavailableMillis = 2000
const longestThrottledMillis = 60_000

/**
 * The delay that the server asks for, in ms; undefined without one. A starting kube-apiserver asks for five seconds, although it is
 * ready in one or two. So the delay is at most two seconds if the server is unavailable and not overloaded, and the caller's back-off
 * adds to it. If the server is overloaded, the delay is at most a minute: a proxy may ask for a day, and a watch would pause for a day.
 *
 * @internal
 */
export const askedMillis = (error: ApiError): number | undefined => {
  if (!isAnswer(error) || error.retryAfterMillis === undefined) return undefined
  const longest = error._tag === "TooManyRequests" ? longestThrottledMillis : longestUnavailableMillis
  return Math.min(error.retryAfterMillis, longest)
}

/**
 * The error of a request that is invalid before it is sent, such as one without a namespace.
 *
 * @internal
 */
export const unusable = (request: RequestInfo, message: string): BadRequest =>
  new BadRequest(local(request, message, 400, "BadRequest"))

/**
 * The error of a successful response whose body is not from an API server.
 *
 * @internal
 */
export const unreadable = (request: RequestInfo, code: number, what = "an object"): ServerError =>
  new ServerError(local(request, `the answer is not the JSON of ${what}: is this a Kubernetes API server?`, code, ""))
