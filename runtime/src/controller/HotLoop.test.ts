import { describe, expect, test } from "bun:test"
import * as HotLoop from "./HotLoop.ts"

const place = "ConfigMap default/a"

/** Records repairs of a field at these times, in seconds. Returns the times at which a report is due. */
const counting = (hotLoop: HotLoop.HotLoop, times: ReadonlyArray<number>, field = "data.a", uid = "u", at = place) =>
  times.filter((seconds) => hotLoop.count(uid, "fight", at, [field], seconds * 1000).length > 0)

describe("The last loop of an object", () => {
  const loop = { reason: "fight", manager: "rival", note: "It was put back." } as const

  test("is kept with its time, and the time of its last write", () => {
    const hotLoop = HotLoop.make()
    expect(hotLoop.lastLoop("u")).toBeUndefined()
    counting(hotLoop, [0, 1, 2, 3, 4])
    hotLoop.found("u", loop, 4000)
    expect(hotLoop.lastLoop("u")).toEqual({ ...loop, since: 4000, at: 4000 })
    // It goes on, also while it is not reported again.
    expect(counting(hotLoop, [5, 6])).toEqual([])
    expect(hotLoop.lastLoop("u")).toEqual({ ...loop, since: 4000, at: 6000 })
    // A single write after a pause does not belong to it.
    counting(hotLoop, [100])
    expect(hotLoop.lastLoop("u")?.at).toBe(6000)
    hotLoop.forget("u")
    expect(hotLoop.lastLoop("u")).toBeUndefined()
  })

  test("lasts five minutes as a fight, and a report of another kind does not replace it", () => {
    const hotLoop = HotLoop.make()
    counting(hotLoop, [0, 1, 2, 3, 4])
    hotLoop.found("u", loop, 4000)
    hotLoop.found("u", { ...loop, reason: "altered" }, 5000)
    const until = 4000 + HotLoop.recentMillis
    expect(hotLoop.fight("u", until - 1)).toEqual({ note: loop.note, until })
    expect(hotLoop.fight("other", 5000)).toBeUndefined()
    expect(hotLoop.fight("u", until)).toBeUndefined()
    hotLoop.found("u", { ...loop, reason: "altered" }, until)
    expect(hotLoop.lastLoop("u")?.reason).toBe("altered")
  })

  test("takes part in the bound in bytes, and its note is cut", () => {
    const hotLoop = HotLoop.make(100_000)
    for (let at = 0; at < 1000; at++) hotLoop.found(`u${at}`, { ...loop, note: "x".repeat(10_000) }, at)
    expect(hotLoop.size().bytes).toBeLessThan(110_000)
    expect(hotLoop.lastLoop("u999")?.note).toHaveLength(1025)
    expect(hotLoop.lastLoop("u0")).toBeUndefined()
  })
})

describe("An object", () => {
  const cases: ReadonlyArray<readonly [string, ReadonlyArray<readonly [number, number?]>, ReadonlyArray<boolean>]> = [
    [
      "is suspicious from the second write on that no generation caused",
      [[0], [1], [2], [3]],
      [false, false, true, true]
    ],
    ["is not suspicious after a pause", [[0], [1], [2], [32], [33]], [false, false, true, false, true]],
    [
      "is not suspicious with a new generation",
      [[0], [1], [2], [3, 2], [4, 2], [5, 2]],
      [false, false, true, false, false, true]
    ]
  ]
  for (const [name, writes, expected] of cases) {
    test(name, () => {
      const hotLoop = HotLoop.make()
      expect(writes.map(([seconds, generation = 1]) => hotLoop.wrote("u", generation, seconds * 1000))).toEqual([
        ...expected
      ])
    })
  }

  test("has one counter before it is suspicious", () => {
    const hotLoop = HotLoop.make()
    hotLoop.wrote("u", 1, 0)
    const { bytes } = hotLoop.size()
    hotLoop.wrote("u", 1, 1000)
    expect(hotLoop.size()).toEqual({ keys: 1, bytes })
  })

  test("starts again after a new generation, a pause and its deletion", () => {
    const renewals: ReadonlyArray<(hotLoop: HotLoop.HotLoop) => unknown> = [
      (hotLoop) => hotLoop.wrote("u", 2, 4000),
      (hotLoop) => hotLoop.wrote("u", 1, 30_000),
      (hotLoop) => hotLoop.forget("u"),
      (hotLoop) => hotLoop.retain(new Set(["v"]))
    ]
    for (const renew of renewals) {
      const hotLoop = HotLoop.make()
      hotLoop.wrote("u", 1, 0)
      hotLoop.repeated("u", place, [["data.a", "x"]])
      counting(hotLoop, [0, 1, 2, 3])
      hotLoop.retain(new Set(["u"]))
      expect(hotLoop.isDue("u", place, 4000)).toBe(true)
      renew(hotLoop)
      expect(hotLoop.isDue("u", place, 4000)).toBe(false)
      expect(hotLoop.repeated("u", place, [["data.a", "x"]])).toEqual([])
    }
  })
})

describe("A field", () => {
  const cases: ReadonlyArray<readonly [string, ReadonlyArray<number>, number, boolean]> = [
    ["is due before the fifth write", [0, 1, 2, 3], 4, true],
    ["is not due before the fourth write", [0, 1, 2], 3, false],
    ["is due at the end of the window", [0, 7, 14, 21], 29.999, true],
    ["is not due once the first write is out of the window", [0, 7, 14, 21], 30, false]
  ]
  for (const [name, times, now, expected] of cases) {
    test(name, () => {
      const hotLoop = HotLoop.make()
      counting(hotLoop, times)
      expect(hotLoop.isDue("u", place, now * 1000)).toBe(expected)
      expect(counting(hotLoop, [now])).toEqual(expected ? [now] : [])
    })
  }

  test("is reported once in ten minutes", () => {
    const hotLoop = HotLoop.make()
    expect(counting(hotLoop, [0, 1, 2, 3, 4, 5, 6, 7, 8])).toEqual([4])
    expect(hotLoop.isDue("u", place, 9000)).toBe(false)
    expect(counting(hotLoop, [600, 601, 602, 603, 603.999, 604, 605])).toEqual([604])
  })

  test("is counted by reason, place and object", () => {
    const hotLoop = HotLoop.make()
    for (const at of [0, 1, 2, 3]) {
      counting(hotLoop, [at], "data.b")
      counting(hotLoop, [at], "data.a", "u", "ConfigMap default/b")
      counting(hotLoop, [at], "data.a", "v")
      hotLoop.count("u", "rewrite", place, ["data.a"], at * 1000)
    }
    expect(counting(hotLoop, [4])).toEqual([])
    expect(counting(hotLoop, [4], "data.b")).toEqual([4])
  })

  test("repeats the previous write if it has the same value, but not an older one", () => {
    const hotLoop = HotLoop.make()
    const a = ["data.a", "x"] as const
    const b = ["data.b", "x"] as const
    expect(hotLoop.repeated("u", place, [a, b])).toEqual([])
    expect(hotLoop.repeated("u", place, [a])).toEqual(["data.a"])
    expect(hotLoop.repeated("u", place, [a, b])).toEqual(["data.a"])
    expect(hotLoop.repeated("u", place, [["data.a", "y"]])).toEqual([])
    expect(hotLoop.repeated("u", place, [a])).toEqual([])
    expect(hotLoop.repeated("u", "ConfigMap default/b", [a])).toEqual([])
    hotLoop.repeated("u", place, [])
    expect(hotLoop.repeated("u", place, [a])).toEqual([])
  })
})

test("The counted bytes cover the memory, even with long names", () => {
  const heap = (): number => {
    Bun.gc(true)
    return process.memoryUsage().heapUsed
  }
  // The minimum of three runs, because garbage of other tests may count in one of them.
  const taken = (write: (hotLoop: HotLoop.HotLoop, uid: string) => void) => {
    const rounds = Array.from({ length: 3 }, () => {
      const before = heap()
      const hotLoop = HotLoop.make()
      for (let index = 0; index < 1024; index++) write(hotLoop, `uid-${index}`)
      const heaped = heap() - before
      return { heaped, ...hotLoop.size() }
    })
    return rounds.reduce((least, round) => (round.heaped < least.heaped ? round : least))
  }
  const counted = taken((hotLoop, uid) => hotLoop.wrote(uid, 1, 0))
  const fields = Array.from({ length: 12 }, (_, index) => `status.conditions[Type${index}].message`)
  const statuses = taken((hotLoop, uid) => {
    hotLoop.repeated(
      uid,
      `WebApp shop/${uid}`,
      fields.map((field) => [field, uid])
    )
  })
  const repairs = taken((hotLoop, uid) => {
    const long = "A".repeat(20_000)
    for (let time = 0; time < 4; time++) hotLoop.count(uid, "fight", "Deployment shop/a", [`env[${uid}${long}]`], time)
  })
  for (const { bytes, heaped, keys } of [counted, statuses, repairs]) {
    expect(keys).toBe(1024)
    expect(heaped).toBeLessThan(1.2 * bytes)
    expect(bytes).toBeLessThanOrEqual(HotLoop.capacity)
  }
})

test("The oldest objects and fields are dropped above the capacity", () => {
  const hotLoop = HotLoop.make()
  const most = 50_000
  for (let index = 0; index < most; index++) {
    counting(hotLoop, [0, 1, 2, 3], "data.a", `u${index}`)
    // An entry with continuing writes stays, regardless of the number of other entries.
    hotLoop.wrote("u0", 1, 3000)
    expect(hotLoop.size().bytes).toBeLessThanOrEqual(HotLoop.capacity)
  }
  expect(hotLoop.size().keys).toBeGreaterThan(4096)
  const isKnown = (index: number) => hotLoop.isDue(`u${index}`, place, 4000)
  expect([1, most / 2, most - 1].map(isKnown)).toEqual([false, false, true])
  const { keys } = hotLoop.size()
  hotLoop.forget("u0")
  expect(hotLoop.size().keys).toBe(keys - 1)

  for (let index = 0; index < 3 * HotLoop.mostFields; index++) counting(hotLoop, [0, 1, 2, 3], `data.${index}`)
  const last = 3 * HotLoop.mostFields - 1
  expect([last, last - 32, 0].map((index) => counting(hotLoop, [4], `data.${index}`).length)).toEqual([1, 1, 0])
})
