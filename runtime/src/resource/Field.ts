/**
 * What Kubernetes wants to know about a field and an Effect Schema does not say: how a list merges, what a rule between
 * fields is, what is kept though no schema describes it. Each is piped onto a schema or a property:
 *
 * ```ts
 * Schema.Struct({
 *   env: Schema.Array(EnvVar).pipe(Field.listMap("name")),
 *   schedule: Schema.String.pipe(Field.rule({ rule: "self.size() > 0", message: "must not be empty" }))
 * })
 * ```
 *
 * The API server enforces these; decoding does not repeat them. Schemas for the three wire forms that Kubernetes has of
 * its own are here too: {@link IntOrString}, {@link Quantity}, {@link Time}.
 */
import type * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import type * as AST from "effect/SchemaAST"

/** A validation rule in CEL. `self` is the field it stands on, `oldSelf` its former value (then it runs on updates only). */
export interface Rule {
  /** CEL that is true where all is well: `self.minReplicas <= self.replicas`. */
  readonly rule: string
  /** One line, shown when the rule fails. */
  readonly message?: string
  /** CEL that makes the message; takes precedence while it evaluates. */
  readonly messageExpression?: string
  /** The default is `FieldValueInvalid`. */
  readonly reason?: "FieldValueInvalid" | "FieldValueForbidden" | "FieldValueRequired" | "FieldValueDuplicate"
  /** The field the error is reported at, relative to this one: `.replicas`. */
  readonly fieldPath?: string
  /** A rule with `oldSelf` runs on creation too, `oldSelf` being an optional then. */
  readonly optionalOldSelf?: boolean
}

/** What was piped onto one schema or property. */
export interface Facts {
  readonly listType?: "atomic" | "set" | "map"
  readonly listMapKeys?: ReadonlyArray<string>
  readonly mapType?: "atomic" | "granular"
  readonly preserveUnknown?: true
  readonly embeddedResource?: true
  readonly format?: string
  readonly rules?: ReadonlyArray<Rule>
}

const FactsId: unique symbol = Symbol.for("@homeostat/runtime/Field")

/** The facts that annotations carry. */
export const factsOf = (annotations: AST.Annotations): Facts => {
  const facts = annotations[FactsId]
  // Only `annotate` below writes under this symbol.
  return facts === undefined ? {} : (facts as Facts)
}

/** The outer facts win; rules add up. */
const merged = (inner: Facts, outer: Facts): Facts => ({
  ...inner,
  ...outer,
  ...(inner.rules === undefined ? {} : { rules: [...inner.rules, ...(outer.rules ?? [])] })
})

/** What a fact can be piped onto: a schema, or a property made by `Schema.optional` and the like. */
export type Annotatable = Schema.Annotable.All | Schema.PropertySignature.All

/** Attaches a fact; types stay as they are. */
export type Annotator = <S extends Annotatable>(self: S) => ReturnType<S["annotations"]>

const annotate =
  (facts: Facts): Annotator =>
  <S extends Annotatable>(self: S) => {
    const annotations =
      self.ast._tag === "PropertySignatureTransformation" ? self.ast.to.annotations : self.ast.annotations
    // `annotations` of a union of schema types loses which one `S` is; it gives back the type that S declares for it.
    return self.annotations({ [FactsId]: merged(factsOf(annotations), facts) }) as ReturnType<S["annotations"]>
  }

/** A list whose items merge by these keys, each of which is required or has a default: several managers can own entries of it. */
export const listMap = (...keys: readonly [string, ...ReadonlyArray<string>]): Annotator =>
  annotate({ listType: "map", listMapKeys: keys })

/** A list of scalars without duplicates, of which several managers can own entries. */
export const listSet: Annotator = annotate({ listType: "set" })

/** A list that one manager owns as a whole: what lists are without any fact. */
export const listAtomic: Annotator = annotate({ listType: "atomic" })

/** A struct or record that one manager owns as a whole, instead of field by field. */
export const mapAtomic: Annotator = annotate({ mapType: "atomic" })

/** Fields that the struct does not declare are kept by the server, and by decoding. */
export const preserveUnknown: Annotator = annotate({ preserveUnknown: true })

/** A whole Kubernetes object, such as a template: the server checks apiVersion, kind and metadata, and keeps the rest. */
export const embeddedResource: Annotator = annotate({ embeddedResource: true, preserveUnknown: true })

/** An OpenAPI format that the server checks: `ipv4`, `cidr`, `uri`, `date-time`, `int32`, … */
export const format = (name: string): Annotator => annotate({ format: name })

/** A CEL rule. Rules on one field add up; the server bounds their cost, so bound the strings and lists that they walk. */
export const rule = (rule: Rule): Annotator => annotate({ rules: [rule] })

/** A field whose value cannot be changed once it is set. An optional one can still be taken away: make it required as well. */
export const immutable: Annotator = rule({ rule: "self == oldSelf", message: "is immutable" })

/** One message, in place of one per member of a union. */
const expected = (what: string) => (issue: ParseResult.ParseIssue) => ({
  message: `Expected ${what}, actual ${JSON.stringify(issue.actual)}`,
  override: true
})

/** A number or a string, as in `maxUnavailable: 1` and `maxUnavailable: 25%`. */
export const IntOrString = Schema.Union(Schema.Int, Schema.String).annotations({
  identifier: "IntOrString",
  message: expected("a whole number or a string")
})

const quantity =
  /^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$/

/** A resource quantity: `500m`, `1Gi`, `2`. A number is decoded as its text, the form that built-in kinds have. */
export const Quantity = Schema.transform(
  Schema.Union(Schema.Int, Schema.String.pipe(Schema.pattern(quantity))).annotations({
    message: expected("a quantity such as 500m or 1Gi")
  }),
  Schema.String,
  { strict: true, decode: String, encode: (text) => text }
).annotations({
  identifier: "Quantity",
  jsonSchema: { "x-kubernetes-int-or-string": true, pattern: quantity.source }
})

/**
 * A point in time, RFC 3339: `2026-11-20T09:00:00Z`. It stays a string, as everywhere on the wire. The pattern keeps out
 * what the server's `date-time` would let pass and no other program reads, such as a comma before the fraction.
 */
export const Time = Schema.String.pipe(
  Schema.pattern(
    /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$/,
    {
      identifier: "Time",
      message: expected("an RFC 3339 time such as 2026-11-20T09:00:00Z")
    }
  ),
  format("date-time")
)
