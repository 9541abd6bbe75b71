/** Runs of volumes on two nodes: one Job for each node, one after the other. */

import { expect } from "bun:test"
import * as NodeFileSystem from "@effect/platform-node-shared/NodeFileSystem"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Node, Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Condition from "@homeostat/runtime/resource/Condition"
import * as Kubelet from "@homeostat/testkit/kubelet/Kubelet"
import { Effect } from "effect"
import * as PretendedMover from "./PretendedMover.ts"
import * as TwoNodes from "./TwoNodes.ts"
import * as Virtual from "./Virtual.ts"

const saves = { source: "deployment/web", destination: "s3://bucket", retentionPolicy: "30d" } as const

const secret = Virtual.secret("web", {
  RESTIC_PASSWORD: "correct horse",
  AWS_ACCESS_KEY_ID: "key",
  AWS_SECRET_ACCESS_KEY: "secret"
})

/** The work of the Jobs, in order. */
const parts = (world: Virtual.Virtual) =>
  world.begun().map(({ claims, operations, pod }) => [pod.spec?.nodeName, claims.join(), operations.join(" ")])

Virtual.test(
  "The parts of a run are saved one after the other, and old snapshots are deleted after the second part",
  (world) =>
    Effect.gen(function* () {
      yield* TwoNodes.apart(world)
      yield* secret
      yield* world.manage()
      const { metadata } = yield* Virtual.create("web", { ...saves, repository: {} })
      const { status: during } = yield* Virtual.until(
        "web",
        "the second part runs",
        ({ active }) => /-2$/.test(active?.job ?? ""),
        "2 minutes"
      )
      const startTime = metadata.creationTimestamp
      expect(during?.active).toMatchObject({ startTime, snapshots: [{ pvc: "left" }] })
      yield* Virtual.rests("web")
      yield* world.pass("1 minute")
      expect(parts(world)).toEqual([
        ["node", "left", "preflight backup"],
        ["other", "right", "preflight backup"],
        ["node", "", "preflight forget"]
      ])
      expect(yield* Virtual.status("web")).toMatchObject({
        phase: "Completed",
        message: "2 volumes saved",
        lastRun: { startTime, snapshots: [{ pvc: "left" }, { pvc: "right" }] },
        snapshots: 3
      })
      expect(world.eventReasons("web")).toEqual([
        "BackupScheduled",
        "BackupStarted",
        "BackupCompleted",
        "SnapshotsPruned"
      ])
    })
)

Virtual.test(
  "If the first part could not read some files, the second part is saved, nothing is deleted, and the run is partial",
  (world) =>
    Effect.gen(function* () {
      yield* TwoNodes.apart(world)
      yield* secret
      yield* world.manage()
      world.movers((mover) =>
        mover.claims.includes("left")
          ? PretendedMover.ends(3, {
              reason: "PartiallyFailed",
              message: "1 could not be read, the last: open /data/left/a: permission denied",
              repository: PretendedMover.repository,
              snapshots: PretendedMover.saved(mover)
            })
          : undefined
      )
      yield* Virtual.create("web", { ...saves, repository: {} })
      const backup = yield* Virtual.rests("web")
      yield* world.pass("1 minute")
      expect(parts(world)).toEqual([
        ["node", "left", "preflight backup"],
        ["other", "right", "preflight backup"]
      ])
      expect(backup.status).toMatchObject({
        phase: "Failed",
        lastRun: {
          reason: "PartiallyFailed",
          message: expect.stringContaining("permission denied"),
          snapshots: [{ pvc: "left" }, { pvc: "right" }]
        }
      })
      expect(backup.status?.lastBackupTime).toBeUndefined()
      expect(Condition.isTrue(backup.status?.conditions, "RetentionApplied")).toBe(false)
      expect(world.eventReasons("web")).toEqual(["BackupScheduled", "BackupStarted", "BackupPartiallyFailed"])
    })
)

Virtual.test("If the first part fails, the run fails without a second part", (world) =>
  Effect.gen(function* () {
    yield* TwoNodes.apart(world)
    yield* secret
    yield* world.manage()
    world.movers(() => PretendedMover.ends(42, { reason: "WrongPassword", message: "wrong password" }))
    yield* Virtual.create("web", { ...saves, repository: {} })
    const backup = yield* Virtual.rests("web")
    yield* world.pass("20 minutes")
    expect(backup.status?.lastRun?.reason).toBe("WrongPassword")
    expect(parts(world)).toEqual([["node", "left", "preflight backup"]])
  })
)

Virtual.test("A manager that is killed between two parts leaves the second one to the next manager", (world) =>
  Effect.gen(function* () {
    yield* TwoNodes.apart(world)
    yield* secret
    const first = yield* world.manage()
    const { metadata } = yield* Virtual.create("web", { ...saves, repository: {} })
    yield* Virtual.runs("web")
    yield* world.pass("30 seconds")
    first.cut(({ method, path }) => (method === "GET" || path.includes("/jobs") ? "pass" : "silent"))
    yield* world.pass("2 minutes")
    yield* first.kill
    yield* world.manage()
    yield* world.pass("5 minutes")
    expect(parts(world)).toEqual([
      ["node", "left", "preflight backup"],
      ["other", "right", "preflight backup"],
      ["node", "", "preflight forget"]
    ])
    expect(yield* Virtual.status("web")).toMatchObject({
      phase: "Completed",
      lastRun: { startTime: metadata.creationTimestamp, snapshots: [{ pvc: "left" }, { pvc: "right" }] }
    })
  })
)

/** Creates a pod that uses the claim `app` on a node. */
const using = (name: string, nodeName: string) =>
  Client.create(Pod, {
    metadata: Virtual.key(name),
    spec: {
      nodeName,
      containers: [{ name: "web", image: "web" }],
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: "app" } }]
    }
  })

/** Starts a run of the claim `app` on the node `node`, and drains that node during the run. */
const drained = (world: Virtual.Virtual) =>
  Effect.gen(function* () {
    yield* Effect.provide(Kubelet.start({ name: "other", pods: world.pods }), NodeFileSystem.layer)
    yield* using("web-1", "node")
    const manager = yield* world.manage()
    world.movers((mover) => PretendedMover.succeeds(mover, "1 hour"))
    yield* Virtual.create("shop", { source: "pvc/app", destination: "pvc://store", retentionPolicy: "30d" })
    yield* world.pass("1 minute")
    expect(parts(world)).toEqual([["node", "app", "preflight backup"]])
    yield* Client.patch(Node, { name: "node" }, Patch.merge({ spec: { unschedulable: true } }))
    yield* Client.delete(Pod, Virtual.key("web-1"))
    for (const { pod } of world.begun()) yield* Client.delete(Pod, Virtual.key(pod.metadata.name))
    world.movers(() => undefined)
    return manager
  })

Virtual.test("A run continues on the node to which a drain moved its volume", (world) =>
  Effect.gen(function* () {
    yield* drained(world)
    yield* world.pass("2 minutes")
    // The workload has not started on another node, so the run waits.
    expect(world.begun()).toHaveLength(1)
    yield* using("web-2", "other")
    yield* Virtual.rests("shop", "3 minutes")
    yield* world.pass("1 minute")
    expect(parts(world).slice(0, 2)).toEqual([
      ["node", "app", "preflight backup"],
      ["other", "app", "preflight backup"]
    ])
    const { status } = yield* Virtual.get("shop")
    expect(status).toMatchObject({
      phase: "Completed",
      consecutiveFailures: 0,
      lastRun: { job: expect.stringMatching(/-2$/) }
    })
    expect(world.eventReasons("shop").filter((reason) => reason === "BackupStarted")).toHaveLength(1)
    expect((yield* Virtual.jobs).filter(({ status }) => (status?.active ?? 0) > 0)).toEqual([])
  })
)

Virtual.test("A manager that crashes after it moved a run continues the run, and stops the old Job", (world) =>
  Effect.gen(function* () {
    const first = yield* drained(world)
    first.cut(({ method, path }) => (method !== "GET" && path.endsWith("/status") ? "silent" : "pass"))
    yield* using("web-2", "other")
    yield* world.pass("1 minute")
    yield* first.kill
    yield* world.manage()
    yield* Virtual.rests("shop", "5 minutes")
    yield* world.pass("1 minute")
    expect(parts(world).filter(([, claims]) => claims === "app")).toEqual([
      ["node", "app", "preflight backup"],
      ["other", "app", "preflight backup"]
    ])
    expect(yield* Virtual.status("shop")).toMatchObject({ phase: "Completed", consecutiveFailures: 0 })
    expect((yield* Virtual.jobs).filter(({ status }) => (status?.active ?? 0) > 0)).toEqual([])
  })
)
