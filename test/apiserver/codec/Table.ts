/**
 * Encodes objects as a Table, which kubectl prints. Each object is a row whose cells come from the columns of the kind.
 */
import * as Failure from "../model/Failure.ts"
import type { Json, JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import type { Kind } from "../model/Kind.ts"
import type { Accepted } from "./Negotiation.ts"
import * as PartialMetadata from "./PartialMetadata.ts"

/** The part of each object that its row includes. */
export type IncludeObject = "None" | "Metadata" | "Object"

/** The options of a table. */
export interface Options {
  readonly version: Accepted["version"]
  readonly includeObject: IncludeObject
  /** Milliseconds since 1970. */
  readonly now: number
  /** The metadata of the table: that of the list, or the resourceVersion of a single object. */
  readonly metadata: JsonObject
  /** False to omit the column definitions, as after the first event of a watch. */
  readonly withColumns: boolean
}

/** Parses `?includeObject=`. Throws a Failure (400) for an unknown value. */
export const includeObjectOf = (parameter: string | undefined): IncludeObject => {
  switch (parameter) {
    case undefined:
    case "":
    case "Metadata":
      return "Metadata"
    case "None":
    case "Object":
      return parameter
    default:
      throw Failure.badRequest(
        `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(parameter)}: must be 'Metadata', 'Object', 'None', or empty`
      )
  }
}

/** Returns the objects as a Table. */
export const table = (kind: Kind, objects: ReadonlyArray<JsonObject>, options: Options): JsonObject => {
  const named = kind.columns.some(({ format }) => format === "name")
  const columns = named ? kind.columns : [name, ...kind.columns]
  return {
    kind: "Table",
    apiVersion: `meta.k8s.io/${options.version}`,
    metadata: options.metadata,
    columnDefinitions: options.withColumns
      ? columns.map(({ description, format, name, priority, type }) => ({ name, type, format, description, priority }))
      : null,
    rows: objects.map((object) => {
      const internal = kind.internal?.(object) ?? object
      const conditions = kind.rowConditions?.(internal) ?? []
      return {
        cells: columns.map(({ cell }) => cell(internal, options.now)),
        ...(conditions.length > 0 && { conditions }),
        object: included(object, internal, options)
      }
    })
  }
}

/** Returns the metadata of the table of a single object. */
export const metadataOf = (object: JsonObject): JsonObject => {
  const resourceVersion = J.text(J.at(object, "metadata", "resourceVersion"))
  return resourceVersion === undefined ? {} : { resourceVersion }
}

const name: Kind["columns"][number] = {
  name: "Name",
  type: "string",
  format: "name",
  description:
    "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names",
  priority: 0,
  cell: (object) => J.text(J.at(object, "metadata", "name")) ?? ""
}

const included = (object: JsonObject, internal: JsonObject, { includeObject, version }: Options): Json => {
  if (includeObject === "Object") return object
  // The bookmark that ends the initial events keeps its annotation, whatever part of objects the client requests.
  const ends = J.at(object, "metadata", "annotations", "k8s.io/initial-events-end") === "true"
  return includeObject === "None" && !ends ? null : PartialMetadata.partial(internal, version)
}
