/** Runs that do not end normally, and their results. The lane deep has the troubles of long times and the rare ones. */
import { describe, expect } from "bun:test"
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import { Backup } from "@homeostat/backup/kinds/Backup"
import { Restore } from "@homeostat/backup/kinds/Restore"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Job, Namespace, Pod } from "@homeostat/runtime/resource/BuiltIn"
import { Duration, Effect } from "effect"
import * as Claims from "./Claims.ts"
import * as PretendedMover from "./PretendedMover.ts"
import * as Virtual from "./Virtual.ts"

Virtual.test("A run may take longer than the start timeout of its mover", (world) =>
  Effect.gen(function* () {
    yield* world.manage()
    world.movers((mover) => PretendedMover.succeeds(mover, "45 minutes"))
    yield* Virtual.create("shop")
    yield* world.pass("46 minutes")
    expect((yield* Virtual.status("shop")).lastRun).toMatchObject({
      reason: "Succeeded",
      startTime: "2026-11-20T00:00:00Z"
    })
  })
)

Virtual.test("A run continues in another pod if its pod is deleted, however long it has run", (world) =>
  Effect.gen(function* () {
    yield* world.manage()
    world.movers((mover) => PretendedMover.succeeds(mover, "20 minutes"))
    yield* Virtual.create("shop")
    yield* world.pass("15 minutes")
    const [pod] = yield* Virtual.pods
    yield* Client.delete(Pod, Virtual.key(pod?.metadata.name ?? ""))
    yield* world.pass("5 minutes")
    expect(yield* Virtual.status("shop")).toMatchObject({
      phase: "Running",
      active: { startTime: "2026-11-20T00:00:00Z" }
    })
    yield* world.pass("20 minutes")
    expect(world.begun()).toHaveLength(2)
    expect(yield* Virtual.status("shop")).toMatchObject({ phase: "Completed", lastRun: { reason: "Succeeded" } })
    expect(world.eventReasons("shop")).toEqual(["BackupScheduled", "BackupStarted", "BackupCompleted"])
  })
)

describe("A mover that the kubelet evicts twice because of its files", () => {
  const message = "The node was low on resource: ephemeral-storage. "
  const fails =
    "The pod was evicted twice because of its files. The node was low on resource: ephemeral-storage. Set requests.ephemeral-storage in spec.resources, so that the pod runs on a node with enough of it"
  /** The unfinished Jobs. */
  const open = Effect.map(Virtual.jobs, (jobs) => jobs.filter(({ status }) => status?.conditions === undefined))

  Virtual.test("fails its run, and its Job is deleted", (world) =>
    Effect.gen(function* () {
      yield* world.manage()
      world.movers(() => ({ evicted: { after: "1 minute", message } }))
      yield* Virtual.create("shop")
      yield* Virtual.rests("shop", "10 minutes")
      expect(world.begun()).toHaveLength(2)
      expect((yield* Virtual.status("shop")).lastRun).toMatchObject({ reason: "PodEvicted", message: fails })
      yield* world.pass("2 minutes")
      expect(yield* open).toEqual([])
    })
  )

  Virtual.test("fails its maintenance, and its Job is deleted", (world) =>
    Effect.gen(function* () {
      yield* world.manage()
      world.movers(({ operations }) =>
        operations.includes("forget") ? { evicted: { after: "1 minute", message } } : undefined
      )
      yield* Virtual.create("shop", { retentionPolicy: "30d" })
      yield* Virtual.until(
        "shop",
        "a maintenance ended",
        ({ maintenance }) => maintenance?.last !== undefined,
        "10 minutes"
      )
      expect((yield* Virtual.status("shop")).maintenance?.last).toMatchObject({ reason: "PodEvicted", message: fails })
      yield* world.pass("2 minutes")
      expect(yield* open).toEqual([])
      expect(world.begun()).toHaveLength(3)
    })
  )

  Virtual.test("fails its Restore, and its Job is deleted", (world) =>
    Effect.gen(function* () {
      yield* world.manage()
      yield* Virtual.create("shop")
      yield* Virtual.rests("shop")
      world.movers(() => ({ evicted: { after: "1 minute", message } }))
      yield* Claims.bound(Virtual.namespace, "new")
      const spec = { backupRef: "shop", targetPVC: "new" }
      yield* Client.create(Restore, { metadata: Virtual.key("again"), spec })
      yield* world.pass("5 minutes")
      const { status } = yield* Client.get(Restore, Virtual.key("again"))
      expect(status).toMatchObject({ phase: "Failed", message: `${fails}. Then create a new Restore` })
      expect(yield* open).toEqual([])
    })
  )
})

const pull = 'Back-off pulling image "homeostat-mover": not found'

describe("A mover that does not start", () => {
  for (const [what, plan, reason, words] of [
    ["for want of its image", { waits: { reason: "ImagePullBackOff", message: pull } }, "ImagePullFailed", pull],
    [
      "for want of a key of a Secret",
      { waits: { reason: "CreateContainerConfigError", message: 'secret "shop" not found' } },
      "StartTimeout",
      'secret "shop" not found'
    ]
  ] as const) {
    Virtual.test(
      `${what} reports the reason during the run, fails after the start timeout, and its Job is deleted`,
      (world) =>
        Effect.gen(function* () {
          yield* world.manage()
          world.movers(() => plan)
          yield* Virtual.create("shop", { schedule: "*/30 * * * *" })
          yield* Virtual.until("shop", "it says why", ({ message }) => message?.includes(words) === true)
          yield* world.until("2026-11-20T00:09:55Z")
          expect((yield* Virtual.status("shop")).phase).toBe("Running")
          yield* world.until("2026-11-20T00:11:00Z")
          const failed = yield* Virtual.get("shop")
          expect(failed.status).toMatchObject({
            phase: "Failed",
            message: expect.stringContaining(words),
            lastRun: { reason },
            consecutiveFailures: 1
          })
          expect(Virtual.condition(failed, "LastRunSucceeded")).toMatchObject({ status: "False", reason })
          expect(Virtual.condition(failed, "Ready")).toMatchObject({ status: "False", reason })
          expect([yield* Virtual.jobs, yield* Virtual.pods]).toEqual([[], []])
          expect(world.eventReasons("shop")).toEqual(["BackupScheduled", "BackupStarted", "BackupFailed"])
          world.movers(() => undefined)
          yield* world.until("2026-11-20T00:32:00Z")
          expect((yield* Virtual.status("shop")).phase).toBe("Completed")
        })
    )
  }

  Virtual.test("without a suitable node reports that, and fails after the start timeout", (world) =>
    Effect.gen(function* () {
      yield* world.manage({ settings: { startTimeout: Duration.minutes(3) } })
      yield* Virtual.create("shop", { nodeSelector: { disk: "fast" } })
      yield* Virtual.until(
        "shop",
        "it says why",
        ({ message }) => message?.includes("0/1 nodes are available") === true
      )
      yield* world.pass("4 minutes")
      expect((yield* Virtual.status("shop")).lastRun).toMatchObject({
        reason: "StartTimeout",
        message: expect.stringMatching(
          /^The mover did not start within 180 seconds, and its Job was deleted\. .*0\/1 nodes/
        )
      })
      expect([yield* Virtual.jobs, yield* Virtual.pods]).toEqual([[], []])
    })
  )
})

Virtual.test("A Restore whose mover does not start fails after the start timeout, and its Job is deleted", (world) =>
  Effect.gen(function* () {
    yield* world.manage()
    yield* Claims.bound(Virtual.namespace, "fresh")
    yield* Virtual.create("shop")
    yield* Virtual.rests("shop")
    const backups = (yield* Virtual.jobs).map(({ metadata }) => metadata.name)
    world.movers(() => ({ waits: { reason: "ImagePullBackOff", message: pull } }))
    yield* Client.create(Restore, { metadata: Virtual.key("back"), spec: { backupRef: "shop", targetPVC: "fresh" } })
    yield* world.pass("9 minutes")
    const restore = Client.get(Restore, Virtual.key("back"))
    expect((yield* restore).status).toMatchObject({ phase: "Running", job: "back-restore" })
    yield* world.pass("2 minutes")
    const { status } = yield* restore
    expect(status).toMatchObject({ phase: "Failed", message: expect.stringContaining(pull) })
    expect(status?.conditions?.find(({ type }) => type === "Ready")?.reason).toBe("ImagePullFailed")
    expect((yield* Virtual.jobs).map(({ metadata }) => metadata.name)).toEqual(backups)
    yield* world.pass("1 hour")
    expect((yield* restore).status).toEqual(status)
    expect(world.begun()).toHaveLength(2)
  })
)

Virtual.test("A Job that another client deletes fails its run, which is not repeated", (world) =>
  Effect.gen(function* () {
    yield* world.manage()
    world.movers((mover) => PretendedMover.succeeds(mover, "5 minutes"))
    yield* Virtual.create("shop", { schedule: "@hourly" })
    const { status } = yield* Virtual.runs("shop")
    const job = status?.active?.job ?? ""
    yield* world.pass("1 minute")
    yield* Client.delete(Job, Virtual.key(job), { propagation: "Background" })
    const failed = yield* Virtual.rests("shop")
    expect(failed.status).toMatchObject({
      phase: "Failed",
      lastRun: { job, reason: "JobDeleted", message: expect.stringContaining(`Job ${job} was deleted`) }
    })
    yield* world.until("2026-11-20T00:59:00Z")
    expect(world.begun()).toHaveLength(1)
    expect(yield* Virtual.pods).toEqual([])
    yield* world.until("2026-11-20T01:06:00Z")
    expect([world.begun().length, (yield* Virtual.status("shop")).phase]).toEqual([2, "Completed"])
  })
)

Virtual.test("An image that the settings of the manager do not allow is rejected, and others run", (world) =>
  Effect.gen(function* () {
    yield* world.manage({
      settings: { images: ["registry.example.com/"], resources: { requests: {}, limits: { memory: "2Gi" } } }
    })
    yield* Virtual.create("shop", { image: "evil:1" })
    yield* Virtual.create("other", {
      image: "registry.example.com/mover:1",
      repository: { credentialsSecretRef: { name: "shop-backup-credentials" } }
    })
    yield* world.pass("2 minutes")
    expect(Virtual.condition(yield* Virtual.get("shop"), "Ready")).toMatchObject({
      status: "False",
      reason: "NotAllowed"
    })
    expect(yield* Virtual.status("other")).toMatchObject({ phase: "Completed" })
    const containers = world.begun().flatMap(({ pod }) => pod.spec?.containers ?? [])
    expect(containers.map(({ image, resources }) => [image, resources?.limits])).toEqual([
      ["registry.example.com/mover:1", { memory: "2Gi" }]
    ])
  })
)

Virtual.test("The annotation accepts a volume that shrank, also without a retention", (world) =>
  Effect.gen(function* () {
    yield* world.manage()
    yield* Virtual.create("shop")
    yield* Virtual.rests("shop")
    const before = { id: "cd".repeat(32), bytes: 1000, files: 200 }
    world.movers(({ claims }) =>
      PretendedMover.ends(0, {
        reason: "Succeeded",
        message: "",
        repository: PretendedMover.repository,
        snapshots: claims.map((pvc) => ({ pvc, id: PretendedMover.snapshot, bytes: 10, added: 1, files: 1, before }))
      })
    )
    yield* Virtual.annotate("shop", "run", "small")
    yield* world.pass("5 minutes")
    expect(Virtual.condition(yield* Virtual.get("shop"), "VolumesIntact")).toMatchObject({
      reason: "VolumeShrunk",
      message: "Volume app shrank: 1 file, 10 bytes (200 and 1000 in snapshot cdcdcdcd)"
    })
    yield* Virtual.annotate("shop", "apply-retention", "1")
    yield* world.pass("1 minute")
    const accepted = yield* Virtual.get("shop")
    expect(Virtual.condition(accepted, "VolumesIntact")).toMatchObject({ status: "True", reason: "Accepted" })
    expect(accepted.status?.retentionHold).toBeUndefined()
  })
)

Virtual.test("A Backup without a destination is saved to that of the settings", (world) =>
  Effect.gen(function* () {
    yield* world.manage({ settings: { destination: { _tag: "Pvc", claim: "store", path: "all" } } })
    yield* Client.create(Backup, { metadata: Virtual.key("shop"), spec: { source: "app" } })
    expect((yield* Virtual.rests("shop")).status?.phase).toBe("Completed")
    expect(world.saving().map(({ env }) => env.RESTIC_REPOSITORY)).toEqual(["/repository/all/shop/shop"])
  })
)

Virtual.test("A privileged mover needs an annotation of its namespace", (world) =>
  Effect.gen(function* () {
    yield* world.manage()
    yield* Virtual.create("shop", { privileged: true })
    yield* world.pass("1 minute")
    const refused = yield* Virtual.get("shop")
    expect(Virtual.condition(refused, "Ready")).toMatchObject({
      status: "False",
      reason: "PrivilegedNotAllowed",
      message:
        'spec.privileged is not allowed in namespace shop: an administrator sets its annotation backup.example.com/privileged-movers to "true"'
    })
    expect(world.begun()).toEqual([])
    const annotations = { "backup.example.com/privileged-movers": "true" }
    yield* Client.patch(Namespace, { name: Virtual.namespace }, Patch.merge({ metadata: { annotations } }))
    yield* Virtual.rests("shop")
    expect(world.begun()[0]?.pod.spec?.securityContext).toMatchObject({ runAsUser: 0, runAsNonRoot: false })
    // A Restore requests privileges in its own spec.
    yield* Claims.bound(Virtual.namespace, "fresh")
    const spec = { backupRef: "shop", targetPVC: "fresh", privileged: true }
    yield* Client.create(Restore, { metadata: Virtual.key("back"), spec })
    yield* world.pass("2 minutes")
    expect(world.begun().at(-1)?.pod.spec?.containers[0]?.securityContext?.capabilities?.add).toContain("CHOWN")
    expect((yield* Client.get(Restore, Virtual.key("back"))).status?.phase).toBe("Complete")
  })
)

Virtual.test("A run is stopped after activeDeadlineSeconds", (world) =>
  Effect.gen(function* () {
    yield* world.manage()
    world.movers((mover) => PretendedMover.succeeds(mover, "2 hours"))
    yield* Virtual.create("shop", { activeDeadlineSeconds: 600 })
    yield* world.until("2026-11-20T00:11:00Z")
    const backup = yield* Virtual.get("shop")
    expect(backup.status).toMatchObject({
      phase: "Failed",
      lastRun: { reason: "DeadlineExceeded", message: expect.stringContaining("600 seconds") }
    })
    expect(world.eventReasons("shop")).toContain("BackupFailed")
  })
)

Virtual.test("Invalid Backups do not affect others", (world) =>
  Effect.gen(function* () {
    yield* world.manage()
    yield* Virtual.create("no-source", { source: "pvc/nothing" })
    yield* Virtual.create("no-secret", { repository: { credentialsSecretRef: { name: "nothing" } } })
    yield* Virtual.create("no-schedule", { schedule: "61 * * * *" })
    yield* Virtual.create("no-zone", { schedule: "@daily", timeZone: "Europe/Atlantis" })
    // An older version, or a write past the API server, has left these objects.
    const garbage = (name: string, rest: JsonObject) =>
      world.cluster.server.store.put("backup.example.com/backups", {
        apiVersion: "backup.example.com/v1",
        kind: "Backup",
        metadata: { ...Virtual.key(name), uid: name, generation: 1, creationTimestamp: "2026-11-20T00:00:00Z" },
        ...rest
      })
    garbage("no-spec", { spec: 5, status: [] })
    garbage("no-status", {
      spec: { source: "app", destination: "pvc://store", schedule: "* * * * *" },
      status: { active: "yes", lastScheduleTime: "yesterday", conditions: {} }
    })
    yield* Virtual.create("good", { schedule: "*/5 * * * *" })
    yield* world.until("2026-11-20T00:06:30Z")
    expect(world.begun().map(({ tag }) => tag)).toEqual(["shop/good", "shop/good"])
    const reasons = ["no-source", "no-secret", "no-schedule", "no-zone"].map((name) =>
      Effect.map(Virtual.get(name), (backup) => Virtual.condition(backup, "Ready")?.reason)
    )
    expect(yield* Effect.all(reasons)).toEqual([
      "SourceNotFound",
      "CredentialsMissing",
      "InvalidSchedule",
      "UnknownTimeZone"
    ])
    expect(world.eventReasons("no-source")).toEqual(["SourceNotFound"])
  })
)
