/** The volumes of a run: several volumes, empty volumes, volumes that lost their files, and files that the mover cannot read. */
import { expect } from "bun:test"
import { chmodSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { Backup } from "@homeostat/backup/kinds/Backup"
import { Settings } from "@homeostat/backup/Settings"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Deployment } from "@homeostat/runtime/resource/BuiltIn"
import { Effect } from "effect"
import * as Backups from "./Backups.ts"
import * as Prepared from "./Prepared.ts"
import * as Scene from "./Scene.ts"
import * as Shim from "./Shim.ts"

const quickly = Effect.provideService(Settings, Backups.quick)

Backups.real(
  "Each volume of a Deployment has its own snapshot, and one that was always empty does not fail the run",
  (scene) =>
    Effect.gen(function* () {
      const { repository } = yield* Prepared.shop(scene)
      yield* Scene.claim(scene, "web", { files: { b: "second" } })
      yield* Scene.claim(scene, "hollow", { files: {} })
      const claims = ["app", "web", "hollow"]
      const labels = { app: "shop" }
      yield* Client.create(Deployment, {
        metadata: { namespace: scene.namespace, name: "frontend" },
        spec: {
          replicas: 0,
          selector: { matchLabels: labels },
          template: {
            metadata: { labels },
            spec: {
              containers: [{ name: "app", image: "registry.test/app:1" }],
              volumes: claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } }))
            }
          }
        }
      })
      yield* scene.manage()
      yield* Backups.create(scene, "shop", { source: "deployment/frontend", retention: { keepLast: 1 } })
      const backup = yield* Backups.completed(scene, "shop")
      expect(backup.status).toMatchObject({
        message: "2 volumes saved; no files found: hollow"
      })
      expect(backup.status?.lastRun?.snapshots?.map(({ files, id, pvc }) => [pvc, files, id !== undefined])).toEqual([
        ["app", 1, true],
        ["hollow", 0, false],
        ["web", 1, true]
      ])
      yield* Backups.recorded(scene, "shop", {
        type: "Warning",
        reason: "BackupCompleted",
        note: "no files found: hollow"
      })
      const saved = yield* Scene.snapshots(scene, repository)
      expect(new Set(saved.map(({ hostname }) => hostname))).toEqual(
        new Set([`${scene.namespace}/app`, `${scene.namespace}/web`])
      )
    }).pipe(quickly)
)

Backups.real(
  "A claim that was emptied fails the run and keeps its snapshots, unless spec.allowEmpty accepts it",
  (scene) =>
    Effect.gen(function* () {
      const { app, repository } = yield* Prepared.shop(scene)
      yield* scene.manage()
      yield* Backups.create(scene, "shop", { retention: { keepLast: 1 } })
      yield* Backups.completed(scene, "shop")
      const { status: good } = yield* Backups.maintained(scene, "shop")
      for (const name of readdirSync(app)) rmSync(join(app, name), { recursive: true })

      const emptied = yield* Backups.run(scene, "shop", "T")
      expect(emptied.status).toMatchObject({
        phase: "Failed",
        lastBackupTime: good?.lastBackupTime,
        lastRun: { reason: "VolumeEmpty" },
        consecutiveFailures: 1
      })
      expect(emptied.status?.message).toMatch(
        /^No files found: app \(\d+ in snapshot [0-9a-f]{8}\)\..*spec\.allowEmpty/
      )
      expect(Backups.condition(emptied, "VolumesIntact")).toMatchObject({ status: "False", reason: "VolumeEmpty" })
      yield* Backups.recorded(scene, "shop", { type: "Warning", reason: "VolumeEmpty", note: "No files found: app" })

      yield* Client.patch(Backup, scene.key("shop"), Patch.merge({ spec: { allowEmpty: true } }))
      const accepted = yield* Backups.run(scene, "shop", "U")
      expect(accepted.status).toMatchObject({ phase: "Completed", consecutiveFailures: 0 })
      yield* Backups.maintained(scene, "shop")
      expect(yield* Scene.snapshots(scene, repository)).toHaveLength(1)
    }).pipe(quickly)
)

Backups.real("A claim that was never filled fails a run that saves nothing else", (scene) =>
  Effect.gen(function* () {
    const { repository } = yield* Prepared.shop(scene, {})
    yield* scene.manage()
    yield* Backups.create(scene, "shop")
    const backup = yield* Backups.ended(scene, "shop")
    expect(backup.status).toMatchObject({ phase: "Failed", lastRun: { reason: "VolumeEmpty" } })
    expect(backup.status?.message).toContain("Check that spec.source names the intended volume")
    expect(yield* Scene.snapshots(scene, repository)).toEqual([])
  }).pipe(quickly)
)

Backups.real(
  "An unreadable file makes a run partial, and old snapshots stay; spec.allowPartial makes it a warning",
  (scene) =>
    Effect.gen(function* () {
      const { app, repository } = yield* Prepared.shop(scene)
      yield* scene.manage()
      yield* Backups.create(scene, "shop", { retention: { keepLast: 2 } })
      yield* Backups.completed(scene, "shop")
      yield* Backups.maintained(scene, "shop")

      yield* Effect.promise(() => Bun.write(join(app, "diary"), "kept to itself"))
      chmodSync(join(app, "diary"), 0o000)
      const partial = yield* Backups.run(scene, "shop", "T")
      expect(partial.status).toMatchObject({
        phase: "Failed",
        consecutiveFailures: 1,
        lastRun: { reason: "PartiallyFailed", snapshots: [{ pvc: "app", files: 1, id: expect.any(String) }] }
      })
      expect(partial.status?.message).toMatch(/volume app: 1 could not be read, the last: .*diary.*spec\.allowPartial/)
      expect(Backups.condition(partial, "LastRunSucceeded")?.status).toBe("False")
      // The run has one attempt, because a second attempt would save the same data again.
      expect(yield* Scene.snapshots(scene, repository)).toHaveLength(2)
      yield* Backups.recorded(scene, "shop", { type: "Warning", reason: "BackupPartiallyFailed", note: "diary" })

      yield* Client.patch(Backup, scene.key("shop"), Patch.merge({ spec: { allowPartial: true } }))
      const allowed = yield* Backups.run(scene, "shop", "U")
      expect(allowed.status).toMatchObject({
        phase: "Completed",
        consecutiveFailures: 0,
        lastRun: { reason: "PartiallyFailed" }
      })
      yield* Backups.recorded(scene, "shop", { type: "Warning", reason: "BackupCompleted", note: "diary" })
      expect((yield* Backups.maintained(scene, "shop")).status?.snapshots).toBe(2)
      expect(yield* Scene.snapshots(scene, repository)).toHaveLength(2)
    }).pipe(quickly),
  { mover: Shim.withoutPrivilege }
)
