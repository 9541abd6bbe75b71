/** All pages that are made from code. */
import { join } from "node:path"
import * as Metrics from "../../test/suites/metrics/Reference.ts"
import * as Api from "./Api.ts"
import * as Evidence from "./Evidence.ts"
import * as Features from "./Features.ts"
import * as Fields from "./Fields.ts"
import type { Page } from "./Page.ts"

/** The folder in which there is nothing else. */
export const folder = "docs/reference"

const site = await Bun.file(join(import.meta.dir, "../../test/suites/reference/Site.ts")).text()

const contents = `# Reference

<!-- Made by \`bun run generate\`. A test compares it with the sources. -->

The comments of the public modules, as pages. [Concepts](../concepts.md) explains how the modules work together, and
[a repository of your own](../guide/own-repository.md) how to install the packages.

Each function has an example, which a test compiles and runs. An example without imports is a part of a reconcile: the body of an
\`Effect.gen\` in which \`site\` is the reconciled object. Its kind is:

\`\`\`ts
${site.slice(site.indexOf("export const Site"))}\`\`\`

## Kinds

${Fields.contents}

## The program

\`homeostat --help\` and \`homeostat run --help\` list its flags, and [metrics](../metrics.md) its metrics.

${Api.contents}
`

/** The pages. */
export const pages: ReadonlyArray<Page> = [
  { path: Metrics.path, text: Metrics.text },
  Evidence.page,
  Features.page,
  { path: `${folder}/README.md`, text: contents },
  ...Fields.pages,
  ...Api.pages
]
