import { expect, test } from "bun:test"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as RepositoryQueue from "./RepositoryQueue.ts"

const cart = { namespace: "shop", name: "cart" }
const db = { namespace: "shop", name: "db" }

/** Runs an effect that waits for ever under some names, and then another one. Returns whether that one ran. */
const passes = (first: ReadonlyArray<string>, second: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { alone } = RepositoryQueue.make()
    const held = yield* Effect.forkChild(alone(first)(Effect.never))
    yield* Effect.yieldNow
    const other = yield* Effect.forkChild(alone(second)(Effect.succeed(1)))
    yield* Effect.yieldNow
    yield* Effect.yieldNow
    const passed = other.pollUnsafe() !== undefined
    yield* Fiber.interrupt(held)
    expect(yield* Fiber.join(other)).toBe(1)
    return passed
  })

for (const [what, first, second, expected] of [
  ["in one namespace and repository", ["a", "r"], ["a", "r"], false],
  ["in one namespace", ["a", "r"], ["a", "s"], false],
  ["on one repository", ["a", "r"], ["b", "r"], false],
  ["in different namespaces on different repositories", ["a", "r"], ["b", "s"], true]
] as const) {
  test(`RepositoryQueue.alone ${expected ? "does not delay" : "delays"} an effect ${what}`, async () =>
    expect(await Effect.runPromise(passes(first, second))).toBe(expected))
}

test("RepositoryQueue.alone runs its effects in order", () =>
  Effect.gen(function* () {
    const { alone } = RepositoryQueue.make()
    const gate = yield* Deferred.make<void>()
    const seen: Array<string> = []
    const first = yield* Effect.forkChild(
      alone(["a", "r"])(
        Effect.andThen(
          Deferred.await(gate),
          Effect.sync(() => seen.push("first"))
        )
      )
    )
    yield* Effect.yieldNow
    const others = yield* Effect.forEach(["second", "third"], (name) =>
      Effect.forkChild(alone(["a", "r"])(Effect.sync(() => seen.push(name)))).pipe(Effect.tap(() => Effect.yieldNow))
    )
    yield* Effect.yieldNow
    expect(seen).toEqual([])
    yield* Deferred.succeed(gate, undefined)
    yield* Fiber.joinAll([first, ...others])
    expect(seen).toEqual(["first", "second", "third"])
  }).pipe(Effect.runPromise))

test("RepositoryQueue.alone continues after a failure, a defect and an interruption", () =>
  Effect.gen(function* () {
    const alone = RepositoryQueue.make().alone(["a", "r"])
    yield* Effect.exit(alone(Effect.fail("no")))
    yield* Effect.exit(alone(Effect.die("no")))
    const stuck = yield* Effect.forkChild(alone(Effect.never))
    yield* Effect.yieldNow
    yield* Fiber.interrupt(stuck)
    expect(yield* Effect.exit(alone(Effect.succeed(1)))).toEqual(Exit.succeed(1))
  }).pipe(Effect.runPromise))

test("RepositoryQueue.starting holds a slot while the request of a start waits, and no decision waits for it", () =>
  Effect.gen(function* () {
    const turns = RepositoryQueue.make()
    const free = Effect.sync(() => (Array.from(turns.starts("Backup")).length < 1 ? undefined : "full"))
    const gate = yield* Deferred.make<string>()
    const slow = yield* Effect.forkChild(turns.starting("Backup", cart, free, Deferred.await(gate)))
    yield* Effect.yieldNow
    expect(Array.from(turns.starts("Backup"))).toEqual([cart])
    expect(yield* turns.starting("Backup", db, free, Effect.succeed("made"))).toEqual(Result.fail("full"))
    expect(yield* turns.starting("Restore", db, Effect.succeed(undefined), Effect.succeed("made"))).toEqual(
      Result.succeed("made")
    )
    yield* Deferred.succeed(gate, "made")
    expect(yield* Fiber.join(slow)).toEqual(Result.succeed("made"))
    yield* Effect.exit(turns.starting("Backup", cart, free, Effect.fail("no")))
    const stuck = yield* Effect.forkChild(turns.starting("Backup", cart, free, Effect.never))
    yield* Effect.yieldNow
    yield* Fiber.interrupt(stuck)
    expect(Array.from(turns.starts("Backup"))).toEqual([])
  }).pipe(Effect.runPromise))

test("RepositoryQueue.starting gives one slot once, although the fibers of decisions take turns", () =>
  Effect.gen(function* () {
    const turns = RepositoryQueue.make()
    const free = Effect.suspend(() => {
      const busy = Array.from(turns.starts("Backup")).length < 1 ? undefined : "full"
      return Effect.as(Effect.yieldNow, busy)
    })
    const starts = [cart, db].map((key) => turns.starting("Backup", key, free, Effect.as(Effect.sleep(1), "made")))
    expect(yield* Effect.all(starts, { concurrency: "unbounded" })).toEqual([
      Result.succeed("made"),
      Result.fail("full")
    ])
  }).pipe(Effect.runPromise))

const all = () => Effect.succeed(true)

test("RepositoryQueue.next returns the first two keys of the repository and the first two that wait for a Job slot", () => {
  const turns = RepositoryQueue.make()
  const run = Effect.runSync
  const key = (name: string) => ({ namespace: "shop", name })
  for (const name of ["a", "b", "c"]) run(turns.wait("Backup", key(name), "one"))
  for (const name of ["d", "e", "f"]) run(turns.wait("Backup", key(name), RepositoryQueue.place))
  run(turns.wait("Backup", key("g"), "two"))
  run(turns.wait("Restore", key("a"), "one"))
  expect(run(turns.next("Backup", "one", all))).toEqual(["a", "b", "d", "e"].map(key))
  expect(run(turns.next("Backup", "two", all))).toEqual(["g", "d", "e"].map(key))
  expect(run(turns.next("Restore", "one", all))).toEqual([key("a")])
})

test("RepositoryQueue.wait keeps the place for each reason, when the reason changes", () => {
  const turns = RepositoryQueue.make()
  const at = (millis: number, kind: RepositoryQueue.Kind, key: typeof db, what: string) =>
    Effect.runSync(
      turns.wait(kind, key, what).pipe(
        Effect.provideService(Clock.Clock, {
          ...Effect.runSync(Clock.Clock),
          currentTimeMillis: Effect.succeed(millis)
        })
      )
    )
  const next = () => Effect.runSync(turns.next("Backup", "one", all))
  at(1000, "Backup", db, "one")
  at(2000, "Backup", cart, "one")
  at(3000, "Backup", db, RepositoryQueue.place)
  expect([turns.since("Backup", db, "one"), turns.since("Backup", db, RepositoryQueue.place)]).toEqual([
    undefined,
    3000
  ])
  expect(next()).toEqual([cart, db])
  at(4000, "Backup", db, "one")
  expect([turns.since("Backup", db, "one"), next()]).toEqual([1000, [db, cart]])
  at(5000, "Backup", db, RepositoryQueue.place)
  expect(turns.since("Backup", db, RepositoryQueue.place)).toBe(3000)
  // After its turn it waits anew.
  Effect.runSync(turns.leave("Backup", db))
  at(6000, "Backup", db, "one")
  expect([turns.since("Backup", db, "one"), next()]).toEqual([6000, [cart, db]])
  // A user can name any number of repositories.
  for (let step = 0; step < 100; step++) at(7000 + step, "Backup", db, `other ${step}`)
  at(8000, "Backup", db, "one")
  expect(turns.since("Backup", db, "one")).toBe(8000)
})

test("RepositoryQueue.next skips keys that left or no longer exist", () => {
  const turns = RepositoryQueue.make()
  const run = Effect.runSync
  const key = (name: string) => ({ namespace: "shop", name })
  for (const name of ["a", "b", "c", "d"]) run(turns.wait("Backup", key(name), "one"))
  run(turns.leave("Backup", key("a")))
  run(turns.leave("Backup", key("a")))
  const exists = ({ name }: { readonly name: string }) => Effect.succeed(name !== "b")
  expect(run(turns.next("Backup", "one", exists))).toEqual([key("c"), key("d")])
  // Another object with the same name comes last.
  run(turns.wait("Backup", key("b"), "one"))
  run(turns.leave("Backup", key("c")))
  expect(run(turns.next("Backup", "one", all))).toEqual([key("d"), key("b")])
})

test("Each process has one RepositoryQueue", () =>
  expect(Effect.runSync(RepositoryQueue.RepositoryQueue)).toBe(Effect.runSync(RepositoryQueue.RepositoryQueue)))
