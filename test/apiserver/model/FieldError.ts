/**
 * The error of one field, with the messages of apimachinery's `field.Error`, which clients show and parse.
 */
import * as GoText from "./GoText.ts"
import type { Json } from "./Json.ts"
import { quote } from "./Quote.ts"

/** The kinds of errors, as the reason of a cause in a Status. */
export type Reason =
  | "FieldValueRequired"
  | "FieldValueInvalid"
  | "FieldValueNotSupported"
  | "FieldValueDuplicate"
  | "FieldValueForbidden"
  | "FieldValueNotFound"
  | "FieldValueTooLong"
  | "FieldValueTooMany"
  | "FieldValueTypeInvalid"
  | "InternalError"

/** The error of one field. */
export interface FieldError {
  readonly reason: Reason
  /** The path: `spec.containers[0].name`; undefined if the error belongs to no field, which is formatted as `<nil>`. */
  readonly field: string | undefined
  /** The message of the cause: type, value and detail, without the field. */
  readonly message: string
}

const texts: { readonly [reason in Reason]: string } = {
  FieldValueRequired: "Required value",
  FieldValueInvalid: "Invalid value",
  FieldValueNotSupported: "Unsupported value",
  FieldValueDuplicate: "Duplicate value",
  FieldValueForbidden: "Forbidden",
  FieldValueNotFound: "Not found",
  FieldValueTooLong: "Too long",
  FieldValueTooMany: "Too many",
  FieldValueTypeInvalid: "Invalid value",
  InternalError: "Internal error"
}

const valueless: ReadonlySet<Reason> = new Set([
  "FieldValueRequired",
  "FieldValueForbidden",
  "FieldValueTooLong",
  "InternalError"
])

/** A string is only quoted. In other values, Go escapes HTML characters. */
const shownOf = (value: Json): string => (typeof value === "string" ? quote(value) : GoText.unsorted(value))

/** Builds an error. The value is formatted as in Go: strings quoted, numbers and booleans bare, other values as JSON. */
export const make = (reason: Reason, field: string | undefined, value: Json | undefined, detail = ""): FieldError => {
  const shown = valueless.has(reason) ? "" : `: ${shownOf(value ?? null)}`
  return { reason, field, message: `${texts[reason]}${shown}${detail === "" ? "" : `: ${detail}`}` }
}

/** The error of a missing required field. */
export const required = (field: string, detail = ""): FieldError => make("FieldValueRequired", field, undefined, detail)

/** The error of an invalid value. */
export const invalid = (field: string, value: Json | undefined, detail = ""): FieldError =>
  make("FieldValueInvalid", field, value, detail)

/** The error of a field that is not allowed in this state. */
export const forbidden = (field: string, detail = ""): FieldError =>
  make("FieldValueForbidden", field, undefined, detail)

/** The error of a value outside an enumeration. */
export const notSupported = (field: string, value: Json | undefined, supported: ReadonlyArray<string>): FieldError =>
  make("FieldValueNotSupported", field, value, `supported values: ${supported.map(quote).join(", ")}`)

/** The error of a duplicate value. */
export const duplicate = (field: string, value: Json | undefined): FieldError =>
  make("FieldValueDuplicate", field, value)

/** Formats the error with its field: `spec.replicas: Invalid value: -1: must be …`. */
export const sentence = ({ field, message }: FieldError): string => `${field ?? "<nil>"}: ${message}`
