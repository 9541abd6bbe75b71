/** Backups with their Jobs and pods for tests, as a server stores them. */

import type { Job, Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Time from "@homeostat/runtime/resource/Time"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { Backup, type BackupStatus, Status } from "../kinds/Backup.ts"
import * as Names from "../kinds/Names.ts"
import * as Settings from "../Settings.ts"
import * as Placement from "../volumes/Placement.ts"
import * as Outcome from "./Outcome.ts"
import type * as BackupStatuses from "./RunStatus.ts"
import * as Spec from "./Spec.ts"

/** Epoch milliseconds. */
export const at = (time: string): number => Date.parse(time)

export const created = "2026-11-01T00:00:00Z"

export const uid = "6f1a7d52-3c0e-4b57-9d8a-0e4f5b6c7d80"

/** A Backup for `reconcile`: its schema adds the defaults. */
export const backup = (
  spec: { readonly [field: string]: unknown } = {},
  {
    status,
    ...metadata
  }: {
    readonly name?: string
    readonly uid?: string
    readonly creationTimestamp?: string
    readonly generation?: number
    readonly annotations?: { readonly [name: string]: string }
    readonly status?: BackupStatus
  } = {}
): Backup =>
  Result.getOrThrow(
    Backup.decode({
      apiVersion: "backup.example.com/v1",
      kind: "Backup",
      metadata: {
        namespace: "shop",
        name: "cart",
        uid,
        resourceVersion: "1",
        generation: 1,
        creationTimestamp: created,
        ...metadata
      },
      // JSON drops undefined fields.
      spec: JSON.parse(
        JSON.stringify({ source: "pvc/data", schedule: "0 2 * * *", destination: "s3://bucket", ...spec })
      ),
      ...(status !== undefined && { status })
    } as Parameters<typeof Backup.decode>[0])
  )

/** Its parsed spec, which must be valid. */
export const understood = (of: Backup): Spec.Understood =>
  Result.getOrThrowWith(Spec.parse(of, Settings.defaults), ({ message }) => new Error(message))

/** A Job of a Backup; active unless the options say how it ended. */
export const job = (
  name: string,
  options: {
    readonly made?: string | number
    readonly ended?: "Complete" | "Failed"
    /** The reason of its end. */
    readonly reason?: string
    readonly endedAt?: string
    readonly trigger?: string
    readonly tick?: string | number
    readonly token?: string
    readonly id?: string
    readonly remaining?: string
    readonly after?: string
    readonly deleted?: boolean
    readonly backoffLimit?: number
    readonly uid?: string
  } = {}
): Job => ({
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: {
    namespace: "shop",
    name,
    uid: options.uid ?? `uid-of-${name}`,
    resourceVersion: "1",
    creationTimestamp: timeOf(options.made ?? "2026-11-20T02:00:01Z"),
    labels: { ...Names.moverLabels, [Names.ownerLabel]: uid, [Names.triggerLabel]: options.trigger ?? "schedule" },
    annotations: {
      ...(options.id !== undefined && { [Names.runIdAnnotation]: options.id }),
      ...(options.tick !== undefined && { [Names.scheduledAtAnnotation]: timeOf(options.tick) }),
      ...(options.token !== undefined && { [Names.tokenAnnotation]: options.token }),
      ...(options.after !== undefined && { [Names.afterAnnotation]: options.after }),
      ...(options.remaining !== undefined && { [Names.remainingAnnotation]: options.remaining })
    },
    ownerReferences: [{ apiVersion: "backup.example.com/v1", kind: "Backup", name: "cart", uid, controller: true }],
    ...(options.deleted === true && { deletionTimestamp: "2026-11-20T02:30:00Z" })
  },
  spec: { backoffLimit: options.backoffLimit ?? 2, activeDeadlineSeconds: 86_400, template: {} },
  status:
    options.ended === undefined
      ? {}
      : {
          conditions: [
            {
              type: options.ended,
              status: "True",
              reason: options.reason ?? (options.ended === "Failed" ? "BackoffLimitExceeded" : "CompletionsReached"),
              lastTransitionTime: options.endedAt ?? "2026-11-20T02:05:00Z"
            }
          ],
          ...(options.ended === "Complete" && { completionTime: options.endedAt ?? "2026-11-20T02:05:00Z" })
        }
})

const timeOf = (time: string | number): string => (typeof time === "number" ? Time.seconds(time) : time)

type ContainerState = NonNullable<NonNullable<NonNullable<Pod["status"]>["containerStatuses"]>[number]["state"]>

/** A pod of a Job. */
export const pod = (
  of: Job,
  name: string,
  options: {
    readonly phase?: string
    readonly made?: string
    readonly state?: ContainerState
    readonly conditions?: NonNullable<NonNullable<Pod["status"]>["conditions"]>
    readonly message?: string
  } = {}
): Pod => ({
  metadata: {
    namespace: "shop",
    name,
    uid: `uid-of-${name}`,
    resourceVersion: "1",
    creationTimestamp: options.made ?? "2026-11-20T02:00:02Z",
    ownerReferences: [
      { apiVersion: "batch/v1", kind: "Job", name: of.metadata.name, uid: of.metadata.uid, controller: true }
    ]
  },
  spec: { containers: [{ name: "mover", image: "homeostat-mover:0.1.0" }] },
  status: {
    phase: options.phase ?? "Pending",
    ...(options.message !== undefined && { message: options.message }),
    ...(options.conditions !== undefined && { conditions: options.conditions }),
    ...(options.state !== undefined && {
      containerStatuses: [
        {
          name: "mover",
          image: "homeostat-mover:0.1.0",
          imageID: "",
          ready: false,
          restartCount: 0,
          state: options.state
        }
      ]
    })
  }
})

/** The last output of the mover. */
export const report = (result: { readonly [field: string]: unknown }): string =>
  JSON.stringify({ reason: "Succeeded", message: "", ...result })

/** The outcome of a mover's exit. */
export const exited = (
  exitCode: number,
  result: { readonly [field: string]: unknown } = {},
  options: Outcome.Options = {}
): Outcome.Outcome => Outcome.judge({ _tag: "Exited", exitCode, text: report(result) }, options)

/** A result with one saved volume. */
export const saved = {
  repository: "ab".repeat(32),
  snapshots: [{ pvc: "data", id: "0".repeat(64), bytes: 1000, added: 10, files: 3 }]
}

/** A run in a status. */
export const run = (over: Partial<BackupStatuses.Active> = {}): BackupStatuses.Active => ({
  job: "cart-29393880",
  trigger: "schedule",
  startTime: "2026-11-20T02:00:01Z",
  ...over
})

/** A group of unused claims. */
export const group = (...names: readonly [string, ...ReadonlyArray<string>]): Placement.Group => {
  const [first, ...others] = names
  const claim = (name: string) => ({ name, isBound: true, accessModes: ["ReadWriteOnce"] })
  return {
    // The making of a Job reads fewer fields of a claim than the placement does.
    claims: [claim(first), ...others.map(claim)] as unknown as Placement.Group["claims"],
    node: undefined,
    tolerations: [],
    security: Placement.unknown
  }
}

/** Whether the API server would accept a status. */
export const accepted = (status: BackupStatus): BackupStatus =>
  Schema.decodeUnknownSync(Status, { onExcessProperty: "error", errors: "all" })(JSON.parse(JSON.stringify(status)))
