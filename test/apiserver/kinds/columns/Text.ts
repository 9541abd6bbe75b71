/**
 * Cell texts that several kinds share: containers, selectors and truncated lists.
 */

import type { Json, JsonObject } from "../../model/Json.ts"
import * as J from "../../model/Json.ts"
import type { Column } from "../../model/Kind.ts"

/** The cells of a kind by the names of their columns. */
export interface Cells {
  readonly [column: string]: Column["cell"]
}

/** The string, or `otherwise` if the value is empty or not a string. */
export const or = (value: Json | undefined, otherwise: string): string => J.text(value) || otherwise

/** The number, or 0 if it is missing, because Go omits zero values. */
export const count = (value: Json | undefined): number => J.number(value) ?? 0

/** The cells for the names and images of containers. `path`: the path of the Pod `spec`. */
export const containers = (path: ReadonlyArray<string>): Cells => ({
  Containers: (object) => joined(object, path, "name"),
  Images: (object) => joined(object, path, "image")
})

const joined = (object: JsonObject, path: ReadonlyArray<string>, member: string): string =>
  J.objects(J.at(object, ...path, "containers"))
    .map((container) => or(container[member], ""))
    .join(",")

/** Labels as `a=1,b=2`, or `<none>`. */
export const labels = (value: Json | undefined): string => equalities(value).join(",") || "<none>"

/** A LabelSelector as in `bareSelector`, or `<none>`. */
export const selector = (value: Json | undefined): string => bareSelector(value) || "<none>"

/** A LabelSelector in the syntax of a query, such as `app=web,tier in (a,b),!old`. Empty for an empty selector. */
export const bareSelector = (value: Json | undefined): string =>
  [
    ...Object.entries(J.texts(J.at(value, "matchLabels"))).map(([key, text]) => ({ key, text: `${key}=${text}` })),
    ...J.objects(J.at(value, "matchExpressions")).map((one) => ({ key: or(one.key, ""), text: expression(one) }))
  ]
    .sort((one, other) => byName(one.key, other.key))
    .map(({ text }) => text)
    .join(",")

const expression = ({ key, operator, values }: JsonObject): string => {
  const among = J.list(values).toSorted().join(",")
  switch (operator) {
    case "In":
      return `${key} in (${among})`
    case "NotIn":
      return `${key} notin (${among})`
    case "DoesNotExist":
      return `!${key}`
    default:
      return `${key}`
  }
}

const equalities = (value: Json | undefined): ReadonlyArray<string> =>
  Object.entries(J.texts(value))
    .map(([key, text]) => `${key}=${text}`)
    .sort()

const byName = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

/** The first `most` items and the number of further ones: `a,b,c + 2 more...`. */
export const cut = (all: ReadonlyArray<string>, most: number, separator = ","): string =>
  all.length > most ? `${all.slice(0, most).join(separator)} + ${all.length - most} more...` : all.join(separator)
