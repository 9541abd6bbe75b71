import { describe, expect, test } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

import * as Logger from "effect/Logger"
import * as References from "effect/References"
import { fenced, fromStatus } from "../client/ApiError.ts"
import * as Disconnect from "../client/Disconnect.ts"
import * as Recording from "../telemetry/Recording.ts"
import * as Fixture from "./Attempt.fixture.ts"
import { type Attempt, log, messageOf, type Next, Outcome, outcomeOf, ReconcileTimeout } from "./Attempt.ts"
import * as Result from "./Result.ts"
import { TerminalError } from "./TerminalError.ts"
import { capture, unreachable } from "./World.fixture.ts"

describe("The outcome", () => {
  const terminal = new TerminalError({ message: "never" })
  const stopped = Cause.interrupt()
  const elsewhere = Disconnect.make({ method: "GET", path: "/" }, "https://other.test", "ECONNREFUSED")
  const heldBack = fenced({ method: "PATCH", path: "/x" }, "too late")
  const table: ReadonlyArray<readonly [string, Exit.Exit<Result.Result, unknown>, Outcome["_tag"]]> = [
    ["of a result is the result: done", Exit.succeed(Result.done), "Done"],
    ["of a result is the result: requeue", Exit.succeed(Result.requeue), "Requeue"],
    ["of a result is the result: requeueAfter", Exit.succeed(Result.requeueAfter("1 second")), "RequeueAfter"],
    ["of a failure is Failed", Exit.fail("no luck"), "Failed"],
    ["of a TerminalError is Terminal", Exit.fail(terminal), "Terminal"],
    ["of a Transport error is Unreachable", Exit.fail(unreachable), "Unreachable"],
    ["of a Transport error of another server is Failed", Exit.fail(elsewhere), "Failed"],
    ["of a defect is Failed", Exit.die("boom"), "Failed"],
    ["of an interruption from outside is Interrupted", Exit.failCause(stopped), "Interrupted"],
    ["of a fenced write after the end of the leadership is Interrupted", Exit.fail(heldBack), "Interrupted"],
    [
      "is that of the failure, even if a finalizer died after it",
      Exit.failCause(Cause.combine(Cause.fail(terminal), Cause.die("boom"))),
      "Terminal"
    ],
    [
      "is that of the failure, even if concurrent fibers were interrupted",
      Exit.failCause(Cause.combine(stopped, Cause.fail(unreachable))),
      "Unreachable"
    ]
  ]
  for (const [name, exit, tag] of table) {
    test(name, () => expect(outcomeOf(exit, { interrupted: true, server: "memory" })._tag).toBe(tag))
  }
  test("of an interruption from within is Failed", () => {
    expect(outcomeOf(Exit.failCause(stopped), { interrupted: false, server: "memory" })).toMatchObject({
      _tag: "Failed",
      defect: true
    })
  })
  test("distinguishes a defect from a failure", () => {
    expect(outcomeOf(Exit.die("boom"), { interrupted: false, server: "memory" })).toMatchObject({
      defect: true,
      error: "boom"
    })
    expect(outcomeOf(Exit.fail("no luck"), { interrupted: false, server: "memory" })).toMatchObject({
      defect: false,
      error: "no luck"
    })
  })
})

describe("The line of an error", () => {
  for (const [error, line] of [
    [new Error("boom"), "boom"],
    [new TypeError(), "TypeError"],
    ["no luck", "no luck"],
    [{ code: 7 }, '{"code":7}'],
    [{ code: 7, password: "hunter2" }, '{"code":7,"password":"<redacted>"}'],
    [new ReconcileTimeout({ after: Duration.minutes(2) }), "the reconcile took longer than 2m"]
  ] as const) {
    test(`is ${line}`, () => expect(messageOf(error)).toBe(line))
  }
})

describe("The log line of an attempt", () => {
  const attempt = (outcome: Outcome, next: Next = { _tag: "Wait" }): Attempt => Fixture.attempt({ outcome, next })
  const failed = (defect: boolean) => Outcome.Failed({ cause: Cause.die("boom"), error: new Error("boom"), defect })
  const conflict = fromStatus({ method: "PATCH", path: "/x" }, { kind: "Status", message: "modified" }, 409)
  const lost = Outcome.Failed({ cause: Cause.fail(conflict), error: conflict, defect: false })
  const again: Next = { _tag: "Run", afterMillis: 5 }
  const table: ReadonlyArray<readonly [Attempt, ReadonlyArray<string>]> = [
    [attempt(Outcome.Done()), []],
    [attempt(lost, again), []],
    [{ ...attempt(lost, again), number: 2 }, ["WARN Reconcile failed, again in 5 ms: PATCH /x: modified"]],
    [attempt(Outcome.Vanished()), []],
    [attempt(Outcome.Requeue({}), { _tag: "Run", afterMillis: 5 }), []],
    [attempt(Outcome.Unreachable({ error: unreachable })), []],
    [attempt(Outcome.Interrupted()), ["INFO Reconcile interrupted after 25 ms"]],
    [attempt(failed(false), { _tag: "Run", afterMillis: 5 }), ["WARN Reconcile failed, again in 5 ms: boom"]],
    [
      attempt(failed(false), { _tag: "GiveUp" }),
      ["ERROR Reconcile failed, given up until the next trigger: its retry schedule has ended: boom"]
    ],
    [
      attempt(failed(true), { _tag: "Run", afterMillis: 5 }),
      ["ERROR Reconcile died, again in 5 ms: boom (with its stack)"]
    ],
    [
      attempt(Outcome.Terminal({ error: new TerminalError({ message: "never" }) })),
      ["ERROR Reconcile failed permanently: never"]
    ]
  ]
  for (const [of, lines] of table) {
    effect(`that is ${of.outcome._tag}, then ${of.next._tag}, is ${lines[0] ?? "for debugging only"}`, () =>
      Effect.gen(function* () {
        const logged: Array<string> = []
        yield* Effect.provide(log(of), capture(logged))
        expect(logged).toEqual([...lines])
      })
    )
  }
})

describe("The log line of a traced attempt", () => {
  effect("has the ids of its trace, which other lines do not have", () =>
    Effect.gen(function* () {
      const annotations: Array<Record<string, unknown>> = []
      const logger = Logger.make((line) => {
        annotations.push({ ...line.fiber.getRef(References.CurrentLogAnnotations) })
      })
      const outcome = Outcome.Failed({ cause: Cause.fail("no"), error: "no", defect: false })
      const next: Next = { _tag: "Run", afterMillis: 5 }
      const root = Recording.root("reconcile widgets", { startTime: 0n })
      for (const of of [{ root }, {}]) {
        yield* Effect.provide(log(Fixture.attempt({ outcome, next, number: 2, ...of })), Logger.layer([logger]))
      }
      expect(annotations).toMatchObject([
        { controller: "widgets", reconcileID: "id", trace_id: root.traceId, span_id: root.spanId },
        { controller: "widgets", reconcileID: "id" }
      ])
      expect(annotations[1]).not.toHaveProperty("trace_id")
    })
  )
})
