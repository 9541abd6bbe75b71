/** The warnings for a valid CRD: formats that the server does not check, and sets of lists or objects. */
import * as Json from "../../../model/Json.ts"
import * as OpenApiFormats from "../OpenApiFormats.ts"
import * as Walk from "./Walk.ts"

/** Returns the warnings for a CRD. */
export const of = (crd: Json.JsonObject): ReadonlyArray<string> => {
  const schemas = Json.objects(Json.at(crd, "spec", "versions")).flatMap((version) => [
    ...Walk.schemas(Json.at(version, "schema", "openAPIV3Schema"))
  ])
  return [...schemas.flatMap(formatWarning), ...new Set(schemas.flatMap(setWarning).sort())]
}

const formatWarning = (schema: Json.JsonObject): ReadonlyArray<string> => {
  const format = Json.text(schema.format) ?? ""
  if (format === "" || OpenApiFormats.isKnown(Json.text(schema.type), format)) return []
  return [`unrecognized format ${JSON.stringify(format)}`]
}

const setWarning = (schema: Json.JsonObject): ReadonlyArray<string> => {
  const type = Json.at(schema, "items", "type")
  if (schema["x-kubernetes-list-type"] !== "set" || (type !== "object" && type !== "array")) return []
  return [
    `x-kubernetes-list-type: set for items of type ${JSON.stringify(type)} is not supported by server-side apply or CEL validation rules`
  ]
}
