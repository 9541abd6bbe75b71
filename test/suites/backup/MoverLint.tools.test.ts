/** The linters and shells of this machine find nothing wrong with the mover's script. */
import { expect } from "bun:test"
import * as Process from "@homeostat/testkit/envtest/Process"
import * as Test from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Mover from "../../Mover.ts"

for (const [program, args] of [
  ["shellcheck", ["--shell", "sh", "--severity", "style"]],
  ["dash", ["-n"]],
  ["busybox", ["sh", "-n"]]
] as const) {
  Test.live(`${program} finds nothing wrong with the mover's script`, () =>
    Effect.gen(function* () {
      const path = Bun.which(program)
      if (path === null) return yield* Effect.dieMessage(`${program} is missing: apt-get install ${program}`)
      expect(yield* Process.run(path, [...args, Mover.script])).toEqual({ exitCode: 0, stdout: "", stderr: "" })
    })
  )
}
