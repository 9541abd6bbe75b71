/** Validation of `metav1.Condition` lists. */
import * as FieldError from "../../model/FieldError.ts"
import * as Format from "../../model/Format.ts"
import type { Json as JsonValue } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Check from "../Check.ts"
import type { Errors } from "../Definition.ts"

const reasonFormat = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
const reasonRule =
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'"
const reason: Format.Format = (value) =>
  new RegExp(`^${reasonFormat}$`).test(value)
    ? []
    : [
        `${reasonRule} (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '${reasonFormat}')`
      ]

const mostReason = 1024
const mostMessage = 32 * 1024

function* tooLong(field: string, value: string, most: number): Errors {
  if (Buffer.byteLength(value) > most) {
    yield FieldError.make("FieldValueTooLong", field, undefined, `may not be more than ${most} bytes`)
  }
}

/** Yields the errors of a list of conditions. */
export function* validate(field: string, value: JsonValue | undefined): Errors {
  const seen = new Set<string>()
  for (const [index, condition] of Json.objects(value).entries()) {
    const at = `${field}[${index}]`
    const type = Json.text(condition.type) ?? ""
    if (seen.has(type)) yield FieldError.duplicate(at, type)
    seen.add(type)
    if (type === "") yield FieldError.required(`${at}.type`, "is required")
    else yield* Check.text(`${at}.type`, type, Format.labelKey)
    yield* Check.word(`${at}.status`, condition.status, ["False", "True", "Unknown"])
    const generation = Json.number(condition.observedGeneration) ?? 0
    if (generation < 0) {
      yield FieldError.invalid(`${at}.observedGeneration`, generation, "must be greater than or equal to zero")
    }
    if (typeof condition.lastTransitionTime !== "string") yield FieldError.required(`${at}.lastTransitionTime`)
    const why = Json.text(condition.reason) ?? ""
    yield* Check.requiredText(`${at}.reason`, why, reason)
    yield* tooLong(`${at}.reason`, why, mostReason)
    yield* tooLong(`${at}.message`, Json.text(condition.message) ?? "", mostMessage)
  }
}
