/** Patches of JSON as an API server applies them, for the tests of events, controllers and managers. */

/** A value of JSON. */
export type Json = string | number | boolean | null | ReadonlyArray<Json> | Fields

/** An object of JSON. */
export interface Fields {
  readonly [key: string]: Json | undefined
}

/** Whether a value is an object and not a list. */
export const isFields = (value: Json | undefined): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isList = (value: Json | undefined): value is ReadonlyArray<Json> => Array.isArray(value)

/** Equal as JSON, in any order of keys. */
export const equal = (a: Json | undefined, b: Json | undefined): boolean => Bun.deepEquals(a, b)

/** RFC 7386. */
export const merge = (target: Json | undefined, patch: Json): Json => {
  if (!isFields(patch)) return patch
  const result: { [key: string]: Json | undefined } = isFields(target) ? { ...target } : {}
  for (const [key, part] of Object.entries(patch)) {
    if (part === null) delete result[key]
    else if (part !== undefined) result[key] = merge(result[key], part)
  }
  return result
}

/** One step of a JSON patch (RFC 6902), with the operations that controllers use. */
export interface Operation {
  readonly op: string
  readonly path: string
  readonly value?: Json
}

/** Applies the steps in order; `undefined` if a test fails or a path does not exist. */
export const patch = (target: Json, operations: ReadonlyArray<Operation>): Json | undefined => {
  let result: Json | undefined = target
  for (const operation of operations) {
    const steps = operation.path
      .split("/")
      .slice(1)
      .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"))
    result = result === undefined ? undefined : stepped(result, steps, operation)
  }
  return result
}

const stepped = (target: Json, steps: ReadonlyArray<string>, operation: Operation): Json | undefined => {
  const [step, ...rest] = steps
  if (step === undefined) return undefined
  const child = isList(target) ? target[Number(step)] : isFields(target) ? target[step] : undefined
  if (rest.length > 0) {
    const inner = child === undefined ? undefined : stepped(child, rest, operation)
    if (inner === undefined) return undefined
    return isList(target)
      ? target.with(Number(step), inner)
      : isFields(target)
        ? { ...target, [step]: inner }
        : undefined
  }
  switch (operation.op) {
    case "test":
      return equal(child, operation.value) ? target : undefined
    case "remove": {
      if (child === undefined) return undefined
      if (isList(target)) return target.toSpliced(Number(step), 1)
      const { [step]: _, ...others } = isFields(target) ? target : {}
      return others
    }
    default:
      return isFields(target) && operation.value !== undefined ? { ...target, [step]: operation.value } : undefined
  }
}

/** The result of a server-side apply. */
export interface Applied {
  readonly value: Json
  /** Paths at which another manager has set a different value. */
  readonly conflicts: ReadonlyArray<string>
}

/**
 * A simplified server-side apply: merges the intent into the object, lists of objects item by item. Removes fields that the manager
 * applied `before` and does not apply now, unless one of the `others` applies them.
 */
export const apply = (
  have: Json | undefined,
  before: Json | undefined,
  intent: Json,
  others: ReadonlyArray<Json>
): Applied => {
  const conflicts: Array<string> = []
  return { value: applied(have, before, intent, others, "", conflicts), conflicts }
}

const itemKeys = ["name", "containerPort", "port", "type", "uid"]

const itemKey = (item: Json): string | undefined => {
  if (!isFields(item)) return undefined
  const key = itemKeys.find((candidate) => item[candidate] !== undefined)
  return key === undefined ? undefined : `${key}=${String(item[key])}`
}

/** A list of objects as fields by their keys, so that lists merge like objects. */
const keyed = (list: Json | undefined): Fields | undefined => {
  if (list === undefined) return {}
  if (!isList(list)) return undefined
  const entries = list.map((item) => [itemKey(item), item] as const)
  return entries.every(([key]) => key !== undefined) ? Object.fromEntries(entries) : undefined
}

const applied = (
  have: Json | undefined,
  before: Json | undefined,
  want: Json,
  others: ReadonlyArray<Json | undefined>,
  path: string,
  conflicts: Array<string>
): Json => {
  if (isFields(want)) return fields(isFields(have) ? have : {}, before, want, others, path, conflicts)
  const items = isList(want) && want.length > 0 ? keyed(want) : undefined
  const present = keyed(have)
  if (items !== undefined && present !== undefined) {
    const result = fields(present, keyed(before), items, others.map(keyed), path, conflicts)
    // Our own items keep the order of the intent.
    const order = Object.keys(items)
    const sorted = Object.keys(result).map((key) => result[Object.hasOwn(items, key) ? (order.shift() ?? key) : key])
    return sorted.filter((item) => item !== undefined)
  }
  if (have !== undefined && !equal(have, want) && others.some((other) => other !== undefined)) conflicts.push(path)
  return want
}

const fields = (
  have: Fields,
  before: Json | undefined,
  want: Fields,
  others: ReadonlyArray<Json | undefined>,
  path: string,
  conflicts: Array<string>
): Fields => {
  const result: { [key: string]: Json | undefined } = { ...have }
  const at = (value: Json | undefined, key: string) => (isFields(value) ? value[key] : undefined)
  for (const key of Object.keys(isFields(before) ? before : {})) {
    if (want[key] === undefined && others.every((other) => at(other, key) === undefined)) delete result[key]
  }
  for (const [key, value] of Object.entries(want)) {
    if (value === undefined) continue
    const theirs = others.map((other) => at(other, key))
    result[key] = applied(result[key], at(before, key), value, theirs, `${path}.${key}`, conflicts)
  }
  return result
}
