/** The schedules that revealed a bug in a shipped controller, or in Explore itself. */
import { expect } from "bun:test"
import * as Explore from "@homeostat/testkit/Explore"
import * as Message from "@homeostat/testkit/explore/Message"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import { backupStory, restoreStory, rollback, webapp, webappWithAutoscaler } from "./Stories.ts"

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

for (const [kind, story, only] of [
  ["Backup", backupStory, "1/pods.e0.missed/jobs.e0.missed"],
  ["Restore", restoreStory, "1/pods.e0.missed/jobs.e1.missed"]
] as const) {
  live(
    `a ${kind} keeps its finished Job if the watches of Jobs and pods miss events`,
    () =>
      Effect.gen(function* () {
        const report = yield* Explore.run(story, { only })
        expect(report.violations.length === 0 ? "nothing" : Message.of(story, report)).toBe("nothing")
        expect(report.unreached).toEqual([])
      }),
    120_000
  )
}

for (const [title, only] of [
  ["sets the number of pods before its autoscaler exists", "1/r1.same-field"],
  ["deletes its Deployment before its autoscaler exists", "1/r2.deleted"]
] as const) {
  live(
    `a WebApp leaves the number of its pods to the autoscaler if another client ${title}`,
    () =>
      Effect.gen(function* () {
        const report = yield* Explore.run(webappWithAutoscaler, { only })
        expect(report.violations.length === 0 ? "nothing" : Message.of(webappWithAutoscaler, report)).toBe("nothing")
        expect(report.unreached).toEqual([])
      }),
    120_000
  )
}
