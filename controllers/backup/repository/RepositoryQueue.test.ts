import { expect, test } from "bun:test"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as RepositoryQueue from "./RepositoryQueue.ts"

const cart = { namespace: "shop", name: "cart" }
const db = { namespace: "shop", name: "db" }

test("RepositoryQueue.alone runs its effects one at a time, in order", () =>
  Effect.gen(function* () {
    const { alone } = RepositoryQueue.make()
    const gate = yield* Deferred.make<void>()
    const seen: Array<string> = []
    const first = yield* Effect.forkChild(
      alone(
        Effect.andThen(
          Deferred.await(gate),
          Effect.sync(() => seen.push("first"))
        )
      )
    )
    yield* Effect.yieldNow
    const others = yield* Effect.forEach(["second", "third"], (name) =>
      Effect.forkChild(alone(Effect.sync(() => seen.push(name)))).pipe(Effect.tap(() => Effect.yieldNow))
    )
    yield* Effect.yieldNow
    expect(seen).toEqual([])
    yield* Deferred.succeed(gate, undefined)
    yield* Fiber.joinAll([first, ...others])
    expect(seen).toEqual(["first", "second", "third"])
  }).pipe(Effect.runPromise))

test("RepositoryQueue.alone continues after a failure, a defect and an interruption", () =>
  Effect.gen(function* () {
    const { alone } = RepositoryQueue.make()
    yield* Effect.exit(alone(Effect.fail("no")))
    yield* Effect.exit(alone(Effect.die("no")))
    const stuck = yield* Effect.forkChild(alone(Effect.never))
    yield* Effect.yieldNow
    yield* Fiber.interrupt(stuck)
    expect(yield* Effect.exit(alone(Effect.succeed(1)))).toEqual(Exit.succeed(1))
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

test("RepositoryQueue.wait keeps the position for the same repository, and moves the key to the end for another one", () => {
  const turns = RepositoryQueue.make()
  const run = Effect.runSync
  run(turns.wait("Backup", db, "one"))
  run(turns.wait("Backup", cart, "one"))
  run(turns.wait("Backup", db, "one"))
  expect(run(turns.next("Backup", "one", all))).toEqual([db, cart])
  run(turns.wait("Backup", db, "two"))
  run(turns.wait("Backup", db, "one"))
  expect(run(turns.next("Backup", "one", all))).toEqual([cart, db])
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
