/** Links and anchors of a Markdown page. */
import type { Nodes } from "mdast"
import { fromMarkdown } from "mdast-util-from-markdown"
import { toString as textOf } from "mdast-util-to-string"

/** The links of a Markdown page, and its anchors as GitHub names them. */
export interface Page {
  readonly links: ReadonlyArray<string>
  readonly anchors: ReadonlyArray<string>
}

/** GitHub's name of a heading: lower case, without punctuation, with dashes for spaces. */
const slugOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, "")
    .replaceAll(" ", "-")

/** Reads a page. The second anchor of the same name is `…-1`. */
export const read = (text: string): Page => {
  const links: Array<string> = []
  const anchors: Array<string> = []
  const visit = (node: Nodes): void => {
    if (node.type === "link" || node.type === "image" || node.type === "definition") links.push(node.url)
    if (node.type === "heading") {
      const slug = slugOf(textOf(node))
      const twins = anchors.filter((anchor) => anchor === slug || new RegExp(`^${slug}-\\d+$`).test(anchor)).length
      anchors.push(twins === 0 ? slug : `${slug}-${twins}`)
    }
    if (node.type === "html") {
      for (const [, name = ""] of node.value.matchAll(/<a (?:id|name)="([^"]+)"/g)) anchors.push(name)
    }
    if ("children" in node) node.children.forEach(visit)
  }
  visit(fromMarkdown(text))
  return { links, anchors }
}
