/**
 * Facts about a field that Kubernetes needs and an Effect Schema does not have: merge keys of lists, validation rules, unknown
 * fields. Pipe them onto a schema or a property:
 *
 * ```ts
 * Schema.Struct({
 *   env: Schema.Array(EnvVar).pipe(Field.listMap("name")),
 *   schedule: Schema.String.pipe(Field.rule({ rule: "self.size() > 0", message: "must not be empty" }))
 * })
 * ```
 *
 * The API server enforces them; decoding does not check them. The schemas of three wire types of Kubernetes are here too: {@link
 * IntOrString}, {@link Quantity}, {@link Time}.
 */
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"
import * as SchemaGetter from "effect/SchemaGetter"
import { isExact } from "./Exact.ts"

/** A validation rule in CEL. `self` is its field, `oldSelf` the previous value (the rule then runs only on updates). */
export interface Rule {
  /** A CEL expression that is true for valid values: `self.minReplicas <= self.replicas`. */
  readonly rule: string
  /** The error message, in one line. */
  readonly message?: string
  /** A CEL expression for the message; it precedes `message` if it evaluates. */
  readonly messageExpression?: string
  /** Default `FieldValueInvalid`. */
  readonly reason?: "FieldValueInvalid" | "FieldValueForbidden" | "FieldValueRequired" | "FieldValueDuplicate"
  /** The field of the error, relative to this one: `.replicas`. */
  readonly fieldPath?: string
  /** Runs a rule with `oldSelf` on creation too; `oldSelf` is then an optional. */
  readonly optionalOldSelf?: boolean
}

/** The facts of one schema or property. */
export interface Facts {
  readonly listType?: "atomic" | "set" | "map"
  readonly listMapKeys?: ReadonlyArray<string>
  readonly mapType?: "atomic" | "granular"
  readonly preserveUnknown?: true
  readonly embeddedResource?: true
  readonly format?: string
  readonly rules?: ReadonlyArray<Rule>
}

const factsKey = "@homeostat/runtime/Field"

/**
 * The facts in annotations.
 *
 * @internal
 */
export const factsOf = (annotations: Schema.Annotations.Annotations | undefined): Facts => {
  const facts = annotations?.[factsKey]
  // Only `annotate` below writes this key.
  return facts === undefined ? {} : (facts as Facts)
}

/** Outer facts override inner ones; rules add up. */
const merged = (inner: Facts, outer: Facts): Facts => ({
  ...inner,
  ...outer,
  ...(inner.rules === undefined ? {} : { rules: [...inner.rules, ...(outer.rules ?? [])] })
})

/** Adds a fact to a schema, or to a property made by `Schema.optional` and the like, and keeps the types. */
export type Annotator = <S extends Schema.Top>(self: S) => S["Rebuild"]

const annotate =
  (facts: Facts): Annotator =>
  (self) =>
    self.annotate({ [factsKey]: merged(factsOf(AST.resolve(self.ast)), facts) })

/** The same for fields that no schema declares. */
const unchecked =
  (facts: Facts): Annotator =>
  (self) =>
    annotate(facts)(self.check(isExact))

/**
 * A list whose items merge by these keys, so that several managers can own entries. Each key must be required or have a default.
 *
 * @example
 * ```ts
 * const ports = Schema.Array(Schema.Struct({ name: Schema.String, port: Schema.Int })).pipe(Field.listMap("name"))
 * ```
 */
export const listMap = (...keys: readonly [string, ...ReadonlyArray<string>]): Annotator =>
  annotate({ listType: "map", listMapKeys: keys })

/**
 * A list of scalars without duplicates, in which several managers can own entries.
 *
 * @example
 * ```ts
 * const hosts = Schema.Array(Schema.String).pipe(Field.listSet)
 * ```
 */
export const listSet: Annotator = annotate({ listType: "set" })

/**
 * A list that one manager owns as a whole, the default for lists.
 *
 * @example
 * ```ts
 * const command = Schema.Array(Schema.String).pipe(Field.listAtomic)
 * ```
 */
export const listAtomic: Annotator = annotate({ listType: "atomic" })

/**
 * A struct or record that one manager owns as a whole, instead of each field.
 *
 * @example
 * ```ts
 * const selector = Schema.Record(Schema.String, Schema.String).pipe(Field.mapAtomic)
 * ```
 */
export const mapAtomic: Annotator = annotate({ mapType: "atomic" })

/**
 * The server and the decoding keep fields that the struct does not declare. The decoding fails at an integer beyond 9007199254740991,
 * which it could not keep exactly.
 *
 * @example
 * ```ts
 * const values = Schema.Struct({}).pipe(Field.preserveUnknown)
 * ```
 */
export const preserveUnknown: Annotator = unchecked({ preserveUnknown: true })

/**
 * A whole Kubernetes object, such as a template: the server checks apiVersion, kind and metadata, and keeps the other fields.
 *
 * @example
 * ```ts
 * const template = Schema.Struct({}).pipe(Field.embeddedResource, Field.preserveUnknown)
 * ```
 */
export const embeddedResource: Annotator = unchecked({ embeddedResource: true, preserveUnknown: true })

/**
 * An OpenAPI format that the server checks, such as `ipv4`, `cidr`, `uri`, `date-time` or `int32`.
 *
 * @example
 * ```ts
 * const address = Schema.String.pipe(Field.format("ipv4"))
 * ```
 */
export const format = (name: string): Annotator => annotate({ format: name })

/**
 * A CEL rule. Rules on one field add up. The server limits their cost, so bound the strings and lists that they iterate.
 *
 * @example
 * ```ts
 * const range = Schema.Struct({ min: Schema.Int, max: Schema.Int }).pipe(
 *   Field.rule({ rule: "self.min <= self.max", message: "min must be at most max" })
 * )
 * ```
 */
export const rule = (rule: Rule): Annotator => annotate({ rules: [rule] })

/**
 * A field whose value cannot change after it was set. An optional field can still be removed, unless it is required as well.
 *
 * @example
 * ```ts
 * const storageClass = Schema.String.pipe(Field.immutable)
 * ```
 */
export const immutable: Annotator = rule({ rule: "self == oldSelf", message: "is immutable" })

/** A number or a string, as in `maxUnavailable: 1` and `maxUnavailable: 25%`. */
export const IntOrString = Schema.Union([Schema.Int, Schema.String]).annotate({
  identifier: "IntOrString",
  expected: "a whole number or a string"
})

const quantity =
  /^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$/

/** A resource quantity: `500m`, `1Gi`, `2`. A number decodes to text, as in built-in kinds. */
export const Quantity = Schema.Union([Schema.Int, Schema.String.check(Schema.isPattern(quantity))])
  .annotate({ expected: "a quantity such as 500m or 1Gi" })
  .pipe(
    Schema.decodeTo(Schema.String, {
      decode: SchemaGetter.transform(String),
      encode: SchemaGetter.passthrough()
    })
  )
  .annotate({
    identifier: "Quantity",
    jsonSchema: { "x-kubernetes-int-or-string": true, pattern: quantity.source }
  })

const expectedTime = { expected: "an RFC 3339 time such as 2026-11-20T09:00:00Z" }

/**
 * A point in time, RFC 3339: `2026-11-20T09:00:00Z`. It stays a string, as on the wire. The pattern rejects formats that only the
 * server's `date-time` accepts, such as a comma before the fraction.
 */
export const Time = Schema.String.annotate(expectedTime)
  .check(
    Schema.isPattern(
      /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$/,
      { identifier: "Time", ...expectedTime }
    )
  )
  .pipe(format("date-time"))
