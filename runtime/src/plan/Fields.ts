/**
 * The fields of an object that a write changes, by path: `spec.template.spec.containers[app].image`.
 *
 * The fields that only the API server sets do not count, such as `metadata.resourceVersion`. The values of Secrets are hidden, and those of
 * fields and variables with names such as `password`. {@link withoutSecrets} hides copies of the values of Secrets.
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

/** The annotation of `kubectl apply` repeats the object, with all its values. */
const lastApplied = "metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]"

/** The last name of a path. */
const lastOf = (path: string): string =>
  path.endsWith("]") ? path.slice(path.lastIndexOf("[") + 1, -1) : path.slice(path.lastIndexOf(".") + 1)

const isNamedSecret = ({ from, path, to }: Field): boolean => {
  const parent = path.endsWith("].value") ? { name: lastOf(path.slice(0, -".value".length)) } : {}
  return [from, to].some((value) => SecretValues.isSecretMember(lastOf(path), value, parent))
}

/** The depth of the deepest value that is shown. */
const deepest = 100

/** A value without the values of fields and variables with names of secrets, at any depth, and in a text that is JSON. */
const withoutNamed = (value: Drift.Json | undefined, depth = 0): Drift.Json | undefined => {
  if (depth > deepest) return Secrecy.hidden
  if (typeof value === "string") {
    const { json } = Drift.json({ json: SecretValues.jsonOf(value) })
    if (json === undefined || json === value) return value
    const shown = withoutNamed(json, depth + 1) ?? null
    return Drift.equal(json, shown) ? value : JSON.stringify(shown)
  }
  if (isList(value)) return value.map((item) => withoutNamed(item, depth + 1) ?? null)
  if (!Drift.isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      SecretValues.isSecretMember(key, member, value) ? Secrecy.hidden : withoutNamed(member, depth + 1)
    ])
  )
}

const changed = ({ from, path, to }: Field, change: (value: Drift.Json) => Drift.Json | undefined): Field => ({
  path,
  ...(from !== undefined && { from: change(from) }),
  ...(to !== undefined && { to: change(to) })
})

const hidden = (kind: string, fields: ReadonlyArray<Field>): ReadonlyArray<Field> => {
  const isSecret = (field: Field): boolean =>
    isNamedSecret(field) || (kind === "Secret" && (isSecretValue(field) || field.path === lastApplied))
  return fields.map((field) => changed(field, isSecret(field) ? () => Secrecy.hidden : (value) => withoutNamed(value)))
}

const without = (value: Drift.Json | undefined, replaced: (text: string) => string): Drift.Json | undefined => {
  if (typeof value === "string") return replaced(value)
  if (isList(value)) return value.map((item) => without(item, replaced) ?? null)
  return Drift.isRecord(value)
    ? Object.fromEntries(Object.entries(value).map(([key, member]) => [key, without(member, replaced)]))
    : value
}

/** The fields without copies of the values of Secrets, and without texts that look like secrets. */
export const withoutSecrets = (
  fields: ReadonlyArray<Field>,
  values: Pick<SecretValues.SecretValues, "replaced">
): ReadonlyArray<Field> => {
  // The copies first: a mask may replace only a part of one.
  const shown = (text: string): string =>
    Secrecy.masked(
      values.replaced(text, () => Secrecy.hidden),
      Number.MAX_SAFE_INTEGER
    )
  return fields.map((field) => changed(field, (value) => without(value, shown)))
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
