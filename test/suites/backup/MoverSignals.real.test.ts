/** A mover that a signal ends: the locks and snapshots that it leaves for the next mover. */
import { afterAll, beforeAll, describe, expect } from "bun:test"
import { cpSync, existsSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { eventually } from "@homeostat/testkit/Eventually"
import * as Test from "@homeostat/testkit/Test"
import { Duration, Effect, Exit, Scope } from "effect"
import * as Mover from "./Mover.ts"
import * as Prepared from "./Prepared.ts"
import * as QuickKey from "./QuickKey.ts"
import * as Restic from "./Restic.ts"
import * as Tree from "./Tree.ts"

const scope = Effect.runSync(Scope.make())
/** A repository with a snapshot. Each test uses a copy. */
let template: string

beforeAll(async () => {
  template = await Effect.gen(function* () {
    const mover = yield* Mover.make()
    const path = join(mover.folder, "repository")
    yield* Restic.output(mover.env, "init")
    yield* QuickKey.write(path, mover.env)
    for (const seed of ["one", "two"]) {
      writeFileSync(join(mover.volume("data"), seed), Tree.noise(3_000_000, seed))
      yield* mover.run("preflight backup")
    }
    return path
  }).pipe(Scope.provide(scope), Effect.runPromise)
}, 60_000)

afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const make = Effect.gen(function* () {
  const mover = yield* Mover.make()
  const repository = join(mover.folder, "repository")
  cpSync(template, repository, { recursive: true })
  const locks = Effect.sync(() => Prepared.locks(repository))
  return { mover, repository, locks }
})

describe("A mover that is terminated", () => {
  Test.live("during a backup ends with exit code 143 and leaves no lock", () =>
    Effect.gen(function* () {
      const { locks, mover, repository } = yield* make
      writeFileSync(join(mover.volume("a"), "small"), "saved before")
      Tree.writeNoise(join(mover.volume("large"), "large"), 400, "large")
      const packs = () => readdirSync(join(repository, "data"), { recursive: true, withFileTypes: true })
      const before = packs().filter((entry) => entry.isFile()).length
      const running = yield* mover.start("preflight backup forget prune", { FORGET_ARGS: "--keep-last 1" })
      yield* eventually(
        "some of the large file is there",
        Effect.sync(() => packs().filter((entry) => entry.isFile()).length),
        (count) => count > before + 4
      )
      yield* running.signal("SIGTERM")
      const ended = yield* running.ended
      expect(ended).toMatchObject({
        exitCode: 143,
        result: {
          reason: "Terminated",
          operation: "backup",
          // The snapshots that were complete before the signal.
          snapshots: [{ pvc: "a", files: 1 }],
          removed: undefined,
          pruned: false
        }
      })
      expect(yield* locks).toEqual([])
      expect(readdirSync(join(mover.folder, "pod-1/tmp"))).toEqual([])
    })
  )

  Test.live("waits until restic has released the repository", () =>
    Effect.gen(function* () {
      const mover = yield* Mover.make(
        {},
        `case $1 in
            cat) echo '{"id": "0123456789abcdef"}' ;;
            backup)
              trap 'sleep 1; : >"$FOLDER/let-go"; exit 130' TERM
              : >"$FOLDER/at-work"
              while :; do sleep 0.1; done
              ;;
          esac`
      )
      writeFileSync(join(mover.volume("data"), "file"), "")
      const running = yield* mover.start("preflight backup", { FOLDER: mover.folder })
      const is = (name: string) => Effect.sync(() => existsSync(join(mover.folder, name)))
      yield* eventually("restic is at work", is("at-work"), (there) => there)
      yield* running.signal("SIGTERM")
      expect(yield* running.ended).toMatchObject({ exitCode: 143, result: { reason: "Terminated" } })
      expect(yield* is("let-go")).toBe(true)
    })
  )

  Test.live("while a server does not answer ends at once", () =>
    Effect.gen(function* () {
      const { mover } = yield* make
      const running = yield* mover.start("preflight backup", {
        RESTIC_REPOSITORY: "rest:https://127.0.0.1:1/x/",
        PREFLIGHT_TIMEOUT: "60"
      })
      yield* eventually("restic is at work", Effect.sync(running.output), (text) => text.includes("preflight"))
      yield* running.signal("SIGTERM")
      const [time, ended] = yield* Effect.timed(running.ended)
      expect(ended).toMatchObject({ exitCode: 143, result: { reason: "Terminated", operation: "preflight" } })
      expect(Duration.toSeconds(time)).toBeLessThan(20)
    })
  )
})

Test.live(
  "A mover that was killed during a prune leaves a lock, which other movers report and only unlock-all removes",
  () =>
    Effect.gen(function* () {
      const { locks, mover } = yield* make
      writeFileSync(join(mover.volume("data"), "file"), "content")
      const elsewhere = { hostname: "another-pod" }
      const running = yield* mover.start("preflight forget prune", { ...elsewhere, FORGET_ARGS: "--keep-last 1" })
      yield* eventually("it prunes", Effect.sync(running.output), (text) => text.includes("mover: prune"))
      yield* eventually("it has a lock", locks, ({ length }) => length > 0)
      yield* running.kill
      expect(yield* locks).toHaveLength(1)

      const locked = yield* mover.run("preflight backup")
      expect(locked).toMatchObject({ exitCode: 41, result: { reason: "RepositoryLocked", operation: "backup" } })
      expect(locked.result.message).toContain("repository is already locked exclusively by PID")
      expect(yield* locks).toHaveLength(1)

      const unlocked = yield* mover.run("preflight unlock-all backup check")
      expect(unlocked).toMatchObject({ exitCode: 0, result: { unlocked: true, checked: true } })
      expect(yield* locks).toEqual([])
    })
)
