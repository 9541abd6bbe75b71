/**
 * The error of a rejected request: a `Status` with the code, reason, message and causes of kube-apiserver.
 *
 * The server handles each request in one synchronous step, so that no other write happens between its read and its write.
 * Inside this step an error is thrown as a `Failure`. Only `ApiServer.handle` catches it.
 */
import { Data } from "effect"
import * as FieldError from "./FieldError.ts"
import type { JsonObject } from "./Json.ts"
import { quote } from "./Quote.ts"

/** A cause in the details of a Status. */
export interface Cause {
  readonly reason?: string
  readonly message?: string
  readonly field?: string
}

/** The details of a Status. `kind` is the plural resource or the Kind, depending on the reason. */
export interface Details {
  readonly name?: string
  readonly group?: string
  readonly kind?: string
  readonly uid?: string
  readonly causes?: ReadonlyArray<Cause>
  readonly retryAfterSeconds?: number
}

/** The error of a rejected request. */
export class Failure extends Data.TaggedError("Failure")<{
  readonly code: number
  /** Empty for a plain Go error, which has no reason. */
  readonly reason: string
  readonly message: string
  readonly details?: Details | undefined
  /** The token with which the client can continue a list whose own token expired. */
  readonly continue?: string | undefined
}> {}

/** The names of the resource that an error mentions. */
export interface Named {
  readonly group: string
  readonly kind: string
  readonly plural: string
}

/** Returns `webapps.example.com`, or `pods` for the core group. */
const resourceOf = ({ group, plural }: Pick<Named, "group" | "plural">): string =>
  group === "" ? plural : `${plural}.${group}`

/** Returns `WebApp.example.com`, or `Pod` for the core group. */
const kindOf = ({ group, kind }: Named): string => (group === "" ? kind : `${kind}.${group}`)

const about = ({ group, plural }: Named, name: string): Details => ({
  ...(name === "" ? {} : { name }),
  ...(group === "" ? {} : { group }),
  kind: plural
})

/** 400: the request is malformed. */
export const badRequest = (message: string): Failure => new Failure({ code: 400, reason: "BadRequest", message })

/** 401: the server does not know the credentials. */
export const unauthorized = (): Failure => new Failure({ code: 401, reason: "Unauthorized", message: "Unauthorized" })

/** 403: the user or an admission rule does not permit the request. */
export const forbidden = (kind: Named, name: string, message: string, causes?: ReadonlyArray<Cause>): Failure =>
  new Failure({
    code: 403,
    reason: "Forbidden",
    message: `${resourceOf(kind)} ${quote(name)} is forbidden: ${message}`,
    details: { ...about(kind, name), ...(causes === undefined ? {} : { causes }) }
  })

/** 404: the object does not exist. */
export const notFound = (kind: Named, name: string): Failure =>
  new Failure({
    code: 404,
    reason: "NotFound",
    message: `${resourceOf(kind)} ${quote(name)} not found`,
    details: about(kind, name)
  })

/** 405: the resource does not support the verb. */
export const methodNotAllowed = (kind: Named, verb: string): Failure =>
  new Failure({
    code: 405,
    reason: "MethodNotAllowed",
    message: `${verb} is not supported on resources of kind ${JSON.stringify(resourceOf(kind))}`,
    details: about(kind, "")
  })

/** 406: the server does not support any media type that the client accepts. */
export const notAcceptable = (accepted: ReadonlyArray<string>): Failure =>
  new Failure({
    code: 406,
    reason: "NotAcceptable",
    message: `only the following media types are accepted: ${accepted.join(", ")}`
  })

/** 406 of a path that does not negotiate further: the client does not accept any of its media types. */
export const noRepresentation = (available: ReadonlyArray<string>): Failure =>
  new Failure({
    code: 406,
    reason: "NotAcceptable",
    message: `406: Not Acceptable\n\nAvailable representations: ${available.join(", ")}`,
    details: {}
  })

/** 409: an object of this name already exists. */
export const alreadyExists = (kind: Named, name: string): Failure =>
  new Failure({
    code: 409,
    reason: "AlreadyExists",
    message: `${resourceOf(kind)} ${quote(name)} already exists`,
    details: about(kind, name)
  })

/** 409: the object is no longer in the state that the client expects. */
export const conflict = (kind: Named, name: string, why: string): Failure =>
  new Failure({
    code: 409,
    reason: "Conflict",
    message: `Operation cannot be fulfilled on ${resourceOf(kind)} ${quote(name)}: ${why}`,
    details: about(kind, name)
  })

/** The message of a conflict because of a stale resourceVersion. */
export const modified = "the object has been modified; please apply your changes to the latest version and try again"

/** 410: the history no longer contains the requested revision. */
export const expired = (message: string): Failure => new Failure({ code: 410, reason: "Expired", message })

/** 504: the requested revision does not exist yet. */
export const tooLargeVersion = (requested: number, current: number): Failure =>
  new Failure({
    code: 504,
    reason: "Timeout",
    message: `Timeout: Too large resource version: ${requested}, current: ${current}`,
    details: {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1
    }
  })

/** 504: the request took too long. */
export const timeout = (): Failure =>
  new Failure({
    code: 504,
    reason: "Timeout",
    message: "Timeout: request did not complete within the allotted timeout",
    details: {}
  })

/** 404 of a built-in API: the path does not exist. */
export const noSuchPath = (): Failure =>
  new Failure({
    code: 404,
    reason: "NotFound",
    message: "the server could not find the requested resource",
    details: {}
  })

/** 405 of a built-in API: the path does not support the method. */
export const noSuchMethod = (): Failure =>
  new Failure({
    code: 405,
    reason: "MethodNotAllowed",
    message: "the server does not allow this method on the requested resource",
    details: {}
  })

/** 422: the patch cannot be applied. */
export const unprocessable = (): Failure =>
  new Failure({
    code: 422,
    reason: "Invalid",
    message: "the server rejected our request due to an error in our request",
    details: {}
  })

/** 413: the request is too large. */
export const tooLarge = (message: string): Failure =>
  new Failure({ code: 413, reason: "RequestEntityTooLarge", message })

/** 415: the media type of the body is not supported. */
export const unsupportedMediaType = (accepted: ReadonlyArray<string>): Failure =>
  new Failure({
    code: 415,
    reason: "UnsupportedMediaType",
    message: `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`
  })

/** 422: fields are invalid. Equal errors are reported once. */
export const invalid = (kind: Named, name: string, errors: ReadonlyArray<FieldError.FieldError>): Failure => {
  const sentences = [...new Set(errors.map(FieldError.sentence))]
  const [only = ""] = sentences
  return new Failure({
    code: 422,
    reason: "Invalid",
    message: `${kindOf(kind)} ${quote(name)} is invalid: ${sentences.length === 1 ? only : `[${sentences.join(", ")}]`}`,
    details: {
      ...(name === "" ? {} : { name }),
      ...(kind.group === "" ? {} : { group: kind.group }),
      ...(kind.kind === "" ? {} : { kind: kind.kind }),
      causes: errors.map(({ field, message, reason }) => ({ reason, message, field: field ?? "<nil>" }))
    }
  })
}

/** 500: an error that the client cannot fix. */
export const internal = (message: string): Failure =>
  new Failure({
    code: 500,
    reason: "InternalError",
    message: `Internal error occurred: ${message}`,
    details: { causes: [{ message }] }
  })

/** 500 of a plain Go error, without a reason. */
export const plain = (message: string): Failure => new Failure({ code: 500, reason: "", message })

/** 501: this server does not support the feature. */
export const notImplemented = (what: string): Failure =>
  new Failure({ code: 501, reason: "NotImplemented", message: `the embedded API server does not support ${what}` })

/** Returns the Status object of a Failure. */
export const status = ({ code, continue: next, details, message, reason }: Failure): JsonObject => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: next === undefined ? {} : { continue: next },
  status: "Failure",
  message,
  ...(reason === "" ? {} : { reason }),
  ...(details === undefined
    ? {}
    : {
        details: {
          ...details,
          ...(details.causes === undefined ? {} : { causes: details.causes.map((cause) => ({ ...cause })) })
        } as JsonObject
      }),
  code
})
