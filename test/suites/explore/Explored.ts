/** The page about what was explored, one section for each shipped controller. */

import * as Explore from "@homeostat/testkit/Explore"
import * as Coverage from "@homeostat/testkit/explore/Coverage"
import { Effect } from "effect"

/** The page, from the root of the repository. */
export const path = "docs/explored.md"

/** A section of the page: what happened to the steps of a story. */
export const section = (title: string, story: Parameters<typeof Explore.run>[0]) =>
  Effect.map(Explore.run(story), (report) => ({
    report,
    text: [
      `## ${title}`,
      "",
      `Steps: ${story.steps.map(({ name }) => name).join(", ")}. ${Coverage.summary(report)}`,
      "",
      Coverage.table(report)
    ].join("\n")
  }))
