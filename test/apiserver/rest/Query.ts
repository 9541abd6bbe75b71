/**
 * The query parameters of each verb, with the errors of a kube-apiserver. As in Go, the first of several values counts, and any value
 * except `false` and `0` is true.
 */
import * as Failure from "../model/Failure.ts"
import * as FieldError from "../model/FieldError.ts"
import * as FieldManager from "../model/FieldManager.ts"
import type { JsonObject } from "../model/Json.ts"

/** The selectors, the revision and the limit of a list or watch. */
export interface ListOptions {
  readonly labelSelector: string
  readonly fieldSelector: string
  readonly watch: boolean
  readonly allowWatchBookmarks: boolean
  readonly resourceVersion: string
  readonly resourceVersionMatch: string
  readonly timeoutSeconds: number | undefined
  /** The maximum number of objects; 0 for all. */
  readonly limit: number
  readonly continue: string
  readonly sendInitialEvents: boolean | undefined
}

/** How strictly the server decodes a body. */
export type FieldValidation = "Ignore" | "Warn" | "Strict"

/** The options of a POST, PUT or PATCH. */
export interface WriteQuery {
  readonly dryRun: boolean
  /** The field manager; empty if it comes from the user agent. */
  readonly fieldManager: string
  readonly fieldValidation: FieldValidation
  readonly force: boolean | undefined
}

const optionsKind = (kind: string) => ({ group: "meta.k8s.io", kind, plural: "" })

/** The options of a list, a watch, or the deletion of a collection. Throws a Failure (400, 422). */
export const list = (query: URLSearchParams, watches = false): ListOptions => {
  const watch = watches || boolean(query, "watch") === true
  const given = {
    labelSelector: query.get("labelSelector") ?? "",
    fieldSelector: query.get("fieldSelector") ?? "",
    watch,
    allowWatchBookmarks: boolean(query, "allowWatchBookmarks") === true,
    resourceVersion: query.get("resourceVersion") ?? "",
    resourceVersionMatch: query.get("resourceVersionMatch") ?? "",
    timeoutSeconds: integer(query, "timeoutSeconds"),
    limit: Math.max(0, integer(query, "limit") ?? 0),
    continue: query.get("continue") ?? "",
    sendInitialEvents: boolean(query, "sendInitialEvents")
  }
  const options = withInitialEvents(given)
  refuse("ListOptions", watch ? validateWatchOptions(options) : validateListOptions(options))
  return options
}

/** A watch without a resourceVersion, or from 0, begins with the existing objects, as with `sendInitialEvents`. */
const withInitialEvents = (options: ListOptions): ListOptions =>
  options.watch &&
  options.sendInitialEvents === undefined &&
  options.resourceVersionMatch === "" &&
  ["", "0"].includes(options.resourceVersion)
    ? { ...options, sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" }
    : options

/** The options of a POST, PUT or PATCH; `verb` names them. Throws a Failure (400, 422). */
export const write = (query: URLSearchParams, verb: "Create" | "Update" | "Patch", applies = false): WriteQuery => {
  const fieldManager = query.get("fieldManager") ?? ""
  const dryRun = query.getAll("dryRun")
  const fieldValidation = query.get("fieldValidation") ?? ""
  const force = boolean(query, "force")
  refuse(`${verb}Options`, [
    ...(applies && fieldManager === "" ? [FieldError.required("fieldManager", "is required for apply patch")] : []),
    ...(verb === "Patch" && !applies && force !== undefined
      ? [FieldError.forbidden("force", "may not be specified for non-apply patch")]
      : []),
    ...FieldManager.validate(fieldManager, "fieldManager"),
    ...validateDryRun(dryRun),
    ...(["", "Ignore", "Warn", "Strict"].includes(fieldValidation)
      ? []
      : [FieldError.notSupported("fieldValidation", fieldValidation, ["", "Ignore", "Strict", "Warn"])])
  ])
  return {
    dryRun: dryRun.length > 0,
    fieldManager,
    fieldValidation: fieldValidation === "Ignore" || fieldValidation === "Strict" ? fieldValidation : "Warn",
    force
  }
}

/** DeleteOptions from a query instead of a body. Throws a Failure (400). */
export const deletion = (query: URLSearchParams): JsonObject => {
  const dryRun = query.getAll("dryRun")
  const preconditions = {
    uid: query.get("uid") ?? undefined,
    resourceVersion: query.get("resourceVersion") ?? undefined
  }
  return {
    ...(dryRun.length > 0 && { dryRun }),
    gracePeriodSeconds: integer(query, "gracePeriodSeconds"),
    orphanDependents: boolean(query, "orphanDependents"),
    propagationPolicy: query.get("propagationPolicy") ?? undefined,
    ...(Object.values(preconditions).some((value) => value !== undefined) && { preconditions })
  }
}

/** Throws a Failure (400) if `timeout` is not a duration. The server does not otherwise limit the time of a request. */
export const checkTimeout = (query: URLSearchParams): void => {
  const timeout = query.get("timeout")
  if (timeout === null || timeout === "" || /^[-+]?(0|((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)$/.test(timeout))
    return
  const error = /^[-+]?(\d+\.?\d*|\.\d+)$/.test(timeout) ? "missing unit in duration" : "invalid duration"
  throw Failure.badRequest(`invalid timeout specified in the request URL - time: ${error} ${JSON.stringify(timeout)}`)
}

/** Throws a Failure (422) for contradictory DeleteOptions. */
export const checkDeletion = (options: JsonObject): void => {
  const { dryRun, orphanDependents, propagationPolicy } = options
  const policies = ["Foreground", "Background", "Orphan"]
  refuse("DeleteOptions", [
    ...(orphanDependents !== undefined && propagationPolicy !== undefined
      ? [
          FieldError.invalid(
            "propagationPolicy",
            propagationPolicy,
            "orphanDependents and deletionPropagation cannot be both set"
          )
        ]
      : []),
    ...(typeof propagationPolicy === "string" && !policies.includes(propagationPolicy)
      ? [FieldError.notSupported("propagationPolicy", propagationPolicy, [...policies, "nil"])]
      : []),
    ...validateDryRun(Array.isArray(dryRun) ? dryRun : [])
  ])
}

/** A resourceVersion as a number; undefined if it is empty. Throws the result of `refused` for any other text. */
export const revision = (text: string, refused: (message: string) => Failure.Failure): number | undefined => {
  if (text === "") return undefined
  if (/^\d+$/.test(text) && Number(text) <= Number.MAX_SAFE_INTEGER) return Number(text)
  const why = /^\d+$/.test(text) ? "value out of range" : "invalid syntax"
  throw refused(
    `resourceVersion: Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: ${why}`
  )
}

const boolean = (query: URLSearchParams, name: string): boolean | undefined => {
  const value = query.get(name)
  return value === null ? undefined : !["false", "0"].includes(value.toLowerCase())
}

const integer = (query: URLSearchParams, name: string): number | undefined => {
  const value = query.get(name)
  if (value === null) return undefined
  if (!/^[-+]?\d+$/.test(value)) {
    throw Failure.badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: invalid syntax`)
  }
  const number = Number(value)
  if (number < -(2 ** 63) || number >= 2 ** 63) {
    throw Failure.badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: value out of range`)
  }
  return number
}

const validateListOptions = (options: ListOptions): ReadonlyArray<FieldError.FieldError> => {
  const { resourceVersion, resourceVersionMatch: match } = options
  const field = "resourceVersionMatch"
  return [
    ...(match !== "" && resourceVersion === ""
      ? [FieldError.forbidden(field, "resourceVersionMatch is forbidden unless resourceVersion is provided")]
      : []),
    ...(match !== "" && options.continue !== ""
      ? [FieldError.forbidden(field, "resourceVersionMatch is forbidden when continue is provided")]
      : []),
    ...(["", "Exact", "NotOlderThan"].includes(match)
      ? []
      : [FieldError.notSupported(field, match, ["Exact", "NotOlderThan", ""])]),
    ...(match === "Exact" && resourceVersion === "0"
      ? [FieldError.forbidden(field, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"')]
      : []),
    ...(options.sendInitialEvents !== undefined
      ? [FieldError.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")]
      : [])
  ]
}

const validateWatchOptions = (options: ListOptions): ReadonlyArray<FieldError.FieldError> => {
  const { resourceVersionMatch: match, sendInitialEvents } = options
  const field = "resourceVersionMatch"
  return [
    ...(sendInitialEvents !== undefined && match !== "NotOlderThan"
      ? [FieldError.forbidden(field, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")]
      : []),
    ...(match !== "" && sendInitialEvents === undefined
      ? [
          FieldError.forbidden(
            field,
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
          )
        ]
      : []),
    ...(match !== "" && match !== "NotOlderThan" ? [FieldError.notSupported(field, match, ["NotOlderThan"])] : []),
    ...(match !== "" && options.continue !== ""
      ? [FieldError.forbidden(field, "resourceVersionMatch is forbidden when continue is provided")]
      : [])
  ]
}

const validateDryRun = (dryRun: ReadonlyArray<unknown>): ReadonlyArray<FieldError.FieldError> =>
  dryRun.every((value) => value === "All") ? [] : [FieldError.notSupported("dryRun", dryRun.map(String), ["All"])]

const refuse = (kind: string, errors: ReadonlyArray<FieldError.FieldError>): void => {
  if (errors.length > 0) throw Failure.invalid(optionsKind(kind), "", errors)
}
