/**
 * A kind of one's own: its Effect Schemas are the single source of its type, of its decoding and of its CRD.
 *
 * ```ts
 * export const WebApp = CustomResource.make({
 *   group: "apps.kubedojo.io", version: "v1beta1", kind: "WebApp",
 *   spec: Schema.Struct({ image: Schema.NonEmptyString, replicas: Schema.optionalWith(Schema.Int, { default: () => 2 }) }),
 *   status: Schema.Struct({ conditions: Schema.optional(Condition.list) })
 * })
 * export type WebApp = typeof WebApp.Type
 * ```
 *
 * A read gives the object with its spec decoded. The status stays as it is on the wire, for it is the controller's own
 * word: it is compared and patched, and an odd status of a former version must not keep the object from being reconciled.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import type * as Schema from "effect/Schema"
import type { Rule } from "./Field.ts"
import * as FieldPath from "./FieldPath.ts"
import { InvalidDefinition } from "./InvalidDefinition.ts"
import { type DesiredMeta, type KubernetesObject, keyOf, keyString } from "./KubernetesObject.ts"
import * as Resource from "./Resource.ts"
import * as SchemaCompiler from "./SchemaCompiler.ts"
import { finished, type StructuralSchema } from "./StructuralSchema.ts"
import * as Text from "./Text.ts"

/** An object of a custom kind as a reconciler sees it. */
export interface CustomObject<Spec, Status> extends KubernetesObject {
  readonly spec: Spec
  readonly status?: Status
}

/** An object of a custom kind as one writes it: the spec in its wire form, where what has a default may be absent. */
export interface CustomDesired<SpecEncoded> {
  readonly metadata: DesiredMeta
  readonly spec: SpecEncoded
}

/** A column of `kubectl get`. With any column of one's own the server shows no age by itself: it is `.metadata.creationTimestamp`. */
export interface Column {
  /** Its heading. */
  readonly name: string
  /** Where the value is: `.spec.image`. */
  readonly path: string
  /** Taken from the schema at the path; to be given where that is an object, a list or unknown. */
  readonly type?: "string" | "integer" | "number" | "boolean" | "date" | undefined
  /** As in OpenAPI, such as `int32`. */
  readonly format?: string | undefined
  /** The column's description in the CRD. */
  readonly description?: string | undefined
  /** Above 0, the column appears with `-o wide` only. */
  readonly priority?: number | undefined
}

/** The scale subresource, for `kubectl scale` and HorizontalPodAutoscalers: paths such as `.spec.replicas`. */
export interface Scale {
  /** The wanted number of replicas. */
  readonly spec: string
  /** The number that there is. */
  readonly status: string
  /** A string, the serialized label selector of the pods; an HPA needs it. */
  readonly selector?: string | undefined
}

/** What a custom kind is made from. */
export interface Options<Spec, SpecEncoded, Status, StatusEncoded> {
  /** A domain of yours: `web.example.org`. */
  readonly group: string
  /** Such as `v1`, `v1beta1`. One is served, and stored. */
  readonly version: string
  /** In CamelCase: `Site`. */
  readonly kind: string
  /** By default the kind in lower case, made plural as in English. */
  readonly plural?: string | undefined
  /** By default the kind in lower case. */
  readonly singular?: string | undefined
  /** What kubectl takes for its name as well: `wa`. */
  readonly shortNames?: ReadonlyArray<string> | undefined
  /** Groups of kinds for `kubectl get`, such as `all`. */
  readonly categories?: ReadonlyArray<string> | undefined
  /** The default is `Namespaced`. */
  readonly scope?: "Namespaced" | "Cluster" | undefined
  /** What it is, for `kubectl explain`. */
  readonly description?: string | undefined
  /** The fields that the author of an object writes. {@link check} fails if a CRD cannot hold them. */
  readonly spec: Schema.Schema<Spec, SpecEncoded>
  /** With it, the kind has the status subresource. */
  readonly status?: Schema.Schema<Status, StatusEncoded> | undefined
  /** What `kubectl get` shows besides the name. By default nothing but the age, as the server has it. */
  readonly columns?: ReadonlyArray<Column> | undefined
  /** With it, the kind has the scale subresource. By default it has none. */
  readonly scale?: Scale | undefined
  /** Rules on the whole object: `self.metadata.name`, or between spec and status. */
  readonly rules?: ReadonlyArray<Rule> | undefined
}

/**
 * What the CRD says beyond the coordinates; `Crd.of` writes it out. The schema and the columns are compiled when one of them is
 * first read.
 */
export interface Definition {
  readonly singular: string
  readonly listKind: string
  readonly shortNames: ReadonlyArray<string>
  readonly categories: ReadonlyArray<string>
  /**
   * The schema of the whole object.
   *
   * @throws InvalidDefinition where a CRD can't hold it: see {@link check}
   */
  readonly schema: StructuralSchema
  readonly hasStatus: boolean
  /**
   * The columns, each with its type.
   *
   * @throws InvalidDefinition where a CRD can't hold the schema, or a path leads nowhere: see {@link check}
   */
  readonly columns: ReadonlyArray<Column & { readonly type: NonNullable<Column["type"]> }>
  readonly scale: Scale | undefined
}

/**
 * A custom kind.
 *
 * @typeParam Spec the decoded spec, as a read gives it
 * @typeParam SpecEncoded the spec on the wire, as a write takes it
 * @typeParam Status the status on the wire; `never` for a kind without
 */
export interface CustomResource<out Spec, in SpecEncoded, out Status>
  extends Resource.Resource<CustomObject<Spec, Status>, CustomDesired<SpecEncoded>> {
  readonly definition: Definition
}

/** Any custom kind. */
export type Any = CustomResource<unknown, never, unknown>

/** Whether a kind was made here, and so has a CRD. */
export const isCustomResource = (resource: Resource.Any): resource is Any => "definition" in resource

/** The same kind, whose objects stay as they are on the wire. */
export const undecoded = (resource: Resource.Any): Resource.Any => {
  const wire = Resource.make({ ...resource, decode: undefined })
  return isCustomResource(resource) ? Object.assign(wire, { definition: resource.definition }) : wire
}

/**
 * Declares a kind. What its CRD says is compiled when `definition` is first asked for it, as it takes longer than all else of a
 * start: see {@link check}.
 *
 * @throws InvalidDefinition naming the invalid name, and the fix
 */
export const make = <Spec, SpecEncoded, Status = never, StatusEncoded = never>(
  options: Options<Spec, SpecEncoded, Status, StatusEncoded>
): CustomResource<Spec, SpecEncoded, StatusEncoded> => {
  const { group, version, kind } = options
  const plural = options.plural ?? pluralOf(kind)
  const definition = define(options)
  checkNames({ ...options, plural, singular: definition.singular })
  const namespaced = options.scope !== "Cluster"
  const decode = decoder<Spec, SpecEncoded, StatusEncoded>(kind, options.spec)
  const resource = Resource.make<CustomObject<Spec, StatusEncoded>, CustomDesired<SpecEncoded>>({
    group,
    version,
    kind,
    plural,
    namespaced,
    decode
  })
  return Object.assign(resource, { definition })
}

/**
 * Compiles what the CRD of a kind says, and fails where a CRD cannot hold it, naming the field and the way out. `crd`, `manifests`,
 * `run --install-crds` and the build do so; a start without `--install-crds` does not, as it would take longer than all else of it.
 */
export const check = ({ definition }: Any): Effect.Effect<void, InvalidDefinition> =>
  Effect.try({
    try: () => void definition.schema,
    catch: (error) => {
      if (error instanceof InvalidDefinition) return error
      throw error
    }
  })

const define = <Spec, SpecEncoded, Status, StatusEncoded>(
  options: Options<Spec, SpecEncoded, Status, StatusEncoded>
): Definition => {
  const { kind } = options
  let compiled: Pick<Definition, "schema" | "columns"> | undefined
  const compile = () => {
    compiled ??= compiledOf(options)
    return compiled
  }
  return {
    singular: options.singular ?? kind.toLowerCase(),
    listKind: `${kind}List`,
    shortNames: options.shortNames ?? [],
    categories: options.categories ?? [],
    get schema() {
      return compile().schema
    },
    hasStatus: options.status !== undefined,
    get columns() {
      return compile().columns
    },
    scale: options.scale
  }
}

const compiledOf = <Spec, SpecEncoded, Status, StatusEncoded>(
  options: Options<Spec, SpecEncoded, Status, StatusEncoded>
): Pick<Definition, "schema" | "columns"> => {
  const { kind } = options
  const part = (schema: Schema.Schema.All, field: string): StructuralSchema => {
    const compiled = SchemaCompiler.compile(schema, { kind, field })
    return compiled.type === "object" ? compiled : refuse(kind, field, "is not an object", "Make it a Schema.Struct")
  }
  const schema = finished({
    ...(options.description === undefined || options.description === "" ? {} : { description: options.description }),
    type: "object",
    properties: {
      ...metadataFor(options.rules ?? []),
      spec: part(options.spec, "spec"),
      ...(options.status === undefined ? {} : { status: part(options.status, "status") })
    },
    required: ["spec"],
    ...(options.rules === undefined ? {} : { "x-kubernetes-validations": options.rules })
  })
  if (options.scale !== undefined) checkScale(kind, schema, options.scale)
  return {
    schema,
    columns: (options.columns ?? []).map((column) => ({ ...column, type: columnType(kind, schema, column) }))
  }
}

/** The server knows the fields of metadata by itself, except where a rule reports its error at the name. */
const metadataFor = (rules: ReadonlyArray<Rule>): { readonly metadata?: StructuralSchema } =>
  rules.some(({ fieldPath }) => fieldPath === ".metadata.name")
    ? { metadata: { type: "object", properties: { name: { type: "string" } } } }
    : {}

const refuse = (kind: string, field: string, problem: string, fix: string): never => {
  throw new InvalidDefinition({ kind, field, problem, fix })
}

/** The plural of a kind that states none: in lower case, and as in English by its last letters: `policies` of `Policy`. */
export const pluralOf = (kind: string): string => {
  const word = kind.toLowerCase()
  if (/(s|x|z|ch|sh)$/.test(word)) return `${word}es`
  return /[^aeiou]y$/.test(word) ? `${word.slice(0, -1)}ies` : `${word}s`
}

const label = /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/

const checkNames = (names: {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly singular: string
  readonly shortNames?: ReadonlyArray<string> | undefined
  readonly categories?: ReadonlyArray<string> | undefined
}): void => {
  const check = (field: string, value: string, valid: boolean, fix: string) =>
    valid || refuse(names.kind, field, `${JSON.stringify(value)} is not a valid name`, fix)
  const isGroup =
    names.group.includes(".") && names.group.split(".").every((part) => /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(part))
  check("group", names.group, isGroup, "Use a domain, such as example.com")
  check("version", names.version, label.test(names.version), "Use v1, v1beta1 or the like")
  check("kind", names.kind, /^[A-Z][A-Za-z0-9]{0,62}$/.test(names.kind), "Use CamelCase beginning with a capital")
  const fix = "Use lower-case letters, digits and dashes"
  check("plural", names.plural, label.test(names.plural), fix)
  check("singular", names.singular, label.test(names.singular), fix)
  for (const name of names.shortNames ?? []) check("shortNames", name, label.test(name), fix)
  for (const name of names.categories ?? []) check("categories", name, label.test(name), fix)
}

const schemaAt = (kind: string, root: StructuralSchema, path: string, field: string): StructuralSchema =>
  Either.getOrElse(FieldPath.resolve(root, path), (problem) =>
    refuse(kind, field, problem, "Write the path as it is in the object, such as .spec.image")
  )

const columnType = (kind: string, root: StructuralSchema, column: Column): NonNullable<Column["type"]> => {
  const field = `columns.${column.name}`
  const schema = schemaAt(kind, root, column.path, field)
  if (column.type !== undefined) return column.type
  const { type, format } = schema
  if (schema["x-kubernetes-int-or-string"]) return "string"
  if (type === "string") return format === "date-time" || format === "date" ? "date" : "string"
  return type === undefined || type === "object" || type === "array"
    ? refuse(
        kind,
        field,
        `${column.path} is not a single value`,
        "Say how to show it by type, or lead the path further"
      )
    : type
}

const checkScale = (kind: string, root: StructuralSchema, scale: Scale): void => {
  const check = (field: string, path: string, under: "spec" | "status", type: "integer" | "string") => {
    const at = `scale.${field}`
    const isUnder = new RegExp(`^\\.${under}\\.[^[\\]]+$`).test(path)
    const schema = schemaAt(kind, root, path, at)
    if (!isUnder || schema.type !== type) {
      refuse(
        kind,
        at,
        `${path} is not ${type === "integer" ? "an integer" : "a string"} under .${under}`,
        "Lead the path there"
      )
    }
  }
  check("spec", scale.spec, "spec", "integer")
  check("status", scale.status, "status", "integer")
  if (scale.selector !== undefined) {
    check("selector", scale.selector, scale.selector.startsWith(".spec.") ? "spec" : "status", "string")
  }
}

/** `spec.env[0].name` */
const fieldOf = (path: ReadonlyArray<PropertyKey>): string =>
  path.reduce<string>(
    (field, step) => (typeof step === "number" ? `${field}[${step}]` : `${field}.${String(step)}`),
    "spec"
  )

/** Issues of an object that are reported, and characters of each: a message has the value that is wrong in it. */
const mostIssues = 20
const longestIssue = 500

const issuesOf = (issue: ParseResult.ParseIssue): Resource.InvalidObject["issues"] => {
  const issues = ParseResult.ArrayFormatter.formatIssueSync(issue)
    .slice(0, mostIssues)
    .map(({ path, message }) => ({ field: fieldOf(path), message: Text.clip(message, longestIssue) }))
  // Effect tries every member of `T | undefined`: that a wrong value is not absent either is of no use to anyone.
  return issues.filter(
    (issue) =>
      !/^Expected (undefined|null), actual /.test(issue.message) ||
      !issues.some((other) => other !== issue && other.field.startsWith(issue.field))
  )
}

const decoder = <Spec, SpecEncoded, Status>(kind: string, spec: Schema.Schema<Spec, SpecEncoded>) => {
  type Decoded = Either.Either<CustomObject<Spec, Status>, Resource.InvalidObject>
  // Fields that an older or newer version of the kind knows must not fail, and a reconciler may be asked to keep them.
  const options = { errors: "all", onExcessProperty: "preserve" } as const
  let decodeSpec: ReturnType<typeof ParseResult.decodeUnknownEither<Spec, SpecEncoded>> | undefined
  const decode = (wire: KubernetesObject & { readonly spec?: unknown }): Decoded => {
    const invalid = (issues: Resource.InvalidObject["issues"]) =>
      new Resource.InvalidObject({ kind, key: keyString(keyOf(wire)), issues })
    // Compiled for the first object: a start has none to decode.
    decodeSpec ??= ParseResult.decodeUnknownEither(spec, options)
    if (wire.spec === undefined) return Either.left(invalid([{ field: "spec", message: "is missing" }]))
    return Either.mapBoth(decodeSpec(wire.spec), {
      onLeft: (issue) => invalid(issuesOf(issue)),
      // The wire carries nothing else than what the CRD lets through; only the spec is checked here.
      onRight: (spec) => ({ ...wire, spec })
    })
  }
  // An object of the cache is the same object until it changes, so this decodes once per resourceVersion.
  const decoded = new WeakMap<KubernetesObject, Decoded>()
  return (wire: KubernetesObject): Decoded => {
    const known = decoded.get(wire)
    if (known !== undefined) return known
    const fresh = decode(wire)
    decoded.set(wire, fresh)
    return fresh
  }
}
