/** Movers that wait for a repository, a volume or a Job, whatever Jobs exist already. Queue.test.ts has the usual cases. */
import { describe, expect } from "bun:test"
import { Backup } from "@homeostat/backup/kinds/Backup"
import * as Names from "@homeostat/backup/kinds/Names"
import { Restore } from "@homeostat/backup/kinds/Restore"
import * as MoverJob from "@homeostat/backup/run/MoverJob"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Job, Namespace, Secret } from "@homeostat/runtime/resource/BuiltIn"
import { Duration, Effect } from "effect"
import * as Claims from "./Claims.ts"
import * as PretendedMover from "./PretendedMover.ts"
import * as Slots from "./Slots.ts"
import * as Virtual from "./Virtual.ts"
import type { VirtualManager } from "./VirtualManager.ts"

const path = (path: string) => ({ repository: { path, credentialsSecretRef: { name: "shop-backup-credentials" } } })

const restoring = (name: string, targetPVC: string) =>
  Effect.gen(function* () {
    yield* Claims.bound(Virtual.namespace, targetPVC)
    yield* Client.create(Restore, { metadata: Virtual.key(name), spec: { backupRef: "shop", targetPVC } })
  })

const restored = (name: string) => Effect.map(Client.get(Restore, Virtual.key(name)), ({ status }) => status ?? {})

Virtual.test(
  "A Restore runs in parallel with a backup and another Restore, and does not count for the limit of backups",
  (world) =>
    Effect.gen(function* () {
      yield* world.manage({ settings: { maxJobs: 1 } })
      yield* Virtual.create("shop")
      yield* Virtual.rests("shop")
      world.movers((mover) => PretendedMover.succeeds(mover, "5 minutes"))
      yield* Virtual.annotate("shop", "run", "T")
      yield* Virtual.runs("shop")
      yield* restoring("one", "first")
      yield* world.pass("10 seconds")
      expect((yield* restored("one")).phase).toBe("Running")
      // A second Restore exceeds the limit.
      yield* restoring("two", "second")
      yield* world.pass("10 seconds")
      expect(yield* restored("two")).toMatchObject({
        phase: "Pending",
        message: "The Restore waits: as many movers run as HOMEOSTAT_BACKUP_MAX_JOBS allows, 1"
      })
      yield* world.pass("15 minutes")
      expect([yield* restored("one"), yield* restored("two")].map(({ phase }) => phase)).toEqual([
        "Complete",
        "Complete"
      ])
    })
)

describe("Two Restores into one volume", () => {
  const into = (name: string) =>
    Client.create(Restore, {
      metadata: Virtual.key(name),
      spec: { backupRef: "shop", targetPVC: "fresh", mode: "Mirror", inUse: "Allow" }
    })
  const restoring = (world: Virtual.Virtual) => world.begun().filter(({ operations }) => operations[1] === "restore")
  const message = "The Restore waits: another Restore writes to PersistentVolumeClaim fresh"

  Virtual.test("take turns, even if they are created at the same time", (world) =>
    Effect.gen(function* () {
      yield* world.manage()
      yield* Virtual.create("shop")
      yield* Virtual.rests("shop")
      yield* Claims.bound(Virtual.namespace, "fresh")
      world.movers((mover) => PretendedMover.succeeds(mover, "5 minutes"))
      yield* Effect.all([into("one"), into("two")])
      yield* world.pass("10 seconds")
      const both = [yield* restored("one"), yield* restored("two")]
      expect(both.map(({ phase }) => phase).sort()).toEqual(["Pending", "Running"])
      expect(both.find(({ phase }) => phase === "Pending")?.message).toBe(message)
      // A Restore that waits for another one keeps no run from its repository.
      yield* Virtual.annotate("shop", "run", "T")
      yield* world.pass("4 minutes")
      expect(restoring(world)).toHaveLength(1)
      expect(yield* Virtual.status("shop")).toMatchObject({ phase: "Running" })
      yield* world.pass("8 minutes")
      expect(restoring(world)).toHaveLength(2)
      for (const name of ["one", "two"]) expect((yield* restored(name)).phase).toBe("Complete")
    })
  )

  Virtual.test("take turns if the first one is deleted, and its mover takes time to stop", (world) =>
    Effect.gen(function* () {
      yield* world.manage()
      yield* Virtual.create("shop")
      yield* Virtual.rests("shop")
      yield* Claims.bound(Virtual.namespace, "fresh")
      world.movers((mover) => ({
        ...PretendedMover.succeeds(mover, "5 minutes"),
        stopped: PretendedMover.stopped("50 seconds")
      }))
      yield* into("one")
      yield* world.pass("1 minute")
      yield* Client.delete(Restore, Virtual.key("one"))
      yield* into("two")
      yield* world.pass("40 seconds")
      expect(restoring(world)).toHaveLength(1)
      expect(yield* restored("two")).toMatchObject({ phase: "Pending", message })
      yield* world.pass("1 minute")
      expect((yield* restored("two")).phase).toBe("Running")
    })
  )
})

Virtual.test("A Restore waits for the mover that creates the repository, and then runs before other movers", (world) =>
  Effect.gen(function* () {
    const manager = yield* world.manage()
    world.movers((mover) => PretendedMover.succeeds(mover, "5 minutes"))
    yield* Virtual.create("shop", path("shared"))
    yield* Virtual.runs("shop")
    yield* Virtual.create("other", path("shared"))
    yield* Virtual.until("other", "it waits", ({ phase }) => phase === "Pending")
    yield* restoring("back", "fresh")
    yield* world.pass("10 seconds")
    expect((yield* restored("back")).message).toMatch(/^The Restore waits: Job shop\/shop-\d+ works on the repository$/)
    // The Restore is slow when its turn comes.
    yield* world.until("2026-11-20T00:04:50Z")
    manager.cut(({ method, path }) => (method === "GET" && path.endsWith("/backups/shop") ? "silent" : "pass"))
    yield* world.until("2026-11-20T00:05:20Z")
    expect((yield* Virtual.status("other")).message).toBe(
      "A run is due and waits: a Restore waits for the repository, and Restores come first"
    )
    manager.cut(() => "pass")
    yield* world.until("2026-11-20T00:09:00Z")
    expect((yield* restored("back")).phase).toBe("Running")
    yield* world.until("2026-11-20T00:30:00Z")
    expect((yield* restored("back")).phase).toBe("Complete")
    expect((yield* Virtual.status("other")).phase).toBe("Completed")
    expect(world.begun().map(({ operations }) => operations[1])).toEqual(["backup", "restore", "backup"])
  })
)

const evil = "evil"

/** A Job in another namespace with the labels of a mover. */
const forge = (name: string, repository: string, suspend: boolean) =>
  Client.create(Job, {
    metadata: {
      namespace: evil,
      name,
      labels: { ...Names.moverLabels, [Names.repositoryLabel]: repository, [Names.ownerLabel]: "none" }
    },
    spec: {
      suspend,
      template: { spec: { restartPolicy: "Never", containers: [{ name: "sleep", image: "sleep:1", args: [] }] } }
    }
  })

Virtual.test("Jobs with the labels of a mover in another namespace block neither slots nor a repository", (world) =>
  Effect.gen(function* () {
    yield* Client.create(Namespace, { metadata: { name: evil } })
    yield* world.manage({ settings: { maxJobs: 2 } })
    yield* Virtual.create("shop")
    const { status } = yield* Virtual.rests("shop")
    const hash = status?.repositoryHash ?? ""
    for (const [index, suspend] of [true, false, true, false].entries()) yield* forge(`forged-${index}`, hash, suspend)
    yield* world.pass("10 seconds")
    yield* Virtual.annotate("shop", "run", "T")
    yield* world.pass("3 minutes")
    expect(yield* Virtual.status("shop")).toMatchObject({ phase: "Completed", lastManualTrigger: "T" })
  })
)

Virtual.test("A status does not name Backups and movers of other namespaces", (world) =>
  Effect.gen(function* () {
    yield* Client.create(Namespace, { metadata: { name: evil } })
    yield* world.manage()
    const shared = { repository: { path: "shared", credentialsSecretRef: { name: "s3" } } }
    const key = { namespace: evil, name: "spy" }
    world.movers((mover) => PretendedMover.succeeds(mover, "5 minutes"))
    for (const namespace of [Virtual.namespace, evil]) {
      yield* Client.create(Secret, {
        metadata: { namespace, name: "s3" },
        stringData: { RESTIC_PASSWORD: "x", AWS_ACCESS_KEY_ID: "x", AWS_SECRET_ACCESS_KEY: "x" }
      })
    }
    yield* Virtual.create("shop", { ...shared, destination: "s3://bucket" })
    yield* Virtual.runs("shop")
    yield* Claims.bound(evil, "app")
    yield* Client.create(Backup, {
      metadata: key,
      spec: { source: "pvc/app", destination: "s3://bucket", ...shared }
    })
    yield* world.pass("1 minute")
    const waiting = yield* Client.get(Backup, key)
    expect(waiting.status?.message).toBe("A run is due and waits: a mover of another namespace works on the repository")
    expect(JSON.stringify(waiting.status)).not.toContain("shop/")
    expect(Virtual.condition(waiting, "Ready")?.message).toContain(
      "The repository is shared with 1 Backup of other namespaces: they take turns."
    )
  })
)

Virtual.test("A namespace gets half of the slots while another one waits", (world) =>
  Effect.gen(function* () {
    yield* Client.create(Namespace, { metadata: { name: evil } })
    yield* world.manage({ settings: { maxJobs: 4 } })
    world.movers((mover) => PretendedMover.succeeds(mover, "5 minutes"))
    yield* Client.create(Secret, {
      metadata: { namespace: evil, name: "store" },
      stringData: { RESTIC_PASSWORD: "correct horse" }
    })
    yield* Claims.bound(evil, "app")
    yield* Claims.bound(evil, "store")
    for (let index = 0; index < 12; index++) {
      yield* Client.create(Backup, {
        metadata: { namespace: evil, name: `many-${index}` },
        spec: {
          source: "pvc/app",
          destination: "pvc://store",
          repository: { path: `${index}`, credentialsSecretRef: { name: "store" } }
        }
      })
    }
    yield* world.pass("30 seconds")
    const begun = (tag: string) => world.begun().filter((mover) => mover.tag.startsWith(tag)).length
    expect(begun("evil/")).toBe(4)
    for (const name of ["one", "two", "three"]) yield* Virtual.create(name)
    yield* world.pass("6 minutes")
    expect([begun("shop/"), begun("evil/")]).toEqual([2, 6])
  })
)

Virtual.test(
  "A Job that cannot be deleted, because its node is down, blocks its slot and repository only for a limited time",
  (world) =>
    Effect.gen(function* () {
      yield* world.manage({ settings: { maxJobs: 1 } })
      yield* Virtual.create("shop")
      const { metadata, status } = yield* Virtual.rests("shop")
      const labels = {
        ...Names.moverLabels,
        [Names.repositoryLabel]: status?.repositoryHash ?? "",
        [Names.ownerLabel]: metadata.uid,
        [Names.useLabel]: "backup"
      }
      yield* Client.create(Job, {
        metadata: { ...Virtual.key("hung"), labels, finalizers: ["example.com/hung"] },
        spec: {
          suspend: true,
          template: { spec: { restartPolicy: "Never", containers: [{ name: "x", image: "x:1", args: [] }] } }
        }
      })
      yield* Client.delete(Job, Virtual.key("hung"), { propagation: "Background" })
      yield* Virtual.annotate("shop", "run", "T")
      yield* world.pass("4 minutes")
      expect((yield* Virtual.status("shop")).message).toBe(
        "A run is due and waits: Job shop/hung works on the repository"
      )
      yield* world.pass("3 minutes")
      expect(yield* Virtual.status("shop")).toMatchObject({ phase: "Completed", lastManualTrigger: "T" })
    })
)

/** Blocks a manager's new watches of some kinds, so that its cache becomes stale. The server ends open watches within ten minutes. */
const holdWatches = (world: Virtual.Virtual, manager: VirtualManager, kinds: RegExp) => {
  manager.cut(({ path }) => (kinds.test(path) && path.includes("watch=") ? "silent" : "pass"))
  return world.pass("11 minutes")
}

Virtual.test("A Backup does not start while a Job that is not yet in the cache uses its repository", (world) =>
  Effect.gen(function* () {
    const manager = yield* world.manage()
    yield* Virtual.create("shop")
    const { status } = yield* Virtual.rests("shop")
    yield* holdWatches(world, manager, /\/(jobs|pods)\?/)
    world.movers((mover) => PretendedMover.succeeds(mover, "5 minutes"))
    const most = yield* Slots.counting(world)
    const labels = { ...Names.moverLabels, [Names.repositoryLabel]: status?.repositoryHash ?? "" }
    const containers = [{ name: MoverJob.container, image: "mover:1", args: ["preflight", "backup"] }]
    yield* Client.create(Job, {
      metadata: { ...Virtual.key("former-leader"), labels },
      spec: { template: { metadata: { labels }, spec: { restartPolicy: "Never", containers } } }
    })
    yield* Virtual.annotate("shop", "run", "T")
    yield* world.pass("2 minutes")
    expect((yield* Virtual.status("shop")).message).toBe(
      "A run is due and waits: Job shop/former-leader works on the repository"
    )
    yield* world.pass("6 minutes")
    expect(yield* Virtual.status("shop")).toMatchObject({ phase: "Running", active: { token: "T" } })
    expect(world.begun().map(({ job }) => job === "former-leader")).toEqual([false, true, false])
    expect(most()).toBe(1)
  })
)

Virtual.test(
  "The status and the condition of a maintenance show that it waits for its turn, until it starts",
  (world) =>
    Effect.gen(function* () {
      yield* world.manage()
      yield* Virtual.create("shop")
      const { status } = yield* Virtual.rests("shop")
      world.movers((mover) => PretendedMover.succeeds(mover, "5 minutes"))
      const labels = { ...Names.moverLabels, [Names.repositoryLabel]: status?.repositoryHash ?? "" }
      const containers = [{ name: MoverJob.container, image: "mover:1", args: ["preflight", "backup"] }]
      yield* Client.create(Job, {
        metadata: { ...Virtual.key("other"), labels },
        spec: { template: { metadata: { labels }, spec: { restartPolicy: "Never", containers } } }
      })
      yield* world.pass("1 minute")
      yield* Client.patch(Backup, Virtual.key("shop"), Patch.merge({ spec: { retention: { keepLast: 1 } } }))
      yield* world.pass("1 minute")
      const waits = yield* Virtual.get("shop")
      const reason = "Job shop/other works on the repository"
      expect(waits.status?.maintenance).toEqual({ waiting: reason })
      expect(Virtual.condition(waits, "RetentionApplied")?.message).toEndWith(` The maintenance waits: ${reason}`)
      yield* world.pass("15 minutes")
      const done = yield* Virtual.get("shop")
      expect(done.status?.maintenance?.last?.reason).toBe("Succeeded")
      expect(JSON.stringify(done.status)).not.toContain("waits")
    })
)

describe("A run waits for a Restore that writes to its volume", () => {
  const restore = (name: string, spec: object = {}) =>
    Client.create(Restore, {
      metadata: Virtual.key(name),
      spec: { backupRef: "other", targetPVC: "app", volume: "app", mode: "Overlay", ...spec }
    })
  /** Creates two Backups with separate repositories. The second Backup is due at 01:00. */
  const prepare = (world: Virtual.Virtual) =>
    Effect.gen(function* () {
      const manager = yield* world.manage()
      yield* Virtual.create("other", path("apart"))
      yield* Virtual.rests("other")
      yield* Virtual.create("shop", { schedule: "0 1 * * *", startPolicy: "OnSchedule" })
      world.movers((mover) =>
        PretendedMover.succeeds(mover, mover.operations.includes("restore") ? "20 minutes" : "1 minute")
      )
      return manager
    })
  const waits = "A run is due and waits: a Restore writes to PersistentVolumeClaim app"

  Virtual.test("and starts after it", (world) =>
    Effect.gen(function* () {
      yield* prepare(world)
      yield* world.until("2026-11-20T00:50:00Z")
      yield* restore("again")
      yield* world.until("2026-11-20T01:09:00Z")
      expect(yield* Virtual.status("shop")).toMatchObject({ phase: "Pending", message: waits })
      yield* world.until("2026-11-20T01:10:15Z")
      expect(yield* Virtual.status("shop")).toMatchObject({ active: { trigger: "schedule" } })
    })
  )

  Virtual.test("also if both start at once", (world) =>
    Effect.gen(function* () {
      yield* prepare(world)
      yield* world.until("2026-11-20T00:59:59.990Z")
      yield* restore("again")
      yield* world.until("2026-11-20T01:10:00Z")
      expect(yield* Virtual.status("shop")).toMatchObject({ message: waits })
    })
  )

  Virtual.test("also before the Restore has a Job", (world) =>
    Effect.gen(function* () {
      const manager = yield* prepare(world)
      yield* world.until("2026-11-20T00:59:55Z")
      manager.cut(({ path }) => (path.endsWith("/backups/other") ? "silent" : "pass"))
      yield* restore("again")
      yield* world.until("2026-11-20T01:00:05Z")
      expect(yield* restored("again")).toEqual({ observedGeneration: -1 })
      expect(yield* Virtual.status("shop")).toMatchObject({ message: waits })
    })
  )

  Virtual.test("also if only the API server has its Job", (world) =>
    Effect.gen(function* () {
      const manager = yield* prepare(world)
      yield* restore("again", { backupRef: "missing" })
      yield* world.pass("1 minute")
      expect((yield* restored("again")).phase).toBe("Pending")
      yield* holdWatches(world, manager, /\/jobs\?/)
      yield* world.until("2026-11-20T00:50:00Z")
      const labels = { ...Names.moverLabels, [Names.useLabel]: "restore" }
      const containers = [{ name: MoverJob.container, image: "mover:1", args: ["preflight", "restore"] }]
      yield* Client.create(Job, {
        metadata: { ...Virtual.key("former-leader"), labels, annotations: { [Names.claimsAnnotation]: "app" } },
        spec: { template: { metadata: { labels }, spec: { restartPolicy: "Never", containers } } }
      })
      yield* world.until("2026-11-20T01:01:00Z")
      expect(yield* Virtual.status("shop")).toMatchObject({ message: waits })
    })
  )

  Virtual.test("but not for a Restore that waits, writes elsewhere, or has ended", (world) =>
    Effect.gen(function* () {
      yield* prepare(world)
      yield* restore("waiting", { backupRef: "missing" })
      yield* Claims.bound(Virtual.namespace, "new")
      yield* world.until("2026-11-20T00:30:00Z")
      yield* restore("ended")
      yield* world.until("2026-11-20T00:55:00Z")
      yield* restore("elsewhere", { targetPVC: "new" })
      yield* world.until("2026-11-20T01:00:30Z")
      expect((yield* restored("waiting")).phase).toBe("Pending")
      expect((yield* restored("elsewhere")).phase).toBe("Running")
      expect((yield* restored("ended")).phase).toBe("Complete")
      expect(yield* Virtual.status("shop")).toMatchObject({ active: { trigger: "schedule" } })
    })
  )
})

Virtual.test(
  "A Job that is deleted keeps its repository until its mover has stopped, even if the cache lacks its pod",
  (world) =>
    Effect.gen(function* () {
      const manager = yield* world.manage()
      world.movers((mover) => ({
        ...PretendedMover.succeeds(mover, "1 hour"),
        stopped: PretendedMover.stopped("50 seconds")
      }))
      yield* holdWatches(world, manager, /\/pods\?/)
      yield* Virtual.create("one", path("shared"))
      const { status } = yield* Virtual.runs("one")
      yield* Virtual.create("two", path("shared"))
      yield* world.pass("1 minute")
      yield* Client.delete(Job, Virtual.key(status?.active?.job ?? ""), { propagation: "Foreground" })
      yield* world.pass("45 seconds")
      expect([(yield* Virtual.status("two")).phase, (yield* Virtual.pods).length]).toEqual(["Pending", 1])
      yield* world.pass("45 seconds")
      expect((yield* Virtual.status("two")).phase).toBe("Running")
      expect(world.begun().map(({ tag }) => tag)).toEqual(["shop/one", "shop/two"])
    })
)

Virtual.test("A finished Job blocks no run, even if a finalizer keeps it", (world) =>
  Effect.gen(function* () {
    yield* world.manage({ settings: { maxJobs: 1 } })
    yield* Virtual.create("shop")
    const { status } = yield* Virtual.rests("shop")
    const job = Virtual.key(status?.lastRun?.job ?? "")
    yield* Client.patch(Job, job, Patch.merge({ metadata: { finalizers: ["example.com/kept"] } }))
    yield* Client.delete(Job, job, { propagation: "Background" })
    yield* Virtual.annotate("shop", "run", "T")
    yield* world.pass("2 minutes")
    expect(yield* Virtual.status("shop")).toMatchObject({ phase: "Completed", lastManualTrigger: "T" })
    expect((yield* Client.get(Job, job)).metadata.finalizers).toEqual(["example.com/kept"])
  })
)

Virtual.test(
  "A Backup that is deleted while it waits gives its turn to the next one, even if a finalizer keeps it",
  (world) =>
    Effect.gen(function* () {
      yield* world.manage({ settings: { retryPeriod: Duration.hours(1) } })
      world.movers((mover) => PretendedMover.succeeds(mover, "5 minutes"))
      for (const name of ["one", "two", "three", "four"]) {
        yield* Virtual.create(name, path("shared"))
        yield* Virtual.until(name, "it runs or waits", ({ phase }) => phase === "Running" || phase === "Pending")
      }
      for (const name of ["two", "three"]) {
        const { metadata } = yield* Virtual.get(name)
        const finalizers = [...(metadata.finalizers ?? []), "example.com/kept"]
        yield* Client.patch(Backup, Virtual.key(name), Patch.merge({ metadata: { finalizers } }))
        yield* Client.delete(Backup, Virtual.key(name))
      }
      yield* world.until("2026-11-20T00:06:00Z")
      expect((yield* Virtual.get("two")).metadata.finalizers).toEqual(["example.com/kept"])
      expect(world.begun().map(({ tag }) => tag)).toEqual(["shop/one", "shop/four"])
    })
)
