/**
 * A temporary folder. The end of its Scope removes it. It is also removed if this process is killed before that.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, type Scope } from "effect"

/**
 * As in `Process`, the end of the input is the end of the parent. Guardians then end the programs that write here, which can take
 * seconds. So this script removes the folder repeatedly, until that time is over.
 */
const remover = `trap '' HUP INT TERM
read -r _
left=8
while [ $left -gt 0 ]; do rm -rf "$1"; sleep 1; left=$((left - 1)); done`

/** Makes a new folder that only this user can read. */
export const make: Effect.Effect<string, never, Scope.Scope> = Effect.gen(function* () {
  const path = yield* Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "homeostat-envtest-"))),
    (made) => Effect.promise(() => rm(made, { recursive: true, force: true, maxRetries: 5 }))
  )
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      const guardian = Bun.spawn(["sh", "-c", remover, "sh", path], {
        stdio: ["pipe", "ignore", "ignore"],
        detached: true
      })
      guardian.unref()
      return guardian
    }),
    (guardian) =>
      Effect.promise(() => {
        guardian.kill("SIGKILL")
        return guardian.exited
      })
  )
  return path
})
