/**
 * The cells of the printer columns that a CRD declares: the value at a JSONPath, in the form of the column's type.
 */

import * as Duration from "../../model/Duration.ts"
import type { Json, JsonObject } from "../../model/Json.ts"
import type { Column } from "../../model/Kind.ts"
import * as JsonPath from "./JsonPath.ts"

/**
 * Returns the function that makes the cells of a column from the first result of its JSONPath. A cell is null if the path has no
 * result, or a result of another type.
 */
export const of = (type: Column["type"], jsonPath: string): Column["cell"] => {
  const path = JsonPath.parse(jsonPath)
  return (object: JsonObject, now: number) => {
    const value = JsonPath.find(path, object)?.[0]
    return value === undefined ? null : shown(type, value, now)
  }
}

const shown = (type: Column["type"], value: Json, now: number): ReturnType<Column["cell"]> => {
  switch (type) {
    case "string":
      return JsonPath.print(value)
    case "integer":
      return typeof value === "number" ? Math.trunc(value) : null
    case "number":
      return typeof value === "number" ? value : null
    case "boolean":
      return typeof value === "boolean" ? value : null
    case "date":
      return typeof value === "string" ? Duration.age(value, now) : null
  }
}
