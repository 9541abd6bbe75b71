/** Backups and Restores before their first reconcile: no manager runs. */
import { expect } from "bun:test"
import { Backup } from "@homeostat/backup/kinds/Backup"
import { Restore } from "@homeostat/backup/kinds/Restore"
import * as Client from "@homeostat/runtime/client/Client"
import * as Readiness from "@homeostat/runtime/resource/Readiness"
import { Effect } from "effect"
import * as Backups from "./Backups.ts"

Backups.pretended("A new Backup and a new Restore are in progress, with an observedGeneration of -1", (scene) =>
  Effect.gen(function* () {
    yield* Backups.create(scene, "shop")
    yield* Backups.restoring(scene, "shop")
    const objects = [
      [Backup, yield* Client.get(Backup, scene.key("shop"))],
      [Restore, yield* Client.get(Restore, scene.key("shop"))]
    ] as const
    for (const [kind, object] of objects) {
      expect(object.status).toEqual({ observedGeneration: -1 })
      expect(Readiness.of(kind, object).state).toBe("InProgress")
    }
  })
)
