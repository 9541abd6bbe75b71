/** The table cells of admission policies and webhook configurations. */
import type { Json, JsonObject } from "../../model/Json.ts"
import * as J from "../../model/Json.ts"
import { type Cells, or } from "./Text.ts"

const count = (value: Json | undefined): number => J.list(value).length

/** The cells of a webhook configuration. */
export const webhooks: Cells = { Webhooks: (object) => count(object.webhooks) }

const paramKind = (object: JsonObject): string => {
  const kind = J.at(object, "spec", "paramKind")
  return J.isObject(kind) ? `${or(kind.apiVersion, "")}/${or(kind.kind, "")}` : "<unset>"
}

/** The cells of a policy. */
export const policy: Cells = {
  Validations: (object) => count(J.at(object, "spec", "validations")),
  Mutations: (object) => count(J.at(object, "spec", "mutations")),
  ParamKind: paramKind
}

/** The cells of a binding. */
export const binding: Cells = {
  PolicyName: (object) => or(J.at(object, "spec", "policyName"), ""),
  ParamRef: (object) => {
    const { name, namespace, selector } = J.object(J.at(object, "spec", "paramRef"))
    if (or(name, "") !== "") return `${or(namespace, "*")}/${or(name, "")}`
    return J.isObject(selector) ? goSelector(selector) : "<unset>"
  }
}

/** A LabelSelector as Go prints it. */
const goSelector = ({ matchExpressions, matchLabels }: JsonObject): string => {
  const labels = Object.entries(J.texts(matchLabels))
    .map(([key, value]) => `${key}: ${value},`)
    .sort()
  const expressions = J.objects(matchExpressions).map(
    ({ key, operator, values }) =>
      `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${J.list(values).join(" ")}],},`
  )
  const parts = [`map[string]string{${labels.join("")}}`, `[]LabelSelectorRequirement{${expressions.join("")}}`]
  return `&LabelSelector{MatchLabels:${parts[0]},MatchExpressions:${parts[1]},}`
}
