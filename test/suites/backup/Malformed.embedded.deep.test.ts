/** Backups with an invalid spec or an edited status: each of them leaves the other Backups running. */
import { describe, expect } from "bun:test"
import { Backup } from "@homeostat/backup/kinds/Backup"
import * as Crd from "@homeostat/runtime/resource/Crd"
import { Clock, Effect } from "effect"
import * as Backups from "./Backups.ts"
import * as Pretended from "./Pretended.ts"
import * as Scene from "./Scene.ts"

const condition = (type: string, status: string) => ({
  type,
  status,
  reason: "ByHand",
  message: "",
  lastTransitionTime: "9999-12-31T23:59:59Z"
})

const active = { job: "gone", trigger: "manual", startTime: "2026-01-01T00:00:00Z" }
const lastRun = { ...active, trigger: "schedule", completionTime: "2026-01-01T00:00:00Z", reason: "" }

/** Statuses that a user may write by hand and that the schema accepts. */
const statuses: ReadonlyArray<object> = [
  { active: { ...active, job: "" }, phase: "Running", conditions: [condition("Ready", "True")], observedGeneration: 1 },
  {
    active: { ...active, job: "../../../secrets?limit=1#x" },
    lastScheduleTime: "9999-12-31T23:59:59Z",
    lastMissedTime: "9999-12-31T23:59:59Z"
  },
  {
    active: { ...active, job: "ümlaut %2f/" },
    lastRun: { ...lastRun, job: "", completionTime: "9999-12-31T23:59:59Z" }
  },
  {
    active: {
      ...active,
      startTime: "9999-12-31T23:59:59Z",
      token: "x".repeat(253),
      snapshots: [{ pvc: "", bytes: 0, added: 0, files: 0 }],
      partial: ""
    }
  },
  {
    lastRun: { ...lastRun, startTime: "0001-01-01T00:00:00Z", completionTime: "0001-01-01T00:00:00Z" },
    lastScheduleTime: "0001-01-01T00:00:00Z",
    nextBackupTime: "0001-01-01T00:00:00Z",
    effectiveSchedule: "nonsense"
  },
  {
    lastRun: { ...lastRun, reason: "RepositoryLocked", completionTime: "2026-11-20T09:00:00.123456789+01:00" },
    consecutiveFailures: 2_147_483_647,
    snapshots: 2_147_483_647
  },
  {
    phase: "Completed",
    observedGeneration: 999,
    conditions: [condition("Ready", "True"), condition("Stalled", "True")]
  },
  { repositoryID: "", repositoryHash: "x", lastManualTrigger: "", lastUnlockTrigger: "", message: "x".repeat(2048) }
]

/** Specs that the API server accepts and the controller rejects. */
const specs: ReadonlyArray<readonly [reason: string, spec: Backups.Spec]> = [
  ["InvalidSchedule", { schedule: "61 * * * *" }],
  ["InvalidSchedule", { schedule: "0 0 * * 7" }],
  ["InvalidSchedule", { schedule: "59 23 31 2 *" }],
  ["UnknownTimeZone", { schedule: "0 2 * * *", timeZone: "Mars/Olympus" }],
  ["InvalidDestination", { destination: "s3://My_Bucket" }],
  ["InvalidRetention", { retentionPolicy: "9999999y" }]
]

describe("An invalid Backup", () => {
  Pretended.test("with an invalid spec fails once with the reason, and others run", (scene) =>
    Effect.gen(function* () {
      yield* Pretended.shop(scene)
      const manager = yield* scene.manage()
      for (const [index, [, spec]] of specs.entries()) yield* Backups.create(scene, `wrong-${index}`, spec)
      yield* Backups.create(scene, "shop")
      yield* Backups.completed(scene, "shop")
      for (const [index, [reason]] of specs.entries()) {
        const name = `wrong-${index}`
        const message = yield* Pretended.obstacle(scene, name, reason)
        const backup = yield* Backups.get(scene, name)
        expect(backup.status).toMatchObject({ phase: "Failed", message, observedGeneration: 1 })
        expect(Backups.condition(backup, "Stalled")).toMatchObject({ status: "True", reason, message })
        expect(yield* Backups.events(scene, name)).toEqual([reason])
      }
      // The manager does not retry these Backups. Only a change of the spec makes it reconcile one again.
      const looks = manager.attempts().filter(({ key }) => key.includes("/wrong-")).length
      expect(looks).toBeLessThan(5 * specs.length)
      expect((yield* Scene.jobs(scene)).length).toBe(1)
    })
  )

  Pretended.test("with an invalid status is corrected by its next run, and others run", (scene) =>
    Effect.gen(function* () {
      yield* Pretended.shop(scene)
      const names = statuses.map((_, index) => `odd-${index}`)
      yield* Effect.forEach(
        names,
        (name, index) =>
          Effect.gen(function* () {
            yield* Backups.create(scene, name, {
              schedule: "0 2 * * *",
              startPolicy: "OnSchedule",
              repository: { credentialsSecretRef: { name: "shop-backup-credentials" } }
            })
            const { body, status } = yield* scene.cluster.request(
              "PATCH",
              `/apis/backup.example.com/v1/namespaces/${scene.namespace}/backups/${name}/status`,
              { body: { status: statuses[index] }, contentType: "application/merge-patch+json" }
            )
            expect([name, status, status === 200 ? "" : body]).toEqual([name, 200, ""])
          }),
        { concurrency: 4 }
      )
      const manager = yield* scene.manage()
      yield* Backups.create(scene, "shop")
      yield* Backups.completed(scene, "shop")
      yield* Effect.forEach(names, (name) => Pretended.annotate(scene, name, "now"), { concurrency: 4 })
      for (const name of names) {
        const { status } = yield* Backups.until(
          scene,
          name,
          "its run has ended",
          ({ lastManualTrigger, phase }) => lastManualTrigger === "now" && phase !== "Running"
        )
        expect([name, status]).toMatchObject([
          name,
          {
            phase: "Completed",
            observedGeneration: 1,
            consecutiveFailures: 0,
            lastRun: { reason: "Succeeded", trigger: "manual", snapshots: [{ pvc: "app" }] }
          }
        ])
        const left = Date.parse(status?.nextBackupTime ?? "") - (yield* Clock.currentTimeMillis)
        expect(left).toBeWithin(1, 86_400_000)
      }
      const defects = manager.attempts().filter(({ outcome }) => outcome._tag === "Failed" && outcome.defect)
      expect(defects).toEqual([])
    })
  )
})

/** The tutorial's CRD without patterns, as its generator writes it. */
const older = () => {
  const crd = Crd.of(Backup)
  const text = { type: "string" } as const
  const time = { type: "string", format: "date-time" } as const
  return {
    ...crd,
    spec: {
      ...crd.spec,
      versions: crd.spec.versions.map((version) => ({
        ...version,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              apiVersion: text,
              kind: text,
              metadata: { type: "object" },
              spec: {
                type: "object",
                required: ["destination", "schedule", "source"],
                properties: { source: text, schedule: text, destination: text, retentionPolicy: text }
              },
              status: { type: "object", properties: { phase: text, lastBackupTime: time, message: text } }
            }
          }
        }
      }))
    }
  }
}

describe("A Backup of the tutorial's controller", () => {
  Pretended.test("is stored without the new fields, and runs", (scene) =>
    Effect.gen(function* () {
      yield* Pretended.shop(scene)
      yield* Effect.addFinalizer(() => Effect.ignore(scene.cluster.install(Crd.of(Backup))))
      yield* scene.cluster.install(older())
      const spec = { source: "app", schedule: "0 2 * * *", destination: "pvc://store", retentionPolicy: "30d" }
      const path = `/apis/backup.example.com/v1/namespaces/${scene.namespace}/backups`
      const body = { apiVersion: "backup.example.com/v1", kind: "Backup", metadata: { name: "shop" }, spec }
      const { body: stored } = yield* scene.cluster.request("POST", path, { body })
      expect(JSON.parse(stored).spec).toEqual(spec)
      yield* scene.cluster.request("PATCH", `${path}/shop/status`, {
        body: { status: { phase: "Pending", message: "Backup is scheduled" } },
        contentType: "application/merge-patch+json"
      })
      yield* scene.cluster.install(Crd.of(Backup))
      yield* scene.manage()
      const backup = yield* Backups.completed(scene, "shop")
      expect(backup.spec).toMatchObject({ ...spec, backoffLimit: 2, startPolicy: "Immediately", suspend: false })
      expect(backup.status).toMatchObject({ message: "1 volume saved", observedGeneration: 1 })
    })
  )

  Pretended.test("is decoded with the defaults of the new fields, without the API server", () =>
    Effect.gen(function* () {
      const metadata = {
        name: "shop",
        namespace: "shop",
        uid: "1",
        resourceVersion: "1",
        creationTimestamp: "2026-11-20T02:00:00Z"
      }
      const spec = { source: "app", schedule: "0 2 * * *", destination: "s3://bucket", retentionPolicy: "30d" }
      const stored = { apiVersion: "backup.example.com/v1", kind: "Backup", metadata, spec }
      const backup = yield* Effect.fromResult(Backup.decode(stored))
      expect(backup.spec).toMatchObject({ ...spec, backoffLimit: 2, pruneInterval: "7d", deletionPolicy: "Retain" })
    })
  )
})
