/**
 * The kinds that a CustomResourceDefinition declares: one per served version, as the server serves any other kind.
 * Versions are views of the same objects (conversion strategy None): only the apiVersion differs, and what each schema knows.
 */
import * as Json from "../Json.ts"
import type { Kind, Scale, Verb } from "../Kind.ts"
import type { Schema } from "../Schema.ts"
import * as ObjectMeta from "./CustomObjectMeta.ts"
import * as CustomStrategy from "./CustomStrategy.ts"
import * as Rules from "./cel/Rules.ts"
import * as Defaults from "./Defaults.ts"
import * as Columns from "./PrinterColumns.ts"
import * as Prune from "./Pruning.ts"
import * as Schemas from "./Schemas.ts"

export { definition, definitionStatus, establish } from "./DefinitionStrategy.ts"

/**
 * The kinds that a stored, established CRD serves, one per served version. What a schema says (defaults, patterns, rules)
 * is compiled here, once for each revision of the CRD.
 */
export const kindsOf = (crd: Json.JsonObject): ReadonlyArray<Kind> => {
  const spec = Json.object(crd.spec)
  const versions = Json.objects(spec.versions)
  const schemas = new Map(versions.map((version) => [versionName(version), rootSchema(version)]))
  const stored = versions.find((version) => version.storage === true) ?? {}
  return versions
    .filter((version) => version.served === true)
    .map((version) => kindOf(crd, version, versionName(stored), schemas))
}

const verbs: ReadonlyArray<Verb> = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]

const versionName = (version: Json.JsonObject): string => Json.text(version.name) ?? ""

/** The schema of a version with what every object has. */
const rootSchema = (version: Json.JsonObject): Schema => {
  const schema = Schemas.schemaOf(Json.at(version, "schema", "openAPIV3Schema"))
  return { ...schema, type: "object" }
}

/** The schema as it is served: with apiVersion, kind and metadata, whether the CRD mentions them or not. */
const served = (schema: Schema): Schema => ({
  ...schema,
  properties: { ...schema.properties, apiVersion: text, kind: text, metadata: ObjectMeta.objectMeta }
})

const text: Schema = { type: "string" }

const kindOf = (
  crd: Json.JsonObject,
  version: Json.JsonObject,
  stored: string,
  schemas: ReadonlyMap<string, Schema>
): Kind => {
  const spec = Json.object(crd.spec)
  const names = Json.object(Json.at(crd, "status", "acceptedNames") ?? spec.names)
  const group = Json.text(spec.group) ?? ""
  const name = versionName(version)
  const kind = Json.text(names.kind) ?? ""
  const plural = Json.text(names.plural) ?? ""
  const apiVersion = `${group}/${name}`
  const schema = schemas.get(name) ?? { type: "object" }
  const subresources = Json.object(version.subresources)
  const hasStatus = Json.isObject(subresources.status)
  const scale = Json.isObject(subresources.scale) ? scaleOf(subresources.scale) : undefined
  const declared = { apiVersion, kind, schema, rules: Rules.compile(schema), status: hasStatus, scale }
  return {
    group,
    version: name,
    kind,
    listKind: Json.text(names.listKind) ?? `${kind}List`,
    plural,
    singular: Json.text(names.singular) ?? kind.toLowerCase(),
    shortNames: strings(names.shortNames),
    categories: strings(names.categories),
    namespaced: spec.scope === "Namespaced",
    verbs,
    storage: `${group}/${plural}`,
    ...(stored === name ? {} : { storageVersion: `${group}/${stored}` }),
    schema: served(schema),
    custom: true,
    strategy: CustomStrategy.main(declared),
    status: hasStatus ? CustomStrategy.status(declared) : undefined,
    scale,
    columns: Columns.columnsOf(version),
    selectableFields: Columns.selectableFieldsOf(version),
    unconditionalUpdate: false,
    createOnUpdate: false,
    gracePeriod: () => 0,
    deletedAs: "status",
    fromStorage: remembered((object) => fromStorage(object, apiVersion, schemas)),
    toStorage: (object) => converted(object, `${group}/${stored}`, schemas.get(stored)),
    deprecation: deprecationOf(version, `${apiVersion} ${kind}`)
  }
}

const strings = (value: Json.Json | undefined): ReadonlyArray<string> =>
  Json.list(value).filter((item): item is string => typeof item === "string")

const scaleOf = (scale: Json.JsonObject): Scale => {
  const selector = Json.text(scale.labelSelectorPath) ?? ""
  return {
    specReplicas: namesOf(scale.specReplicasPath),
    statusReplicas: namesOf(scale.statusReplicasPath),
    selector: selector === "" ? undefined : namesOf(selector)
  }
}

/** `.spec.replicas` as the names on the way. */
const namesOf = (path: Json.Json | undefined): ReadonlyArray<string> =>
  (Json.text(path) ?? "").replace(/^\./, "").split(".")

const deprecationOf = (version: Json.JsonObject, name: string): string | undefined =>
  version.deprecated === true ? (Json.text(version.deprecationWarning) ?? `${name} is deprecated`) : undefined

/** Objects in the store never change: what one is in this version is found out once. */
const remembered = (convert: (object: Json.JsonObject) => Json.JsonObject) => {
  const known = new WeakMap<Json.JsonObject, Json.JsonObject>()
  return (object: Json.JsonObject): Json.JsonObject => {
    const found = known.get(object)
    if (found !== undefined) return found
    const made = convert(object)
    known.set(object, made)
    return made
  }
}

/** As it was stored, by the schema of the version it was stored in, with defaults that came later; then in this version. */
const fromStorage = (
  object: Json.JsonObject,
  apiVersion: string,
  schemas: ReadonlyMap<string, Schema>
): Json.JsonObject => {
  const schema = schemas.get((Json.text(object.apiVersion) ?? "").replace(/^.*\//, ""))
  if (schema === undefined) return { ...object, apiVersion }
  const { value } = Prune.prune(schema, object)
  Defaults.fill(value, schema)
  const read = converted(value, apiVersion, schemas.get(apiVersion.replace(/^.*\//, "")))
  return Json.equal(read, object) ? object : read
}

const converted = (object: Json.JsonObject, apiVersion: string, schema: Schema | undefined): Json.JsonObject => {
  if (object.apiVersion === apiVersion || schema === undefined) return object
  return Prune.prune(schema, { ...object, apiVersion }).value
}
