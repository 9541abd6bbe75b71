/** JSON patches of the differences between two values, and merge patches. */
import { pointer } from "../client/Patch.ts"

/** An operation of a JSON patch (RFC 6902). */
export type Operation =
  | { readonly op: "add" | "replace"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string }

type Fields = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The operations that change one value into another. A list that differs is replaced as a whole. */
export const between = (before: unknown, after: unknown, path = ""): ReadonlyArray<Operation> => {
  if (Bun.deepEquals(before, after, true)) return []
  if (!isObject(before) || !isObject(after)) return [{ op: "replace", path, value: after }]
  const removed = Object.keys(before).flatMap(
    (name): ReadonlyArray<Operation> =>
      Object.hasOwn(after, name) ? [] : [{ op: "remove", path: `${path}/${pointer(name)}` }]
  )
  const changed = Object.entries(after).flatMap(([name, value]): ReadonlyArray<Operation> => {
    const at = `${path}/${pointer(name)}`
    return Object.hasOwn(before, name) ? between(before[name], value, at) : [{ op: "add", path: at, value }]
  })
  return [...removed, ...changed]
}

/** The changed field in the form of field errors: `spec.theme`, `metadata.labels[app.kubernetes.io/name]`. */
export const fieldOf = ({ path }: Operation): string =>
  path
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce(
      (field, step) => (/^\w+$/.test(step) ? (field === "" ? step : `${field}.${step}`) : `${field}[${step}]`),
      ""
    )

/** A value after a merge patch (RFC 7386): null removes a field, and lists are replaced. Fields with the value undefined are ignored. */
export const merged = (value: unknown, patch: unknown): unknown => {
  if (!isObject(patch)) return patch
  // Entries, because an assignment to the field `__proto__` would change the prototype.
  const result = new Map(isObject(value) ? Object.entries(value) : [])
  for (const [name, change] of Object.entries(patch)) {
    if (change === undefined) continue
    if (change === null) result.delete(name)
    else result.set(name, merged(result.get(name), change))
  }
  return Object.fromEntries(result)
}
