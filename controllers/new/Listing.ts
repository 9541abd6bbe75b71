/**
 * Adds a controller or webhooks to their list in `controllers/main.ts`. All other text stays the same. If the list cannot be found, the
 * result is the line for you to add. Pure.
 */
import { parse } from "@babel/parser"
import * as Result from "effect/Result"
import type { Names } from "./Names.ts"

/** The fields of a syntax tree that are used here. */
interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string" && "start" in value

const field = (node: Node, name: string): unknown => Reflect.get(node, name)

/** A node and its descendants, in the order of the text. */
const below = function* (value: unknown): Generator<Node> {
  if (Array.isArray(value)) for (const one of value) yield* below(one)
  if (!isNode(value)) return
  yield value
  for (const [name, part] of Object.entries(value)) if (!/[cC]omments$/.test(name)) yield* below(part)
}

const nameOf = (node: unknown): string | undefined => {
  const name = isNode(node) ? (field(node, "name") ?? field(node, "value")) : undefined
  return typeof name === "string" ? name : undefined
}

/** An entry of a list. */
export interface Entry {
  /** The property with the list. */
  readonly list: "controllers" | "webhooks"
  /** The word for the entry in messages. */
  readonly what: string
  /** The exported name, and the module that exports it. */
  readonly exported: string
  readonly from: string
  /** The names of the variable, of which the first free one is used; the last may get a number. */
  readonly variables: readonly [string, ...ReadonlyArray<string>]
  /** The text of the list's element. */
  readonly element: (variable: string) => string
}

/** The entry of a controller. */
export const ofController = ({ package: from, variable }: Pick<Names, "package" | "variable">): Entry => ({
  list: "controllers",
  what: "the controller",
  exported: "controller",
  from,
  variables: [variable, `${variable}Controller`],
  element: (name) => name
})

/** The entry of the webhooks of a module. */
export const ofWebhooks = ({ package: from, variable }: Pick<Names, "package" | "variable">): Entry => ({
  list: "webhooks",
  what: "the webhooks",
  exported: "admission",
  from: `${from}/admission`,
  variables: [`${variable}Admission`],
  element: (name) => `...${name}`
})

/** A property with its list, such as `controllers: [ … ]`, also with `as const` or a type after it. */
interface List {
  readonly property: Node
  readonly array: Node
}

const isProperty = (node: Node, name: string): boolean =>
  node.type === "ObjectProperty" && nameOf(field(node, "key")) === name

const listsIn = (nodes: ReadonlyArray<Node>, name: string): ReadonlyArray<List> =>
  nodes.flatMap((property) => {
    if (!isProperty(property, name)) return []
    let value = field(property, "value")
    while (isNode(value) && /^TS(As|Satisfies)Expression$/.test(value.type)) value = field(value, "expression")
    return isNode(value) && value.type === "ArrayExpression" ? [{ property, array: value }] : []
  })

/** Words that cannot be the name of a variable in a module of TypeScript. */
const reserved =
  /^(arguments|await|break|case|catch|class|const|continue|debugger|default|delete|do|else|enum|eval|export|extends|false|finally|for|function|globalThis|if|implements|import|in|instanceof|interface|let|new|null|package|private|protected|public|return|static|super|switch|this|throw|true|try|typeof|undefined|var|void|while|with|yield)$/

const imported = ({ exported, from }: Entry, variable: string): string =>
  `import { ${exported} as ${variable} } from "${from}"`

/** The line for you to add if the list is not found. */
const byHand = (entry: Entry): string => {
  const [variable] = entry.variables
  return `write one list \`${entry.list}: [ … ]\` and run this again. What it adds is \`${imported(entry, variable)}\`, and ${entry.element(variable)} in the list`
}

const contentOf = (text: string): Result.Result<ReadonlyArray<Node>, string> => {
  try {
    const { program } = parse(text, { sourceType: "module", plugins: ["typescript"] })
    return Result.succeed([...below(program)])
  } catch (error) {
    return Result.fail(`is not TypeScript (${error instanceof Error ? error.message : String(error)})`)
  }
}

/** Where an element goes, and the text that adds it. A program without webhooks gets the list after its controllers. */
const placeOf = (nodes: ReadonlyArray<Node>, { list: name }: Entry, element: string) => {
  const lists = listsIn(nodes, name)
  const [list] = lists
  const controllers = listsIn(nodes, "controllers")
  if (name === "webhooks" && controllers[0] !== undefined && controllers.length === 1) {
    const at = controllers[0].property.end
    if (!nodes.some((node) => isProperty(node, name))) return { at, text: `,\n  ${name}: [${element}]` }
  }
  if (list === undefined || lists.length > 1) return lists.length
  const elements = field(list.array, "elements")
  const last: unknown = Array.isArray(elements) ? elements.at(-1) : undefined
  // After the last entry, before a comment or comma.
  return isNode(last) ? { at: last.end, text: `, ${element}` } : { at: list.array.start + 1, text: element }
}

/**
 * The text with the entry imported and listed. Failure: the reason, as the rest of a sentence that starts with the file, and the line for
 * you to add.
 */
export const add = (text: string, entry: Entry): Result.Result<string, string> =>
  Result.flatMap(
    Result.mapError(contentOf(text), (problem) => `${problem}: fix it first`),
    (nodes) => {
      const imports = nodes.filter(({ type }) => type === "ImportDeclaration")
      const lastImport = imports.at(-1)
      const taken = new Set(nodes.filter(({ type }) => type === "Identifier").map(nameOf))
      const isFree = (name: string) => !reserved.test(name) && !taken.has(name)
      const last = entry.variables.at(-1)
      let variable = entry.variables.find(isFree) ?? `${last}2`
      for (let count = 3; !isFree(variable); count++) variable = `${last}${count}`
      const place = placeOf(nodes, entry, entry.element(variable))
      if (typeof place === "number" || lastImport === undefined) {
        const what = typeof place === "number" && place > 1 ? `has ${place} lists` : "has no list"
        return Result.fail(`${what} \`${entry.list}: [ … ]\` to put ${entry.what} into: ${byHand(entry)}`)
      }
      if (imports.some((node) => nameOf(field(node, "source")) === entry.from)) {
        return Result.fail(`imports ${entry.from} already, which is not there: take that line out first`)
      }
      const line = `\n${imported(entry, variable)}`
      return Result.succeed(
        text.slice(0, lastImport.end) + line + text.slice(lastImport.end, place.at) + place.text + text.slice(place.at)
      )
    }
  )
