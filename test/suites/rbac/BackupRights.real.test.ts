/** The generated roles of the Backup and Restore controllers are what running takes: enough, and nothing that is not used. */
import { expect } from "bun:test"
import { backup, restore } from "@homeostat/backup"
import { Backup } from "@homeostat/backup/Backup"
import { Restore } from "@homeostat/backup/Restore"
import * as Settings from "@homeostat/backup/Settings"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Permission from "@homeostat/runtime/manager/Permission"
import { Job } from "@homeostat/runtime/resource/BuiltIn"
import { Effect } from "effect"
import * as Backups from "../backup/Backups.ts"
import * as Scene from "../backup/Scene.ts"
import * as Rival from "../fights/Rival.ts"
import * as Managed from "../Managed.ts"
import * as Audit from "./Audit.ts"
import * as Granted from "./Granted.ts"

/** A Backup that runs twice and keeps one Job, a Restore from it, one that a rival writes to while it waits, and the end of both. */
const life = (scene: Scene.Scene) =>
  Effect.gen(function* () {
    yield* Scene.credentials(scene, "shop-backup-credentials")
    yield* Scene.claim(scene, "app", { files: { "notes.txt": "The light was good that year." } })
    yield* Scene.claim(scene, "store")
    yield* Scene.claim(scene, "fresh")
    yield* Backups.create(scene, "shop", { successfulRunsHistoryLimit: 1, deletionPolicy: "Delete" })
    yield* Backups.completed(scene, "shop")
    const again = Patch.merge({ metadata: { annotations: { "backup.example.com/run": "again" } } })
    yield* Client.patch(Backup, scene.key("shop"), again)
    yield* Backups.until(scene, "shop", "it has run again", ({ lastManualTrigger }) => lastManualTrigger === "again")
    yield* Managed.eventually("that one Job is left", Scene.jobs(scene), (jobs) => jobs.length === 1)

    yield* Backups.restoring(scene, "again")
    expect((yield* Backups.restored(scene, "again")).status).toMatchObject({ phase: "Complete" })

    yield* Backups.restoring(scene, "waits", { backupRef: "nobody" })
    const waits = scene.key("waits")
    const rival = yield* Rival.start(
      Restore,
      waits,
      ({ status }) => status?.message === "mine",
      Client.status.patch(Restore, waits, Patch.merge({ status: { message: "mine" } }), { fieldManager: "rival" })
    )
    yield* Managed.eventually("that the two have fought", Effect.sync(rival.times), (times) => times > 7)
    yield* Client.delete(Restore, waits)

    yield* Client.delete(Backup, scene.key("shop"))
    yield* Managed.eventually(
      "that it is gone, with its snapshots",
      Effect.either(Client.get(Backup, scene.key("shop"))),
      ({ _tag }) => _tag === "Left"
    )
  })

/** A watch that begins with the state takes the place of a list, which takes the right to list on servers that have none such. */
const used = (asked: ReadonlyArray<Audit.Entry>): ReadonlyArray<string> =>
  Audit.distinct([
    ...Audit.rights(asked),
    ...asked.flatMap(({ resource, uri }) => (uri.includes("sendInitialEvents=true") ? [`list ${resource}`] : []))
  ])

Backups.real(
  "The manager of Backups, under exactly the generated roles, is refused nothing, uses every right that it is given, and of Secrets has `get` alone",
  (scene) =>
    Effect.gen(function* () {
      const { cluster, namespace } = scene
      const controllers = [backup, restore]
      const account = yield* Granted.account(cluster, namespace, { namespaces: [namespace] }, controllers)
      yield* Granted.grant(account)
      yield* Effect.scoped(
        Effect.gen(function* () {
          const manager = yield* scene
            .manage(controllers, { user: account.user })
            .pipe(Effect.provideService(Settings.Settings, Backups.quick))
          yield* life(scene)
          expect(manager.refused()).toEqual([])
        })
      )
      const expected = Audit.distinct(
        Granted.permissions(account).map((right) => `${right.verb} ${Permission.pathOf(right)} ${right.group}`)
      )
      const all = Audit.of(cluster, account.user.user)
      // A line is written when its request is answered, and may be read a moment later.
      yield* Managed.eventually(
        "that no right is left unused",
        Effect.map(all, (asked) => expected.filter((right) => !used(asked).includes(right))),
        (unused) => unused.length === 0
      )
      const asked = yield* all
      expect(asked.filter(({ code }) => code === 403 || code === 401)).toEqual([])
      expect(used(asked)).toEqual(expected)
      expect(expected.filter((right) => right.includes(" secrets "))).toEqual(["get secrets "])
      expect(Audit.distinct(asked.map(({ namespace }) => namespace ?? "cluster"))).toEqual([namespace])
      expect((yield* Client.list(Job, { namespace })).items.map(({ metadata }) => metadata.name)).toEqual([
        "again-restore"
      ])
    }),
  { control: { audit: true }, timeoutMillis: 240_000 }
)
