/** The order of movers on a repository, and the limits for all movers. */
import { describe, expect } from "bun:test"
import { Effect } from "effect"
import * as PretendedMover from "./PretendedMover.ts"
import * as Slots from "./Slots.ts"
import * as Virtual from "./Virtual.ts"

Slots.test(12)

const path = (path: string) => ({ repository: { path, credentialsSecretRef: { name: "shop-backup-credentials" } } })

Virtual.test("Backups that share a repository take turns, and report the others", (world) =>
  Effect.gen(function* () {
    yield* world.manage()
    const most = yield* Slots.counting(world)
    yield* Virtual.create("one", { ...path("shared"), schedule: "*/10 * * * *" })
    yield* Virtual.create("two", { ...path("shared"), schedule: "*/10 * * * *" })
    yield* world.until("2026-11-20T00:00:30Z")
    expect([yield* Virtual.status("one"), yield* Virtual.status("two")].map(({ phase }) => phase).sort()).toEqual([
      "Pending",
      "Running"
    ])
    yield* world.until("2026-11-20T00:25:00Z")
    expect(most()).toBe(1)
    const tags = world.begun().map(({ tag }) => tag)
    expect([tags.length, tags.filter((tag) => tag === "shop/one").length]).toEqual([6, 3])
    for (const [name, other] of [
      ["one", "two"],
      ["two", "one"]
    ] as const) {
      const backup = yield* Virtual.get(name)
      expect(backup.status).toMatchObject({ phase: "Completed", repositoryID: PretendedMover.repository })
      expect(Virtual.condition(backup, "Ready")?.message).toBe(
        `Scheduled: */10 * * * * (UTC). The repository is shared with shop/${other}: they take turns.`
      )
    }
  })
)

describe("A run that finds the repository locked", () => {
  const locked = (world: Virtual.Virtual) =>
    world.movers((mover) =>
      world.begun().length > 1
        ? PretendedMover.succeeds(mover)
        : PretendedMover.ends(41, {
            reason: "RepositoryLocked",
            message: "repository is already locked by PID 1 on other"
          })
    )

  Virtual.test("is retried after half an hour, when an abandoned lock counts as stale", (world) =>
    Effect.gen(function* () {
      yield* world.manage()
      locked(world)
      yield* Virtual.create("shop", { backoffLimit: 0 })
      const { status } = yield* Virtual.rests("shop")
      expect(status).toMatchObject({ phase: "Failed", lastRun: { reason: "RepositoryLocked" }, consecutiveFailures: 1 })
      expect(world.eventReasons("shop")).toContain("RepositoryLocked")
      expect(status?.message).toContain("retried in 30 minutes")
      yield* world.until("2026-11-20T00:30:59Z")
      expect(world.begun()).toHaveLength(1)
      yield* world.until("2026-11-20T00:33:00Z")
      expect(world.begun()).toHaveLength(2)
      expect(yield* Virtual.status("shop")).toMatchObject({
        phase: "Completed",
        lastRun: { trigger: "retry", reason: "Succeeded" },
        consecutiveFailures: 0
      })
      yield* world.pass("2 hours")
      expect(world.begun()).toHaveLength(2)
    })
  )

  Virtual.test("is retried at once with the annotation unlock, and the locks are removed first", (world) =>
    Effect.gen(function* () {
      yield* world.manage()
      locked(world)
      yield* Virtual.create("shop", { backoffLimit: 0 })
      yield* Virtual.rests("shop")
      yield* Virtual.annotate("shop", "unlock", "please")
      yield* world.pass("5 minutes")
      expect(world.begun().map(({ operations }) => operations.join(" "))).toEqual([
        "preflight backup",
        "preflight unlock-all backup"
      ])
      expect(yield* Virtual.status("shop")).toMatchObject({
        phase: "Completed",
        lastUnlockTrigger: "please",
        lastRun: { trigger: "unlock", reason: "Succeeded" }
      })
      yield* world.pass("1 hour")
      expect(world.begun()).toHaveLength(2)
    })
  )

  Virtual.test("is never unlocked while a mover works on the repository", (world) =>
    Effect.gen(function* () {
      yield* world.manage()
      world.movers((mover) => PretendedMover.succeeds(mover, "10 minutes"))
      const most = yield* Slots.counting(world)
      yield* Virtual.create("one", path("shared"))
      yield* Virtual.runs("one")
      yield* Virtual.create("two", { ...path("shared"), startPolicy: "OnSchedule" })
      yield* world.pass("1 second")
      yield* Virtual.annotate("two", "unlock", "please")
      yield* Virtual.annotate("one", "unlock", "please")
      yield* world.until("2026-11-20T00:09:50Z")
      expect(world.begun()).toHaveLength(1)
      yield* world.until("2026-11-20T00:35:00Z")
      expect(world.begun().map(({ operations }) => operations[1])).toEqual(["backup", "unlock-all", "unlock-all"])
      expect(most()).toBe(1)
    })
  )
})
