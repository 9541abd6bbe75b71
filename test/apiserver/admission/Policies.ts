/** The policies of a request, each with its bindings and params, for validating and mutating policies. */

import type * as Attributes from "../model/Attributes.ts"
import type { JsonObject } from "../model/Json.ts"
import * as Json from "../model/Json.ts"
import type { Kind } from "../model/Kind.ts"
import * as ObjectMeta from "../model/ObjectMeta.ts"
import * as Evaluation from "./Evaluation.ts"
import * as Matching from "./Matching.ts"
import * as Params from "./Params.ts"
import type { ServerState } from "./ServerState.ts"

/** A policy with its compiled expressions. */
export interface Policy {
  readonly name: string
  readonly spec: JsonObject
  readonly ignores: boolean
  readonly conditions: ReadonlyArray<Evaluation.Expression>
}

/** The evaluation of a policy for a request, with one binding and its params. */
export interface Invocation<P extends Policy> {
  readonly policy: P
  /** The name of the binding. */
  readonly binding: string
  readonly bindingSpec: JsonObject
  readonly matched: Kind
  readonly params: JsonObject | null
}

/** A policy or a binding that the server cannot evaluate, and whose failure policy is Fail. */
export interface Misconfiguration<P extends Policy> {
  readonly policy: P
  /** The name of the binding; undefined if the policy itself is misconfigured. */
  readonly binding: string | undefined
  readonly problem: string
}

/** Validating or mutating policies. */
export interface Policies<P extends Policy> {
  readonly all: (state: ServerState, attributes: Attributes.Attributes) => Iterable<Invocation<P> | Misconfiguration<P>>
}

/** The policies and bindings in this storage. `compile` gets the spec of a policy. */
export const make = <Compiled>(
  policies: string,
  bindings: string,
  compile: (spec: JsonObject) => Compiled
): Policies<Policy & Compiled> => {
  const known = new WeakMap<JsonObject, Policy & Compiled>()
  const compiled = (stored: JsonObject): Policy & Compiled => {
    const found = known.get(stored)
    if (found !== undefined) return found
    const spec = Json.object(stored.spec)
    const made = {
      name: ObjectMeta.nameOf(stored),
      spec,
      ignores: spec.failurePolicy === "Ignore",
      conditions: Evaluation.conditionsOf(spec),
      ...compile(spec)
    }
    known.set(stored, made)
    return made
  }
  return {
    *all(state, attributes) {
      const bound = state.store.list(bindings)
      if (bound.length === 0 || Matching.isExempt(attributes)) return
      for (const stored of state.store.list(policies)) {
        const name = ObjectMeta.nameOf(stored)
        const own = bound.filter((binding) => Json.at(binding, "spec", "policyName") === name)
        if (own.length > 0) yield* invocations(state, compiled(stored), own, attributes)
      }
    }
  }
}

function* invocations<P extends Policy>(
  state: ServerState,
  policy: P,
  bound: ReadonlyArray<JsonObject>,
  attributes: Attributes.Attributes
): Iterable<Invocation<P> | Misconfiguration<P>> {
  const matched = Evaluation.matchedBy(state, policy.spec.matchConstraints, attributes)
  if (matched === undefined) return
  const paramKind = Params.kindOf(state, policy.spec.paramKind)
  if (typeof paramKind === "string") {
    const problem = `failed to configure policy: ${paramKind}`
    if (!policy.ignores) yield { policy, binding: undefined, problem }
    return
  }
  for (const one of bound) {
    const bindingSpec = Json.object(one.spec)
    const { matchResources, paramRef } = bindingSpec
    if (matchResources !== undefined && Evaluation.matchedBy(state, matchResources, attributes) === undefined) continue
    const binding = ObjectMeta.nameOf(one)
    const found = Params.collect(state, paramKind, paramRef, attributes)
    if (typeof found !== "string") {
      for (const params of found) yield { policy, binding, bindingSpec, matched, params }
    } else if (!policy.ignores) yield { policy, binding, problem: `failed to configure binding: ${found}` }
  }
}
