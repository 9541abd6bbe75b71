/** The Events of a Backup: one for each transition. */
import { describe, expect } from "bun:test"
import { Backup } from "@homeostat/backup/kinds/Backup"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Event } from "@homeostat/runtime/resource/BuiltIn"
import type * as Condition from "@homeostat/runtime/resource/Condition"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Backups from "./Backups.ts"
import * as Pretended from "./Pretended.ts"
import * as PretendedMover from "./PretendedMover.ts"
import * as Scene from "./Scene.ts"

/** The results of the Backup's runs, in order. */
const ends = [
  undefined,
  PretendedMover.ends(42, { reason: "WrongPassword", message: "wrong password or no key found" }, 300),
  PretendedMover.ends(3, { reason: "PartiallyFailed", message: "1 file could not be read" }, 300),
  PretendedMover.ends(41, { reason: "RepositoryLocked", message: "repository is already locked" }, 300),
  undefined
]

/** The Jobs of the Backup's runs, in order. */
const jobs: Array<string> = []

const spec = (scene: Scene.Scene, change: object) =>
  Client.patch(Backup, scene.key("shop"), Patch.merge({ spec: change }))

describe("The state of a Backup", () => {
  Pretended.test(
    "has one Event per transition, whichever manager leads",
    (scene) =>
      Effect.gen(function* () {
        yield* Effect.all([Scene.claim(scene, "app"), Scene.claim(scene, "store")])
        const reasons: Array<string> = []
        const led = <A, E, R>(body: Effect.Effect<A, E, R>) =>
          Effect.scoped(
            Effect.gen(function* () {
              const manager = yield* scene.manage()
              yield* body
              reasons.push(...manager.recorded().map(({ reason }) => reason))
            })
          )
        yield* led(
          Effect.gen(function* () {
            yield* Backups.create(scene, "shop", {
              schedule: "0 2 * * *",
              retention: { keepLast: 3 },
              backoffLimit: 0
            })
            yield* Pretended.obstacle(scene, "shop", "CredentialsMissing")
            yield* Scene.credentials(scene, "shop-backup-credentials")
            yield* Backups.completed(scene, "shop")
            const failed = yield* Pretended.again(scene, "shop", "two")
            expect(failed.status).toMatchObject({ phase: "Failed", consecutiveFailures: 1 })
          })
        )
        const first = ["CredentialsMissing", "BackupScheduled", "BackupStarted", "BackupCompleted", "SnapshotsPruned"]
        expect(reasons).toEqual([...first, "BackupStarted", "BackupFailed"])
        yield* led(
          Effect.gen(function* () {
            yield* Pretended.again(scene, "shop", "three")
            yield* Pretended.again(scene, "shop", "four")
            yield* spec(scene, { schedule: "61 * * * *" })
            yield* Pretended.obstacle(scene, "shop", "InvalidSchedule")
            yield* spec(scene, { schedule: "0 3 * * *", suspend: true })
            yield* Backups.until(
              scene,
              "shop",
              "it is suspended",
              (_, backup) => Backups.condition(backup, "Ready")?.reason === "Suspended"
            )
            const { status } = yield* Pretended.again(scene, "shop", "five")
            expect(status).toMatchObject({ phase: "Completed", consecutiveFailures: 0 })
            yield* Client.delete(Backup, scene.key("shop"))
            yield* Managed.eventually(
              "it is gone",
              Effect.result(Backups.get(scene, "shop")),
              ({ _tag }) => _tag === "Failure"
            )
          })
        )
        // A suspended Backup runs on request, and keeps its old snapshots.
        const second = [
          ...["BackupStarted", "BackupPartiallyFailed", "BackupStarted", "RepositoryLocked"],
          ...["InvalidSchedule", "BackupScheduled", "BackupStarted", "BackupCompleted"]
        ]
        expect(reasons.slice(7)).toEqual(second)

        const { items } = yield* Client.list(Event, { namespace: scene.namespace })
        const about = items.filter(({ regarding }) => regarding?.kind === "Backup" && regarding.name === "shop")
        // A repeated Event with the same note increases the count of the first one, some seconds later.
        expect(new Set(about.map(({ reason }) => reason))).toEqual(new Set(reasons))
        const bad = [
          ...["CredentialsMissing", "BackupFailed", "BackupPartiallyFailed"],
          ...["RepositoryLocked", "InvalidSchedule"]
        ]
        for (const { note, reason = "", type } of about) {
          expect([reason, type, note === ""]).toEqual([reason, bad.includes(reason) ? "Warning" : "Normal", false])
        }
      }),
    {
      movers: ({ job, operations }) => {
        if (!operations.includes("backup")) return undefined
        if (!jobs.includes(job)) jobs.push(job)
        return ends[jobs.indexOf(job)]
      }
    }
  )

  Pretended.test("does not change conditions of other managers, and is written only when it changes", (scene) =>
    Effect.gen(function* () {
      yield* Effect.all([Scene.claim(scene, "app"), Scene.claim(scene, "store")])
      const manager = yield* scene.manage()
      yield* Backups.create(scene, "shop", { schedule: "0 2 * * *" })
      yield* Pretended.obstacle(scene, "shop", "CredentialsMissing")
      const audited: Condition.Condition = {
        type: "Audited",
        status: "True",
        reason: "Looked",
        message: "by hand",
        lastTransitionTime: "2026-01-01T00:00:00Z"
      }
      const { status: before } = yield* Backups.get(scene, "shop")
      yield* Client.status.patch(
        Backup,
        scene.key("shop"),
        Patch.merge({ status: { conditions: [...(before?.conditions ?? []), audited] } }),
        { fieldManager: "auditor" }
      )
      const attempts = manager.attempts().length
      const version = Effect.map(Backups.get(scene, "shop"), ({ metadata }) => metadata.resourceVersion)
      const stays = yield* version
      // The manager checks the Secret twice a second.
      yield* Managed.eventually("looks again", Effect.sync(manager.attempts), ({ length }) => length > attempts + 3)
      expect(yield* version).toBe(stays)

      const seen = yield* Pretended.record(scene, Backup)
      yield* Scene.credentials(scene, "shop-backup-credentials")
      const { metadata, status } = yield* Backups.completed(scene, "shop")
      expect(status?.conditions?.filter(({ type }) => type === "Audited")).toEqual([audited])
      for (const state of seen()) expect(state.status?.conditions).toContainEqual(audited)

      const written = (metadata.managedFields ?? []).filter(({ manager }) => manager !== "auditor")
      const ofStatus = written.filter(({ subresource }) => subresource === "status")
      expect(ofStatus).toHaveLength(1)
      const own = written.filter(
        ({ manager, subresource }) => manager === ofStatus[0]?.manager && subresource !== "status"
      )
      // Apart from the status, the manager owns only the finalizer.
      expect(own).toHaveLength(1)
      for (const { fieldsV1 } of own) {
        expect(fieldsV1).toEqual({ "f:metadata": { "f:finalizers": expect.anything() } })
      }
      expect(metadata.generation).toBe(1)
    })
  )
})
