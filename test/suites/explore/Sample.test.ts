/** A sample of the explorations in the lane deep: some faults at the first and the last step of each story, and a few specs. */
import { expect } from "bun:test"
import * as Explore from "@homeostat/testkit/Explore"
import * as Message from "@homeostat/testkit/explore/Message"
import type { Story } from "@homeostat/testkit/explore/Story"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Kinds from "./Kinds.ts"
import { backupStory, restoreStory, rollback, webapp, webappWithAutoscaler, webappWithJobs } from "./Stories.ts"

const ends = (story: Story): Story => ({
  ...story,
  steps: story.steps.filter((_, at, { length }) => at === 0 || at === length - 1)
})

Explore.test("WebApp: its creation and its deletion", ends(webapp), { faults: ["Crash"] })
Explore.test("Backup: its creation and its deletion", ends(backupStory), { faults: ["Crash"] })
Explore.test("Restore: a crash at each request", restoreStory, { faults: ["Crash"] })
Explore.test("a WebApp with rollback survives a crash at its creation", ends(rollback), { faults: ["Crash"] })
Explore.test("the autoscaler of a WebApp survives a crash", webappWithAutoscaler, { faults: ["Crash"] })
Explore.test("the jobs of a WebApp survive a crash", ends(webappWithJobs), { faults: ["Crash"] })

live(
  "the state of a WebApp follows from its spec",
  () =>
    Effect.map(Kinds.webapp(1), (report) =>
      expect(report.violations.length === 0 ? "nothing" : Message.ofStates(report)).toBe("nothing")
    ),
  120_000
)
