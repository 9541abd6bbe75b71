/** The printer columns of `kubectl get` and the selectable fields of a CRD's version. */

import * as Json from "../../model/Json.ts"
import type { Column } from "../../model/Kind.ts"
import * as CustomCell from "./CustomCell.ts"

/** Returns the columns after Name: those that the version declares, or Age if it declares none. */
export const columnsOf = (version: Json.JsonObject): ReadonlyArray<Column> => {
  const declared = Json.objects(version.additionalPrinterColumns)
  return (declared.length === 0 ? [age] : declared).map(columnOf)
}

/** Returns a function that reads the selectable fields of an object. Their names are paths without the leading dot. */
export const selectableFieldsOf = (
  version: Json.JsonObject
): ((object: Json.JsonObject) => { readonly [path: string]: string }) => {
  const paths = Json.objects(version.selectableFields).map(({ jsonPath }) =>
    (Json.text(jsonPath) ?? "").replace(/^\./, "")
  )
  return (object) =>
    Object.fromEntries(
      paths.map((path) => {
        const value = Json.at(object, ...path.split("."))
        return [path, value === undefined || value === null ? "" : String(value)]
      })
    )
}

const age: Json.JsonObject = {
  name: "Age",
  type: "date",
  jsonPath: ".metadata.creationTimestamp",
  description:
    "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
}

const types = ["string", "integer", "number", "boolean", "date"] as const

const columnOf = (declared: Json.JsonObject): Column => {
  const type = types.find((one) => one === declared.type) ?? "string"
  const path = Json.text(declared.jsonPath) ?? ""
  return {
    name: Json.text(declared.name) ?? "",
    type,
    format: Json.text(declared.format) ?? "",
    description: Json.text(declared.description) || `Custom resource definition column (in JSONPath format): ${path}`,
    priority: Json.number(declared.priority) ?? 0,
    cell: CustomCell.of(type, path)
  }
}
