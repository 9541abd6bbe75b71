/** Restores with every combination of owner, volume, mode and selection, compared file by file. */
import { afterAll, beforeAll, describe, expect } from "bun:test"
import { cpSync, lchownSync, lstatSync, rmSync } from "node:fs"
import { join } from "node:path"
import * as MoverJob from "@homeostat/backup/run/MoverJob"
import * as Test from "@homeostat/testkit/Test"
import { Effect, Exit, Scope } from "effect"
import * as Mover from "./Mover.ts"
import * as QuickKey from "./QuickKey.ts"
import * as Restic from "./Restic.ts"
import * as Restored from "./Restored.ts"
import * as Tree from "./Tree.ts"

/** Only root can change the owner of a file. */
const isRoot = process.getuid?.() === 0
const nobody = 65_534

/** Two snapshots: one of files with many owners, and one of files of one user. */
interface Template {
  readonly folder: string
  readonly files: { readonly [volume: string]: { readonly [path: string]: Restored.File } }
}

const scope = Effect.runSync(Scope.make())
let template: Template

beforeAll(async () => {
  template = await Effect.gen(function* () {
    const mover = yield* Mover.make()
    yield* Restic.output(mover.env, "init")
    yield* QuickKey.write(join(mover.folder, "repository"), mover.env)
    const files: Record<string, Template["files"][string]> = {}
    for (const volume of ["mixed", "own"]) {
      const folder = mover.volume(volume)
      Restored.write(folder)
      const before = Restored.read(folder)
      if (isRoot) {
        for (const [index, path] of Tree.paths(folder).entries()) {
          const mode = lstatSync(join(folder, path)).mode
          const id = volume === "own" ? nobody : 1000 + (index % 3)
          lchownSync(join(folder, path), id, volume === "own" ? 0 : id)
          expect(lstatSync(join(folder, path)).mode).toBe(mode)
        }
      }
      files[volume] = Restored.read(folder)
      expect(Object.keys(before)).toEqual(Object.keys(files[volume]))
    }
    // Only the owner can read some of the files.
    const saved = yield* mover.run("preflight backup", { capabilities: MoverJob.capabilities.backup.join() })
    expect(saved).toMatchObject({ exitCode: 0, result: { reason: "Succeeded" } })
    // The user without privileges needs access.
    Bun.spawnSync(["chmod", "-R", "a+rwX", join(mover.folder, "repository")])
    return { folder: mover.folder, files }
  }).pipe(Scope.provide(scope), Effect.runPromise)
}, 120_000)

afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

/** A mover with a privilege, and movers without one for files of the mover's user and of other users. */
const owners = [
  { who: "a privileged mover", volume: "mixed", user: undefined, ownership: "Preserved" },
  { who: "a mover that owns all files", volume: "own", user: "nobody", ownership: "Preserved" },
  { who: "a mover without privileges", volume: "mixed", user: "nobody", ownership: isRoot ? "AsMover" : "Preserved" }
] as const

const cases = [
  { into: "a new volume", mode: "IntoEmpty", paths: [] },
  { into: "a new volume", mode: "Overlay", paths: [] },
  { into: "a new volume", mode: "Mirror", paths: [] },
  { into: "a new volume", mode: "IntoEmpty", paths: ["/deep", "/plain"] },
  { into: "a volume with files", mode: "Overlay", paths: [] },
  { into: "a volume with files", mode: "Mirror", paths: [] },
  { into: "a volume with files", mode: "Overlay", paths: ["/deep", "/plain"] },
  { into: "a volume with files", mode: "Mirror", paths: ["/deep", "/plain"] }
] as const

/** Whether a selection of paths restores a path. */
const isSelected = (paths: ReadonlyArray<string>, path: string): boolean =>
  paths.length === 0 || paths.some((each) => `/${path}` === each || `/${path}`.startsWith(`${each}/`))

describe("A restore preserves content, owner, mode, time, attributes, links and holes", () => {
  for (const { ownership, user, volume, who } of owners) {
    for (const { into, mode, paths } of cases) {
      Test.live(`by ${who} into ${into}, ${mode}, ${paths.length === 0 ? "all files" : "some paths"}`, () =>
        Effect.gen(function* () {
          const mover = yield* Mover.make()
          cpSync(join(template.folder, "repository"), join(mover.folder, "repository"), { recursive: true })
          if (user !== undefined) Bun.spawnSync(["chmod", "-R", "a+rwX", join(mover.folder, "repository")])
          const target = mover.volume("target")
          if (into !== "a new volume") Restored.fill(target)
          if (user !== undefined && isRoot) Bun.spawnSync(["chown", "-R", user, target])
          const ended = yield* mover.run("preflight restore", {
            RESTORE_VOLUME: volume,
            RESTORE_TARGET: target,
            RESTORE_MODE: mode,
            RESTORE_PATHS: paths.join("\n"),
            ...(user === undefined ? { capabilities: MoverJob.capabilities.restore.join() } : { user })
          })
          expect(ended).toMatchObject({ exitCode: 0, result: { reason: "Succeeded", restored: { ownership } } })
          const all = template.files[volume] ?? {}
          const expected = Object.fromEntries(
            Object.entries(all).flatMap(([path, file]) =>
              isSelected(paths, path)
                ? [[path, ownership === "AsMover" ? { ...file, owner: `${nobody}:0` } : file] as const]
                : []
            )
          )
          const found = Restored.read(target)
          const kept = Object.keys(found).filter((path) => expected[path] === undefined)
          expect(Object.fromEntries(Object.keys(expected).map((path) => [path, found[path]]))).toEqual(expected)
          const deleted = (path: string): boolean => mode === "Mirror" && isSelected(paths, path)
          expect(kept).toEqual(into === "a new volume" ? [] : Restored.own.filter((path) => !deleted(path)))
          rmSync(target, { recursive: true })
        })
      )
    }
  }
})
