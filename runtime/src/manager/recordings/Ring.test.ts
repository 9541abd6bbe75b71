import { expect, test } from "bun:test"
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import type { Exchange } from "../../client/Exchange.ts"
import * as AttemptFixture from "../../controller/Attempt.fixture.ts"
import { type Attempt, Outcome } from "../../controller/Attempt.ts"
import * as Memory from "../../controller/Memory.ts"
import * as BuiltIn from "../../resource/BuiltIn.ts"
import type { KubernetesObject } from "../../resource/KubernetesObject.ts"
import * as Ring from "./Ring.ts"

const object = (name: string, text = ""): KubernetesObject & { readonly text: string } => ({
  metadata: { name, namespace: "default", uid: name, resourceVersion: "1", creationTimestamp: "" },
  text
})

const wrote: ReadonlyArray<Exchange> = [AttemptFixture.exchange()]

let last = 0
const id = (): string => `00000000-0000-4000-8000-${String(++last).padStart(12, "0")}`

const attempt = (over: Partial<Attempt> = {}): Attempt =>
  AttemptFixture.attempt({
    id: id(),
    object: object("a"),
    memory: Memory.make().entriesOf("a", 0),
    exchanges: wrote,
    ...over
  })

const failed = (message: string) => Outcome.Failed({ cause: Cause.empty, error: new Error(message), defect: false })

test("The ring keeps only attempts that failed or wrote", () => {
  const ring = Ring.make()
  const none = { exchanges: [] }
  const read = AttemptFixture.exchange({ request: { ...AttemptFixture.exchange().request, method: "GET" } })
  const dryRun = AttemptFixture.exchange({ request: { ...AttemptFixture.exchange().request, dryRun: true } })
  ring.record(attempt(none))
  ring.record(attempt({ exchanges: [read, dryRun] }))
  ring.record(attempt({ ...none, outcome: Outcome.Interrupted() }))
  ring.record(attempt({ object: undefined, memory: undefined }))
  expect(ring.all()).toEqual([])
  ring.record(attempt())
  ring.record(attempt({ ...none, outcome: failed("no") }))
  expect(ring.all().map(({ recorded }) => recorded.ending.outcome)).toEqual(["Failed", "Done"])
})

test("The ring keeps the newest recordings up to its count", () => {
  const ring = Ring.make({ count: 3 })
  const all = Array.from({ length: 5 }, () => attempt())
  for (const each of all) ring.record(each)
  expect(ring.all().map(({ recorded }) => recorded.id)).toEqual(
    all
      .slice(-3)
      .reverse()
      .map(({ id }) => id)
  )
  const off = Ring.make({ count: 0 })
  off.record(attempt())
  expect(off.all()).toEqual([])
})

test("The ring keeps the newest recordings up to its bytes, and counts a shared object once in a recording", () => {
  const bytes = 200_000
  const ring = Ring.make({ bytes })
  for (let index = 0; index < 50; index++) {
    const big = object("a", "x".repeat(10_000))
    const reads = {
      kept: Array.from(
        { length: 20 },
        () => ({ verb: "get", resource: BuiltIn.Pod, of: "default/a", found: big }) as const
      ),
      count: 20
    }
    ring.record(attempt({ object: big, reads }))
  }
  expect(ring.size().bytes).toBeLessThanOrEqual(bytes)
  expect(ring.all().length).toBeGreaterThan(10)
  expect(ring.all().length).toBeLessThan(20)
})

test("The ring drops an attempt that is larger than an eighth of its bytes, and reports it as too large", () => {
  const ring = Ring.make({ bytes: 80_000 })
  const large = attempt({ object: object("a", "x".repeat(10_001)) })
  ring.record(large)
  expect(ring.find(large.id)).toEqual([])
  expect(ring.isTooLarge(large.id)).toBe(true)
  const body = "x".repeat(10_001)
  const answered = AttemptFixture.exchange({ answer: Exit.succeed({ status: 200, headers: new Headers(), body }) })
  ring.record(attempt({ exchanges: [answered] }))
  const list = {
    verb: "list",
    resource: BuiltIn.Pod,
    of: undefined,
    found: Array.from({ length: 300 }, (_, at) => object(`p-${at}`))
  } as const
  ring.record(attempt({ reads: { kept: [list], count: 1 } }))
  expect(ring.all()).toEqual([])
  expect(ring.isTooLarge(attempt().id)).toBe(false)
})

test("A failure that repeats without a write keeps its latest recording", () => {
  const ring = Ring.make()
  const failing = (message: string, over: Partial<Attempt> = {}) =>
    attempt({ exchanges: [], outcome: failed(message), ...over })
  for (const each of [failing("one"), failing("one"), failing("two"), failing("two", { exchanges: wrote })]) {
    ring.record(each)
  }
  const other = failing("two", { key: "default/b" })
  ring.record(other)
  expect(ring.all().map(({ recorded }) => [recorded.key, recorded.ending.message])).toEqual([
    ["default/b", "two"],
    ["default/a", "two"],
    ["default/a", "two"],
    ["default/a", "one"]
  ])
})

test("A recording is found by its trace and by its reconcileID, with dashes or without", () => {
  const ring = Ring.make()
  const one = attempt()
  ring.record(one)
  const trace = one.id.replaceAll("-", "")
  for (const wanted of [one.id, trace, one.id.toUpperCase()]) {
    expect(ring.find(wanted).map(({ id }) => id)).toEqual([one.id])
  }
  expect(ring.traceOf(one.id)).toBe(trace)
  expect(ring.traceOf("other")).toBeUndefined()
  expect(ring.find("")).toEqual([])
})

test("Texts count by the bytes of their characters, and the memory of the controller counts too", () => {
  const sizeOf = (over: Partial<Attempt>): number => {
    const ring = Ring.make()
    ring.record(attempt(over))
    return ring.size().bytes
  }
  const usual = sizeOf({})
  const body = (text: string) => {
    const { request } = AttemptFixture.exchange()
    return { exchanges: [AttemptFixture.exchange({ request: { ...request, body: text } })] }
  }
  expect(sizeOf(body("x".repeat(1000)))).toBe(usual + 1000)
  expect(sizeOf(body("\u0436".repeat(1000)))).toBe(usual + 2000)
  const text = (each: string) => sizeOf({ object: object("a", each.repeat(1000)) })
  expect(text("\u0436")).toBe(text("x") + 1000)
  const accepted = new Map(Array.from({ length: 200 }, (_, at) => [`slot-${at}`, BigInt(at)]))
  expect(sizeOf({ memory: { ...Memory.make().entriesOf("u", 0), accepted } })).toBeGreaterThan(usual + 20_000)
})
