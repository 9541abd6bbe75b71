/** The fenced blocks of a Markdown page, as what they are for: a command to run, a file to write, an output to compare with. */
import type { Code, Nodes } from "mdast"
import { fromMarkdown } from "mdast-util-from-markdown"
import { toString as textOf } from "mdast-util-to-string"

/** A fenced block. */
export interface Block {
  /** The first word of the info string; empty where there is none. */
  readonly language: string
  /** The rest of the info string: `title="a.ts" check` gives `{ title: "a.ts", check: "" }`. */
  readonly attributes: { readonly [name: string]: string }
  /** What stands between the fences, with a line end after its last line; empty if nothing does. */
  readonly text: string
  /** The line of the opening fence, from 1. */
  readonly line: number
  /** The text of the heading that it stands under; empty before the first one. */
  readonly heading: string
}

/** The fenced blocks of a page in order, those in lists and quotes too. Blocks that are only indented are none. */
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
