/** All pages that are made from code. */
import * as Metrics from "../../test/suites/metrics/Reference.ts"
import * as Api from "./Api.ts"
import * as Fields from "./Fields.ts"
import type { Page } from "./Page.ts"

/** The folder in which there is nothing else. */
export const folder = "docs/reference"

const contents = `# Reference

<!-- Made by \`bun run generate\`. A test fails if it differs from what the sources say. -->

What is written beside the code, as pages. How it goes together is in [concepts](../concepts.md); how a project that is not in this
repository gets the packages, in [a repository of your own](../guide/own-repository.md).

## Kinds

${Fields.contents}

## The program

\`homeostat --help\` and \`homeostat run --help\` list its flags, and [metrics](../metrics.md) its metrics.

## @homeostat/runtime

In the order in which the data flows.

${Api.contents.runtime}

## @homeostat/observability

${Api.contents.observability}

## @homeostat/testkit

${Api.contents.testkit}
`

/** The pages. */
export const pages: ReadonlyArray<Page> = [
  { path: Metrics.path, text: Metrics.text },
  { path: `${folder}/README.md`, text: contents },
  ...Fields.pages,
  ...Api.pages
]
