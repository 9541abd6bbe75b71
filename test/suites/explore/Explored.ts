/** The page `docs/explored.md`, with one section for each shipped controller. */

import * as Explore from "@homeostat/testkit/Explore"
import * as Coverage from "@homeostat/testkit/explore/Coverage"
import type * as Explorer from "@homeostat/testkit/explore/Explorer"
import type { StatesReport } from "@homeostat/testkit/explore/States"
import type { Story } from "@homeostat/testkit/explore/Story"
import { Effect } from "effect"

/** The path of the page from the root of the repository. */
export const path = "docs/explored.md"

/** The options of the explorations on the page. */
export const options = { depth: 1, pairs: 0, seed: 1, isTried: () => true } as const

/** Returns a section of the page: the coverage of a story. */
export const sectionOf = (title: string, { steps }: Story, report: Explorer.Report): string =>
  [
    `## ${title}`,
    "",
    `Steps: ${steps.map(({ name }) => name).join(", ")}. ${Coverage.summary(report)}`,
    "",
    Coverage.table(report)
  ].join("\n")

/** Explores a story and returns its section. */
export const section = (title: string, story: Story) =>
  Effect.map(Explore.run(story), (report) => sectionOf(title, story, report))

/** Returns the section about the specs of a kind. */
export const specsOf = (title: string, report: StatesReport): string =>
  [`## Specs of ${title}`, "", Coverage.fields(report)].join("\n")
