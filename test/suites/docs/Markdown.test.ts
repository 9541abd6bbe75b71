import { describe, expect, test } from "bun:test"
import * as Markdown from "./Markdown.ts"

const page = `# A page

    indented, and so no block of ours

## The *first* part

\`\`\`ts title="controllers/cache/Cache.ts" replaces="a=b" check
const a = 1

const b = 2
\`\`\`

1. A list:

   ~~~sh
   echo \`\`\`
   ~~~

## The last

\`\`\`
\`\`\`
`

describe("A fenced block of a page", () => {
  test("has a language, attributes, a text, a line and a heading", () => {
    expect(Markdown.blocks(page)[0]).toEqual({
      language: "ts",
      attributes: { title: "controllers/cache/Cache.ts", replaces: "a=b", check: "" },
      text: "const a = 1\n\nconst b = 2\n",
      line: 7,
      heading: "The first part"
    })
  })

  test("may be in a list, with any fence", () => {
    expect(Markdown.blocks(page)[1]).toEqual({
      language: "sh",
      attributes: {},
      text: "echo ```\n",
      line: 15,
      heading: "The first part"
    })
  })

  test("may have no language and no text, and indented blocks do not count", () => {
    expect(Markdown.blocks(page).slice(2)).toEqual([
      { language: "", attributes: {}, text: "", line: 21, heading: "The last" }
    ])
  })
})
