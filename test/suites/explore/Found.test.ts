/** The schedules that revealed a bug in a shipped controller, or in Explore itself. */
import { expect } from "bun:test"
import * as Explore from "@homeostat/testkit/Explore"
import * as Message from "@homeostat/testkit/explore/Message"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import { restoreStory, rollback, webapp } from "./Stories.ts"

live(
  "a Restore names its Job and its start if the process was dead while the Job ran",
  () =>
    Effect.gen(function* () {
      // The status update with the Job conflicts, and the process dies before it retries the write.
      const report = yield* Explore.run(restoreStory, { only: "1/r8.409/r0.crash-before" })
      expect(report.violations.length === 0 ? "nothing" : Message.of(restoreStory, report)).toBe("nothing")
      expect(report.unreached).toEqual([])
    }),
  120_000
)

for (const [title, only] of [
  ["two watches miss events", "1/deployments.e1.missed/pods.e1.missed"],
  ["a process dies while an event for it is late", "2/pods.e2.lag/r0.crash-after"],
  ["a leader dies while the former leader is suspended", "7/r2.second-leader/r0.crash-before"]
] as const) {
  live(
    `Explore comes to rest if ${title}`,
    () =>
      Effect.gen(function* () {
        const report = yield* Explore.run(webapp, { only })
        expect(report.violations.length === 0 ? "nothing" : Message.of(webapp, report)).toBe("nothing")
        expect(report.unreached).toEqual([])
      }),
    120_000
  )
}

live(
  "an undo of a Deployment that was deleted before has the same end",
  () =>
    Effect.gen(function* () {
      const report = yield* Explore.run(rollback, { only: "4/r0.deleted" })
      expect(report.violations.length === 0 ? "nothing" : Message.of(rollback, report)).toBe("nothing")
      expect(report.unreached).toEqual([])
    }),
  120_000
)
