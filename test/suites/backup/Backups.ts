/** Helpers of the Backup controller's tests: the kinds, the controllers, and functions that wait for a state. */
import { backup, restore } from "@homeostat/backup"
import { Backup, type BackupStatus } from "@homeostat/backup/kinds/Backup"
import { Restore } from "@homeostat/backup/kinds/Restore"
import * as Settings from "@homeostat/backup/Settings"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Event } from "@homeostat/runtime/resource/BuiltIn"
import * as Condition from "@homeostat/runtime/resource/Condition"
import * as Crd from "@homeostat/runtime/resource/Crd"
import type { CustomResource } from "@homeostat/runtime/resource/CustomResource"
import { Duration, Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Scene from "./Scene.ts"

/** Functions that declare a test of the controllers. */
export const { both, pretended, real } = Scene.make({
  crds: [Crd.of(Backup), Crd.of(Restore)],
  controllers: [backup, restore]
})

/** Short intervals, for tests that wait for retries. */
export const quick = Settings.of({ retryPeriod: Duration.seconds(1), preflightTimeout: Duration.seconds(5) })

/** Some fields of a Backup's spec, in the wire format. */
export type Spec =
  typeof Backup extends CustomResource<infer _Spec, infer Encoded, infer _Status> ? Partial<Encoded> : never

/** Creates a Backup of the claim `app` into the claim `store`, unless the spec differs. */
export const create = (scene: Scene.Scene, name: string, spec: Spec = {}) =>
  Client.create(Backup, {
    metadata: { namespace: scene.namespace, name },
    spec: { source: "app", destination: "pvc://store", ...spec }
  })

/** Reads a Backup. */
export const get = (scene: Scene.Scene, name: string) => Client.get(Backup, scene.key(name))

/** Waits until the status of a Backup matches. */
export const until = (
  scene: Scene.Scene,
  name: string,
  what: string,
  isSo: (status: BackupStatus, backup: Backup) => boolean
) => Managed.eventually(what, get(scene, name), (backup) => isSo(backup.status ?? {}, backup))

/** Waits until the phase of a Backup is Completed. */
export const completed = (scene: Scene.Scene, name: string) =>
  until(scene, name, "it is completed", ({ phase }) => phase === "Completed")

/** Waits until the maintenance after the last successful run has ended, with or without success. */
export const maintained = (scene: Scene.Scene, name: string) =>
  until(
    scene,
    name,
    "the maintenance has ended",
    ({ lastBackupTime = "", maintenance }) =>
      maintenance?.active === undefined && (maintenance?.last?.completionTime ?? "") >= lastBackupTime
  )

/** Sets an annotation of the backup controllers on a Backup. The name is the part after the slash. */
export const annotate = (
  scene: Scene.Scene,
  name: string,
  annotation: "run" | "unlock" | "skip-cleanup" | "apply-retention",
  value: string
) =>
  Client.patch(
    Backup,
    scene.key(name),
    Patch.merge({ metadata: { annotations: { [`backup.example.com/${annotation}`]: value } } })
  )

/** Requests a run by annotation, and waits until the run has ended, with or without success. */
export const run = (scene: Scene.Scene, name: string, token: string) =>
  Effect.andThen(
    annotate(scene, name, "run", token),
    until(scene, name, `run ${token} has ended`, ({ lastManualTrigger }) => lastManualTrigger === token)
  )

/** Sets old times in the status, so that a prune or check of the repository is due. */
export const overdue = (scene: Scene.Scene, name: string, ...what: ReadonlyArray<"lastPruneTime" | "lastCheckTime">) =>
  Client.status.patch(
    Backup,
    scene.key(name),
    Patch.merge({ status: Object.fromEntries(what.map((field) => [field, "2026-01-01T00:00:00Z"])) })
  )

/** Waits until the first run has ended, with or without success. */
export const ended = (scene: Scene.Scene, name: string) =>
  until(scene, name, "a run has ended", ({ lastRun, active }) => lastRun !== undefined && active === undefined)

/** The condition of a Backup with this type. */
export const condition = ({ status }: Backup, type: string) => Condition.find(status?.conditions, type)

/** The reasons of the Events about a Backup, oldest first. */
export const events = (scene: Scene.Scene, name: string) =>
  Effect.map(Client.list(Event, { namespace: scene.namespace }), ({ items }) =>
    items
      .filter(({ regarding }) => regarding?.kind === "Backup" && regarding.name === name)
      .toSorted(
        (one, other) =>
          (one.eventTime ?? "").localeCompare(other.eventTime ?? "") ||
          Number(one.metadata.resourceVersion) - Number(other.metadata.resourceVersion)
      )
      .map(({ reason }) => reason ?? "")
  )

/** Waits until the Events about a Backup have exactly these reasons, in this order. The manager records them after the status. */
export const eventsAre = (scene: Scene.Scene, name: string, reasons: ReadonlyArray<string>) =>
  Managed.eventually(`the Events are ${reasons.join(", ")}`, events(scene, name), (found) =>
    Bun.deepEquals(found, reasons)
  )

/** Waits for an Event about a Backup whose note contains this text. */
export const recorded = (
  scene: Scene.Scene,
  name: string,
  event: { readonly type: "Normal" | "Warning"; readonly reason: string; readonly note: string }
) =>
  Managed.eventually(
    `an Event ${event.reason} of ${name}`,
    Effect.map(Client.list(Event, { namespace: scene.namespace }), ({ items }) =>
      items.filter(({ regarding }) => regarding?.name === name)
    ),
    (all) =>
      all.some(({ note, reason, type }) => type === event.type && reason === event.reason && note?.includes(event.note))
  )

/** Some fields of a Restore's spec, in the wire format. */
export type RestoreSpec =
  typeof Restore extends CustomResource<infer _Spec, infer Encoded, infer _Status> ? Partial<Encoded> : never

/** Creates a Restore of the Backup `shop` into the claim `fresh`, unless the spec differs. */
export const restoring = (scene: Scene.Scene, name: string, spec: RestoreSpec = {}) =>
  Client.create(Restore, {
    metadata: { namespace: scene.namespace, name },
    spec: { backupRef: "shop", targetPVC: "fresh", ...spec }
  })

/** Waits until a Restore has ended, and returns the Restore. */
export const restored = (scene: Scene.Scene, name: string) =>
  Managed.eventually("the restore has ended", Client.get(Restore, scene.key(name)), ({ status }) =>
    ["Complete", "Failed"].includes(status?.phase ?? "")
  )
