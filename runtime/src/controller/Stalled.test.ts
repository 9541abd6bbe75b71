import { describe, expect } from "bun:test"
import * as Faults from "@homeostat/testkit/Faults"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as ApiError from "../client/ApiError.ts"
import type * as Cluster from "../client/Cluster.fixture.ts"
import { rejected } from "../client/Refusal.fixture.ts"
import * as Refusal from "../client/Refusal.ts"
import { ConfigMap, Deployment, Service } from "../resource/BuiltIn.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import * as Access from "./Access.ts"
import * as Controller from "./Controller.ts"
import * as Owned from "./Owned.ts"
import * as Result from "./Result.ts"
import * as RunnerFixture from "./Runner.fixture.ts"
import * as Status from "./Status.ts"
import { TerminalError } from "./TerminalError.ts"
import { counted, pass, run, settle, story, unreachable, Widget, widget, withWorld } from "./World.fixture.ts"

const refusal = (words: string, causes: ReadonlyArray<{ readonly reason: string }> = []): ApiError.Forbidden => {
  const request = { method: "PATCH", path: "/apis/apps/v1/namespaces/default/deployments/a" }
  const error = ApiError.fromStatus(
    request,
    { kind: "Status", reason: "Forbidden", message: words, details: { causes } },
    403
  )
  if (!(error instanceof ApiError.Forbidden)) throw new Error(`no refusal: ${error._tag}`)
  return error
}

const answered = (code: number, reason: string): ApiError.ApiError =>
  ApiError.fromStatus({ method: "PATCH", path: "/x" }, { kind: "Status", reason, message: reason }, code)

const unauthorized = (verb: string, resource = "deployments", group = "apps", where = ' in the namespace "default"') =>
  refusal(`x "a" is forbidden: User "u:v" cannot ${verb} resource "${resource}" in API group "${group}"${where}`)

const statuses = (server: Cluster.Cluster) => server.writes().filter(({ path }) => path.endsWith("/status"))

const retry = Schedule.spaced("1 second")

const conditions = (server: Cluster.Cluster) => server.get(Widget, "a")?.status?.conditions ?? []

const reasons = (server: Cluster.Cluster) =>
  conditions(server).map(({ reason, status, type }) => `${type} ${status} ${reason}`)

const events = (server: Cluster.Cluster) =>
  server.events().map(({ note, reason, type }) => `${type} ${reason}: ${note}`)

describe("A reconcile with a Forbidden error", () => {
  effect(
    "is reported once for repeated attempts, in addition to the own conditions, until the reconcile succeeds",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, { ...widget("a"), status: { phase: "Old" } })
        const { reconcile } = counted((n, _) =>
          n <= 3 ? Effect.fail(unauthorized("patch")) : Effect.succeed(Result.done)
        )
        yield* run({ reconcile, retry })
        yield* pass("2 seconds")
        expect(story(attempts)).toEqual(["Failed +1000", "Failed +1000", "Failed +1000"])
        const facts = {
          reason: "Forbidden",
          message: Refusal.describe(unauthorized("patch"), () => false),
          observedGeneration: 1,
          lastTransitionTime: "1970-01-01T00:00:00Z"
        }
        expect(server.get(Widget, "a")?.status).toMatchObject({
          phase: "Old",
          conditions: [
            { type: "Ready", status: "False", ...facts },
            { type: "Stalled", status: "True", ...facts }
          ]
        })
        expect(statuses(server)).toHaveLength(1)

        yield* pass("1 second")
        expect(attempts[3]?.outcome._tag).toBe("Done")
        expect(server.get(Widget, "a")?.status).toMatchObject({ phase: "Old", conditions: [] })
        expect(statuses(server)).toHaveLength(2)
        yield* pass("1 minute")
        expect(statuses(server)).toHaveLength(2)
      })
    )
  )

  effect(
    "mentions exactly the declaration that the controller lacks",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const refusals = [
          unauthorized("patch"),
          unauthorized("patch", "deployments/scale"),
          unauthorized("get", "secrets", ""),
          unauthorized("create", "services", ""),
          unauthorized("patch", "widgets", "example.com")
        ]
        const { reconcile } = counted((n, _) => refusals[n - 1] ?? Effect.succeed(Result.done))
        const ends: Array<boolean> = []
        yield* run({ reconcile, retry, owns: [Service], access: [Access.patch(Deployment, { subresource: "scale" })] })
        for (const { message } of refusals) {
          const [stalled] = conditions(server)
          expect(stalled?.message).toContain(message)
          ends.push(stalled?.message.endsWith(", and the controller does not declare it: add it to access") === true)
          yield* pass("1 second")
        }
        expect(ends).toEqual([true, false, true, false, true])
      })
    )
  )

  effect(
    "keeps earlier status writes of the attempt, and the next success replaces its report",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const ready = {
          type: "Ready",
          status: "True" as const,
          reason: "Forbidden",
          message: "is what it makes",
          lastTransitionTime: "2026-11-20T00:00:00Z"
        }
        const { reconcile } = counted((n, owner) =>
          Effect.gen(function* () {
            yield* Status.update(owner, {
              phase: n === 1 ? "First" : "Later",
              ...(n === 1 ? {} : { conditions: [ready] })
            })
            return n === 1 ? yield* unauthorized("patch") : Result.done
          })
        )
        yield* run({ reconcile, retry })
        expect(server.get(Widget, "a")?.status).toMatchObject({
          phase: "First",
          conditions: [{ reason: "Forbidden" }, {}]
        })
        yield* pass("1 second")
        expect(server.get(Widget, "a")?.status).toMatchObject({ conditions: [ready] })
        const written = statuses(server).length
        server.change(Widget, "a", { metadata: { labels: { touched: "yes" } } })
        yield* settle
        expect(statuses(server)).toHaveLength(written)
        expect(server.get(Widget, "a")?.status).toMatchObject({ conditions: [ready] })
      })
    )
  )

  const others: ReadonlyArray<readonly [string, Effect.Effect<never, unknown>, string | undefined]> = [
    ["a 422", Effect.fail(answered(422, "Invalid")), "Invalid"],
    ["a terminal error", Effect.fail(new TerminalError({ message: "hopeless" })), "TerminalError"],
    ["a defect", Effect.die(new Error("bad")), "InternalError"],
    ["another failure", Effect.fail("bad"), undefined],
    ["a conflict, which is not about permissions", Effect.fail(answered(409, "Conflict")), "Forbidden"],
    ["a 500, which is not about permissions", Effect.fail(answered(500, "InternalError")), "Forbidden"],
    ["a 503, which is not about permissions", Effect.fail(answered(503, "ServiceUnavailable")), "Forbidden"],
    ["a missing answer, which is not about permissions", Effect.fail(unreachable), "Forbidden"]
  ]
  for (const [what, failure, reason] of others) {
    effect(
      `${reason === undefined ? "loses its conditions" : `has conditions of reason ${reason}`} when the next attempt fails with ${what}`,
      withWorld(({ attempts, server }) =>
        Effect.gen(function* () {
          server.put(Widget, { ...widget("a"), status: { phase: "Old" } })
          const { reconcile } = counted(
            (n): Effect.Effect<Result.Result, unknown> => (n === 1 ? Effect.fail(unauthorized("patch")) : failure)
          )
          yield* run({ reconcile, retry: Schedule.spaced("1 second") })
          yield* pass("1 second")
          expect(attempts[1]?.outcome._tag).not.toBe("Done")
          expect(reasons(server)).toEqual(
            reason === undefined ? [] : [`Ready False ${reason}`, `Stalled True ${reason}`]
          )
        })
      )
    )
  }

  effect(
    "that then fails for another reason has the new outcome, even if the report cannot be removed",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const error = new TerminalError({ message: "hopeless" })
        const { reconcile } = counted((n) => Effect.fail(n === 1 ? unauthorized("patch") : error))
        yield* run({ reconcile, retry })
        server.faults.on({ subresource: "status" }, Faults.answer(422))
        yield* pass("1 second")
        expect(attempts.map(({ outcome }) => outcome)).toMatchObject([{ _tag: "Failed" }, { _tag: "Terminal", error }])
        expect(statuses(server)).toHaveLength(2)
      })
    )
  )

  effect(
    "writes no status to an object that its clean-up removed",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        let cleaned = 0
        const finalizer = {
          name: "example.com/finalizer",
          cleanup: () => (cleaned++ === 0 ? Effect.fail(unauthorized("delete")) : Effect.void)
        }
        yield* run({ reconcile: () => Effect.succeed(Result.done), finalizer, retry })
        server.remove(Widget, "a")
        yield* settle
        expect(statuses(server)).toHaveLength(1)
        yield* pass("1 second")
        expect(server.get(Widget, "a")).toBeUndefined()
        expect(story(attempts)).toContain("Failed +1000")
        expect(statuses(server)).toHaveLength(1)
      })
    )
  )

  const silent: ReadonlyArray<readonly [string, ApiError.Forbidden]> = [
    ["in a namespace that is being deleted", refusal("it is being terminated", [{ reason: "NamespaceTerminating" }])],
    ["for the status itself", unauthorized("patch", "widgets/status", "example.com")]
  ]
  for (const [why, error] of silent) {
    effect(
      `${why} writes nothing`,
      withWorld(({ attempts, server }) =>
        Effect.gen(function* () {
          server.put(Widget, widget("a"))
          yield* run({ reconcile: counted(() => Effect.fail(error)).reconcile, retry })
          yield* pass("3 seconds")
          expect(story(attempts)).toEqual(Array(4).fill("Failed +1000"))
          expect(server.writes()).toEqual([])
        })
      )
    )
  }

  effect(
    "writes only an Event about a kind without conditions in its status",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        const Plain = CustomResource.make({
          group: "example.com",
          version: "v1",
          kind: "Plain",
          spec: Schema.Struct({}),
          status: Schema.Struct({ phase: Schema.String })
        })
        server.put(Plain, { metadata: { name: "a" }, spec: {} })
        const controller = Controller.make("plain", {
          for: Plain,
          retry,
          reconcile: () => Effect.fail(unauthorized("patch"))
        })
        const runner = yield* RunnerFixture.start(controller, { gracePeriod: 0 })
        yield* runner.started
        yield* settle
        expect(story(attempts)).toEqual(["Failed +1000"])
        expect(server.writes().map(({ path }) => path.split("/").at(-1))).toEqual(["events"])
        expect(server.events().map(({ reason }) => reason)).toEqual(["Forbidden"])
      })
    )
  )

  effect(
    "fails with that error, even if the report fails",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        server.faults.on({ subresource: "status" }, Faults.answer(403))
        const error = unauthorized("patch")
        yield* run({ reconcile: counted(() => Effect.fail(error)).reconcile, retry })
        expect(attempts.map(({ outcome }) => outcome._tag === "Failed" && outcome.error)).toEqual([error])
        expect(statuses(server)).toHaveLength(1)
      })
    )
  )
})

describe("An attempt with a permanent error", () => {
  const immutable = rejected("spec.selector", 'Invalid value: {"a":"b"}: field is immutable')
  const hopeless = new TerminalError({ message: "hopeless" })
  const cases: ReadonlyArray<readonly [string, unknown, string, string]> = [
    ["for a child that the API server rejects", immutable, "Invalid", Refusal.describe(immutable)],
    ["for a terminal error", hopeless, "TerminalError", "The reconcile stopped: hopeless"]
  ]
  for (const [why, error, reason, message] of cases) {
    effect(
      `${why} is reported in conditions and an Event, and is not retried until a change`,
      withWorld(({ attempts, server }) =>
        Effect.gen(function* () {
          server.put(Widget, widget("a"))
          const { reconcile } = counted((_, { spec }) =>
            spec.size === 1 ? Effect.fail(error) : Effect.succeed(Result.done)
          )
          yield* run({ reconcile, retry })
          yield* pass("1 hour")
          expect(story(attempts)).toEqual(["Terminal"])
          expect(reasons(server)).toEqual([`Ready False ${reason}`, `Stalled True ${reason}`])
          expect(conditions(server)[0]).toMatchObject({ message, observedGeneration: 1 })
          expect(server.get(Widget, "a")?.status).toMatchObject({ observedGeneration: 1 })
          expect(events(server)).toEqual([`Warning ${reason}: ${message}`])

          server.change(Widget, "a", { spec: { size: 2 } })
          yield* settle
          expect(reasons(server)).toEqual([])
        })
      )
    )
  }

  effect(
    "for a child of another owner is reported, and is retried when that child is deleted",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        server.put(ConfigMap, { metadata: { name: "a" }, data: { theirs: "yes" } })
        const { reconcile } = counted((_, owner) =>
          Effect.as(Owned.apply(owner, ConfigMap, { metadata: { name: "a" }, data: {} }), Result.done)
        )
        yield* run({ reconcile, owns: [ConfigMap], retry })
        yield* pass("1 hour")
        expect(story(attempts)).toEqual(["Terminal"])
        expect(reasons(server)).toEqual(["Ready False NotOwned", "Stalled True NotOwned"])
        expect(events(server)).toHaveLength(1)
        expect(server.get(ConfigMap, "a")).toMatchObject({ data: { theirs: "yes" } })

        server.remove(ConfigMap, "a")
        yield* settle
        expect(reasons(server)).toEqual([])
        expect(server.get(ConfigMap, "a")).toMatchObject({ metadata: { ownerReferences: [{ name: "a" }] } })
      })
    )
  )

  effect(
    "for a defect is reported once, is retried by the schedule, and its conditions are removed after a success",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile } = counted((n) =>
          n <= 3 ? Effect.die(new TypeError("x is not a function")) : Effect.succeed(Result.done)
        )
        yield* run({ reconcile, retry })
        yield* pass("2 seconds")
        expect(story(attempts)).toEqual(Array(3).fill("Failed +1000"))
        expect(attempts[0]?.outcome).toMatchObject({ defect: true })
        expect(conditions(server)[1]).toMatchObject({
          type: "Stalled",
          reason: "InternalError",
          message: "The reconcile died: x is not a function"
        })
        expect(events(server)).toEqual(["Warning InternalError: The reconcile died: x is not a function"])
        expect(statuses(server)).toHaveLength(1)

        yield* pass("1 second")
        expect(reasons(server)).toEqual([])
      })
    )
  )

  effect(
    "keeps the conditions that the controller wrote in the same attempt",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const own = {
          type: "Ready",
          status: "False" as const,
          reason: "Own",
          message: "own words",
          lastTransitionTime: "2026-11-20T00:00:00Z"
        }
        const { reconcile } = counted((_, owner) =>
          Effect.andThen(Status.update(owner, { conditions: [own] }), Effect.fail(immutable))
        )
        yield* run({ reconcile, retry })
        server.change(Widget, "a", { metadata: { labels: { touched: "yes" } } })
        yield* pass("1 hour")
        expect(story(attempts)).toEqual(["Terminal", "Terminal"])
        expect(conditions(server)).toEqual([own])
        expect(statuses(server)).toHaveLength(1)
        expect(events(server)).toEqual([`Warning Invalid: ${Refusal.describe(immutable)}`])
      })
    )
  )

  effect(
    "is reported again after the controller wrote Ready in between",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const lastTransitionTime = "2026-11-20T00:00:00Z"
        const ready = { type: "Ready", status: "True", reason: "Own", message: "own", lastTransitionTime } as const
        const { reconcile } = counted((_, owner) =>
          Effect.gen(function* () {
            if (owner.spec.size !== 2) return yield* hopeless
            yield* Status.update(owner, { conditions: [ready] })
            return Result.done
          })
        )
        yield* run({ reconcile, retry })
        for (const size of [2, 3]) {
          yield* Effect.andThen(
            Effect.sync(() => server.change(Widget, "a", { spec: { size } })),
            settle
          )
          expect(reasons(server)[0]).toBe(size === 2 ? "Ready True Own" : "Ready False TerminalError")
        }
      })
    )
  )

  for (const [why, error, reason] of cases) {
    effect(
      `${why} is retried by the schedule while its conditions cannot be written`,
      withWorld(({ attempts, server }) =>
        Effect.gen(function* () {
          server.put(Widget, widget("a"))
          server.faults.on({ subresource: "status" }, Faults.conflict, { times: 1 })
          yield* run({ reconcile: counted(() => Effect.fail(error)).reconcile, retry })
          expect(reasons(server)).toEqual([])
          yield* pass("1 hour")
          expect(story(attempts)).toEqual(["Failed +1000", "Terminal"])
          expect(reasons(server)).toEqual([`Ready False ${reason}`, `Stalled True ${reason}`])
        })
      )
    )
  }

  effect(
    "for a failed test of a JSON patch is retried without a report",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const race = ApiError.fromStatus(
          { method: "PATCH", path: "/x" },
          {
            kind: "Status",
            reason: "Invalid",
            message: "the server rejected our request due to an error in our request"
          },
          422
        )
        const { reconcile } = counted((n) => (n === 1 ? Effect.fail(race) : Effect.succeed(Result.done)))
        yield* run({ reconcile, retry })
        yield* pass("1 second")
        expect(story(attempts)).toEqual(["Failed +1000", "Done"])
        expect(server.writes()).toEqual([])
      })
    )
  )
})

describe("Conditions of another program", () => {
  effect(
    "may be invalid: the object is reconciled, and its status is written",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        const foreign = [{ type: "Synced", status: "False", reason: "Forbidden" }, null, "Ready"]
        server.loosen(Widget)
        server.put(Widget, { ...widget("a"), status: { conditions: foreign } })
        const { reconcile } = counted((_, widget) => Effect.as(Status.update(widget, { phase: "Fine" }), Result.done))
        yield* run({ reconcile, concurrency: 1, retry })
        yield* pass("1 minute")
        expect(story(attempts)).toEqual(["Done", "Done"])
        expect(server.get(Widget, "a")?.status).toMatchObject({ phase: "Fine", conditions: [foreign[0]] })
      })
    )
  )
})
