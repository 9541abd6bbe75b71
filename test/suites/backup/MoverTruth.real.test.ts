/** False successes, false damage reports, and restores that the mover must neither reject nor mix up. */
import { afterAll, beforeAll, describe, expect } from "bun:test"
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Outcome from "@homeostat/backup/run/Outcome"
import * as Test from "@homeostat/testkit/Test"
import { Effect, Exit, Scope } from "effect"
import * as Mover from "./Mover.ts"
import * as QuickKey from "./QuickKey.ts"
import * as Restic from "./Restic.ts"

const scope = Effect.runSync(Scope.make())
/** An empty repository that any user can open. Each test uses a copy. */
let template: string

beforeAll(async () => {
  template = await Effect.gen(function* () {
    const mover = yield* Mover.make()
    const path = join(mover.folder, "repository")
    yield* Restic.output(mover.env, "init")
    yield* QuickKey.write(path, mover.env)
    Bun.spawnSync(["chmod", "-R", "a+rwX", path])
    return path
  }).pipe(Scope.provide(scope), Effect.runPromise)
}, 60_000)

afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const make = (env?: Restic.Environment, pretended?: string) =>
  Effect.gen(function* () {
    const mover = yield* Mover.make(env, pretended)
    cpSync(template, join(mover.folder, "repository"), { recursive: true })
    Bun.spawnSync(["chmod", "-R", "a+rwX", join(mover.folder, "repository")])
    return mover
  })

/** Opens a volume to every user. */
const open = (mover: Mover.Mover, claim: string): string => {
  chmodSync(mover.volume(claim), 0o755)
  return mover.volume(claim)
}

const judged = ({ exitCode, message }: Mover.Ended) => Outcome.judge({ _tag: "Exited", exitCode, text: message }, {})

describe("A volume", () => {
  const emptied = Effect.gen(function* () {
    const mover = yield* make()
    const data = mover.volume("data")
    mkdirSync(join(data, "pgdata/base/1"), { recursive: true })
    writeFileSync(join(data, "pgdata/base/1/table"), "rows")
    expect(yield* mover.run("preflight backup")).toMatchObject({ exitCode: 0 })
    rmSync(join(data, "pgdata/base/1/table"))
    return { mover, data }
  })

  Test.live("with folders and without files is empty, and no snapshot of it replaces the last good one", () =>
    Effect.gen(function* () {
      const { mover } = yield* emptied
      for (const _ of [1, 2]) {
        const ended = yield* mover.run("preflight backup")
        expect(ended).toMatchObject({ exitCode: 50, result: { reason: "VolumeEmpty" } })
        expect(judged(ended).message).toMatch(/^No files found: data \(1 in snapshot [0-9a-f]{8}\)/)
      }
      expect(yield* Restic.snapshots(mover.env)).toHaveLength(1)
    })
  )

  Test.live("with folders and without files is saved if it may be empty, or if it only ever had links", () =>
    Effect.gen(function* () {
      const { mover } = yield* emptied
      expect(yield* mover.run("preflight backup", { ALLOW_EMPTY: "1" })).toMatchObject({ exitCode: 0 })
      expect(yield* Restic.snapshots(mover.env)).toHaveLength(2)
      const other = yield* make()
      mkdirSync(join(other.volume("data"), "folder"))
      symlinkSync("nowhere", join(other.volume("data"), "folder/link"))
      for (const _ of [1, 2]) expect(yield* other.run("preflight backup")).toMatchObject({ exitCode: 0 })
    })
  )

  Test.live(
    "that lost its files fails the run beside a full one, and one that never had files fails only on its own",
    () =>
      Effect.gen(function* () {
        const { mover } = yield* emptied
        writeFileSync(join(mover.volume("full"), "file"), "x")
        expect(yield* mover.run("preflight backup")).toMatchObject({ exitCode: 50, result: { reason: "VolumeEmpty" } })
        const other = yield* make()
        other.volume("never")
        expect(yield* other.run("preflight backup")).toMatchObject({ exitCode: 50 })
        expect(yield* other.run("preflight backup", { IS_PART: "1" })).toMatchObject({ exitCode: 0 })
        writeFileSync(join(other.volume("full"), "file"), "x")
        expect(yield* other.run("preflight backup")).toMatchObject({ exitCode: 0 })
      })
  )

  Test.live("whose only files are excluded counts as having lost its files, unless a user accepts that", () =>
    Effect.gen(function* () {
      const { data, mover } = yield* emptied
      writeFileSync(join(data, "pgdata/base/1/last.log"), "crashed")
      for (const _ of [1, 2]) {
        const ended = yield* mover.run("preflight backup", { EXCLUDES: "*.log" })
        expect(ended).toMatchObject({ exitCode: 50, result: { reason: "VolumeEmpty" } })
        expect(judged(ended).message).toMatch(/^No files found: data \(1 in snapshot [0-9a-f]{8}\)/)
      }
      const accepted = yield* mover.run("preflight backup", { EXCLUDES: "*.log", ALLOW_EMPTY: "1" })
      expect(accepted).toMatchObject({ exitCode: 0 })
    })
  )

  Test.live("whose only files are excluded is restored from its last snapshot with files", () =>
    Effect.gen(function* () {
      const { data, mover } = yield* emptied
      const [good] = yield* Restic.snapshots(mover.env)
      writeFileSync(join(data, "pgdata/base/1/last.log"), "crashed")
      expect(yield* mover.run("preflight backup", { EXCLUDES: "*.log" })).toMatchObject({ exitCode: 50 })
      const hollow = (yield* Restic.snapshots(mover.env)).at(-1)
      const later = new Date(Date.now() + 60_000).toISOString()
      const restored = (claim: string, more: Restic.Environment) =>
        Effect.map(
          mover.run("preflight restore", {
            RESTORE_VOLUME: "data",
            RESTORE_TARGET: mover.volume(claim),
            RESTORE_ID: claim,
            ...more
          }),
          ({ result }) => result.restored?.snapshot
        )
      expect(yield* restored("latest", {})).toBe(good?.id ?? "")
      expect(yield* restored("time", { AS_OF: later })).toBe(good?.id ?? "")
      expect(readFileSync(join(mover.volume("time"), "pgdata/base/1/table"), "utf8")).toBe("rows")
      expect(yield* restored("id", { SNAPSHOT: hollow?.id })).toBe(hollow?.id ?? "")
      expect(yield* restored("accepted", { ALLOW_EMPTY: "1" })).toBe(hollow?.id ?? "")
    })
  )

  Test.live("whose dump has become an empty file shrank, and its last good snapshot is not deleted", () =>
    Effect.gen(function* () {
      const mover = yield* make()
      const dump = join(mover.volume("data"), "dump.sql")
      writeFileSync(dump, Buffer.alloc(12 * 2 ** 20, "row\n"))
      const good = (yield* mover.run("preflight backup")).result.snapshots[0]?.id ?? ""
      writeFileSync(dump, "")
      const first = yield* mover.run("preflight backup")
      expect(judged(first).shrunk.map(({ pvc }) => pvc)).toEqual(["data"])
      for (const _ of [1, 2]) yield* mover.run("preflight backup")
      // The mover holds the snapshot, although the status with the run's hold was lost.
      const ended = yield* mover.run("preflight forget", { FORGET_ARGS: "--keep-last 3" })
      expect(ended).toMatchObject({ exitCode: 0, result: { held: "VolumeShrunk", removed: 1 } })
      expect((yield* Restic.snapshots(mover.env)).map(({ id }) => id)).toContain(good)
    })
  )

  Test.live("with unreadable files is saved once, and the retry that finds its snapshot reports no success", () =>
    Effect.gen(function* () {
      const mover = yield* make()
      writeFileSync(join(open(mover, "a"), "readable"), "a")
      writeFileSync(join(open(mover, "a"), "closed"), "a", { mode: 0o600 })
      writeFileSync(join(open(mover, "b"), "readable"), "b")
      // The first attempt fails for the second volume.
      chmodSync(mover.volume("b"), 0o700)
      const run = { user: "nobody", RUN_TAG: "run:1" }
      expect(yield* mover.run("preflight backup", run)).toMatchObject({ exitCode: 44 })
      chmodSync(mover.volume("b"), 0o755)
      const retry = yield* mover.run("preflight backup", run)
      expect(retry).toMatchObject({ exitCode: 3, result: { reason: "PartiallyFailed" } })
      expect(retry.result.message).toContain("volume a: 1 could not be read")
      expect(yield* Restic.snapshots(mover.env)).toHaveLength(2)
    })
  )
})

Test.live("File names are not mistaken for messages of restic about damage", () =>
  Effect.gen(function* () {
    const mover = yield* make()
    const data = open(mover, "data")
    writeFileSync(join(data, "readable"), "x")
    mkdirSync(join(data, "repository contains errors"))
    const names = ["is damaged", "repository contains errors/x", "packs missing", "a\nis damaged"]
    for (const name of names) writeFileSync(join(data, name), "x", { mode: 0o600 })
    const ended = yield* mover.run("preflight backup", { user: "nobody" })
    expect(ended).toMatchObject({ exitCode: 3, result: { reason: "PartiallyFailed" } })
    expect(ended.result.message).toContain("4 could not be read")
  })
)

Test.live("A password that is a word of the report does not redact the report", () =>
  Effect.gen(function* () {
    const mover = yield* Mover.make({ RESTIC_PASSWORD: "snapshots" })
    writeFileSync(join(mover.volume("data"), "file"), "x")
    const ended = yield* mover.run("preflight backup", { INIT: "1" })
    expect(ended).toMatchObject({ exitCode: 0, result: { complete: true, snapshots: [{ pvc: "data" }] } })
  })
)

describe("A restore", () => {
  /** `script` runs in place of restic and can call the real restic. */
  const saved = (script?: string) =>
    Effect.gen(function* () {
      const mover = yield* make({}, script)
      if (script !== undefined) cpSync(yield* Restic.find, join(mover.folder, "bin/real"))
      const ids: Array<string> = []
      for (const name of ["old", "new"]) {
        for (const entry of readdirSync(mover.volume("data"))) rmSync(join(mover.volume("data"), entry))
        for (let index = 0; index < 50; index++) writeFileSync(join(mover.volume("data"), `${name}-${index}`), name)
        ids.push((yield* mover.run("preflight backup")).result.snapshots[0]?.id ?? "")
      }
      const target = mover.volume("target")
      const restore = (RESTORE_ID: string, run: Mover.Run = {}) =>
        mover.run("preflight restore", { RESTORE_VOLUME: "data", RESTORE_TARGET: target, RESTORE_ID, ...run })
      return { mover, target, restore, ids }
    })

  Test.live("into an empty volume does not mix its files with those of a concurrent restore", () =>
    Effect.gen(function* () {
      const { ids, restore, target } = yield* saved()
      const ended = yield* Effect.all(
        ids.map((SNAPSHOT, index) => restore(`uid-${index}`, { SNAPSHOT })),
        { concurrency: 2 }
      )
      expect(ended.map(({ exitCode }) => exitCode).sort()).toEqual([0, 45])
      const names = readdirSync(target)
      expect(names).toHaveLength(50)
      expect(new Set(names.map((name) => name.split("-")[0])).size).toBe(1)
    })
  )

  Test.live("of a path or a snapshot that does not exist leaves the volume empty for the next Restore", () =>
    Effect.gen(function* () {
      const { restore, target } = yield* saved()
      expect(yield* restore("one", { RESTORE_PATHS: "/typo" })).toMatchObject({ exitCode: 46 })
      expect(yield* restore("two", { SNAPSHOT: "0".repeat(64) })).toMatchObject({ exitCode: 46 })
      expect(readdirSync(target)).toEqual([])
      expect(yield* restore("three")).toMatchObject({ exitCode: 0 })
    })
  )

  Test.live("that is killed after its last file succeeds at the retry", () =>
    Effect.gen(function* () {
      // The mover lists the owners after the restore.
      const script = `case "$KILLED $*" in "1 ls --json"*) kill -9 $PPID; sleep 5 ;; esac\nexec "$(dirname "$0")/real" "$@"`
      const { restore, target } = yield* saved(script)
      const user = "nobody"
      chmodSync(target, 0o777)
      expect((yield* restore("one", { user, KILLED: "1" })).exitCode).not.toBe(0)
      expect(readdirSync(target).length).toBeGreaterThanOrEqual(50)
      expect(yield* restore("one", { user })).toMatchObject({
        exitCode: 0,
        result: { restored: { ownership: "AsMover" } }
      })
      expect(readdirSync(target)).toHaveLength(50)
    })
  )

  Test.live("does not save its marker in snapshots, and does not restore an old one", () =>
    Effect.gen(function* () {
      const { mover, restore, target } = yield* saved()
      const marker = join(mover.volume("data"), ".homeostat-restore")
      writeFileSync(marker, "an earlier restore")
      yield* mover.run("preflight backup")
      expect(yield* Restic.output(mover.env, "ls", "latest")).not.toContain(".homeostat-restore")
      // The snapshot equals the snapshot of an older version.
      yield* Restic.inside(
        mover.volume("data"),
        mover.env,
        "backup",
        "--host",
        "shop/data",
        "--tag",
        "shop/nightly",
        "."
      )
      expect(yield* Restic.output(mover.env, "ls", "latest")).toContain(".homeostat-restore")
      writeFileSync(join(target, ".homeostat-restore"), "one")
      expect(yield* restore("one")).toMatchObject({ exitCode: 0 })
      expect(readdirSync(target)).toHaveLength(50)
      expect(readFileSync(marker, "utf8")).toBe("an earlier restore")
    })
  )
})

Test.live("A deletion of all snapshots fails if restic deletes none of them", () =>
  Effect.gen(function* () {
    const script = `case "$1" in forget) echo "[]"; exit 0 ;; esac\nexec "$(dirname "$0")/real" "$@"`
    const mover = yield* make({}, script)
    cpSync(yield* Restic.find, join(mover.folder, "bin/real"))
    writeFileSync(join(mover.volume("data"), "file"), "x")
    yield* mover.run("preflight backup")
    const ended = yield* mover.run("preflight delete")
    expect(ended).toMatchObject({ exitCode: 47, result: { message: "restic deleted 0 of 1 snapshots" } })
  })
)
