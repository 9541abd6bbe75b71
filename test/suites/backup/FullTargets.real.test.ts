/** Restores into volumes without room: as full as the saved volume was, and too small. */
import { afterAll, beforeAll, describe, expect } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Outcome from "@homeostat/backup/run/Outcome"
import * as Test from "@homeostat/testkit/Test"
import { Effect, Exit, Scope } from "effect"
import * as Mover from "./Mover.ts"
import * as Tree from "./Tree.ts"

const page = 4096

/** Three files of eight pages in all. The root of a volume needs an inode too. */
const files = { a: page, b: 3 * page, c: 4 * page }

const cases = [
  ["as many blocks as the files need", "IntoEmpty", `size=${8 * page}`, "Succeeded"],
  ["as many blocks as the files need", "Overlay", `size=${8 * page}`, "Succeeded"],
  ["as many blocks as the files need", "Mirror", `size=${8 * page}`, "Succeeded"],
  ["as many inodes as the files need", "IntoEmpty", "size=1m,nr_inodes=4", "Succeeded"],
  ["a block less than the files need", "IntoEmpty", `size=${7 * page}`, "TargetFull"],
  ["an inode less than the files need", "IntoEmpty", "size=1m,nr_inodes=3", "TargetFull"],
  ["an inode less than the files need", "Overlay", "size=1m,nr_inodes=3", "TargetFull"]
] as const

const scope = Effect.runSync(Scope.make())
let mover: Mover.Mover

beforeAll(async () => {
  mover = await Mover.make().pipe(Scope.provide(scope), Effect.runPromise)
  for (const [name, size] of Object.entries(files)) {
    writeFileSync(join(mover.volume("data"), name), Tree.noise(size, name))
  }
  const saved = await Effect.runPromise(mover.run("preflight backup", { INIT: "1" }))
  expect(saved).toMatchObject({ exitCode: 0 })
}, 60_000)

afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

describe("A Restore into a volume with", () => {
  for (const [what, mode, tmpfs, reason] of cases) {
    Test.live(`${what}, with the mode ${mode}: ${reason}`, () =>
      Effect.gen(function* () {
        const ended = yield* mover.run("preflight restore", {
          tmpfs,
          RESTORE_VOLUME: "data",
          RESTORE_TARGET: mover.volume("target"),
          RESTORE_MODE: mode,
          // As long as a UID.
          RESTORE_ID: "9c1b0a3e-6a43-4d3f-9d5c-0f5d5b3c7a11"
        })
        expect(ended.result.reason).toBe(reason)
        const judged = Outcome.judge(
          { _tag: "Exited", exitCode: ended.exitCode, text: ended.message },
          { purpose: "restore" }
        )
        expect(judged).toMatchObject({ reason, phase: reason === "Succeeded" ? "Completed" : "Failed" })
        if (reason === "Succeeded") {
          // A second attempt does not count the files of the first.
          expect(ended.result.restored?.files).toBeGreaterThan(0)
        } else {
          expect(judged.message).toMatch(
            /^The target volume is full[.] .*no space left on device[.] Create a larger volume and a new Restore$/
          )
        }
      })
    )
  }
})
