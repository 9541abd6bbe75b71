/** Validates the subresources, printer columns and selectable fields of a version. */
import * as FieldError from "../../../model/FieldError.ts"
import * as Json from "../../../model/Json.ts"
import * as FieldPath from "../FieldPath.ts"
import * as StructuralSchema from "../StructuralSchema.ts"
import * as Internal from "./Internal.ts"

type Errors = ReadonlyArray<FieldError.FieldError>

/** Returns the errors of subresources. */
export const ofSubresources = (subresources: Json.JsonObject | undefined, path: string): Errors => {
  const scale = subresources?.scale
  if (!Json.isObject(scale)) return []
  const selector = Json.text(scale.labelSelectorPath) ?? ""
  return [
    ...ofScalePath(scale.specReplicasPath, `${path}.scale.specReplicasPath`, ["spec"], ".spec"),
    ...ofScalePath(scale.statusReplicasPath, `${path}.scale.statusReplicasPath`, ["status"], ".status"),
    ...(selector === ""
      ? []
      : ofScalePath(selector, `${path}.scale.labelSelectorPath`, ["spec", "status"], "either .spec or .status"))
  ]
}

const ofScalePath = (
  value: Json.Json | undefined,
  path: string,
  roots: ReadonlyArray<string>,
  shown: string
): Errors => {
  const text = Json.text(value) ?? ""
  if (text === "") return [FieldError.required(path)]
  if (!text.startsWith(".")) return [FieldError.invalid(path, text, "must be a simple json path starting with .")]
  return roots.some((root) => text.startsWith(`.${root}.`))
    ? []
    : [FieldError.invalid(path, text, `should be a json path under ${shown}`)]
}

const columnTypes = ["boolean", "date", "integer", "number", "string"]
const columnFormats = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"]

/** Returns the errors of printer columns. */
export const ofColumns = ({ columns }: Internal.Version, path: string): Errors =>
  columns.flatMap((column, index) => {
    const at = `${path}[${index}]`
    const [name = "", type = "", format = "", jsonPath = ""] = ["name", "type", "format", "jsonPath"].map(
      (member) => Json.text(column[member]) ?? ""
    )
    const typeDetail = `must be one of ${columnTypes.join(",")}`
    return [
      ...(name === "" ? [FieldError.required(`${at}.name`)] : []),
      ...(type === "" ? [FieldError.required(`${at}.type`, typeDetail)] : []),
      ...(type !== "" && !columnTypes.includes(type) ? [FieldError.invalid(`${at}.type`, type, typeDetail)] : []),
      ...(format !== "" && !columnFormats.includes(format)
        ? [FieldError.invalid(`${at}.format`, format, `must be one of ${columnFormats.join(",")}`)]
        : []),
      ...(jsonPath === "" ? [FieldError.required(`${at}.JSONPath`)] : []),
      ...(jsonPath !== "" && !jsonPath.startsWith(".")
        ? [FieldError.invalid(`${at}.JSONPath`, jsonPath, "must be a simple json path starting with .")]
        : [])
    ]
  })

const maxSelectableFields = 8

/** Returns the errors of selectable fields. `validation` holds the schema that their paths must match. */
export const ofSelectableFields = (
  { selectableFields }: Internal.Version,
  validation: Json.JsonObject | undefined,
  path: string
): Errors => {
  if (selectableFields.length === 0) return []
  const schema = StructuralSchema.schemaOf(Internal.openApi(validation))
  const seen = new Set<string>()
  const errors = selectableFields.flatMap(({ jsonPath }, index): Errors => {
    const at = `${path}[${index}].jsonPath`
    const text = Json.text(jsonPath) ?? ""
    if (text === "") return [FieldError.required(at)]
    const found = FieldPath.parse(text, schema, { brackets: false })
    if ("problem" in found) return [FieldError.invalid(at, text, `is an invalid path: ${found.problem}`)]
    const again = seen.has(found.path)
    seen.add(found.path)
    const detail =
      "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
    return [
      ...(found.root === "metadata" ? [FieldError.invalid(at, text, "must not point to fields in metadata")] : []),
      ...(["string", "boolean", "integer"].includes(found.schema.type ?? "")
        ? []
        : [FieldError.invalid(at, text, detail)]),
      ...(again ? [FieldError.duplicate(at, text)] : [])
    ]
  })
  return seen.size <= maxSelectableFields
    ? errors
    : [
        ...errors,
        FieldError.make("FieldValueTooMany", path, seen.size, `must have at most ${maxSelectableFields} items`)
      ]
}
