/** Deletions of Backups that end with their snapshots, wait for an obstacle, or go with their namespace. Goodbye.test.ts has the usual one. */
import { describe, expect } from "bun:test"
import { Backup } from "@homeostat/backup/kinds/Backup"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Event, Namespace, Secret } from "@homeostat/runtime/resource/BuiltIn"
import { eventually } from "@homeostat/testkit/Eventually"
import { Effect } from "effect"
import * as PretendedMover from "./PretendedMover.ts"
import * as Virtual from "./Virtual.ts"
import type { VirtualManager } from "./VirtualManager.ts"

const remove = (name: string) => Client.delete(Backup, Virtual.key(name))

const backups = Effect.map(Client.list(Backup, { namespace: Virtual.namespace }), ({ items }) =>
  items.map(({ metadata }) => metadata.name)
)

const isGone = (name: string) => eventually(`${name} is gone`, backups, (names) => !names.includes(name), "5 minutes")

/** The names of the metrics with a series for a Backup's name. */
const series = ({ metrics }: VirtualManager, name: string) =>
  metrics
    .read()
    .filter(({ metric, series }) =>
      series.some(({ labels }) => labels.some((label, at) => metric.labels[at] === "name" && label === name))
    )
    .map(({ metric }) => metric.name)

describe("A Backup that is deleted", () => {
  Virtual.test("keeps its snapshots for the grace period, and a user can change the policy during that time", (world) =>
    Effect.gen(function* () {
      const grace = { deletionPolicy: "Delete", deletionGracePeriod: "12h" } as const
      const first = yield* world.manage()
      for (const name of ["shop", "soon", "kept"]) {
        yield* Virtual.create(name, {
          ...grace,
          repository: { credentialsSecretRef: { name: "shop-backup-credentials" } }
        })
        yield* Virtual.rests(name)
        yield* remove(name)
      }
      yield* world.pass("1 minute")
      const { status } = yield* Virtual.get("shop")
      expect(status?.message).toMatch(
        /^The Backup cannot be deleted yet\. Its snapshots are deleted after 2026-11-20T12:0\d:\d\dZ \(spec\.deletionGracePeriod\)/
      )
      expect(world.eventReasons("shop")).toContain("DeletionPending")
      yield* Client.patch(Backup, Virtual.key("soon"), Patch.merge({ spec: { deletionGracePeriod: null } }))
      yield* Client.patch(Backup, Virtual.key("kept"), Patch.merge({ spec: { deletionPolicy: "Retain" } }))
      yield* isGone("soon")
      yield* isGone("kept")
      const deletions = () =>
        world.begun().flatMap(({ operations, tag }) => (operations.includes("delete") ? [tag] : []))
      expect(deletions()).toEqual(["shop/soon"])
      // A new manager continues the deletion.
      yield* first.kill
      yield* world.manage()
      yield* world.until("2026-11-20T11:50:00Z")
      expect(deletions()).toEqual(["shop/soon"])
      yield* world.pass("30 minutes")
      expect(deletions()).toEqual(["shop/soon", "shop/shop"])
      expect(yield* backups).toEqual([])
    })
  )

  Virtual.test("with deletionPolicy Delete runs a last Job that deletes its snapshots, and reports that", (world) =>
    Effect.gen(function* () {
      yield* world.manage()
      yield* Virtual.create("shop", { deletionPolicy: "Delete" })
      yield* Virtual.rests("shop")
      yield* remove("shop")
      yield* world.pass("30 seconds")
      expect(yield* backups).toEqual(["shop"])
      expect(world.begun().at(-1)).toMatchObject({
        operations: ["preflight", "delete"],
        claims: [],
        tag: "shop/shop",
        env: { REPOSITORY_ID: PretendedMover.repository }
      })
      yield* isGone("shop")
      expect(world.begun()).toHaveLength(2)
      expect(world.notes("shop", "SnapshotsDeleted")).toEqual(["3 snapshots deleted"])
      yield* world.pass("1 minute")
      expect([yield* Virtual.jobs, yield* Virtual.pods]).toEqual([[], []])
    })
  )

  Virtual.test(
    "whose snapshots cannot be deleted reports the reason with advice, and is removed with skip-cleanup",
    (world) =>
      Effect.gen(function* () {
        yield* world.manage()
        world.movers((mover) =>
          mover.operations.includes("delete")
            ? PretendedMover.ends(42, { reason: "WrongPassword", message: "wrong password or no key found" })
            : undefined
        )
        yield* Virtual.create("shop", { deletionPolicy: "Delete" })
        yield* Virtual.rests("shop")
        yield* remove("shop")
        const stalled = yield* Virtual.until(
          "shop",
          "it is stalled",
          (_, backup) => Virtual.condition(backup, "Stalled") !== undefined,
          "5 minutes"
        )
        expect(Virtual.condition(stalled, "Stalled")).toMatchObject({
          status: "True",
          reason: "CleanupFailed",
          message: expect.stringMatching(/wrong password.*backup\.example\.com\/skip-cleanup to "true"/)
        })
        yield* world.pass("30 minutes")
        expect(yield* backups).toEqual(["shop"])
        expect(world.notes("shop", "CleanupFailed")).toEqual([expect.stringContaining("skip-cleanup")])
        yield* Virtual.annotate("shop", "skip-cleanup", "true")
        yield* isGone("shop")
        yield* world.pass("1 minute")
        expect([yield* Virtual.jobs, yield* Virtual.pods]).toEqual([[], []])
      })
  )

  Virtual.test("without its Secret reports that, and deletes its snapshots when the Secret exists again", (world) =>
    Effect.gen(function* () {
      yield* world.manage()
      yield* Virtual.secret("other")
      yield* Virtual.create("other", { deletionPolicy: "Delete", repository: {} })
      yield* Virtual.rests("other")
      yield* Client.delete(Secret, { namespace: "shop", name: "other-backup-credentials" })
      yield* remove("other")
      const stalled = yield* Virtual.until(
        "other",
        "it is stalled",
        (_, backup) => Virtual.condition(backup, "Stalled") !== undefined
      )
      expect(Virtual.condition(stalled, "Stalled")?.message).toContain("other-backup-credentials")
      yield* Virtual.secret("other")
      yield* isGone("other")
      expect(world.begun().map(({ operations }) => operations.join(" "))).toEqual([
        "preflight backup",
        "preflight delete"
      ])
    })
  )

  Virtual.test("that never ran is removed at once, whatever obstacle or schedule it had", (world) =>
    Effect.gen(function* () {
      yield* world.manage()
      yield* Virtual.create("other", { deletionPolicy: "Delete", repository: {}, schedule: "61 * * * *" })
      yield* Virtual.until(
        "other",
        "its schedule is refused",
        (_, backup) => Virtual.condition(backup, "Ready")?.reason === "InvalidSchedule"
      )
      yield* remove("other")
      yield* isGone("other")
      expect(world.begun()).toEqual([])
    })
  )

  Virtual.test("is retried after half an hour if a lock was left behind", (world) =>
    Effect.gen(function* () {
      yield* world.manage()
      world.movers((mover) =>
        mover.operations.includes("delete") && world.begun().length < 3
          ? PretendedMover.ends(41, { reason: "RepositoryLocked", message: "repository is already locked" })
          : undefined
      )
      yield* Virtual.create("shop", { deletionPolicy: "Delete" })
      yield* Virtual.rests("shop")
      yield* remove("shop")
      yield* world.pass("20 minutes")
      expect(yield* backups).toEqual(["shop"])
      expect(world.notes("shop", "CleanupFailed")).toEqual([expect.stringContaining("retried in 30 minutes")])
      yield* world.pass("20 minutes")
      yield* isGone("shop")
    })
  )

  Virtual.test("is removed if its repository never existed, and stays if an existing repository is gone", (world) =>
    Effect.gen(function* () {
      yield* world.manage()
      world.movers((mover) =>
        mover.operations.includes("delete")
          ? PretendedMover.ends(40, { reason: "RepositoryMissing", message: "no such repository" })
          : undefined
      )
      yield* Virtual.create("never", { deletionPolicy: "Delete", startPolicy: "OnSchedule" })
      yield* Virtual.create("shop", { deletionPolicy: "Delete" })
      yield* Virtual.rests("shop")
      yield* remove("never")
      yield* remove("shop")
      yield* isGone("never")
      yield* world.pass("10 minutes")
      expect(yield* backups).toEqual(["shop"])
      expect(world.notes("shop", "CleanupFailed")).toEqual([
        expect.stringContaining("The repository was not found at the destination")
      ])
    })
  )

  Virtual.test("leaves no series in the metrics, and does not affect other series", (world) =>
    Effect.gen(function* () {
      const manager = yield* world.manage()
      yield* Virtual.create("shop", { schedule: "@hourly" })
      yield* Virtual.create("stays", { schedule: "@hourly" })
      yield* Virtual.rests("shop")
      yield* Virtual.rests("stays")
      expect(series(manager, "shop").length).toBeGreaterThan(8)
      yield* remove("shop")
      yield* isGone("shop")
      yield* world.pass("1 second")
      expect(series(manager, "shop")).toEqual([])
      expect(series(manager, "stays").length).toBeGreaterThan(8)
      yield* world.pass("2 hours")
      expect(series(manager, "shop")).toEqual([])
    })
  )

  for (const deletionPolicy of ["Retain", "Delete"] as const) {
    Virtual.test(`with its namespace is removed during a run, with deletionPolicy ${deletionPolicy}`, (world) =>
      Effect.gen(function* () {
        yield* world.manage()
        world.movers((mover) => PretendedMover.succeeds(mover, "1 hour"))
        yield* Virtual.create("shop", { deletionPolicy })
        yield* Virtual.runs("shop")
        yield* world.pass("1 minute")
        yield* Client.delete(Namespace, { name: Virtual.namespace })
        yield* eventually(
          "the namespace is gone",
          Effect.flip(Client.get(Namespace, { name: Virtual.namespace })),
          ({ _tag }) => _tag === "NotFound",
          "5 minutes"
        )
        expect(yield* backups).toEqual([])
        const { items } = yield* Client.list(Event, { namespace: Virtual.namespace })
        expect(items).toEqual([])
      })
    )
  }
})
