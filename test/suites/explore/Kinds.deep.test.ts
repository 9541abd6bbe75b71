/** Explores the specs of the shipped kinds. Expects no violation, and the same numbers as on the page. */
import { expect } from "bun:test"
import { join } from "node:path"
import * as Message from "@homeostat/testkit/explore/Message"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Explored from "./Explored.ts"
import * as Kinds from "./Kinds.ts"

const root = join(import.meta.dir, "../../..")

for (const [title, exploration] of [
  ["WebApp", Kinds.webapp()],
  ["Backup", Kinds.backup()],
  ["Restore", Kinds.restore()]
] as const) {
  live(
    `the state of a ${title} follows from its spec`,
    () =>
      Effect.gen(function* () {
        const report = yield* exploration
        expect(report.violations.length === 0 ? "nothing" : Message.ofStates(report)).toBe("nothing")
        const page = yield* Effect.promise(() => Bun.file(join(root, Explored.path)).text())
        // After a change, run: bun test/suites/explore/generate.ts
        expect(page).toContain(Explored.specsOf(title, report))
      }),
    120_000
  )
}
