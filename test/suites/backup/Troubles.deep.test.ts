/** Runs that do not end normally, and their results: long times, refused Jobs and lost results. Troubles.test.ts has the usual ones. */
import { describe, expect } from "bun:test"
import { Restore } from "@homeostat/backup/kinds/Restore"
import * as Protocol from "@homeostat/backup/mover/Protocol"
import * as Client from "@homeostat/runtime/client/Client"
import { Job, Pod, ResourceQuota } from "@homeostat/runtime/resource/BuiltIn"
import { Effect } from "effect"
import * as Claims from "./Claims.ts"
import * as PretendedMover from "./PretendedMover.ts"
import * as Virtual from "./Virtual.ts"
import type { VirtualManager } from "./VirtualManager.ts"

for (const [fields, mode] of [
  [{}, "IntoEmpty"],
  [{ overwrite: true }, "Overlay"],
  [{ mode: "Mirror", inUse: "Allow" }, "Mirror"]
] as const) {
  Virtual.test(
    `A Restore with ${JSON.stringify(fields)} passes its mode to its mover, and fails if its Job is deleted`,
    (world) =>
      Effect.gen(function* () {
        yield* world.manage()
        world.movers((mover) => PretendedMover.succeeds(mover, "5 minutes"))
        yield* Virtual.create("shop")
        yield* world.pass("10 minutes")
        yield* Claims.bound(Virtual.namespace, "fresh")
        const spec = { backupRef: "shop", targetPVC: "fresh", ...fields }
        yield* Client.create(Restore, { metadata: Virtual.key("back"), spec })
        yield* world.pass("1 minute")
        const job = (yield* Client.get(Restore, Virtual.key("back"))).status?.job ?? ""
        const { env = [] } = (yield* Client.get(Job, Virtual.key(job))).spec?.template.spec?.containers[0] ?? {}
        const value = (variable: string) => env.find(({ name }) => name === variable)?.value
        expect(value("RESTORE_MODE")).toBe(mode)
        // The latest snapshot is the newest one from before the Restore.
        const { metadata } = yield* Client.get(Restore, Virtual.key("back"))
        expect(value("AS_OF")).toBe(metadata.creationTimestamp.replace("Z", ".999Z"))
        yield* Client.delete(Job, Virtual.key(job), { propagation: "Background" })
        yield* world.pass("1 minute")
        const { status } = yield* Client.get(Restore, Virtual.key("back"))
        expect(status?.phase).toBe("Failed")
        expect(status?.message).toContain(`Job ${job} was deleted`)
      })
  )
}

Virtual.test("The annotation that allows a deletion ends the delay of a failing maintenance once", (world) =>
  Effect.gen(function* () {
    yield* world.manage()
    world.movers(({ operations }) =>
      operations.includes("forget")
        ? PretendedMover.ends(47, { reason: "RetentionFailed", message: "403 Forbidden" })
        : undefined
    )
    yield* Virtual.create("shop", { retentionPolicy: "30d" })
    yield* Virtual.rests("shop")
    yield* world.pass("50 minutes")
    const deletions = () => world.begun().filter(({ operations }) => operations.includes("forget")).length
    expect(deletions()).toBe(1)
    yield* Virtual.annotate("shop", "apply-retention", "1")
    yield* world.pass("50 minutes")
    expect(deletions()).toBe(2)
  })
)

Virtual.test("A manual run after a repair checks the repository at once", (world) =>
  Effect.gen(function* () {
    yield* world.manage()
    let isDamaged = true
    world.movers(({ operations }) =>
      operations.includes("check") && isDamaged
        ? PretendedMover.ends(48, { reason: "RepositoryDamaged", message: "pack 1234: not found" })
        : undefined
    )
    yield* Virtual.create("shop", { schedule: "0 2 * * *", checkInterval: "1h" })
    yield* Virtual.rests("shop")
    yield* world.pass("7 hours")
    expect(Virtual.condition(yield* Virtual.get("shop"), "RepositoryHealthy")?.reason).toBe("RepositoryDamaged")
    isDamaged = false
    yield* Virtual.annotate("shop", "run", "repaired")
    yield* world.pass("10 minutes")
    expect(Virtual.condition(yield* Virtual.get("shop"), "RepositoryHealthy")?.status).toBe("True")
  })
)

describe("The status is valid", () => {
  Virtual.test("for any message of the mover, of any length", (world) =>
    Effect.gen(function* () {
      yield* world.manage()
      const words = `${'\u0000\u202e𝄞 "\\ '.repeat(300)}the end`
      world.movers(() => PretendedMover.ends(44, { reason: "ResticFailed", message: words.slice(-1500) }))
      yield* Virtual.create("shop", { backoffLimit: 0 })
      const { status } = yield* Virtual.rests("shop")
      expect(status?.lastRun?.reason).toBe("ResticFailed")
      expect(status?.message).toContain("the end")
      expect(status?.message?.length).toBeLessThan(2048)
    })
  )

  Virtual.test("for a truncated result and without a result", (world) =>
    Effect.gen(function* () {
      yield* world.manage()
      const many = Array.from({ length: 60 }, (_, index) => ({
        pvc: `data-${index}`,
        id: PretendedMover.snapshot,
        bytes: Number.MAX_SAFE_INTEGER,
        added: 1,
        files: 1
      }))
      const whole = { reason: "Succeeded", protocol: Protocol.number, message: "", snapshots: many }
      const text = JSON.stringify(whole).slice(0, 4096)
      world.movers((mover) => {
        const message = ["x".repeat(4096), text, undefined][world.begun().length - 1]
        return mover.tag === "" ? undefined : { ends: { after: "1 minute", exitCode: 0, message } }
      })
      yield* Virtual.create("shop", { startPolicy: "OnSchedule" })
      for (const [token, result, volumes] of [
        ["foreign", "Failed", undefined],
        ["cut", "Completed", 33],
        ["none", "Failed", undefined]
      ] as const) {
        yield* Virtual.annotate("shop", "run", token)
        yield* world.pass("3 minutes")
        const { lastManualTrigger, lastRun, phase } = yield* Virtual.status("shop")
        expect([lastManualTrigger, phase, lastRun?.reason]).toEqual([token, result, "ResultLost"])
        if (volumes !== undefined) expect(lastRun?.snapshots?.length).toBeGreaterThan(25)
      }
    })
  )
})

describe("A quota of Jobs", () => {
  const quota = (jobs: string) =>
    Client.create(ResourceQuota, { metadata: Virtual.key("jobs"), spec: { hard: { "count/jobs.batch": jobs } } })
  const refused = {
    status: "False",
    reason: "JobRefused",
    message: expect.stringMatching(/^The API server refuses the mover's Job: .* exceeded quota: jobs, requested: /)
  }
  const create = Virtual.create("shop", { retentionPolicy: "30d" })

  Virtual.test("that allows no Job leaves a Backup and a Restore waiting, and the reason names the quota", (world) =>
    Effect.gen(function* () {
      yield* world.manage()
      yield* quota("0")
      yield* world.pass("1 minute")
      yield* create
      yield* Claims.bound(Virtual.namespace, "new")
      const spec = { backupRef: "shop", targetPVC: "new", volume: "app" }
      yield* Client.create(Restore, { metadata: Virtual.key("again"), spec })
      yield* world.pass("1 minute")
      const backup = yield* Virtual.get("shop")
      expect(backup.status?.phase).toBe("Pending")
      expect(Virtual.condition(backup, "Ready")).toMatchObject(refused)
      const restore = yield* Client.get(Restore, Virtual.key("again"))
      expect(restore.status?.phase).toBe("Pending")
      expect(restore.status?.conditions?.find(({ type }) => type === "Ready")).toMatchObject(refused)
      yield* Client.delete(ResourceQuota, Virtual.key("jobs"))
      yield* Virtual.rests("shop")
      expect(yield* Virtual.status("shop")).toMatchObject({ phase: "Completed" })
    })
  )

  Virtual.test("that allows one Job keeps the success of the run, and reports that nothing is deleted", (world) =>
    Effect.gen(function* () {
      yield* world.manage()
      yield* quota("1")
      yield* world.pass("1 minute")
      yield* create
      yield* world.pass("5 minutes")
      const backup = yield* Virtual.get("shop")
      expect(backup.status).toMatchObject({ phase: "Completed", lastRun: { reason: "Succeeded" } })
      expect(Virtual.condition(backup, "Ready")).toMatchObject(refused)
      expect(Virtual.condition(backup, "RetentionApplied")).toMatchObject(refused)
      yield* Client.delete(ResourceQuota, Virtual.key("jobs"))
      yield* world.pass("5 minutes")
      expect(Virtual.condition(yield* Virtual.get("shop"), "RetentionApplied")).toMatchObject({ reason: "Applied" })
    })
  )
})

describe("If the pods of movers are deleted before the manager reads them,", () => {
  /** The manager lists pods late, and another program deletes each finished pod. */
  const lose = (world: Virtual.Virtual, manager: VirtualManager, minutes: number) =>
    Effect.gen(function* () {
      manager.cut(({ method, path }) => (method === "GET" && path.includes("/pods") ? "late" : "pass"))
      for (let second = 0; second < 60 * minutes; second++) {
        yield* world.pass("1 second")
        for (const { metadata, status } of yield* Virtual.pods) {
          if (status?.phase !== "Succeeded") continue
          yield* Effect.ignore(Client.delete(Pod, Virtual.key(metadata.name), { gracePeriodSeconds: 0 }))
        }
      }
    })

  Virtual.test("the state of the volumes is unknown after a run", (world) =>
    Effect.gen(function* () {
      const manager = yield* world.manage()
      yield* Virtual.create("shop")
      yield* lose(world, manager, 3)
      const backup = yield* Virtual.get("shop")
      expect(backup.status).toMatchObject({ phase: "Completed", lastRun: { reason: "ResultLost" } })
      expect(Virtual.condition(backup, "VolumesIntact")).toMatchObject({ status: "Unknown", reason: "ResultLost" })
    })
  )

  Virtual.test("a maintenance without a result has a delay", (world) =>
    Effect.gen(function* () {
      const manager = yield* world.manage()
      yield* Virtual.create("shop", { retentionPolicy: "30d" })
      yield* world.pass("90 seconds")
      yield* lose(world, manager, 20)
      const { maintenance } = yield* Virtual.status("shop")
      expect(maintenance).toMatchObject({ failures: 1, last: { reason: "ResultLost" } })
      expect(world.begun().map(({ operations }) => operations[1])).toEqual(["backup", "forget"])
      expect(world.eventReasons("shop")).toContain("MaintenanceFailed")
      manager.cut(() => "pass")
      yield* world.pass("2 hours")
      expect((yield* Virtual.status("shop")).maintenance).toMatchObject({ failures: 0, last: { reason: "Succeeded" } })
    })
  )
})
