/**
 * The kinds that a CustomResourceDefinition declares, one for each served version. The server serves them like any other kind.
 * Versions are views of the same objects. With the conversion strategy None, they differ only in the apiVersion and in pruned fields.
 */
import * as Failure from "../../model/Failure.ts"
import * as Json from "../../model/Json.ts"
import type { Kind, Scale, Verb } from "../../model/Kind.ts"
import type { Schema } from "../../model/Schema.ts"
import * as Rules from "../cel/Rules.ts"
import * as CustomObjectMeta from "./CustomObjectMeta.ts"
import * as CustomStrategy from "./CustomStrategy.ts"
import * as Defaults from "./Defaults.ts"
import * as Columns from "./PrinterColumns.ts"
import * as Prune from "./Pruning.ts"
import * as StructuralSchema from "./StructuralSchema.ts"

export { definition, definitionStatus, establish } from "./DefinitionStrategy.ts"

/** Converts objects to an apiVersion, in their order. Throws a Failure (500), or `Step.Pending`. */
export type Convert = (objects: ReadonlyArray<Json.JsonObject>, apiVersion: string) => ReadonlyArray<Json.JsonObject>

/** The conversion strategy None: changes only the apiVersion. */
export const none: Convert = (objects, apiVersion) => objects.map((object) => ({ ...object, apiVersion }))

/**
 * Returns the kinds of a stored, established CRD, one for each served version. It compiles the schemas and their rules, once for
 * each revision of the CRD.
 */
export const kindsOf = (crd: Json.JsonObject, convert: Convert = none): ReadonlyArray<Kind> => {
  const spec = Json.object(crd.spec)
  const versions = Json.objects(spec.versions)
  const schemas = new Map(versions.map((version) => [versionName(version), compiledOf(version).schema]))
  const stored = versions.find((version) => version.storage === true) ?? {}
  return versions
    .filter((version) => version.served === true)
    .map((version) => kindOf(crd, version, versionName(stored), { schemas, convert }))
}

const verbs: ReadonlyArray<Verb> = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]

const versionName = (version: Json.JsonObject): string => Json.text(version.name) ?? ""

/** The compiled schema of a version. */
interface Compiled {
  /** The declared schema, with the type object. */
  readonly schema: Schema
  readonly served: Schema
  readonly rules: Rules.Rules
}

/** Stored objects never change, so servers that start with the same state share schemas. Each schema is compiled once. */
const compiled = new WeakMap<Json.JsonObject, Compiled>()

const compiledOf = (version: Json.JsonObject): Compiled => {
  const source = Json.object(Json.at(version, "schema", "openAPIV3Schema"))
  const found = compiled.get(source)
  if (found !== undefined) return found
  const schema: Schema = { ...StructuralSchema.schemaOf(source), type: "object" }
  const made = { schema, served: served(schema), rules: Rules.compile(schema) }
  compiled.set(source, made)
  return made
}

/** Returns the schema that the server publishes: with apiVersion, kind and metadata, even if the CRD does not declare them. */
const served = (schema: Schema): Schema => ({
  ...schema,
  properties: { ...schema.properties, apiVersion: text, kind: text, metadata: CustomObjectMeta.objectMeta }
})

const text: Schema = { type: "string" }

/** The schemas of all versions of a kind, served or not, and the conversion between the versions. */
interface Versions {
  readonly schemas: ReadonlyMap<string, Schema>
  readonly convert: Convert
}

const kindOf = (crd: Json.JsonObject, version: Json.JsonObject, stored: string, versions: Versions): Kind => {
  const spec = Json.object(crd.spec)
  const names = Json.object(Json.at(crd, "status", "acceptedNames") ?? spec.names)
  const group = Json.text(spec.group) ?? ""
  const name = versionName(version)
  const kind = Json.text(names.kind) ?? ""
  const plural = Json.text(names.plural) ?? ""
  const apiVersion = `${group}/${name}`
  const { rules, schema, served } = compiledOf(version)
  const subresources = Json.object(version.subresources)
  const hasStatus = Json.isObject(subresources.status)
  const scale = Json.isObject(subresources.scale) ? scaleOf(subresources.scale) : undefined
  const declared = { apiVersion, kind, schema, rules, status: hasStatus, scale }
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
    schema: served,
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
    ...(versions.convert === none
      ? byName(apiVersion, versions)
      : byWebhook(apiVersion, `${group}/${plural}`, versions)),
    toStorage: (object) => converted([object], `${group}/${stored}`, versions)[0] ?? object,
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

/** Splits a path into names: `.spec.replicas` into `spec` and `replicas`. */
const namesOf = (path: Json.Json | undefined): ReadonlyArray<string> =>
  (Json.text(path) ?? "").replace(/^\./, "").split(".")

const deprecationOf = (version: Json.JsonObject, name: string): string | undefined =>
  version.deprecated === true ? (Json.text(version.deprecationWarning) ?? `${name} is deprecated`) : undefined

/** The conversion strategy None. Stored objects never change, so each object is converted to this version once. */
const byName = (apiVersion: string, versions: Versions): Pick<Kind, "fromStorage"> => {
  const known = new WeakMap<Json.JsonObject, Json.JsonObject>()
  return {
    fromStorage: (object) => {
      const found = known.get(object)
      if (found !== undefined) return found
      const made = fromStorage([object], apiVersion, versions)[0] ?? object
      known.set(object, made)
      return made
    }
  }
}

/** The conversion strategy Webhook. The server calls the webhook at every read, except that lists and watches use cached objects. */
const byWebhook = (
  apiVersion: string,
  storage: string,
  versions: Versions
): Pick<Kind, "fromStorage" | "cached" | "convert"> => {
  const known = new WeakMap<Json.JsonObject, Json.JsonObject>()
  return {
    fromStorage: (object) => readable(object, storage, () => fromStorage([object], apiVersion, versions)[0] ?? object),
    convert: (object) => versions.convert([object], apiVersion)[0] ?? object,
    cached: (stored) => {
      const missing = stored.filter((object) => !known.has(object))
      const made = fromStorage(missing, apiVersion, versions)
      for (const [index, object] of missing.entries()) known.set(object, made[index] ?? object)
      return stored.map((object) => known.get(object) ?? object)
    }
  }
}

/** Reads an object. If the webhook fails to convert the object, throws the Failure (500) of a corrupt object. */
const readable = (object: Json.JsonObject, storage: string, read: () => Json.JsonObject): Json.JsonObject => {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof Failure.Failure)) throw error
    const { name, namespace, resourceVersion } = Json.object(object.metadata)
    const key = ["", storage, namespace, name].filter((part) => part !== undefined).join("/")
    throw Failure.internal(
      `StorageError: corrupt object, Code: 7, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: object not decodable revision=${String(resourceVersion)}: ${error.message}`
    )
  }
}

/** Prunes and defaults stored objects by the schema of their stored version, and then converts them to this version. */
const fromStorage = (
  objects: ReadonlyArray<Json.JsonObject>,
  apiVersion: string,
  versions: Versions
): ReadonlyArray<Json.JsonObject> => {
  const defaulted = objects.map((object) => {
    const schema = versions.schemas.get(versionIn(object.apiVersion))
    if (schema === undefined) return object
    const { value } = Prune.prune(schema, object)
    Defaults.fill(value, schema)
    return value
  })
  const read = converted(defaulted, apiVersion, versions)
  return objects.map((object, index) => (Json.equal(read[index], object) ? object : (read[index] ?? object)))
}

const versionIn = (apiVersion: Json.Json | undefined): string => (Json.text(apiVersion) ?? "").replace(/^.*\//, "")

/** Converts objects of other versions to this version. An object of a removed version only gets the new apiVersion. */
const converted = (
  objects: ReadonlyArray<Json.JsonObject>,
  apiVersion: string,
  { convert, schemas }: Versions
): ReadonlyArray<Json.JsonObject> => {
  const others = objects.filter((object) => object.apiVersion !== apiVersion)
  if (others.length === 0) return objects
  const [gone, there] = [false, true].map((known) =>
    others.filter((object) => schemas.has(versionIn(object.apiVersion)) === known)
  )
  const schema = schemas.get(versionIn(apiVersion))
  const made = new Map<Json.JsonObject, Json.JsonObject>(
    (gone ?? []).map((object) => [object, { ...object, apiVersion }])
  )
  const results = convert(there ?? [], apiVersion)
  for (const [index, object] of (there ?? []).entries()) {
    const result = results[index] ?? object
    made.set(object, schema === undefined ? { ...result, apiVersion } : Prune.prune(schema, result).value)
  }
  return objects.map((object) => made.get(object) ?? object)
}
