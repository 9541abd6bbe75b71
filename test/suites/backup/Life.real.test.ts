/** The life of a Backup: restic saves a volume, deletes old snapshots, and restores the volume. */
import { expect } from "bun:test"
import { Settings } from "@homeostat/backup/Settings"
import { Effect } from "effect"
import * as Backups from "./Backups.ts"
import * as Scene from "./Scene.ts"

Backups.both("A Backup saves its claim when it is created, and reports that", (scene) =>
  Effect.gen(function* () {
    yield* Scene.credentials(scene, "shop-backup-credentials")
    yield* Scene.claim(scene, "app", { files: { "docs/a.txt": "first", "b.bin": new Uint8Array(100_000) } })
    const store = yield* Scene.claim(scene, "store")
    yield* scene.manage()
    yield* Backups.create(scene, "shop", { schedule: "0 2 * * *", retentionPolicy: "30d" })
    const backup = yield* Backups.completed(scene, "shop")
    expect(backup.status).toMatchObject({
      phase: "Completed",
      message: "1 volume saved",
      lastRun: { reason: "Succeeded", trigger: "start", snapshots: [{ pvc: "app", files: 2 }] }
    })
    const repository = { repository: `${store}/${scene.namespace}/shop`, password: "correct horse" }
    const [snapshot] = yield* Scene.snapshots(scene, repository)
    expect(snapshot).toMatchObject({
      hostname: `${scene.namespace}/app`,
      tags: expect.arrayContaining([`${scene.namespace}/shop`])
    })
    expect((yield* scene.restic(repository, "dump", "latest", "/docs/a.txt")).stdout).toBe("first")
    yield* Backups.eventsAre(scene, "shop", ["BackupScheduled", "BackupStarted", "BackupCompleted"])

    const fresh = yield* Scene.claim(scene, "fresh")
    yield* Backups.restoring(scene, "back")
    const restore = yield* Backups.restored(scene, "back")
    expect(restore.status).toMatchObject({
      phase: "Complete",
      restored: { snapshot: snapshot?.id, files: 3, bytes: 100_005 }
    })
    expect(yield* Effect.promise(() => Bun.file(`${fresh}/docs/a.txt`).text())).toBe("first")
  }).pipe(Effect.provideService(Settings, Backups.quick))
)
