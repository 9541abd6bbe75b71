/**
 * A request that is refused: a `Status` with the code, reason, message and causes of a kube-apiserver.
 *
 * The server decides each request in one synchronous step, so that nothing can come between what it reads and what it writes.
 * Inside of that step a refusal is thrown; `ApiServer.handle` catches it, and only there.
 */
import { Data } from "effect"
import * as FieldError from "./FieldError.ts"
import type { JsonObject } from "./Json.ts"
import { quote } from "./Quote.ts"

/** One of the causes of a refusal. */
export interface Cause {
  readonly reason?: string
  readonly message?: string
  readonly field?: string
}

/** What a refusal is about. `kind` is the resource (plural) or the Kind, as each reason has it. */
export interface Details {
  readonly name?: string
  readonly group?: string
  readonly kind?: string
  readonly uid?: string
  readonly causes?: ReadonlyArray<Cause>
  readonly retryAfterSeconds?: number
}

/** A refusal. */
export class Failure extends Data.TaggedError("Failure")<{
  readonly code: number
  /** Empty where Kubernetes has none: an error of plain Go. */
  readonly reason: string
  readonly message: string
  readonly details?: Details | undefined
  /** Where a list may go on that cannot be continued as it was asked for. */
  readonly continue?: string | undefined
}> {}

/** What kind of resource a refusal names. */
export interface Named {
  readonly group: string
  readonly kind: string
  readonly plural: string
}

/** `webapps.example.com`, or `pods` of the core group. */
const resourceOf = ({ group, plural }: Pick<Named, "group" | "plural">): string =>
  group === "" ? plural : `${plural}.${group}`

/** `WebApp.example.com`, or `Pod`. */
const kindOf = ({ group, kind }: Named): string => (group === "" ? kind : `${kind}.${group}`)

const about = ({ group, plural }: Named, name: string): Details => ({
  ...(name === "" ? {} : { name }),
  ...(group === "" ? {} : { group }),
  kind: plural
})

/** 400: the request cannot be understood. */
export const badRequest = (message: string): Failure => new Failure({ code: 400, reason: "BadRequest", message })

/** 401: the credentials are not known. */
export const unauthorized = (): Failure => new Failure({ code: 401, reason: "Unauthorized", message: "Unauthorized" })

/** 403. */
export const forbidden = (kind: Named, name: string, message: string, causes?: ReadonlyArray<Cause>): Failure =>
  new Failure({
    code: 403,
    reason: "Forbidden",
    message: `${resourceOf(kind)} ${quote(name)} is forbidden: ${message}`,
    details: { ...about(kind, name), ...(causes === undefined ? {} : { causes }) }
  })

/** 404: no such object. */
export const notFound = (kind: Named, name: string): Failure =>
  new Failure({
    code: 404,
    reason: "NotFound",
    message: `${resourceOf(kind)} ${quote(name)} not found`,
    details: about(kind, name)
  })

/** 405: the resource has no such verb. */
export const methodNotAllowed = (kind: Named, verb: string): Failure =>
  new Failure({
    code: 405,
    reason: "MethodNotAllowed",
    message: `${verb} is not supported on resources of kind ${JSON.stringify(resourceOf(kind))}`,
    details: about(kind, "")
  })

/** 406: no media type that the client accepts. */
export const notAcceptable = (accepted: ReadonlyArray<string>): Failure =>
  new Failure({
    code: 406,
    reason: "NotAcceptable",
    message: `only the following media types are accepted: ${accepted.join(", ")}`
  })

/** 406 of a path that does not negotiate further: the client accepts none of its media types. */
export const noRepresentation = (available: ReadonlyArray<string>): Failure =>
  new Failure({
    code: 406,
    reason: "NotAcceptable",
    message: `406: Not Acceptable\n\nAvailable representations: ${available.join(", ")}`,
    details: {}
  })

/** 409: there is one of that name. */
export const alreadyExists = (kind: Named, name: string): Failure =>
  new Failure({
    code: 409,
    reason: "AlreadyExists",
    message: `${resourceOf(kind)} ${quote(name)} already exists`,
    details: about(kind, name)
  })

/** 409: it is no longer as the client believes. */
export const conflict = (kind: Named, name: string, why: string): Failure =>
  new Failure({
    code: 409,
    reason: "Conflict",
    message: `Operation cannot be fulfilled on ${resourceOf(kind)} ${quote(name)}: ${why}`,
    details: about(kind, name)
  })

/** Why a stale resourceVersion conflicts. */
export const modified = "the object has been modified; please apply your changes to the latest version and try again"

/** 410: the history does not reach that far back. */
export const expired = (message: string): Failure => new Failure({ code: 410, reason: "Expired", message })

/** 504: a moment that has not come. */
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

/** 404 of a built-in API: there is no such path. */
export const noSuchPath = (): Failure =>
  new Failure({
    code: 404,
    reason: "NotFound",
    message: "the server could not find the requested resource",
    details: {}
  })

/** 405 of a built-in API: the path has no such method. */
export const noSuchMethod = (): Failure =>
  new Failure({
    code: 405,
    reason: "MethodNotAllowed",
    message: "the server does not allow this method on the requested resource",
    details: {}
  })

/** 422 of a patch that cannot be applied. */
export const unprocessable = (): Failure =>
  new Failure({
    code: 422,
    reason: "Invalid",
    message: "the server rejected our request due to an error in our request",
    details: {}
  })

/** 413. */
export const tooLarge = (message: string): Failure =>
  new Failure({ code: 413, reason: "RequestEntityTooLarge", message })

/** 415: a body of an unknown media type. */
export const unsupportedMediaType = (accepted: ReadonlyArray<string>): Failure =>
  new Failure({
    code: 415,
    reason: "UnsupportedMediaType",
    message: `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`
  })

/** 422: fields are wrong. Equal errors are reported once. */
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

/** 500: the client cannot fix the error. */
export const internal = (message: string): Failure =>
  new Failure({
    code: 500,
    reason: "InternalError",
    message: `Internal error occurred: ${message}`,
    details: { causes: [{ message }] }
  })

/** 500 of a plain Go error, without a reason. */
export const plain = (message: string): Failure => new Failure({ code: 500, reason: "", message })

/** 501: what this server does not do yet, and says so. */
export const notImplemented = (what: string): Failure =>
  new Failure({ code: 501, reason: "NotImplemented", message: `the embedded API server does not support ${what}` })

/** The Status object of a refusal. */
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
