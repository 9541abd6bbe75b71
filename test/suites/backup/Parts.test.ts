/** Runs of volumes that are on two nodes: a Job for each, one after the other. */

import { expect } from "bun:test"
import { BunContext } from "@effect/platform-bun"
import * as Client from "@homeostat/runtime/client/Client"
import { Deployment, Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Condition from "@homeostat/runtime/resource/Condition"
import { eventually } from "@homeostat/testkit/Eventually"
import * as Kubelet from "@homeostat/testkit/kubelet/Kubelet"
import { Effect } from "effect"
import * as Claims from "./Claims.ts"
import * as PretendedMover from "./PretendedMover.ts"
import * as Virtual from "./Virtual.ts"

const labels = { app: "web" }

/** A Deployment with two claims, each of which is used on a node of its own. */
const apart = (world: Virtual.Virtual) =>
  Effect.gen(function* () {
    yield* Effect.provide(Kubelet.start({ name: "other", pods: world.pods }), BunContext.layer)
    yield* Claims.bound(Virtual.namespace, "left", { node: "node" })
    yield* Claims.bound(Virtual.namespace, "right", { node: "other" })
    const template = {
      metadata: { labels },
      spec: {
        containers: [{ name: "web", image: "web" }],
        volumes: ["left", "right"].map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } }))
      }
    }
    yield* Client.create(Deployment, {
      metadata: Virtual.key("web"),
      spec: { replicas: 0, selector: { matchLabels: labels }, template }
    })
    for (const claimName of ["left", "right"]) {
      yield* Client.create(Pod, {
        metadata: { ...Virtual.key(`uses-${claimName}`), labels },
        spec: {
          containers: [{ name: "web", image: "web" }],
          volumes: [{ name: "data", persistentVolumeClaim: { claimName } }]
        }
      })
      yield* eventually(
        "it runs",
        Client.get(Pod, Virtual.key(`uses-${claimName}`)),
        ({ status }) => status?.phase === "Running"
      )
    }
  })

const saves = { source: "deployment/web", destination: "s3://bucket", retentionPolicy: "30d" } as const

const secret = Virtual.secret("web", {
  RESTIC_PASSWORD: "correct horse",
  AWS_ACCESS_KEY_ID: "key",
  AWS_SECRET_ACCESS_KEY: "secret"
})

/** What the Jobs did, in order. */
const parts = (world: Virtual.Virtual) =>
  world.begun().map(({ claims, operations, pod }) => [pod.spec?.nodeName, claims.join(), operations.join(" ")])

Virtual.test("They are saved one after the other, and old snapshots are deleted after the second part", (world) =>
  Effect.gen(function* () {
    yield* apart(world)
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
    expect(world.told("web")).toEqual(["BackupScheduled", "BackupStarted", "BackupCompleted", "SnapshotsPruned"])
  })
)

Virtual.test(
  "Where the first part could not read some files, the second is saved, nothing is deleted, and the run is partial",
  (world) =>
    Effect.gen(function* () {
      yield* apart(world)
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
      expect(world.told("web")).toEqual(["BackupScheduled", "BackupStarted", "BackupPartiallyFailed"])
    })
)

Virtual.test("Where the first part fails, the run has failed and there is no second", (world) =>
  Effect.gen(function* () {
    yield* apart(world)
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

Virtual.test("A manager that is killed between the two parts leaves the second to the next", (world) =>
  Effect.gen(function* () {
    yield* apart(world)
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
