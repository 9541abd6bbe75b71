/** The maintenance of a repository: it deletes the Backup's old snapshots, frees their space, and checks the repository. */
import { expect } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Settings } from "@homeostat/backup/Settings"
import { Effect } from "effect"
import * as Backups from "./Backups.ts"
import * as Prepared from "./Prepared.ts"
import * as Scene from "./Scene.ts"
import * as Tree from "./Tree.ts"

const day = 86_400_000

/** A time in the format of restic's `--time`, in this machine's zone. */
const ago = (days: number): string => {
  const at = new Date(Date.now() - days * day)
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 19).replace("T", " ")
}

Backups.real(
  "30d deletes the snapshots from 90 and 60 days ago after a user allows it, and none of another Backup",
  (scene) =>
    Effect.gen(function* () {
      const { app, repository } = yield* Prepared.shop(scene, { a: Tree.noise(100_000, "a") })
      const save = (days: number, tag: string) =>
        Effect.gen(function* () {
          writeFileSync(join(app, "past"), Tree.noise(100_000, `${tag} ${days}`))
          const labels = ["--host", `${scene.namespace}/app`, "--tag", `${scene.namespace}/${tag}`, "--time", ago(days)]
          expect(yield* scene.restic(repository, "backup", ...labels, app)).toMatchObject({ exitCode: 0 })
        })
      for (const days of [90, 60, 20, 10]) yield* save(days, "shop")
      for (const days of [60, 40]) yield* save(days, "other")
      const made = yield* Scene.snapshots(scene, repository)

      yield* scene.manage()
      yield* Backups.create(scene, "shop", { retentionPolicy: "30d" })
      yield* Backups.completed(scene, "shop")
      const held = yield* Backups.maintained(scene, "shop")
      // These snapshots are older than this Backup.
      expect(held.status?.retentionHold).toMatchObject({ reason: "ExistingSnapshots", keep: 3, remove: 2 })
      expect(Backups.condition(held, "RetentionApplied")).toMatchObject({ status: "False", reason: "RetentionHeld" })
      yield* Backups.recorded(scene, "shop", {
        type: "Warning",
        reason: "RetentionHeld",
        note: "would delete 2 snapshots"
      })
      expect(yield* Scene.snapshots(scene, repository)).toHaveLength(made.length + 1)

      yield* Backups.annotate(scene, "shop", "apply-retention", "yes")
      const backup = yield* Backups.until(
        scene,
        "shop",
        "the deletion is applied",
        ({ lastRetentionTrigger }) => lastRetentionTrigger === "yes"
      )
      const newest = backup.status?.lastRun?.snapshots?.[0]?.id
      expect(backup.status).toMatchObject({ snapshots: 3, lastRun: { reason: "Succeeded" } })
      expect(backup.status?.retentionHold).toBeUndefined()
      expect(Backups.condition(backup, "RetentionApplied")).toMatchObject({
        status: "True",
        reason: "Applied",
        message: "2 snapshots deleted, 3 kept."
      })
      const others = made.filter(({ tags }) => tags?.includes(`${scene.namespace}/other`) === true).map(({ id }) => id)
      // The oldest snapshot comes first.
      const kept = [...made.slice(-2).map(({ id }) => id), newest, ...others]
      const left = yield* Scene.snapshots(scene, repository)
      expect(left.map(({ id }) => id).toSorted()).toEqual(kept.map((id) => id ?? "missing").toSorted())
      yield* Backups.recorded(scene, "shop", {
        type: "Normal",
        reason: "SnapshotsPruned",
        note: "2 old snapshots deleted; 3 kept"
      })

      // The maintenance prunes the repository and checks it when each is due.
      const before = Prepared.packs(repository)
      expect(backup.status?.lastPruneTime).toBeUndefined()
      yield* Backups.overdue(scene, "shop", "lastPruneTime", "lastCheckTime")
      writeFileSync(join(app, "past"), "gone")
      yield* Backups.run(scene, "shop", "again")
      const again = yield* Backups.maintained(scene, "shop")
      expect(again.status).toMatchObject({ phase: "Completed", snapshots: 4, lastRun: { reason: "Succeeded" } })
      expect(Date.parse(again.status?.lastPruneTime ?? "")).toBeGreaterThan(Date.now() - day)
      expect(Date.parse(again.status?.lastCheckTime ?? "")).toBeGreaterThan(Date.now() - day)
      expect(Backups.condition(again, "RepositoryHealthy")).toMatchObject({ status: "True", reason: "Checked" })
      expect(Prepared.packs(repository)).toBeLessThan(before)
      expect(yield* scene.restic(repository, "check", "--read-data", "--quiet")).toMatchObject({ exitCode: 0 })
      expect(yield* Scene.locks(scene, repository)).toEqual([])
    }).pipe(Effect.provideService(Settings, Backups.quick))
)
