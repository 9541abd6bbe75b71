/** Matches nodes against a NodeSelector: the required affinity of pods and volumes. */
import { at, type Json, type JsonObject, list, objects, text } from "@homeostat/apiserver/model/Json"
import { labelsOf, nameOf } from "@homeostat/apiserver/model/ObjectMeta"
import { type Labels, matches, type Operator } from "@homeostat/apiserver/storage/LabelSelector"

const operators: { readonly [operator: string]: Operator } = {
  In: "in",
  NotIn: "notin",
  Exists: "exists",
  DoesNotExist: "!",
  Gt: "gt",
  Lt: "lt"
}

const holds = (expression: JsonObject, labels: Labels): boolean => {
  const operator = operators[text(expression.operator) ?? ""]
  const values = list(expression.values).map((value) => text(value) ?? "")
  return operator !== undefined && matches([{ key: text(expression.key) ?? "", operator, values }], labels)
}

/** An empty term matches no node. */
const takes = (term: JsonObject, node: JsonObject): boolean => {
  const [expressions, fields] = [objects(term.matchExpressions), objects(term.matchFields)]
  return (
    expressions.length + fields.length > 0 &&
    expressions.every((one) => holds(one, labelsOf(node))) &&
    fields.every((one) => holds(one, { "metadata.name": nameOf(node) }))
  )
}

/** Whether at least one term matches the node. An undefined selector matches every node. */
export const admits = (selector: Json | undefined, node: JsonObject): boolean =>
  selector === undefined || objects(at(selector, "nodeSelectorTerms")).some((term) => takes(term, node))

/** Returns the only nodes that the terms allow by name; undefined if a term does not select nodes by name. */
export const named = (selector: Json | undefined): ReadonlySet<string> | undefined => {
  const terms = objects(at(selector, "nodeSelectorTerms")).map((term) => {
    const fields = objects(term.matchFields).filter(({ key, operator }) => key === "metadata.name" && operator === "In")
    return fields.length === 0
      ? undefined
      : fields
          .map(({ values }) => new Set(list(values).map((value) => text(value) ?? "")))
          .reduce((one, other) => one.intersection(other))
  })
  const known = terms.filter((names) => names !== undefined)
  return known.length === 0 || known.length < terms.length
    ? undefined
    : known.reduce((one, other) => one.union(other), new Set<string>())
}
