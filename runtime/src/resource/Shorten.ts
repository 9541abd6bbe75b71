/**
 * Shortens lists and maps that have more members than their schema allows, so that nothing decodes the members: anyone can send a list
 * of thousands.
 *
 * The shortened value fails with the same message, which shows only the first members.
 */
import * as AST from "effect/SchemaAST"

/** The members that remain. A message shows at most 500 characters of a value, and a member has at least two. */
const shown = 500

/** Returns the value itself if nothing in it is too long. */
export type Shorten = (value: unknown) => unknown

const bounds: ReadonlyMap<string, string> = new Map([
  ["effect/schema/isMaxLength", "maxLength"],
  ["effect/schema/isBetweenLength", "maximum"],
  ["effect/schema/isMaxProperties", "maxProperties"],
  ["effect/schema/isBetweenProperties", "maximum"]
])

const least: ReadonlySet<string> = new Set(["effect/schema/isMinLength", "effect/schema/isMinProperties"])

/** The members that remain of a longer list or map; undefined without a bound, or if another check could fail first. */
const mostOf = (checks: AST.Checks | undefined): number | undefined => {
  for (const { annotations } of checks ?? []) {
    const representation = annotations?.representation
    const { id = "", payload } = representation ?? {}
    if (least.has(id)) continue
    const key = bounds.get(id)
    const most: unknown =
      key === undefined || typeof payload !== "object" || payload === null ? undefined : Reflect.get(payload, key)
    return typeof most === "number" ? Math.max(most, shown) : undefined
  }
  return undefined
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const ofList = (ast: AST.Arrays): Shorten | undefined => {
  const most = mostOf(ast.checks)
  const [rest] = ast.rest
  const item = ast.elements.length > 0 || ast.rest.length > 1 || rest === undefined ? undefined : of(rest)
  if (most === undefined && item === undefined) return undefined
  return (value) => {
    if (!Array.isArray(value)) return value
    const list = most !== undefined && value.length > most ? value.slice(0, most + 1) : value
    if (item === undefined) return list
    // Plain loops, because each decoded object passes them.
    let items: Array<unknown> | undefined
    for (let at = 0; at < list.length; at++) {
      const each = item(list[at])
      if (each === list[at]) continue
      items ??= [...list]
      items[at] = each
    }
    return items ?? list
  }
}

const ofStruct = (ast: AST.Objects): Shorten | undefined => {
  const most = mostOf(ast.checks)
  const fields = ast.propertySignatures.flatMap(({ name, type }) => {
    const field = typeof name === "string" ? of(type) : undefined
    return field === undefined ? [] : [[String(name), field] as const]
  })
  if (most === undefined && fields.length === 0) return undefined
  return (value) => {
    if (!isRecord(value)) return value
    const names = most === undefined ? [] : Object.keys(value)
    const all =
      most !== undefined && names.length > most
        ? Object.fromEntries(names.slice(0, most + 1).map((name) => [name, value[name]]))
        : value
    let changed: Record<string, unknown> | undefined
    for (const [name, field] of fields) {
      if (!Object.hasOwn(all, name)) continue
      const after = field(all[name])
      if (after === all[name]) continue
      changed ??= { ...all }
      changed[name] = after
    }
    return changed ?? all
  }
}

/** Shortens values of a schema; undefined if no list or map of it has a bound. Lists with another wire form stay as they are. */
export const of = (ast: AST.AST): Shorten | undefined => {
  if (ast.encoding !== undefined) return undefined
  switch (ast._tag) {
    case "Arrays":
      return ofList(ast)
    case "Objects":
      return ofStruct(ast)
    case "Union": {
      const [member, other] = ast.types.filter((each) => !AST.isUndefined(each) && !AST.isNull(each))
      return member === undefined || other !== undefined ? undefined : of(member)
    }
    default:
      return undefined
  }
}
