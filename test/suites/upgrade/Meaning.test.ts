/** Backups of a release, and the manifest of the tutorial, have the same effect today: see `released/<version>/meaning.json`. */

import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import { Backup } from "@homeostat/backup/kinds/Backup"
import * as Spec from "@homeostat/backup/run/Spec"
import * as Settings from "@homeostat/backup/Settings"
import { Result } from "effect"
import { releases } from "./Released.ts"

/** The effect of a Backup in a release. */
interface Meaning {
  /** Arguments of `restic forget`. */
  readonly keep: ReadonlyArray<string>
  readonly url: string
  readonly hash: string
  readonly schedule?: string
  /** In milliseconds. */
  readonly prune: number
  readonly check: number
  /** The spec with its defaults. */
  readonly spec: object
}

/** This version always keeps the newest three snapshots, unless the spec sets another number. */
const floor: ReadonlyArray<string> = ["--keep-last", "3"]

for (const { objects, version } of releases) {
  const file = Bun.file(join(import.meta.dir, "released", version, "meaning.json"))
  const meanings: { readonly [name: string]: Meaning } = await file.json()
  describe(`A Backup of ${version} keeps its meaning, with a minimum for its retention,`, () => {
    test("for every stored Backup", () =>
      expect(objects.filter(({ kind }) => kind === "Backup").map(({ metadata }) => metadata.name)).toEqual(
        Object.keys(meanings)
      ))
    for (const [name, meaning] of Object.entries(meanings)) {
      test(name, () => {
        const object = objects.find(({ kind, metadata }) => kind === "Backup" && metadata.name === name)
        const metadata = {
          namespace: "default",
          uid: "u",
          resourceVersion: "1",
          creationTimestamp: "2026-11-01T00:00:00Z",
          ...object?.metadata
        }
        const backup = Result.getOrThrow(Backup.decode({ ...object, metadata } as Parameters<typeof Backup.decode>[0]))
        const { checkInterval, keep, pruneInterval, repository, table } = Result.getOrThrow(
          Spec.parse(backup, Settings.defaults)
        )
        const isFloor = (argument: string, at: number): boolean =>
          floor.includes(argument) && (keep[at - 1] === floor[0] || keep[at + 1] === floor[1])
        const rest = meaning.keep.includes("--keep-last") ? keep : keep.filter((argument, at) => !isFloor(argument, at))
        expect<unknown>({
          keep: rest,
          url: repository.url,
          hash: repository.hash,
          ...(table !== undefined && { schedule: table.effective }),
          prune: pruneInterval,
          check: checkInterval,
          spec: backup.spec
        }).toEqual(meaning)
        expect(keep.length > 0).toBe(meaning.keep.length > 0)
      })
    }
  })
}
