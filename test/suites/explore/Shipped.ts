/** Explores a shipped controller. Expects no violation, and the same numbers as on the page. */
import { expect } from "bun:test"
import { join } from "node:path"
import type * as Explore from "@homeostat/testkit/Explore"
import * as Explorer from "@homeostat/testkit/explore/Explorer"
import * as Replay from "@homeostat/testkit/explore/Replay"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Explored from "./Explored.ts"

const root = join(import.meta.dir, "../../..")

/** Declares the test. */
export const test = (title: string, story: Parameters<typeof Explore.run>[0]): void => {
  const name = `${title}: all faults at depth 1`
  live(
    name,
    () =>
      Effect.gen(function* () {
        const report = yield* Replay.body(name, story, (only) => Explorer.explore(story, { ...Explored.options, only }))
        if (report === undefined) return
        const page = yield* Effect.promise(() => Bun.file(join(root, Explored.path)).text())
        // After a change, run: bun test/suites/explore/generate.ts
        expect(page).toContain(Explored.sectionOf(title, story, report))
      }),
    600_000
  )
}
