/**
 * The CEL expressions of admission policies and webhooks. This module compiles them with the variables that Kubernetes provides, and
 * evaluates them for each request. It evaluates a policy's variable at its first use, once for each request.
 */
import type { Environment } from "@marcbachmann/cel-js"
import type { Json, JsonObject } from "../../model/Json.ts"
import type { Schema } from "../../model/Schema.ts"
import * as Authorizer from "./AuthorizerLibrary.ts"
import * as Constructors from "./Constructors.ts"
import * as CostLimits from "./cost/CostLimits.ts"
import { Types } from "./DeclTypes.ts"
import * as Expression from "./Expression.ts"
import { failure } from "./Value.ts"

/** The variables that an expression may use besides `object`, `oldObject` and `request`. */
interface Declared {
  readonly params: boolean
  readonly authorizer: boolean
  /** Whether `namespaceObject` has the type `dyn`, because its value is null. */
  readonly loose: boolean
}

/** The values of the variables for a request. */
export interface Input {
  readonly object: JsonObject | null
  readonly oldObject: JsonObject | null
  readonly request: JsonObject
  readonly namespaceObject: JsonObject | null
  readonly params: JsonObject | null
  /** The value of `authorizer`, which `AuthorizerLibrary.of` makes. */
  readonly authorizer: unknown
}

/** The value of an expression, or the error. */
export type Result = { readonly value: unknown } | { readonly problem: string }

/** The state of the evaluations for one request. */
export interface Activation {
  readonly context: { readonly [name: string]: unknown }
  /** The results of the policy's variables that have been evaluated. */
  readonly variables: Map<string, Result>
  /** The rest of the budget, in cost units; less than 0: the expressions cost too much. */
  left: number
}

/** A compiled expression. */
export interface Program {
  readonly evaluate: (activation: Activation) => Result
}

/** A compiled expression, or the error of the compiler. */
export type Compiled = Program | { readonly problem: string }

/** The types that an expression may return. An empty list allows all types. */
export type Returns = ReadonlyArray<"bool" | "null_type" | "string" | "Object" | "list(JSONPatch)">

/** Compiles the expressions of one policy or webhook. */
export interface Compiler {
  readonly compile: (source: string, returns: Returns, authorizer?: boolean) => Compiled
  /** Compiles the expression of a mutation, which constructs objects or patches. */
  readonly mutation: (source: string, returns: "Object" | "list(JSONPatch)") => Compiled
  /** Declares a variable for expressions that are compiled later. Returns the compiler's error if the variable is invalid. */
  readonly declare: (name: string, source: string) => string | undefined
}

interface Variable {
  readonly type: string
  readonly compiled: Compiled
}

/** Makes a compiler. `params` declares the variable `params`. `composed` declares `variables`, the variables of the policy. */
export const compiler = ({ composed, params }: { readonly composed: boolean; readonly params: boolean }): Compiler => {
  const variables = new Map<string, Variable>()
  const compile = (
    source: string,
    returns: Returns,
    authorizer: boolean,
    constructs?: ReadonlySet<string>
  ): Compiled & { readonly type?: string } => {
    const known = new Map(variables)
    const compileIn = (loose: boolean) => {
      const shared = environmentOf({ params, authorizer, loose })
      const declared = constructs === undefined ? shared : Constructors.register(shared.clone(), constructs)
      const composition = composed ? compose(declared.clone(), known) : undefined
      return { composition, program: Expression.compile(composition?.env ?? declared, source) }
    }
    const strict = compileIn(false)
    const { program } = strict
    let other: ReturnType<typeof compileIn> | undefined
    if ("problem" in program) return { problem: `compilation failed: ${program.problem}` }
    if (returns.length > 0 && !returns.some((type) => type === shown(program.type))) {
      const wanted = returns.length === 1 ? returns[0] : `one of [${returns.join(" ")}]`
      return { problem: `must evaluate to ${wanted} but got ${shown(program.type)}` }
    }
    return {
      type: program.type,
      evaluate: (activation) => {
        if (activation.context.namespaceObject === null) other ??= compileIn(true)
        const { composition, program } = activation.context.namespaceObject === null && other ? other : strict
        if ("problem" in program) return program
        const own = composition === undefined ? {} : { variables: composition.values(activation) }
        const { cost, result } = program.measure({ ...activation.context, ...own })
        activation.left -= cost
        return result
      }
    }
  }
  return {
    compile: (source, returns, authorizer = true) => compile(source, returns, authorizer),
    mutation: (source, returns) => {
      const rewritten = Constructors.rewrite(source)
      return compile(rewritten.source, [returns], true, rewritten.types)
    },
    declare: (name, source) => {
      const compiled = compile(source, [], true)
      variables.set(name, { type: fieldType(compiled.type), compiled })
      return "problem" in compiled ? compiled.problem : undefined
    }
  }
}

/** Converts the variables of a request for all expressions of a policy. `left` is the budget, in cost units. */
export const activate = (
  { authorizer, namespaceObject, object, oldObject, params, request }: Input,
  left = CostLimits.perRequest
): Activation => ({
  context: {
    object: dynamic(object),
    oldObject: dynamic(oldObject),
    params: dynamic(params),
    request: types().request(request),
    namespaceObject: types().namespace(namespaceObject),
    authorizer
  },
  variables: new Map(),
  left
})

/** Converts JSON to a value of type `dyn`. */
const dynamic = (json: Json): unknown => {
  if (typeof json === "number") return Number.isInteger(json) ? BigInt(json) : json
  if (typeof json !== "object" || json === null) return json
  if (Array.isArray(json)) return json.map(dynamic)
  return Object.fromEntries(Object.entries(json).map(([name, member = null]) => [name, dynamic(member)]))
}

/** Declares `variables`, with one field for each variable that the policy has declared so far. */
const compose = (env: Environment, known: ReadonlyMap<string, Variable>) => {
  const constructed = class {
    constructor(readonly activation: Activation) {}
  }
  for (const [name, { compiled }] of known) {
    Object.defineProperty(constructed.prototype, name, {
      get(this: { readonly activation: Activation }) {
        const { variables } = this.activation
        const found = variables.get(name)
        const result = found ?? evaluated(name, compiled, this.activation)
        if (found === undefined) variables.set(name, result)
        if ("problem" in result) throw failure(result.problem)
        return result.value
      }
    })
  }
  env.registerType("kubernetes.variables", {
    ctor: constructed,
    fields: Object.fromEntries(Array.from(known, ([name, { type }]) => [name, type]))
  })
  env.registerVariable("variables", "kubernetes.variables")
  return { env, values: (activation: Activation): unknown => new constructed(activation) }
}

const evaluated = (name: string, compiled: Compiled, activation: Activation): Result => {
  if ("problem" in compiled) return { problem: `composited variable "${name}" fails to compile: ${compiled.problem}` }
  const result = compiled.evaluate(activation)
  return "problem" in result
    ? { problem: `composited variable "${name}" fails to evaluate: ${result.problem}` }
    : result
}

/** Returns the type of a variable. A type with objects of a named type becomes `dyn`. */
const fieldType = (type = "dyn"): string => (/^[a-z][a-z<>, ]*$|^google\./.test(type) ? type : "dyn")

/** Formats a type as cel-go does: `list(string)`. */
const shown = (type: string): string => (type === "null" ? "null_type" : type.replaceAll("<", "(").replaceAll(">", ")"))

const environments = new Map<string, Environment>()

const environmentOf = (declared: Declared): Environment => {
  const key = JSON.stringify([declared.params, declared.authorizer, declared.loose])
  const found = environments.get(key)
  if (found !== undefined) return found
  const env = types().environment.clone()
  env.registerVariable("namespaceObject", declared.loose ? "dyn" : types().namespaceType)
  if (declared.params) env.registerVariable("params", "dyn")
  if (declared.authorizer) env.registerVariable("authorizer", Authorizer.typeName)
  environments.set(key, env)
  return env
}

interface Known {
  readonly environment: Environment
  readonly namespaceType: string
  readonly request: (json: JsonObject) => unknown
  readonly namespace: (json: JsonObject | null) => unknown
}

let made: Known | undefined

const types = (): Known => {
  made ??= makeTypes()
  return made
}

const makeTypes = (): Known => {
  const environment = Authorizer.register(Expression.environment())
  const declared = new Types(environment, (field) => field)
  const typeOf = (schema: Schema) => declared.of(schema) ?? { name: "dyn", valueOf: dynamic }
  const request = typeOf(requestSchema)
  const namespace = typeOf(namespaceSchema)
  environment
    .registerVariable("object", "dyn")
    .registerVariable("oldObject", "dyn")
    .registerVariable("request", request.name)
  return {
    environment,
    namespaceType: namespace.name,
    request: ({ options = null, ...json }) => request.valueOf({ ...json, options }),
    namespace: (json) => (json === null ? null : namespace.valueOf(json))
  }
}

const text: Schema = { type: "string" }
const texts: Schema = { type: "array", items: text }
const time: Schema = { type: "string", format: "date-time" }
const number: Schema = { type: "integer" }
const textMap: Schema = { type: "object", additionalProperties: text }
const fields = (properties: { readonly [name: string]: Schema }): Schema => ({ type: "object", properties })
const kind = fields({ group: text, version: text, kind: text })
const resource = fields({ group: text, version: text, resource: text })

const requestSchema = fields({
  kind,
  resource,
  subResource: text,
  requestKind: kind,
  requestResource: resource,
  requestSubResource: text,
  name: text,
  namespace: text,
  operation: text,
  userInfo: fields({
    username: text,
    uid: text,
    groups: texts,
    extra: { type: "object", additionalProperties: texts }
  }),
  dryRun: { type: "boolean" },
  // This declaration gives `options` the type `dyn`.
  options: { "x-kubernetes-int-or-string": true }
})

const namespaceSchema = fields({
  metadata: fields({
    name: text,
    generateName: text,
    namespace: text,
    labels: textMap,
    annotations: textMap,
    UID: text,
    creationTimestamp: time,
    deletionGracePeriodSeconds: number,
    deletionTimestamp: time,
    generation: number,
    resourceVersion: text,
    finalizers: texts
  }),
  spec: fields({ finalizers: texts }),
  status: fields({
    conditions: {
      type: "array",
      items: fields({ status: text, type: text, lastTransitionTime: time, message: text, reason: text })
    },
    phase: text
  })
})
