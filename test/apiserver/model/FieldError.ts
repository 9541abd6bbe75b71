/**
 * What is wrong with one field, in the words of apimachinery's `field.Error`, which clients show and parse.
 */
import * as GoText from "./GoText.ts"
import type { Json } from "./Json.ts"
import { quote } from "./Quote.ts"

/** The kinds of errors, by the reason that a Status gives as a cause. */
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

/** An error. */
export interface FieldError {
  readonly reason: Reason
  /** `spec.containers[0].name`; undefined where it is of no field, which is written `<nil>`. */
  readonly field: string | undefined
  /** As a cause says it: type, value and detail, without the field. */
  readonly message: string
}

const said: { readonly [reason in Reason]: string } = {
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

/** Text is only put in quotes; in all else Go escapes what HTML could misunderstand. */
const shownOf = (value: Json): string => (typeof value === "string" ? quote(value) : GoText.unsorted(value))

/** An error; the value is shown as Go shows it: text in quotes, numbers and truth bare, all else as JSON. */
export const make = (reason: Reason, field: string | undefined, value: Json | undefined, detail = ""): FieldError => {
  const shown = valueless.has(reason) ? "" : `: ${shownOf(value ?? null)}`
  return { reason, field, message: `${said[reason]}${shown}${detail === "" ? "" : `: ${detail}`}` }
}

/** A field that has to be there. */
export const required = (field: string, detail = ""): FieldError => make("FieldValueRequired", field, undefined, detail)

/** A value that is not one of those that the field may have. */
export const invalid = (field: string, value: Json | undefined, detail = ""): FieldError =>
  make("FieldValueInvalid", field, value, detail)

/** Something that may not be said here or now. */
export const forbidden = (field: string, detail = ""): FieldError =>
  make("FieldValueForbidden", field, undefined, detail)

/** A value outside of a list of words. */
export const notSupported = (field: string, value: Json | undefined, supported: ReadonlyArray<string>): FieldError =>
  make("FieldValueNotSupported", field, value, `supported values: ${supported.map(quote).join(", ")}`)

/** A value that is there already. */
export const duplicate = (field: string, value: Json | undefined): FieldError =>
  make("FieldValueDuplicate", field, value)

/** The error in a sentence: `spec.replicas: Invalid value: -1: must be …`. */
export const sentence = ({ field, message }: FieldError): string => `${field ?? "<nil>"}: ${message}`
