/** What a run makes of its volumes: several, empty ones, and files that nobody may read. */
import { expect } from "bun:test"
import { chmodSync } from "node:fs"
import { join } from "node:path"
import { Backup } from "@homeostat/backup/Backup"
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

Backups.real("Each volume of a Deployment is a snapshot of its own, and an empty one is no failure", (scene) =>
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
      message: "2 volumes saved; nothing in hollow: look whether it is the right one",
      snapshots: 2
    })
    expect(backup.status?.lastRun?.snapshots?.map(({ files, id, pvc }) => [pvc, files, id !== undefined])).toEqual([
      ["app", 1, true],
      ["hollow", 0, false],
      ["web", 1, true]
    ])
    yield* Backups.told(scene, "shop", { type: "Warning", reason: "BackupCompleted", note: "nothing in hollow" })
    const saved = yield* Scene.snapshots(scene, repository)
    expect(new Set(saved.map(({ hostname }) => hostname))).toEqual(
      new Set([`${scene.namespace}/app`, `${scene.namespace}/web`])
    )
  }).pipe(quickly)
)

Backups.real("A claim with nothing in it is saved with a warning", (scene) =>
  Effect.gen(function* () {
    const { repository } = yield* Prepared.shop(scene, {})
    yield* scene.manage()
    yield* Backups.create(scene, "shop")
    const backup = yield* Backups.completed(scene, "shop")
    expect(backup.status).toMatchObject({
      phase: "Completed",
      message: "0 volumes saved; nothing in app: look whether it is the right one",
      consecutiveFailures: 0
    })
    yield* Backups.told(scene, "shop", { type: "Warning", reason: "BackupCompleted", note: "nothing in app" })
    expect(yield* Scene.snapshots(scene, repository)).toEqual([])
  }).pipe(quickly)
)

Backups.real(
  "A file that cannot be read makes a run partial, and nothing old goes; allowed, it is a warning",
  (scene) =>
    Effect.gen(function* () {
      const { app, repository } = yield* Prepared.shop(scene)
      yield* scene.manage()
      yield* Backups.create(scene, "shop", { retention: { keepLast: 1 } })
      yield* Backups.completed(scene, "shop")

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
      // One try: the next would have left one more snapshot of the same.
      expect(yield* Scene.snapshots(scene, repository)).toHaveLength(2)
      yield* Backups.told(scene, "shop", { type: "Warning", reason: "BackupPartiallyFailed", note: "diary" })

      yield* Client.patch(Backup, scene.key("shop"), Patch.merge({ spec: { allowPartial: true } }))
      const allowed = yield* Backups.run(scene, "shop", "U")
      expect(allowed.status).toMatchObject({
        phase: "Completed",
        consecutiveFailures: 0,
        snapshots: 1,
        lastRun: { reason: "PartiallyFailed" }
      })
      yield* Backups.told(scene, "shop", { type: "Warning", reason: "BackupCompleted", note: "diary" })
      expect(yield* Scene.snapshots(scene, repository)).toHaveLength(1)
    }).pipe(quickly),
  { mover: Shim.withoutPrivilege }
)
