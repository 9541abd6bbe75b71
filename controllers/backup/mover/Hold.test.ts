import { describe, expect, test } from "bun:test"
import * as Hold from "./Hold.ts"
import type { Snapshot } from "./Snapshots.ts"

const now = Date.parse("2026-11-20T10:00:00Z")
const day = 86_400

const snapshot = (ageDays: number, files = 100, host = "shop/data"): Snapshot => ({
  id: "0".repeat(64),
  time: "",
  moment: { seconds: now / 1000 - ageDays * day, nanos: 0 },
  host,
  tags: [],
  files,
  bytes: files * 1000,
  added: 0
})
const held = (kept: ReadonlyArray<Snapshot>, removed: ReadonlyArray<Snapshot>, options: Partial<Hold.Options> = {}) =>
  Hold.of({ createdAt: undefined, hold: undefined, isAllowed: false, ...options }, { kept, removed }, now)

describe("Hold.of", () => {
  const three = [snapshot(0), snapshot(1), snapshot(2)]
  test("allows the deletion of an old snapshot", () => expect(held(three, [snapshot(30)])).toBeUndefined())
  test("allows an empty deletion", () => expect(held(three, [], { hold: "Paused" })).toBeUndefined())
  test("holds every deletion that the controller holds", () =>
    expect(held(three, [snapshot(30)], { hold: "Paused" })).toBe("Paused"))
  test("holds the deletion of more than half of the snapshots", () => {
    expect(held([snapshot(0)], [snapshot(1)])).toBeUndefined()
    expect(held([snapshot(0)], [snapshot(1), snapshot(2)])).toBe("TooMany")
  })
  test("compares the number of deleted snapshots for each volume", () => {
    const other = [0, 1, 2, 3, 4].map((age) => snapshot(age, 100, "shop/other"))
    expect(held([snapshot(0), ...other], [snapshot(1), snapshot(2)])).toBe("TooMany")
    expect(held([snapshot(0), ...other], [snapshot(1)])).toBeUndefined()
  })
  test("does not count snapshots without files, unless there are no others", () => {
    const hollow = [snapshot(1, 0), snapshot(2, 0)]
    expect(held([snapshot(0), ...hollow], [snapshot(3), snapshot(4), snapshot(5)])).toBe("TooMany")
    expect(held([snapshot(0), ...hollow], [snapshot(3), snapshot(4, 0), snapshot(5, 0)])).toBeUndefined()
    expect(held(hollow, [snapshot(3, 0)])).toBeUndefined()
    expect(held(hollow, [snapshot(3, 5)])).toBe("TooMany")
  })
  test("decides about 40,000 snapshots within 3 seconds", () => {
    const many = (from: number) => Array.from({ length: 20_000 }, (_, age) => snapshot(from + age))
    const start = performance.now()
    expect(held(many(0), many(20_000))).toBeUndefined()
    expect(performance.now() - start).toBeLessThan(3000)
  })
  test("holds the deletion of snapshots that are older than the Backup", () => {
    const createdAt = { seconds: now / 1000 - 20 * day, nanos: 0 }
    expect(held(three, [snapshot(30)], { createdAt })).toBe("ExistingSnapshots")
    expect(held(three, [snapshot(19)], { createdAt })).toBeUndefined()
  })
  test("holds the deletion of the last snapshot with most of the files of a volume", () => {
    expect(held([snapshot(0, 40), snapshot(1, 40)], [snapshot(2, 100)])).toBe("VolumeShrunk")
    expect(held([snapshot(0, 40), snapshot(1, 60)], [snapshot(2, 100)])).toBeUndefined()
    expect(held([snapshot(0, 40), snapshot(0, 100, "shop/other")], [snapshot(2, 100)])).toBe("VolumeShrunk")
  })
  test("holds the deletion while a snapshot is in the future", () => {
    expect(held([snapshot(-60), ...three], [snapshot(30)])).toBe("ClockSetBack")
    expect(held([snapshot(-0.003), ...three], [snapshot(30)])).toBeUndefined()
  })
  test("allows each deletion that a user allows", () =>
    expect(held([snapshot(0)], [snapshot(1), snapshot(2)], { hold: "Paused", isAllowed: true })).toBeUndefined())
})
