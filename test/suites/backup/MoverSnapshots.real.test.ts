/** Deletes and restores affect only snapshots of the right Backup, volume and time. */
import { afterAll, beforeAll, describe, expect } from "bun:test"
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Test from "@homeostat/testkit/Test"
import { Effect, Exit, Scope } from "effect"
import * as Mover from "./Mover.ts"
import * as QuickKey from "./QuickKey.ts"
import * as Restic from "./Restic.ts"

const day = 86_400_000

const newest = Date.UTC(2026, 9, 31, 12, 0, 0)
/** The time this many days before the newest snapshot. */
const at = (age: number): string => new Date(newest - age * day).toISOString().slice(0, 19)

/** A repository with four snapshots of `shop/data`, one of another volume, and one of another Backup. Each test uses a copy. */
interface Template {
  readonly path: string
  readonly ids: { readonly [of: string]: string }
}

const scope = Effect.runSync(Scope.make())
let template: Template

beforeAll(async () => {
  template = await Effect.gen(function* () {
    const mover = yield* Mover.make()
    const path = join(mover.folder, "repository")
    const ids: Record<string, string> = {}
    yield* Restic.output(mover.env, "init")
    yield* QuickKey.write(path, mover.env)
    const save = (of: string, host: string, tag: string, time: string) =>
      Effect.gen(function* () {
        const folder = mover.volume(of)
        mkdirSync(join(folder, "sub folder/[a]*"), { recursive: true })
        writeFileSync(join(folder, "file"), of)
        writeFileSync(join(folder, "sub folder/one"), of)
        writeFileSync(join(folder, "sub folder/[a]*/two"), of)
        const args = ["--json", "--quiet", "--host", host, "--tag", tag, "--time", time.replace("T", " "), "."]
        const { stdout } = yield* Restic.inside(folder, mover.env, "backup", ...args)
        ids[of] = /"snapshot_id":"([0-9a-f]+)"/.exec(stdout)?.[1] ?? ""
      })
    // The order of these snapshots differs from the order of their times.
    for (const age of [40, 0, 60, 20]) yield* save(`${age}`, "shop/data", "shop/nightly", at(age))
    yield* save("other", "shop/other", "shop/nightly", at(50))
    yield* save("foreign", "bank/data", "bank/vault", at(90))
    return { path, ids }
  }).pipe(Scope.provide(scope), Effect.runPromise)
}, 120_000)

afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const make = Effect.gen(function* () {
  const mover = yield* Mover.make()
  cpSync(template.path, join(mover.folder, "repository"), { recursive: true })
  const target = mover.volume("target")
  const restore = (run: Mover.Run = {}) =>
    mover.run("preflight restore", { RESTORE_VOLUME: "data", RESTORE_TARGET: target, ...run })
  return { mover, target, restore }
})

const short = (id: string | undefined): string => (id ?? "").slice(0, 8)

const times = (snapshots: ReadonlyArray<Restic.Snapshot>, tag: string) =>
  snapshots.filter(({ tags }) => tags?.includes(tag)).map(({ time }) => time.slice(0, 19))

Test.live(
  "A retention of 30 days deletes only the older snapshots of the volume, and none of other volumes and other Backups",
  () =>
    Effect.gen(function* () {
      const { mover } = yield* make
      const ended = yield* mover.run("preflight forget prune", { FORGET_ARGS: "--keep-within 720h" })
      expect(ended).toMatchObject({ exitCode: 0, result: { kept: 3, removed: 2, pruned: true } })
      const left = yield* Restic.snapshots(mover.env)
      expect(times(left, "shop/nightly")).toEqual([at(50), at(20), at(0)])
      expect(times(left, "bank/vault")).toEqual([at(90)])
    })
)

describe("The deletion of old snapshots is held, with its numbers,", () => {
  const kept = (name: string, run: Mover.Run, expected: object, left: number) =>
    Test.live(name, () =>
      Effect.gen(function* () {
        const { mover } = yield* make
        const ended = yield* mover.run("preflight forget", run)
        expect(ended).toMatchObject({ exitCode: 0, result: { reason: "Succeeded", ...expected } })
        expect(times(yield* Restic.snapshots(mover.env), "shop/nightly")).toHaveLength(left)
      })
    )
  const last = { FORGET_ARGS: "--keep-last 1" }
  const within = { FORGET_ARGS: "--keep-within 720h" }
  kept("if it would delete more than half", last, { held: "TooMany", kept: 2, removed: 3 }, 5)
  kept("if the controller holds it", { ...within, HOLD: "Paused" }, { held: "Paused", kept: 3, removed: 2 }, 5)
  kept(
    "if some are older than the Backup",
    { ...within, CREATED_AT: `${at(50)}Z` },
    { held: "ExistingSnapshots", kept: 3, removed: 2 },
    5
  )
  kept("unless all are younger", { ...within, CREATED_AT: `${at(70)}Z` }, { held: undefined, removed: 2 }, 3)
  kept("unless a user allows it", { ...last, HOLD: "Paused", ALLOW_FORGET: "1" }, { held: undefined, removed: 3 }, 2)
})

describe("A volume", () => {
  const data = { pvc: "data" }
  Test.live("that the same run has already saved is not saved again", () =>
    Effect.gen(function* () {
      const { mover } = yield* make
      writeFileSync(join(mover.volume("data"), "file"), "content")
      const first = yield* mover.run("preflight backup", { RUN_TAG: "run:1" })
      const again = yield* mover.run("preflight backup", { RUN_TAG: "run:1" })
      const saved = (ended: Mover.Ended) => ended.result.snapshots.find(({ pvc }) => pvc === data.pvc)
      expect(saved(again)).toEqual(saved(first) ?? expect.anything())
      const later = yield* mover.run("preflight backup", { RUN_TAG: "run:2" })
      expect(saved(later)?.id).not.toBe(saved(first)?.id)
      expect(saved(later)?.before).toMatchObject({ id: saved(first)?.id, files: 1 })
    })
  )

  Test.live("without files is reported with its last snapshot", () =>
    Effect.gen(function* () {
      const { mover } = yield* make
      mover.volume("data")
      const { exitCode, result } = yield* mover.run("preflight backup")
      expect([exitCode, result.reason]).toEqual([50, "VolumeEmpty"])
      const found = result.snapshots.find(({ pvc }) => pvc === data.pvc)
      expect(found).toMatchObject({ id: undefined, before: { id: template.ids["0"], files: 3 } })
      expect(yield* mover.run("preflight backup", { ALLOW_EMPTY: "1" })).toMatchObject({ exitCode: 0 })
    })
  )
})

Test.live("A deleted Backup deletes its own snapshots, and no others", () =>
  Effect.gen(function* () {
    const { mover } = yield* make
    const ended = yield* mover.run("preflight delete")
    expect(ended).toMatchObject({ exitCode: 0, result: { kept: 0, removed: 5, pruned: true } })
    expect((yield* Restic.snapshots(mover.env)).map(({ tags }) => tags)).toEqual([["bank/vault"]])
    // A second attempt, after a first one whose end the controller missed.
    expect(yield* mover.run("preflight delete")).toMatchObject({ exitCode: 0, result: { removed: 0 } })
  })
)

Test.live("Exclusions are patterns, relative to the root of the volume if they start with a slash", () =>
  Effect.gen(function* () {
    const { mover } = yield* make
    const data = mover.volume("data")
    mkdirSync(join(data, "sub/cache"), { recursive: true })
    mkdirSync(join(data, "cache"))
    mkdirSync(join(data, "sub/lost+found"))
    for (const path of [
      "a.tmp",
      "sub/b.tmp",
      "sub/keep.tmp",
      "cache/c",
      "sub/cache/d",
      "#e#",
      "$HOME",
      "f",
      "sub/lost+found/g"
    ]) {
      writeFileSync(join(data, path), "")
    }
    const EXCLUDES = "*.tmp\n!keep.tmp\n/cache\n#e#\n\n$HOME\n"
    const ended = yield* mover.run("preflight backup", { EXCLUDES })
    const id = ended.result.snapshots.find(({ pvc }) => pvc === "data")?.id ?? ""
    const listed = (yield* Restic.output(mover.env, "ls", id)).split("\n").filter((line) => line.startsWith("/"))
    expect(listed.sort()).toEqual([
      "/f",
      "/sub",
      "/sub/cache",
      "/sub/cache/d",
      "/sub/keep.tmp",
      "/sub/lost+found",
      "/sub/lost+found/g"
    ])
  })
)

Test.live("A volume with another mount path is compared with its last snapshot", () =>
  Effect.gen(function* () {
    const { mover } = yield* make
    writeFileSync(join(mover.volume("data"), "file"), "the same")
    const first = yield* mover.run("preflight backup")
    const elsewhere = join(mover.folder, "elsewhere")
    renameSync(join(mover.folder, "data"), elsewhere)
    const second = yield* mover.run("preflight backup", { DATA_DIR: elsewhere })
    const of = (ended: Mover.Ended) => ended.result.snapshots.find(({ pvc }) => pvc === "data")?.id
    const snapshot = (yield* Restic.snapshots(mover.env)).find(({ id }) => id === of(second))
    expect(snapshot?.parent).toBe(of(first) ?? "")
  })
)

describe("A restore", () => {
  Test.live("of the latest snapshot uses the newest one, and of a time the newest one up to it", () =>
    Effect.gen(function* () {
      const { mover, restore, target } = yield* make
      const latest = yield* restore()
      expect(latest).toMatchObject({
        exitCode: 0,
        result: { restored: { snapshot: template.ids["0"], bytes: 3 } }
      })
      expect(readFileSync(join(target, "sub folder/[a]*/two"), "utf8")).toBe("0")
      const cases: ReadonlyArray<readonly [string, number]> = [
        [`${at(20)}Z`, 20],
        // One second before the snapshot; and one hour before the snapshot, in a time zone two hours ahead of UTC.
        [new Date(newest - 20 * day - 1000).toISOString(), 40],
        [`${new Date(newest - 20 * day + 3_600_000).toISOString().slice(0, 19)}+02:00`, 40]
      ]
      for (const [index, [time, age]] of cases.entries()) {
        const ended = yield* restore({ RESTORE_TARGET: mover.volume(`of-${index}`), AS_OF: time })
        expect([time, ended.result.restored?.snapshot]).toEqual([time, template.ids[`${age}`]])
      }
    })
  )

  Test.live("of a time before the first snapshot, or of an invalid time, reports that and writes nothing", () =>
    Effect.gen(function* () {
      const { restore, target } = yield* make
      expect(yield* restore({ AS_OF: "2026-01-01T00:00:00Z" })).toMatchObject({
        exitCode: 46,
        result: {
          reason: "SnapshotNotFound",
          message: `there is no snapshot of volume data in Backup shop/nightly from 2026-01-01T00:00:00Z or before; the oldest is of ${at(60)}Z`
        }
      })
      expect(yield* restore({ AS_OF: "yesterday" })).toMatchObject({ exitCode: 46 })
      expect(readdirSync(target)).toEqual([])
    })
  )

  Test.live("by id needs eight digits of a snapshot of this Backup and volume", () =>
    Effect.gen(function* () {
      const { restore, target } = yield* make
      const wrong = [
        // Ids of another Backup, another volume and no snapshot, an id that is too short, and a flag of restic.
        short(template.ids.foreign),
        template.ids.foreign ?? "",
        short(template.ids.other),
        "00000000",
        short(template.ids["20"]).slice(0, 7),
        "--help"
      ]
      for (const id of wrong) {
        const ended = yield* restore({ SNAPSHOT: id })
        expect([id, ended.exitCode]).toEqual([id, 46])
        expect(ended.result.message).toBe(
          `there is no snapshot ${id} of volume data in Backup shop/nightly; the newest is ${short(template.ids["0"])} of ${at(0)}Z`
        )
        expect(readdirSync(target)).toEqual([])
      }
      expect(yield* restore({ SNAPSHOT: short(template.ids["20"]) })).toMatchObject({ exitCode: 0 })
      expect(readFileSync(join(target, "file"), "utf8")).toBe("20")
    })
  )

  Test.live(
    "does not write into a volume with files by default; Overlay keeps other files, and Mirror deletes them",
    () =>
      Effect.gen(function* () {
        const { restore, target } = yield* make
        mkdirSync(join(target, "lost+found"))
        writeFileSync(join(target, "file"), "of today, and longer")
        writeFileSync(join(target, "mine"), "stays")
        const refused = yield* restore()
        expect(refused).toMatchObject({
          exitCode: 45,
          result: { reason: "TargetNotEmpty", message: "the volume contains file" }
        })
        expect(readdirSync(target).sort()).toEqual(["file", "lost+found", "mine"])
        expect(readFileSync(join(target, "file"), "utf8")).toBe("of today, and longer")
        mkdirSync(join(target, "own/folder"), { recursive: true })
        expect(yield* restore({ RESTORE_MODE: "Overlay" })).toMatchObject({ exitCode: 0 })
        expect(readFileSync(join(target, "file"), "utf8")).toBe("0")
        expect(readFileSync(join(target, "mine"), "utf8")).toBe("stays")
        expect(yield* restore({ RESTORE_MODE: "Mirror" })).toMatchObject({ exitCode: 0 })
        expect(readdirSync(target).sort()).toEqual(["file", "lost+found", "sub folder"])
      })
  )

  Test.live("continues only an interrupted attempt of the same restore", () =>
    Effect.gen(function* () {
      const { restore, target } = yield* make
      // An interrupted attempt leaves these files.
      writeFileSync(join(target, ".homeostat-restore"), "one")
      writeFileSync(join(target, "file"), "half")
      expect(yield* restore({ RESTORE_ID: "another" })).toMatchObject({ exitCode: 45 })
      expect(yield* restore()).toMatchObject({ exitCode: 45 })
      expect(readFileSync(join(target, "file"), "utf8")).toBe("half")
      expect(yield* restore({ RESTORE_ID: "one" })).toMatchObject({ exitCode: 0 })
      expect(readFileSync(join(target, "file"), "utf8")).toBe("0")
      expect(readdirSync(target)).not.toContain(".homeostat-restore")
    })
  )

  Test.live("of some paths restores only these, whatever characters they contain", () =>
    Effect.gen(function* () {
      const { mover, restore, target } = yield* make
      const ended = yield* restore({ RESTORE_PATHS: "file\n/sub folder/[a]*/\n" })
      expect(ended).toMatchObject({ exitCode: 0, result: { restored: { bytes: 2 } } })
      expect(existsSync(join(target, "sub folder/[a]*/two"))).toBe(true)
      expect(existsSync(join(target, "sub folder/one"))).toBe(false)
      const none = mover.volume("none")
      expect(yield* restore({ RESTORE_TARGET: none, RESTORE_PATHS: "/file\n/not there" })).toMatchObject({
        exitCode: 46,
        result: {
          message: `snapshot ${short(template.ids["0"])} of volume data has no /not there`
        }
      })
      expect(readdirSync(none)).toEqual([])
    })
  )
})
