import { describe, expect, test } from "bun:test"
import * as HotLoop from "./HotLoop.ts"

const at: HotLoop.Place = { uid: "u", place: "ConfigMap default/a" }

/** Writes a field at these times, in seconds. */
const writing = (hotLoop: HotLoop.HotLoop, times: ReadonlyArray<number>, field = "data.a", place = at) => {
  for (const seconds of times) hotLoop.wrote(place, [field], seconds * 1000)
}

const due = (hotLoop: HotLoop.HotLoop, seconds: number, limit = 5) =>
  hotLoop.due(at, ["data.a", "data.b"], seconds * 1000, limit)

describe("a field", () => {
  const cases: ReadonlyArray<readonly [string, ReadonlyArray<number>, number, ReadonlyArray<string>]> = [
    ["is due when the next write is the fifth", [0, 1, 2, 3], 4, ["data.a"]],
    ["is not due before", [0, 1, 2], 3, []],
    ["is due at the window's end", [0, 7, 14, 21], 29.999, ["data.a"]],
    ["is not due once the first write is out of the window", [0, 7, 14, 21], 30, []],
    ["is due however many writes there were before", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13], 14, ["data.a"]]
  ]
  for (const [name, times, now, expected] of cases) {
    test(name, () => {
      const hotLoop = HotLoop.make()
      writing(hotLoop, times)
      expect(due(hotLoop, now)).toEqual(expected)
    })
  }

  test("that was told is not due for ten minutes, and told once in that time", () => {
    const counted: Array<HotLoop.Reason> = []
    const hotLoop = HotLoop.make((reason) => void counted.push(reason))
    writing(hotLoop, [0, 1, 2, 3])
    expect(hotLoop.report("fight", at, ["data.a"], 4000)).toEqual(["data.a"])
    expect(due(hotLoop, 5)).toEqual([])
    expect(hotLoop.report("fight", at, ["data.a", "data.b"], 5000)).toEqual(["data.b"])
    expect(hotLoop.report("fight", at, ["data.a", "data.b"], 6000)).toEqual([])
    expect(counted).toEqual(["fight", "fight"])
    writing(hotLoop, [600, 601, 602, 603])
    expect(due(hotLoop, 603.999)).toEqual([])
    expect(due(hotLoop, 604)).toEqual(["data.a"])
  })

  test("is that of one place of one object", () => {
    const hotLoop = HotLoop.make()
    writing(hotLoop, [0, 1, 2, 3], "data.a", { uid: "u", place: "ConfigMap default/b" })
    writing(hotLoop, [0, 1, 2, 3], "data.a", { uid: "v", place: at.place })
    expect(due(hotLoop, 4)).toEqual([])
  })

  test("is not due for writes that an earlier intent, an earlier generation or an object that is gone was the reason of", () => {
    const renewals: ReadonlyArray<(hotLoop: HotLoop.HotLoop) => unknown> = [
      (hotLoop) => hotLoop.intends(at, "two"),
      (hotLoop) => hotLoop.generation("u", 2),
      (hotLoop) => hotLoop.forget("u"),
      (hotLoop) => hotLoop.retain(new Set(["v"]))
    ]
    for (const renew of renewals) {
      const hotLoop = HotLoop.make()
      hotLoop.intends(at, "one")
      hotLoop.generation("u", 1)
      writing(hotLoop, [0, 1, 2, 3])
      hotLoop.intends(at, "one")
      hotLoop.generation("u", 1)
      hotLoop.retain(new Set(["u"]))
      expect(due(hotLoop, 4)).toEqual(["data.a"])
      renew(hotLoop)
      expect(due(hotLoop, 4)).toEqual([])
    }
  })

  test("stays told when another intent comes, and is forgotten with its object", () => {
    const hotLoop = HotLoop.make()
    hotLoop.report("fight", at, ["data.a"], 0)
    hotLoop.intends(at, "two")
    expect(hotLoop.report("fight", at, ["data.a"], 1000)).toEqual([])
    hotLoop.forget("u")
    expect(hotLoop.report("fight", at, ["data.a"], 2000)).toEqual(["data.a"])
  })
})

test("the generation that is heard of first changes nothing", () => {
  const hotLoop = HotLoop.make()
  writing(hotLoop, [0, 1, 2, 3])
  hotLoop.generation("u", 7)
  expect(due(hotLoop, 4)).toEqual(["data.a"])
})

test("a value is undone if it is the one that was written last", () => {
  const hotLoop = HotLoop.make()
  expect(hotLoop.undone(at, [["status.phase", "x"]])).toEqual([])
  hotLoop.valued(at, [["status.phase", "x"]])
  expect(hotLoop.undone(at, [["status.phase", "x"]])).toEqual(["status.phase"])
  hotLoop.valued(at, [["status.phase", "y"]])
  expect(hotLoop.undone(at, [["status.phase", "x"]])).toEqual([])
})

test("a value is not undone if what it is part of, or a part of it, was written since", () => {
  const hotLoop = HotLoop.make()
  const ready = "status.conditions[Ready]"
  const undone = () =>
    hotLoop.undone(at, [
      [ready, "x"],
      [`${ready}.reason`, "x"],
      [`${ready}y`, "x"]
    ])
  hotLoop.valued(at, [
    [ready, "x"],
    [`${ready}y`, "x"]
  ])
  expect(undone()).toEqual([ready, `${ready}y`])
  hotLoop.valued(at, [[`${ready}.reason`, "x"]])
  expect(undone()).toEqual([`${ready}.reason`, `${ready}y`])
  hotLoop.valued(at, [[ready, "gone"]])
  expect(undone()).toEqual([`${ready}y`])
})

test("an intent is the same as before, or another", () => {
  const hotLoop = HotLoop.make()
  expect(["one", "one", "two", "one"].map((intent) => hotLoop.intends(at, intent))).toEqual([false, true, false, false])
})

test("of its own writes those of a while ago are forgotten", () => {
  const hotLoop = HotLoop.make()
  for (let version = 0; version < 1000; version++) hotLoop.own("u", String(version))
  const first = 1000 - HotLoop.mostVersions
  // A run may well write a hundred children, and hear of the first of them last.
  expect(first).toBeLessThanOrEqual(900)
  const versions = [999, 900, first, first - 1, 0].map(String)
  expect(versions.map((version) => hotLoop.isOwn("u", version))).toEqual([true, true, true, false, false])
  expect(hotLoop.isOwn("v", "999")).toBe(false)
})

test("what it holds takes no more than it counts, however long the names are", () => {
  const heap = (): number => {
    Bun.gc(true)
    return process.memoryUsage().heapUsed
  }
  // The least of three: garbage of other tests may count in one of them.
  const taken = (write: (hotLoop: HotLoop.HotLoop, uid: string) => void) => {
    const rounds = Array.from({ length: 3 }, () => {
      const before = heap()
      const hotLoop = HotLoop.make()
      for (let index = 0; index < 4096; index++) write(hotLoop, `uid-${index}`)
      const heaped = heap() - before
      return { heaped, ...hotLoop.size() }
    })
    return rounds.reduce((least, round) => (round.heaped < least.heaped ? round : least))
  }
  const fields = Array.from({ length: 12 }, (_, index) => `status.conditions[Type${index}].message`)
  // What B14 of a review measured: 19 MiB.
  const statuses = taken((hotLoop, uid) => {
    hotLoop.valued(
      { uid, place: `WebApp shop/${uid}` },
      fields.map((field) => [field, uid])
    )
    hotLoop.own(uid, "123")
  })
  expect(statuses.objects).toBe(4096)
  expect(statuses.heaped).toBeLessThan(1.2 * statuses.bytes)
  const repairs = taken((hotLoop, uid) => {
    const long = "A".repeat(20_000)
    hotLoop.intends({ uid, place: "Deployment shop/a" }, "intent")
    for (let time = 0; time < 4; time++)
      hotLoop.wrote({ uid, place: "Deployment shop/a" }, [`env[${uid}${long}]`], time)
  })
  expect(repairs.heaped).toBeLessThan(1.2 * repairs.bytes)
  for (const { bytes } of [statuses, repairs]) expect(bytes).toBeLessThanOrEqual(HotLoop.capacity)
})

test("of many objects and fields those written longest ago are forgotten", () => {
  const hotLoop = HotLoop.make()
  const place = (index: number) => ({ uid: `u${index}`, place: "a" })
  const most = 50_000
  for (let index = 0; index < most; index++) {
    writing(hotLoop, [0, 1, 2, 3], "data.a", place(index))
    // One that goes on being written stays, however many others there are.
    hotLoop.wrote(place(0), ["data.a"], 3000)
    expect(hotLoop.size().bytes).toBeLessThanOrEqual(HotLoop.capacity)
  }
  expect(hotLoop.size().objects).toBeGreaterThan(4096)
  const isKnown = (index: number) => hotLoop.due(place(index), ["data.a"], 4000, 5).length > 0
  expect([0, 1, most / 2, most - 1].map(isKnown)).toEqual([true, false, false, true])

  for (let index = 0; index < 3 * HotLoop.mostFields; index++) writing(hotLoop, [0, 1, 2, 3], `data.${index}`)
  const fields = Array.from({ length: 3 * HotLoop.mostFields }, (_, index) => `data.${index}`)
  expect(hotLoop.due(at, fields, 4000, 5)).toEqual(fields.slice(-HotLoop.mostFields))
})
