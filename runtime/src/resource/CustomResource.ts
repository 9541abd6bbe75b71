/**
 * A custom kind. Its Effect Schemas are the single source of its type, its decoding and its CRD.
 *
 * ```ts
 * export const WebApp = CustomResource.make({
 *   group: "apps.kubedojo.io", version: "v1beta1", kind: "WebApp",
 *   spec: Schema.Struct({
 *     image: Schema.NonEmptyString,
 *     replicas: Schema.Int.pipe(Schema.withDecodingDefaultType(Effect.succeed(2)))
 *   }),
 *   status: Schema.Struct({ conditions: Schema.optional(Condition.list) })
 * })
 * export type WebApp = typeof WebApp.Type
 * ```
 *
 * A read decodes the spec. The status stays in its wire form, because the controller compares and patches it. An invalid status of an
 * older version must not block reconciles.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaParser from "effect/SchemaParser"
import type { Rule } from "./Field.ts"
import * as FieldPath from "./FieldPath.ts"
import { InvalidDefinition } from "./InvalidDefinition.ts"
import * as Issues from "./Issues.ts"
import * as KeepUnknown from "./KeepUnknown.ts"
import { type DesiredMeta, type KubernetesObject, keyOf, keyString } from "./KubernetesObject.ts"
import * as ReadyColumns from "./ReadyColumns.ts"
import * as Resource from "./Resource.ts"
import * as SchemaCompiler from "./SchemaCompiler.ts"
import * as SchemaFields from "./SchemaFields.ts"
import * as Shorten from "./Shorten.ts"
import { finished, type StructuralSchema } from "./StructuralSchema.ts"
import * as Text from "./Text.ts"

/** An object of a custom kind for a reconcile. */
export interface CustomObject<Spec, Status> extends KubernetesObject {
  readonly spec: Spec
  readonly status?: Status
}

/** An object of a custom kind for writes: the spec in its wire form, where fields with a default are optional. */
export interface CustomDesired<SpecEncoded> {
  readonly metadata: DesiredMeta
  readonly spec: SpecEncoded
}

/**
 * A column of `kubectl get`. A kind whose status has the conditions of `Condition.list` also gets the columns Ready, Reason and Since, which
 * show its condition Ready, Paused, and Age. Other kinds with columns get no age: add `.metadata.creationTimestamp`.
 */
export interface Column {
  /** Its heading. */
  readonly name: string
  /** The path of the value: `.spec.image`. */
  readonly path: string
  /** Default: the type in the schema at the path. Required if that is an object, a list or unknown. */
  readonly type?: "string" | "integer" | "number" | "boolean" | "date" | undefined
  /** The OpenAPI format, such as `int32`. */
  readonly format?: string | undefined
  /** The column's description in the CRD. */
  readonly description?: string | undefined
  /** With a value above 0 the column appears only with `-o wide`. */
  readonly priority?: number | undefined
}

/** The scale subresource, for `kubectl scale` and HorizontalPodAutoscalers: paths such as `.spec.replicas`. */
export interface Scale {
  /** The desired number of replicas. */
  readonly spec: string
  /** The actual number of replicas. */
  readonly status: string
  /** The label selector of the pods, as a string; HorizontalPodAutoscalers need it. */
  readonly selector?: string | undefined
}

/** The settings of a custom kind. */
export interface Options<Spec, SpecEncoded, Status, StatusEncoded> {
  /** The API group, a domain: `web.example.org`. */
  readonly group: string
  /** The API version, such as `v1` or `v1beta1`. It is served and stored. */
  readonly version: string
  /** In CamelCase: `Site`. */
  readonly kind: string
  /** Default: the kind in lower case, in its English plural. */
  readonly plural?: string | undefined
  /** Default: the kind in lower case. */
  readonly singular?: string | undefined
  /** Short names for kubectl: `wa`. */
  readonly shortNames?: ReadonlyArray<string> | undefined
  /** The categories of the kind in `kubectl get`, such as `all`. */
  readonly categories?: ReadonlyArray<string> | undefined
  /** Default `Namespaced`. */
  readonly scope?: "Namespaced" | "Cluster" | undefined
  /** The description in `kubectl explain`. */
  readonly description?: string | undefined
  /** The fields that users write. {@link check} fails if a CRD cannot express them. */
  readonly spec: Schema.ConstraintCodec<Spec, SpecEncoded>
  /**
   * Adds the status subresource. If this schema declares `observedGeneration` and accepts `{ observedGeneration: -1 }`, the API server
   * gives each object without a status this status. So kstatus takes a new object for `InProgress`, and not for `Current`.
   */
  readonly status?: Schema.ConstraintCodec<Status, StatusEncoded> | undefined
  /** The columns of `kubectl get` after the name and the columns of the condition Ready. Default: only the age. */
  readonly columns?: ReadonlyArray<Column> | undefined
  /** Adds the scale subresource. Default: none. */
  readonly scale?: Scale | undefined
  /** Rules for the whole object: `self.metadata.name`, or between spec and status. */
  readonly rules?: ReadonlyArray<Rule> | undefined
}

/** A served version that is not stored: see `Conversion`. Failure: why an object cannot be converted. */
export interface Spoke {
  readonly resource: Any
  readonly toHub: (object: KubernetesObject) => Result.Result<KubernetesObject, string>
  readonly fromHub: (object: KubernetesObject) => Result.Result<KubernetesObject, string>
}

/** The CRD's content besides the names; `Crd.of` writes the CRD. The schema and the columns are compiled at their first read. */
export interface Definition {
  readonly singular: string
  readonly listKind: string
  readonly shortNames: ReadonlyArray<string>
  readonly categories: ReadonlyArray<string>
  /**
   * The schema of the whole object.
   *
   * @throws InvalidDefinition if a CRD cannot express it: see {@link check}
   */
  readonly schema: StructuralSchema
  /**
   * The fields of the spec and of the status, which a start compares with those that the API server serves.
   *
   * @internal
   */
  readonly fields: () => { readonly spec: SchemaFields.Fields; readonly status?: SchemaFields.Fields }
  readonly hasStatus: boolean
  /**
   * The columns, each with its type.
   *
   * @throws InvalidDefinition if a CRD cannot express the schema, or a path does not exist: see {@link check}
   */
  readonly columns: ReadonlyArray<Column & { readonly type: NonNullable<Column["type"]> }>
  readonly scale: Scale | undefined
  /** The other served versions: see `Conversion`. */
  readonly spokes: ReadonlyArray<Spoke>
}

/**
 * A custom kind.
 *
 * @typeParam Spec the decoded spec of reads
 * @typeParam SpecEncoded the spec of writes, as on the wire
 * @typeParam Status the status on the wire; `never` without a status
 */
export interface CustomResource<out Spec, in SpecEncoded, out Status>
  extends Resource.Resource<CustomObject<Spec, Status>, CustomDesired<SpecEncoded>> {
  readonly definition: Definition
}

/** Any custom kind. */
export type Any = CustomResource<unknown, never, unknown>

/**
 * Whether a kind was declared with {@link make}, and so has a CRD.
 *
 * @internal
 */
export const isCustomResource = (resource: Resource.Any): resource is Any => "definition" in resource

/**
 * The same kind without decoding: its objects stay in their wire form.
 *
 * @internal
 */
export const undecoded = (resource: Resource.Any): Resource.Any => {
  const wire = Resource.make({ ...resource, decode: undefined })
  return isCustomResource(resource) ? Object.assign(wire, { definition: resource.definition }) : wire
}

/**
 * Declares a kind. The CRD is compiled at the first read of `definition`, because that takes longer than the rest of a start: see
 * {@link check}.
 *
 * @throws InvalidDefinition with the invalid name and the fix
 *
 * @example
 * ```ts
 * const Widget = CustomResource.make({
 *   group: "example.com",
 *   version: "v1",
 *   kind: "Widget",
 *   spec: Schema.Struct({ size: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 10 })) })
 * })
 * Widget.plural // => "widgets"
 * ```
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
 * Compiles the CRD of a kind. Fails if a CRD cannot express it, with the field and a fix. `crd`, `manifests`, `run --install-crds`
 * and the build call it. A start without `--install-crds` does not, because it would take longer than the rest of the start.
 *
 * @example
 * ```ts
 * yield* CustomResource.check(Site)
 * ```
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
    fields: () => ({
      spec: SchemaFields.of(options.spec),
      ...(options.status !== undefined && { status: SchemaFields.of(options.status) })
    }),
    hasStatus: options.status !== undefined,
    get columns() {
      return compile().columns
    },
    scale: options.scale,
    spokes: []
  }
}

const compiledOf = <Spec, SpecEncoded, Status, StatusEncoded>(
  options: Options<Spec, SpecEncoded, Status, StatusEncoded>
): Pick<Definition, "schema" | "columns"> => {
  const { kind } = options
  const part = (schema: Schema.Constraint, field: string): StructuralSchema => {
    const compiled = SchemaCompiler.compile(schema, { kind, field })
    return compiled.type === "object" ? compiled : refuse(kind, field, "is not an object", "Make it a Schema.Struct")
  }
  const schema = finished({
    ...(options.description === undefined || options.description === "" ? {} : { description: options.description }),
    type: "object",
    properties: {
      ...metadataFor(options.rules ?? []),
      spec: part(options.spec, "spec"),
      ...(options.status === undefined ? {} : { status: initiated(part(options.status, "status"), options.status) })
    },
    required: ["spec"],
    ...(options.rules === undefined ? {} : { "x-kubernetes-validations": options.rules })
  })
  if (options.scale !== undefined) checkScale(kind, schema, options.scale)
  const own = (options.columns ?? []).map((column) => ({ ...column, type: columnType(kind, schema, column) }))
  return { schema, columns: ReadyColumns.before(schema, own) }
}

/** The status before the first reconcile, as Flux defines it for its kinds. No generation is negative, so kstatus waits. */
const unobserved = { observedGeneration: -1 }

/** The compiled schema of a status, with the status of a new object as the default. The API server rejects a default that does not fit. */
const initiated = (compiled: StructuralSchema, status: Schema.ConstraintDecoder<unknown>): StructuralSchema =>
  compiled.properties?.observedGeneration !== undefined &&
  Result.isSuccess(SchemaParser.decodeUnknownResult(status)(unobserved))
    ? finished({ ...compiled, default: unobserved })
    : compiled

/** The server knows the fields of metadata, so the schema has them only for a rule that reports its error at the name. */
const metadataFor = (rules: ReadonlyArray<Rule>): { readonly metadata?: StructuralSchema } =>
  rules.some(({ fieldPath }) => fieldPath === ".metadata.name")
    ? { metadata: { type: "object", properties: { name: { type: "string" } } } }
    : {}

const refuse = (kind: string, field: string, problem: string, fix: string): never => {
  throw new InvalidDefinition({ kind, field, problem, fix })
}

/**
 * The default plural of a kind: in lower case, by the English rules for its last letters: `policies` for `Policy`.
 *
 * @example
 * ```ts
 * CustomResource.pluralOf("Policy") // => "policies"
 * ```
 */
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
  Result.getOrElse(FieldPath.resolve(root, path), (problem) =>
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

/** The largest number of reported issues of an object, and the characters of each: a message contains the invalid value. */
const mostIssues = 20
const longestIssue = 500

const issuesOf = (issue: SchemaIssue.Issue): Resource.InvalidObject["issues"] =>
  Issues.issuesOf(issue, mostIssues).map(({ path, message }) => ({
    field: fieldOf(path),
    message: Text.clip(message, longestIssue)
  }))

const decoder = <Spec, SpecEncoded, Status>(kind: string, spec: Schema.ConstraintCodec<Spec, SpecEncoded>) => {
  type Decoded = Result.Result<CustomObject<Spec, Status>, Resource.InvalidObject>
  let decodeSpec:
    | ReturnType<typeof SchemaParser.decodeUnknownResult<Schema.ConstraintCodec<Spec, SpecEncoded>>>
    | undefined
  let shorten: Shorten.Shorten | undefined
  const decode = (wire: KubernetesObject & { readonly spec?: unknown }): Decoded => {
    const invalid = (issues: Resource.InvalidObject["issues"]) =>
      new Resource.InvalidObject({ kind, key: keyString(keyOf(wire)), issues })
    // Compiled for the first object, because a start does not decode objects.
    if (decodeSpec === undefined) {
      decodeSpec = SchemaParser.decodeUnknownResult(KeepUnknown.of(spec))
      shorten = Shorten.of(spec.ast)
    }
    if (wire.spec === undefined) return Result.fail(invalid([{ field: "spec", message: "is missing" }]))
    const short = shorten === undefined ? wire.spec : shorten(wire.spec)
    if (short !== wire.spec) {
      const refused = decodeSpec(short, Issues.detailed)
      if (Result.isFailure(refused)) return Result.fail(invalid(issuesOf(refused.failure)))
    }
    const decoded = decodeSpec(wire.spec)
    // Only the spec is checked here; the CRD has validated the rest.
    if (Result.isSuccess(decoded)) return Result.succeed({ ...wire, spec: decoded.success })
    // To find all issues costs more, so only an invalid object pays for it.
    const detailed = decodeSpec(wire.spec, Issues.detailed)
    return Result.fail(invalid(issuesOf(Result.isFailure(detailed) ? detailed.failure : decoded.failure)))
  }
  // A cached object keeps its identity until it changes, so this decodes once per resourceVersion.
  const decoded = new WeakMap<KubernetesObject, Decoded>()
  return (wire: KubernetesObject): Decoded => {
    const known = decoded.get(wire)
    if (known !== undefined) return known
    const fresh = decode(wire)
    decoded.set(wire, fresh)
    return fresh
  }
}
