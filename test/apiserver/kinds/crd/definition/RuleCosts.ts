/**
 * The limits of the estimated costs of rules: 10 million units for one rule, and 100 million units for all rules of a schema. The cost
 * of a rule is multiplied by the number of values that an object can have at its position.
 */
import * as FieldError from "../../../model/FieldError.ts"
import type { Schema } from "../../../model/Schema.ts"
import * as Declared from "../../cel/cost/Declared.ts"
import type * as Rules from "../../cel/Rules.ts"

type Errors = ReadonlyArray<FieldError.FieldError>

const expressionLimit = 10_000_000
const schemaLimit = 100_000_000

/** The sum of the costs of the rules of one schema. */
export interface RuleCosts {
  /** Adds the costs of a rule at a path. Returns an error if the rule itself exceeds its limit. */
  readonly add: (path: string, compiled: Rules.Compiled, position: Position) => Errors
  /** Returns the errors if all rules together exceed the limit of the schema: the most expensive rules, and the total at `path`. */
  readonly total: (path: string) => Errors
}

/** The position of a rule in a schema. */
export interface Position {
  /** The type of the part of the schema that has the rule. */
  readonly declared: Declared.Declared
  /** The greatest number of values that an object can have at the position, if its lists and maps have limits. */
  readonly values: number | undefined
}

/** Returns how many values a part of a schema can have inside each of its values; undefined: no limit. */
export const factor = ({ additionalProperties, maxItems, maxProperties, type }: Schema): number | undefined => {
  if (type === "array") return maxItems === undefined ? undefined : Math.max(0, maxItems)
  if (type !== "object" || additionalProperties === undefined) return 1
  return maxProperties === undefined ? undefined : Math.max(0, maxProperties)
}

/** Makes an empty sum. An unchanged schema may keep rules that exceed their limit. */
export const make = (isUnchanged: boolean): RuleCosts => {
  let sum = 0
  let expensive: ReadonlyArray<{ readonly path: string; readonly cost: number }> = []
  const observe = (name: string, path: string, cost: number): Errors => {
    sum += cost
    if (cost >= schemaLimit / 100) {
      expensive = [...expensive, { path, cost }].toSorted((one, other) => other.cost - one.cost).slice(0, 4)
    }
    return isUnchanged || cost <= expressionLimit
      ? []
      : [FieldError.forbidden(path, exceeds(name, cost / expressionLimit))]
  }
  return {
    add: (path, { message, program }, { declared, values }) => {
      if ("problem" in program || program.type !== "bool") return []
      const each = program.greatestCost(declared)
      const ofRule = observe("estimated rule cost", `${path}.rule`, each * (values ?? Declared.cardinality(declared)))
      if (message === undefined || "problem" in message || message.type !== "string") return ofRule
      const name = "estimated messageExpression cost"
      return [...ofRule, ...observe(name, `${path}.messageExpression`, message.greatestCost(declared))]
    },
    total: (path) =>
      sum <= schemaLimit
        ? []
        : [
            ...expensive.map((one) =>
              FieldError.forbidden(
                one.path,
                "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
              )
            ),
            FieldError.forbidden(
              path,
              exceeds(
                "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema",
                sum / schemaLimit
              )
            )
          ]
  }
}

const exceeds = (name: string, times: number): string => {
  const shown = times > 100 ? "more than 100" : times < 1.5 ? times.toFixed(6) : times.toFixed(1)
  return `${name} exceeds budget by factor of ${shown}x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`
}
