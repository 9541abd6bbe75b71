/** Label selectors of the API, as Deployments and budgets have them. Pure. */
import type { Deployment } from "@homeostat/runtime/resource/BuiltIn"

/** A label selector. */
export type Selector = NonNullable<Deployment["spec"]>["selector"]

/** Labels of an object. */
export type Labels = { readonly [key: string]: string }

/** Whether a selector selects an object with these labels. An empty selector selects all objects, and an absent one none. */
export const matches = (selector: Selector | undefined, labels: Labels): boolean => {
  if (selector === undefined) return false
  const { matchExpressions = [], matchLabels = {} } = selector
  return (
    Object.entries(matchLabels).every(([key, value]) => labelOf(labels, key) === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labelOf(labels, key)
      if (operator === "Exists") return value !== undefined
      if (operator === "DoesNotExist") return value === undefined
      const isIn = value !== undefined && values.includes(value)
      return operator === "In" ? isIn : !isIn
    })
  )
}

/** The own value: a key such as `constructor` must not find an inherited one. */
const labelOf = (labels: Labels, key: string): string | undefined =>
  Object.hasOwn(labels, key) ? labels[key] : undefined

/** A selector as text, for `kubectl` and the scale subresource: `app=shop,tier in (a,b)`. */
export const textOf = ({ matchExpressions, matchLabels = {} }: Selector): string => {
  const labels: Array<string> = []
  for (const key in matchLabels) labels.push(`${key}=${matchLabels[key]}`)
  labels.sort()
  // Every reconcile runs it.
  if (matchExpressions === undefined || matchExpressions.length === 0) return labels.join(",")
  const expressions = matchExpressions.map(({ key, operator, values = [] }) =>
    operator === "Exists"
      ? key
      : operator === "DoesNotExist"
        ? `!${key}`
        : `${key} ${operator === "In" ? "in" : "notin"} (${[...values].sort().join(",")})`
  )
  return [...labels, ...expressions.sort()].join(",")
}
