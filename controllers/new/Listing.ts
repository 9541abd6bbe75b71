/**
 * Adds a controller to the list of `controllers/main.ts`. All other text stays the same. If the list cannot be found, the result is the
 * line for you to add. Pure.
 */
import { parse } from "@babel/parser"
import * as Either from "effect/Either"
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

/** `controllers: [ … ]`, also with `as const` or a type after it. */
const listsIn = (nodes: ReadonlyArray<Node>): ReadonlyArray<Node> =>
  nodes.flatMap((node) => {
    if (node.type !== "ObjectProperty" || nameOf(field(node, "key")) !== "controllers") return []
    let value = field(node, "value")
    while (isNode(value) && /^TS(As|Satisfies)Expression$/.test(value.type)) value = field(value, "expression")
    return isNode(value) && value.type === "ArrayExpression" ? [value] : []
  })

/** Words that cannot be the name of a variable in a module of TypeScript. */
const reserved =
  /^(arguments|await|break|case|catch|class|const|continue|debugger|default|delete|do|else|enum|eval|export|extends|false|finally|for|function|globalThis|if|implements|import|in|instanceof|interface|let|new|null|package|private|protected|public|return|static|super|switch|this|throw|true|try|typeof|undefined|var|void|while|with|yield)$/

/** The line for you to add if the list is not found. */
const byHand = ({ package: from, variable }: Names): string =>
  `write one list \`controllers: [ … ]\` and run this again. What it adds is \`import { controller as ${variable} } from "${from}"\`, and ${variable} in the list`

const contentOf = (text: string): Either.Either<ReadonlyArray<Node>, string> => {
  try {
    const { program } = parse(text, { sourceType: "module", plugins: ["typescript"] })
    return Either.right([...below(program)])
  } catch (error) {
    return Either.left(`is not TypeScript (${error instanceof Error ? error.message : String(error)})`)
  }
}

/**
 * The text with the controller imported and listed. Left: the reason, as the rest of a sentence that starts with the file, and the line
 * for you to add.
 */
export const add = (text: string, names: Names): Either.Either<string, string> =>
  Either.flatMap(
    Either.mapLeft(contentOf(text), (problem) => `${problem}: fix it first`),
    (nodes) => {
      const lists = listsIn(nodes)
      const [list] = lists
      const imports = nodes.filter(({ type }) => type === "ImportDeclaration")
      const lastImport = imports.at(-1)
      if (list === undefined || lists.length > 1 || lastImport === undefined) {
        const what = lists.length > 1 ? `has ${lists.length} lists` : "has no list"
        return Either.left(`${what} \`controllers: [ … ]\` to put the controller into: ${byHand(names)}`)
      }
      if (imports.some((node) => nameOf(field(node, "source")) === names.package)) {
        return Either.left(`imports ${names.package} already, which is not there: take that line out first`)
      }
      const taken = new Set(nodes.filter(({ type }) => type === "Identifier").map(nameOf))
      const isFree = (name: string) => !reserved.test(name) && !taken.has(name)
      const other = `${names.variable}Controller`
      let variable = isFree(names.variable) ? names.variable : other
      for (let count = 2; !isFree(variable); count++) variable = `${other}${count}`
      const line = `\nimport { controller as ${variable} } from "${names.package}"`
      const elements = field(list, "elements")
      const last: unknown = Array.isArray(elements) ? elements.at(-1) : undefined
      // After the last entry, before a comment or comma.
      const [at, entry] = isNode(last) ? [last.end, `, ${variable}`] : [list.start + 1, variable]
      return Either.right(
        text.slice(0, lastImport.end) + line + text.slice(lastImport.end, at) + entry + text.slice(at)
      )
    }
  )
