import { describe, expect, test } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as ApiError from "../client/ApiError.ts"
import type * as ApiServer from "../events/ApiServer.fixture.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import * as Controller from "./Controller.ts"
import * as Refusal from "./Refusal.ts"
import * as Result from "./Result.ts"
import * as Runner from "./Runner.ts"
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

describe("a refusal says", () => {
  const request = "The API server refuses PATCH /apis/apps/v1/namespaces/default/deployments/a: "
  const cases: ReadonlyArray<readonly [string, ApiError.Forbidden, string]> = [
    [
      "which verb it takes on what, and where",
      unauthorized("patch"),
      `${request}x "a" is forbidden: User "u:v" cannot patch resource "deployments" in API group "apps" in the namespace "default"; it takes the verb patch on deployments of API group "apps" in namespace default`
    ],
    [
      "so of a subresource in no namespace",
      unauthorized("update", "nodes/status", "", " at the cluster scope: RBAC: role not found"),
      `${request}x "a" is forbidden: User "u:v" cannot update resource "nodes/status" in API group "" at the cluster scope: RBAC: role not found; it takes the verb update on nodes/status of API group "" in the whole cluster`
    ],
    [
      "the server's words alone where it is no right that is missing",
      refusal('pods "a" is forbidden: exceeded quota: none'),
      `${request}pods "a" is forbidden: exceeded quota: none`
    ]
  ]
  for (const [sentence, error, text] of cases) test(sentence, () => expect(Refusal.describe(error)).toBe(text))
})

const statuses = (server: ApiServer.ApiServer) => server.writes().filter(({ what }) => what.endsWith("/status"))

const retry = Schedule.spaced("1 second")

describe("a reconcile that is refused", () => {
  effect(
    "is told of once however often it is repeated, beside what the controller says, and not any more when it succeeds",
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
          message: Refusal.describe(unauthorized("patch")),
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
    "keeps what it has written of its status before, and has the last word when it succeeds",
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

  const others: ReadonlyArray<readonly [string, Effect.Effect<never, unknown>, boolean]> = [
    ["a 422, which shows that the permission is there", Effect.fail(answered(422, "Invalid")), true],
    ["a terminal error", Effect.fail(new TerminalError({ message: "hopeless" })), true],
    ["a defect", Effect.dieMessage("bad"), true],
    ["a conflict, which says nothing about permissions", Effect.fail(answered(409, "Conflict")), false],
    ["a 500, which says nothing about permissions", Effect.fail(answered(500, "InternalError")), false],
    ["a 503, which says nothing about permissions", Effect.fail(answered(503, "ServiceUnavailable")), false],
    ["a missing answer, which says nothing about permissions", Effect.fail(unreachable), false]
  ]
  for (const [what, failure, goes] of others) {
    effect(
      `${goes ? "loses" : "keeps"} its conditions when the next attempt fails with ${what}`,
      withWorld(({ attempts, server }) =>
        Effect.gen(function* () {
          server.put(Widget, { ...widget("a"), status: { phase: "Old" } })
          const { reconcile } = counted(
            (n): Effect.Effect<Result.Result, unknown> => (n === 1 ? Effect.fail(unauthorized("patch")) : failure)
          )
          yield* run({ reconcile, retry: Schedule.once.pipe(Schedule.addDelay(() => "1 second")) })
          yield* pass("1 second")
          expect(attempts[1]?.outcome._tag).not.toBe("Done")
          const { conditions } = Object(server.get(Widget, "a")?.status)
          expect(conditions).toHaveLength(goes ? 0 : 2)
        })
      )
    )
  }

  effect(
    "and then fails for something else fails for that, even if the end of the refusal can't be told",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const error = new TerminalError({ message: "hopeless" })
        const { reconcile } = counted((n) => Effect.fail(n === 1 ? unauthorized("patch") : error))
        yield* run({ reconcile, retry })
        server.fail(/\/status$/, 422)
        yield* pass("1 second")
        expect(attempts.map(({ outcome }) => outcome)).toMatchObject([{ _tag: "Failed" }, { _tag: "Terminal", error }])
        expect(statuses(server)).toHaveLength(2)
      })
    )
  )

  effect(
    "writes no status to an object that is gone after its clean-up",
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
    ["because its namespace is being deleted", refusal("it is being terminated", [{ reason: "NamespaceTerminating" }])],
    ["the right to write the status", unauthorized("patch", "widgets/status", "example.com")]
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
    "writes nothing to a kind whose status has no conditions",
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
        const runner = yield* Runner.start(controller, { gracePeriod: 0 })
        yield* runner.started
        yield* settle
        expect(story(attempts)).toEqual(["Failed +1000"])
        expect(server.writes()).toEqual([])
      })
    )
  )

  effect(
    "fails with the refusal, even if that can't be told",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        server.fail(/\/status$/, 403)
        const error = unauthorized("patch")
        yield* run({ reconcile: counted(() => Effect.fail(error)).reconcile, retry })
        expect(attempts.map(({ outcome }) => outcome._tag === "Failed" && outcome.error)).toEqual([error])
        expect(statuses(server)).toHaveLength(1)
      })
    )
  )
})
