/** Actions on Backups and Restores that make their manager use every permission. */
import { expect } from "bun:test"
import { Backup } from "@homeostat/backup/kinds/Backup"
import { Restore } from "@homeostat/backup/kinds/Restore"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Condition from "@homeostat/runtime/resource/Condition"
import { Effect } from "effect"
import * as Backups from "../backup/Backups.ts"
import * as Claims from "../backup/Claims.ts"
import * as Scene from "../backup/Scene.ts"
import * as Rival from "../fights/Rival.ts"
import * as Managed from "../Managed.ts"

/** Two runs of a Backup, a Restore, a fight over the status of another Restore, and the deletion of both. */
export const life = (scene: Scene.Scene) =>
  Effect.gen(function* () {
    yield* Scene.credentials(scene, "shop-backup-credentials")
    yield* Scene.claim(scene, "app", { files: { "notes.txt": "The light was good that year." } })
    yield* Scene.claim(scene, "store")
    yield* Claims.volume(scene.namespace, "fresh")
    yield* Backups.create(scene, "shop", { successfulRunsHistoryLimit: 1, deletionPolicy: "Delete" })
    yield* Backups.completed(scene, "shop")
    const again = Patch.merge({ metadata: { annotations: { "backup.example.com/run": "again" } } })
    yield* Client.patch(Backup, scene.key("shop"), again)
    yield* Backups.until(scene, "shop", "a second run", ({ lastManualTrigger }) => lastManualTrigger === "again")
    yield* Managed.eventually("one remaining Job", Scene.jobs(scene), (jobs) => jobs.length === 1)

    yield* Backups.restoring(scene, "again", {
      volumeClaimTemplate: { spec: { storageClassName: "", resources: { requests: { storage: "1Gi" } } } }
    })
    expect((yield* Backups.restored(scene, "again")).status).toMatchObject({ phase: "Complete" })

    yield* Backups.restoring(scene, "privileged", { backupRef: "shop", privileged: true })
    yield* Managed.eventually(
      "the namespace does not allow it",
      Client.get(Restore, scene.key("privileged")),
      ({ status }) => Condition.find(status?.conditions, Condition.Ready)?.reason === "PrivilegedNotAllowed"
    )
    yield* Client.delete(Restore, scene.key("privileged"))

    yield* Backups.restoring(scene, "waits", { backupRef: "missing" })
    const waits = scene.key("waits")
    const rival = yield* Rival.start(
      Restore,
      waits,
      ({ status }) => status?.message === "mine",
      Client.status.patch(Restore, waits, Patch.merge({ status: { message: "mine" } }), { fieldManager: "rival" })
    )
    yield* Managed.eventually("a fight", Effect.sync(rival.times), (times) => times > 7)
    yield* Client.delete(Restore, waits)

    // A Job without a pod.
    const quotas = `/api/v1/namespaces/${scene.namespace}/resourcequotas`
    const quota = { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "none" }, spec: { hard: { pods: "0" } } }
    yield* scene.cluster.request("POST", quotas, { body: quota })
    yield* Managed.eventually(
      "the quota holds",
      scene.cluster.request("GET", `${quotas}/none`),
      ({ body }) => JSON.parse(body).status?.hard?.pods === "0"
    )
    yield* Client.patch(
      Backup,
      scene.key("shop"),
      Patch.merge({ metadata: { annotations: { "backup.example.com/run": "blocked" } } })
    )
    yield* Backups.until(scene, "shop", "the quota is named", ({ message = "" }) => message.includes("exceeded quota"))
    yield* scene.cluster.request("DELETE", `${quotas}/none`)

    yield* Client.delete(Backup, scene.key("shop"))
    yield* Managed.eventually(
      "the end of the Backup and its snapshots",
      Effect.result(Client.get(Backup, scene.key("shop"))),
      ({ _tag }) => _tag === "Failure"
    )
  })
