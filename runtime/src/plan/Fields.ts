/**
 * The fields of an object that a write changes, by path: `spec.template.spec.containers[app].image`.
 *
 * The fields that only the API server sets do not count, such as `metadata.resourceVersion`. The values of Secrets are hidden, and those of
 * fields and variables with names such as `password`. {@link withoutCopies} hides copies of the values of Secrets.
 */
import * as Drift from "../controller/Drift.ts"
import * as Secrecy from "../telemetry/Secrecy.ts"
import * as SecretValues from "../telemetry/SecretValues.ts"

/** A field before and after a write. An absent value is `undefined`. */
export interface Field {
  readonly path: string
  readonly from?: Drift.Json | undefined
  readonly to?: Drift.Json | undefined
}

/** The metadata that only the API server sets. */
const served = new Set(["managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink"])

/** Whether a field is the kind, or metadata that the API server sets. */
const isServed = (path: string, key: string): boolean =>
  path === "metadata" ? served.has(key) : path === "" && (key === "kind" || key === "apiVersion")

const within = (path: string, key: string): string =>
  // A key such as `homeostat.dev/intent` would look like a path.
  path === "" ? key : /^[\w-]+$/.test(key) ? `${path}.${key}` : `${path}[${key}]`

/** The items of a list by their names; undefined if the items have none, or have the same. */
const named = (list: ReadonlyArray<Drift.Json>): ReadonlyMap<string, Drift.Json> | undefined => {
  const items = new Map(list.map((item, index) => [Drift.label(item, index), item] as const))
  return list.every(Drift.isRecord) && items.size === list.length ? items : undefined
}

const isList = (value: Drift.Json | undefined): value is ReadonlyArray<Drift.Json> => Array.isArray(value)

/** A key such as `constructor` must not find an inherited one. */
const own = (fields: Drift.Fields, key: string): Drift.Json | undefined =>
  Object.hasOwn(fields, key) ? fields[key] : undefined

type Side = "from" | "to"

/** Adds the fields of a value that only one state has. */
const spread = (value: Drift.Json, path: string, side: Side, into: Array<Field>): void => {
  if (Drift.isRecord(value) && Object.keys(value).length > 0) {
    for (const [key, member] of Object.entries(value)) {
      if (member !== undefined && !isServed(path, key)) spread(member, within(path, key), side, into)
    }
    return
  }
  const items = isList(value) && value.length > 0 ? named(value) : undefined
  if (items === undefined) into.push({ path, [side]: value })
  else for (const [name, item] of items) spread(item, `${path}[${name}]`, side, into)
}

const compare = (from: Drift.Json | undefined, to: Drift.Json | undefined, path: string, into: Array<Field>): void => {
  if (from === to) return
  if (from === undefined || to === undefined) {
    if (to !== undefined) spread(to, path, "to", into)
    if (from !== undefined) spread(from, path, "from", into)
    return
  }
  if (Drift.isRecord(from) && Drift.isRecord(to)) {
    for (const key of new Set([...Object.keys(from), ...Object.keys(to)])) {
      if (!isServed(path, key)) compare(own(from, key), own(to, key), within(path, key), into)
    }
    return
  }
  const [before, after] = isList(from) && isList(to) ? [named(from), named(to)] : []
  if (before !== undefined && after !== undefined && before.size > 0 && after.size > 0) {
    const found = into.length
    for (const name of new Set([...before.keys(), ...after.keys()])) {
      compare(before.get(name), after.get(name), `${path}[${name}]`, into)
    }
    // The same items in another order.
    const isMoved = into.length === found && [...before.keys()].join() !== [...after.keys()].join()
    if (isMoved) into.push({ path, from: [...before.keys()], to: [...after.keys()] })
    return
  }
  if (!Drift.equal(from, to)) into.push({ path, from, to })
}

const isSecretValue = ({ path }: Field): boolean => /^(data|stringData)\b/.test(path)

const hide = (field: Field): Field => ({
  path: field.path,
  ...(field.from !== undefined && { from: Secrecy.hidden }),
  ...(field.to !== undefined && { to: Secrecy.hidden })
})

/** The annotation of `kubectl apply` repeats the object, with all its values. */
const lastApplied = "metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]"

/** The name of the field at a path, or that of the variable whose `value` it is. */
const nameAt = (path: string): string => {
  const named = isVariable(path) ? path.slice(0, -".value".length) : path
  return named.endsWith("]") ? named.slice(named.lastIndexOf("[") + 1, -1) : named.slice(named.lastIndexOf(".") + 1)
}

const isVariable = (path: string): boolean => path.endsWith("].value")

const isNamedSecret = ({ from, path, to }: Field): boolean => {
  const name = nameAt(path)
  return isVariable(path)
    ? SecretValues.secretVariable.test(name)
    : Secrecy.isSecretField(name, from) || Secrecy.isSecretField(name, to)
}

const hidden = (kind: string, fields: ReadonlyArray<Field>): ReadonlyArray<Field> => {
  const isSecret = (field: Field): boolean =>
    isNamedSecret(field) || (kind === "Secret" && (isSecretValue(field) || field.path === lastApplied))
  return fields.some(isSecret) ? fields.map((field) => (isSecret(field) ? hide(field) : field)) : fields
}

const without = (value: Drift.Json | undefined, replaced: (text: string) => string): Drift.Json | undefined => {
  if (typeof value === "string") return replaced(value)
  if (isList(value)) return value.map((item) => without(item, replaced) ?? null)
  return Drift.isRecord(value)
    ? Object.fromEntries(Object.entries(value).map(([key, member]) => [key, without(member, replaced)]))
    : value
}

/** The fields without copies of the values of Secrets. */
export const withoutCopies = (
  fields: ReadonlyArray<Field>,
  values: Pick<SecretValues.SecretValues, "replaced">
): ReadonlyArray<Field> => {
  const replaced = (text: string): string => values.replaced(text, () => Secrecy.hidden)
  return fields.map(({ from, path, to }) => ({
    path,
    ...(from !== undefined && { from: without(from, replaced) }),
    ...(to !== undefined && { to: without(to, replaced) })
  }))
}

/** API servers return the members of an object in different orders. */
const byPath = (one: Field, other: Field): number => (one.path < other.path ? -1 : one.path > other.path ? 1 : 0)

/** The differences of two states of an object. */
export const between = (kind: string, from: object, to: object): ReadonlyArray<Field> => {
  const fields: Array<Field> = []
  compare(Drift.json(from), Drift.json(to), "", fields)
  return hidden(kind, fields.sort(byPath))
}

/** The fields of a new object that its writer states, without the defaults of the API server. */
export const of = (kind: string, object: object): ReadonlyArray<Field> => {
  const fields: Array<Field> = []
  spread(Drift.json(object), "", "to", fields)
  return hidden(
    kind,
    fields.filter(({ path }) => path !== "metadata.name" && path !== "metadata.namespace").sort(byPath)
  )
}
