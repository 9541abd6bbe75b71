/** The published schema of a custom kind: the schema of its CRD, with the fields that every object has. */
import type { Json, JsonObject } from "../../model/Json.ts"
import * as J from "../../model/Json.ts"
import type { Kind } from "../../model/Kind.ts"
import { definitions } from "../../model/OpenApiDefinitions.ts"
import type { Schema } from "../../model/Schema.ts"
import { type DefinitionNames, reference } from "./OpenApiPaths.ts"

/** `com.example.v1.WebApp` for the WebApp of example.com/v1. */
export const definitionName = ({ group, version }: Pick<Kind, "group" | "version">, kind: string): string =>
  [...group.split(".").reverse(), version, kind].join(".")

/** The definitions of a custom kind and of its list. */
export const definitionsOf = (kind: Kind, names: DefinitionNames): JsonObject => ({
  [names.object]: objectSchema(kind),
  [names.list]: listSchema(kind, names)
})

const objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
const listMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"
const metadata: JsonObject = {
  description:
    "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
  allOf: [reference(objectMeta)]
}

/** The descriptions of `apiVersion` and `kind`, as in every built-in kind. */
const typeMeta = (): JsonObject => {
  const properties = J.object(J.at(definitions(), "io.k8s.api.core.v1.ConfigMap", "properties"))
  return { apiVersion: properties.apiVersion, kind: properties.kind }
}

const objectSchema = (kind: Kind): JsonObject => {
  const published = publish(kind.schema)
  return {
    ...published,
    type: "object",
    properties: sorted({ ...J.object(published.properties), ...typeMeta(), metadata }),
    ...groupVersionKind(kind, kind.kind)
  }
}

const listSchema = (kind: Kind, names: DefinitionNames): JsonObject => ({
  description: `${kind.listKind} is a list of ${kind.kind}`,
  type: "object",
  required: ["items"],
  properties: sorted({
    ...typeMeta(),
    items: {
      description: `List of ${kind.plural}. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md`,
      type: "array",
      items: reference(names.object)
    },
    metadata: {
      description:
        "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds",
      allOf: [reference(listMeta)]
    }
  }),
  ...groupVersionKind(kind, kind.listKind)
})

const groupVersionKind = ({ group, version }: Kind, kind: string): JsonObject => ({
  "x-kubernetes-group-version-kind": [{ group, kind, version }]
})

/** Adds the implicit parts of the schema of a CRD: the types of an int-or-string, and the members of an embedded object. */
const publish = (schema: Schema): JsonObject => {
  const { additionalProperties, items, properties, ...rest } = schema
  const published: JsonObject = {
    ...(rest as JsonObject),
    ...(typeof additionalProperties === "object"
      ? { additionalProperties: publish(additionalProperties) }
      : additionalProperties === undefined
        ? {}
        : { additionalProperties }),
    ...(items === undefined ? {} : { items: publish(items) }),
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(properties).map(([name, property]) => [name, publish(property)])
          )
        })
  }
  if (schema["x-kubernetes-embedded-resource"] === true) return embedded(published)
  if (schema["x-kubernetes-int-or-string"] === true && schema.anyOf === undefined) {
    return { ...published, anyOf: [{ type: "integer" }, { type: "string" }] }
  }
  return published
}

const embedded = (schema: JsonObject): JsonObject => ({
  ...schema,
  required: [...new Set<Json>([...J.list(schema.required), "kind", "apiVersion"])],
  properties: sorted({
    ...J.object(schema.properties),
    apiVersion: {
      description:
        "apiVersion defines the versioned schema of this representation of an object. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources",
      type: "string"
    },
    kind: {
      description:
        "kind is a string value representing the type of this object. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds",
      type: "string"
    },
    metadata
  })
})

const sorted = (properties: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(properties).sort(([one], [other]) => (one < other ? -1 : 1)))
