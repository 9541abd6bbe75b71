/** The test of a shipped controller: no violation, and the page has the numbers. */
import { expect } from "bun:test"
import { join } from "node:path"
import type * as Explore from "@homeostat/testkit/Explore"
import * as Message from "@homeostat/testkit/explore/Message"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Explored from "./Explored.ts"

const root = join(import.meta.dir, "../../..")

/** Declares the test. */
export const test = (title: string, story: Parameters<typeof Explore.run>[0]): void =>
  live(
    `${title}: all faults at depth 1`,
    () =>
      Effect.gen(function* () {
        const { report, text } = yield* Explored.section(title, story)
        if (report.violations.length > 0) return yield* Effect.dieMessage(Message.of(story, report))
        const page = yield* Effect.promise(() => Bun.file(join(root, Explored.path)).text())
        // After a change: bun test/suites/explore/generate.ts
        expect(page).toContain(text)
      }),
    300_000
  )
