/** Deletions of old snapshots that wait for a user's approval. */
import { expect } from "bun:test"
import * as Eventually from "@homeostat/testkit/Eventually"
import { Effect } from "effect"
import * as Virtual from "./Virtual.ts"

/** The movers that delete old snapshots. */
const forgetting = (world: Virtual.Virtual) => world.begun().filter(({ operations }) => operations.includes("forget"))

const untilMaintained = Virtual.until(
  "shop",
  "a maintenance ended",
  ({ maintenance }) => maintenance?.active === undefined && maintenance?.last !== undefined,
  "1 hour"
)

Virtual.test("A Backup that is created with the annotation of an earlier one allows no deletion", (world) =>
  Effect.gen(function* () {
    yield* world.manage()
    const annotations = { "backup.example.com/apply-retention": "an earlier one" }
    yield* Virtual.create("shop", { retentionPolicy: "30d" }, annotations)
    yield* untilMaintained
    expect(forgetting(world).map(({ env }) => env.ALLOW_FORGET)).toEqual([undefined])
    expect((yield* Virtual.status("shop")).lastRetentionTrigger).toBe("an earlier one")
    yield* Virtual.annotate("shop", "apply-retention", "a new one")
    yield* Virtual.until(
      "shop",
      "applied",
      ({ lastRetentionTrigger }) => lastRetentionTrigger === "a new one",
      "1 hour"
    )
    expect(forgetting(world).at(-1)?.env.ALLOW_FORGET).toBe("1")
  })
)

Virtual.test(
  "A suspended Backup that is created with the annotations of an earlier one waits for its Restores",
  (world) =>
    Effect.gen(function* () {
      yield* world.manage()
      const annotations = { "backup.example.com/run": "1", "backup.example.com/unlock": "1" }
      yield* Virtual.create("shop", { suspend: true, schedule: "0 * * * *" }, annotations)
      yield* world.pass("3 hours")
      expect(world.begun()).toEqual([])
      yield* Virtual.change("shop", { spec: { suspend: false } })
      yield* Virtual.rests("shop", "2 hours")
      expect(world.saving().map(({ operations }) => operations)).toEqual([["preflight", "backup"]])
      yield* Virtual.annotate("shop", "unlock", "2")
      yield* world.pass("5 minutes")
      expect(world.saving().at(-1)?.operations).toContain("unlock-all")
    })
)

Virtual.test("A pause holds the deletion even if the spec was invalid at the end of the next run", (world) =>
  Effect.gen(function* () {
    yield* world.manage()
    yield* Virtual.create("shop", { retentionPolicy: "1h", schedule: "*/10 * * * *" })
    yield* untilMaintained
    yield* Virtual.change("shop", { spec: { suspend: true } })
    yield* world.pass("2 hours")
    yield* Virtual.change("shop", { spec: { suspend: false } })
    yield* Virtual.runs("shop")
    yield* Virtual.change("shop", { spec: { timeZone: "Europe/Atlantis" } })
    yield* Virtual.until("shop", "the run ended", ({ active }) => active === undefined, "10 minutes")
    yield* Virtual.change("shop", { spec: { timeZone: "Europe/Berlin" } })
    const before = forgetting(world).length
    yield* Eventually.eventually(
      "a maintenance begins",
      Effect.sync(() => forgetting(world).slice(before)),
      (begun) => begun.length > 0,
      "10 minutes"
    )
    expect(forgetting(world)[before]?.env.HOLD).toBe("Paused")
  })
)
