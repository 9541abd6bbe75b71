/** Tests that each attempt of the shipped controllers reads, writes and ends in its replay as in its recording. */
import { describe, expect } from "bun:test"
import { backup, restore } from "@homeostat/backup"
import { isWrite } from "@homeostat/runtime/replay/Writes"
import { live } from "@homeostat/testkit/Test"
import { controller as webapp } from "@homeostat/webapp"
import { Effect } from "effect"
import * as Stories from "../explore/Stories.ts"
import * as Recordings from "./Recordings.ts"

describe.each([
  ["WebApp", Stories.webapp, [webapp]],
  ["Backup", Stories.backupStory, [backup, restore]],
  ["Restore", Stories.restoreStory, [backup, restore]]
] as const)("The attempts of the story of a %s", (_, story, controllers) => {
  live("are the same in a replay", () =>
    Effect.gen(function* () {
      const recordings = yield* Recordings.ofStory(story)
      expect(recordings.length).toBeGreaterThan(10)
      expect(recordings.filter(({ requests }) => requests.some(isWrite)).length).toBeGreaterThan(4)
      // The Backup controller remembers in its process when it has checked Secrets, so the replays run in the order of the attempts.
      const memory = Recordings.services()
      // The end of a Job changes the queue of a repository between two attempts.
      const remembers = story !== Stories.webapp
      let stopped = 0
      for (const document of recordings) {
        const report = yield* Recordings.replayed(controllers, document, memory)
        const { differences, ending, missingReads, recordedEnding, same } = report
        if (remembers && ending.outcome === "Stopped") {
          stopped++
          continue
        }
        expect({ same, differences, missingReads, ending }).toEqual({
          same: true,
          differences: [],
          missingReads: [],
          ending: recordedEnding
        })
        expect(report.steps.filter(({ step }) => step === "request")).toHaveLength(document.requests.length)
      }
      expect(stopped).toBeLessThanOrEqual(1)
    })
  )
})
