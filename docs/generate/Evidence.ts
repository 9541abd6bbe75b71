/** The page of the tests behind guarantees and comparisons, from `evidence.json`. */
import evidence from "./evidence.json"
import type { Page } from "./Page.ts"

/** The tests of a row: their names by file. A name that ends with … is the beginning of a name with a value in it. */
export type Tests = { readonly [file: string]: ReadonlyArray<string> }

/** The rows of one table of a page, by their first column. */
export interface Section {
  readonly page: string
  readonly rows: { readonly [row: string]: Tests }
}

/** All sections by their titles. */
export const sections: { readonly [title: string]: Section } = evidence

const testsOf = (tests: Tests): string =>
  Object.entries(tests)
    .map(
      ([file, names]) => `[\`${file.split("/").at(-1)}\`](../${file}): ${names.map((name) => `“${name}”`).join("; ")}`
    )
    .join("<br>")

const table = ([title, { page, rows }]: readonly [string, Section]): string =>
  [
    `## ${title}`,
    "",
    `From [${page}](${page}).`,
    "",
    "| Claim | Tests |",
    "| --- | --- |",
    ...Object.entries(rows).map(([row, tests]) => `| ${row} | ${testsOf(tests)} |`)
  ].join("\n")

/** The page. */
export const page: Page = {
  path: "docs/evidence.md",
  text: `# Evidence

<!-- Made from docs/generate/evidence.json by \`bun run generate\`. A test compares the two. -->

The tests that show each guarantee and each row of a comparison. A test of this repository checks that every named test exists.

${Object.entries(sections).map(table).join("\n\n")}
`
}
