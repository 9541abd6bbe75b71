/** The fenced blocks of a Markdown page. */
import type { Code, Nodes } from "mdast"
import { fromMarkdown } from "mdast-util-from-markdown"
import { toString as textOf } from "mdast-util-to-string"

export interface Block {
  /** The first word of the info string, or empty. */
  readonly language: string
  /** The rest of the info string: `title="a.ts" check` gives `{ title: "a.ts", check: "" }`. */
  readonly attributes: { readonly [name: string]: string }
  /** The text between the fences with its last line end, or empty. */
  readonly text: string
  /** The line of the opening fence, from 1. */
  readonly line: number
  /** The text of the heading above, or empty. */
  readonly heading: string
}

/** The fenced blocks of a page in order, also in lists and quotes. */
export const blocks = (page: string): ReadonlyArray<Block> => {
  const found: Array<Block> = []
  let heading = ""
  const visit = (node: Nodes): void => {
    if (node.type === "heading") heading = textOf(node)
    if (node.type === "code" && isFenced(page, node)) found.push(blockOf(node, heading))
    if ("children" in node) node.children.forEach(visit)
  }
  visit(fromMarkdown(page))
  return found
}

const isFenced = (page: string, { position }: Code): boolean => /^(`{3}|~{3})/.test(page.slice(position?.start.offset))

const blockOf = ({ lang, meta, position, value }: Code, heading: string): Block => ({
  language: lang ?? "",
  attributes: attributesOf(meta ?? ""),
  text: value === "" ? "" : `${value}\n`,
  line: position?.start.line ?? 0,
  heading
})

/** A value without quotes ends at the next space. */
const attributesOf = (meta: string): Block["attributes"] =>
  Object.fromEntries(
    Array.from(meta.matchAll(/([^\s=]+)(?:=(?:"([^"]*)"|(\S*)))?/g), ([, name = "", quoted, bare]) => [
      name,
      quoted ?? bare ?? ""
    ])
  )
