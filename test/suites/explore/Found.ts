/** The tests of the schedules that revealed a bug in a shipped controller, or in Explore itself. */
import { expect } from "bun:test"
import * as Explore from "@homeostat/testkit/Explore"
import * as Message from "@homeostat/testkit/explore/Message"
import type { Story } from "@homeostat/testkit/explore/Story"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import { backupStory, restoreStory, rollback, webapp, webappWithAutoscaler } from "./Stories.ts"

/** Each name says what must hold. The schedule once broke it. */
const found: ReadonlyArray<readonly [name: string, story: Story, only: string]> = [
  // The status update with the Job conflicts, and the process dies before it retries the write.
  [
    "a Restore names its Job and its start if the process was dead while the Job ran",
    restoreStory,
    "1/r15.409/r0.crash-before"
  ],
  ["Explore comes to rest if two watches miss events", webapp, "2/deployments.e1.missed/pods.e1.missed"],
  ["Explore comes to rest if a process dies while an event for it is late", webapp, "3/pods.e2.lag/r0.crash-after"],
  [
    "Explore comes to rest if a leader dies while the former leader is suspended",
    webapp,
    "6/r2.second-leader/r0.crash-before"
  ],
  ["an undo of a Deployment that was deleted before has the same end", rollback, "4/r0.deleted"],
  [
    "a Backup keeps its finished Job if the watches of Jobs and pods miss events",
    backupStory,
    "1/pods.e0.missed/jobs.e0.missed"
  ],
  [
    "a Restore keeps its finished Job if the watches of Jobs and pods miss events",
    restoreStory,
    "1/pods.e0.missed/jobs.e1.missed"
  ],
  [
    "a WebApp leaves the number of its pods to the autoscaler if another client sets the number of pods before its autoscaler exists",
    webappWithAutoscaler,
    "1/r1.same-field"
  ],
  [
    "a WebApp leaves the number of its pods to the autoscaler if another client deletes its Deployment before its autoscaler exists",
    webappWithAutoscaler,
    "1/r2.deleted"
  ]
]

/** Declares the tests that are selected by their place in the list. */
export const test = (isSelected: (place: number) => boolean): void => {
  for (const [name, story, only] of found.filter((_, place) => isSelected(place))) {
    live(
      name,
      () =>
        Effect.gen(function* () {
          const report = yield* Explore.run(story, { only })
          expect(report.violations.length === 0 ? "nothing" : Message.of(story, report)).toBe("nothing")
          expect(report.unreached).toEqual([])
        }),
      120_000
    )
  }
}
