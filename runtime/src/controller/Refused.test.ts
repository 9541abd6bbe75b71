import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as ApiError from "../client/ApiError.ts"
import * as Refused from "./Refused.ts"
import * as Result from "./Result.ts"
import * as Status from "./Status.ts"
import { TerminalError } from "./TerminalError.ts"
import { counted, pass, run, settle, story, Widget, widget, withWorld } from "./World.fixture.ts"

/** The answer of an API server. */
const answer = (
  code: number,
  message: string,
  causes: ReadonlyArray<{ readonly message: string; readonly field?: string }> = []
) =>
  ApiError.fromStatus(
    { method: "PATCH", path: "/apis/apps/v1/namespaces/default/deployments/a" },
    { kind: "Status", reason: "Any", message, details: { causes } },
    code
  )

const webhook = 'admission webhook "policy.example.com" denied the request: no'
const policy = `deployments.apps "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`
const cause = [{ message: "no" }]

/** The kinds of refusals of the content of an object, and the reason of their report. */
const refusals: ReadonlyArray<readonly [what: string, error: ApiError.Answered, reason: string]> = [
  ["by a webhook with 400", answer(400, webhook), "Forbidden"],
  ["by a webhook with 403", answer(403, webhook), "Forbidden"],
  ["by a webhook with 404", answer(404, webhook), "Forbidden"],
  ["by a webhook with 409", answer(409, webhook), "Forbidden"],
  ["by a webhook with 422", answer(422, webhook), "Forbidden"],
  ["by a webhook with 429", answer(429, webhook), "Forbidden"],
  [
    "by a webhook without an explanation",
    answer(400, 'admission webhook "a.b.c" denied the request without explanation'),
    "Forbidden"
  ],
  ["by a policy with 422", answer(422, policy, cause), "Forbidden"],
  ["by a policy with 403", answer(403, policy, cause), "Forbidden"],
  ["by a policy with 413", answer(413, policy, cause), "Forbidden"],
  ["with a 422 that names no field", answer(422, "denied by a policy"), "Invalid"]
]

const conditionOf = (server: Parameters<Parameters<typeof withWorld>[0]>[0]["server"]) =>
  server.get(Widget, "a")?.status?.conditions?.[0]

describe("An object that the API server refuses", () => {
  for (const [what, error, reason] of refusals) {
    effect(
      `${what} is retried slowly, with the time in the status, until it is accepted`,
      withWorld(({ attempts, server }) =>
        Effect.gen(function* () {
          server.put(Widget, widget("a"))
          let isRefused = true
          const { reconcile } = counted(() => (isRefused ? Effect.fail(error) : Effect.succeed(Result.done)))
          yield* run({ reconcile })
          expect(story(attempts)).toEqual(["Failed +10000"])
          expect(conditionOf(server)).toMatchObject({ type: "Ready", status: "False", reason })
          expect(conditionOf(server)?.message).toEndWith("; the next attempt is at 1970-01-01T00:00:10Z")
          yield* pass("10 seconds")
          expect(story(attempts).slice(1)).toEqual(["Failed +20000"])
          expect(conditionOf(server)?.message).toEndWith("; the next attempt is at 1970-01-01T00:00:30Z")
          const notes = server.events().map(({ note, reason, type }) => [type, reason, note?.includes("next attempt")])
          expect(notes).toEqual([["Warning", reason, false]])
          isRefused = false
          yield* pass("20 seconds")
          expect(conditionOf(server)).toBeUndefined()
        })
      )
    )
  }

  effect(
    "is retried at the latest after 1000 s, and at the earliest by the retry schedule, which may end",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        for (const name of ["a", "b"]) server.put(Widget, widget(name))
        const [[, error]] = refusals as [(typeof refusals)[number]]
        const { reconcile } = counted(() => Effect.fail(error))
        yield* run({
          reconcile,
          retry: Schedule.recurs(9).pipe(Schedule.addDelay(() => Effect.succeed("500 seconds")))
        })
        yield* pass("3 hours")
        expect(story(attempts.filter(({ key }) => key === "default/a"))).toEqual([
          ...Array(6).fill("Failed +500000"),
          "Failed +640000",
          "Failed +1000000",
          "Failed +1000000",
          "Failed !"
        ])
      })
    )
  )

  effect(
    "is retried at the same time after attempts that a change triggered in between",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const [[, error]] = refusals as [(typeof refusals)[number]]
        yield* run({ reconcile: counted(() => Effect.fail(error)).reconcile })
        for (const touched of ["1", "2", "3"]) {
          yield* pass("3 seconds")
          server.change(Widget, "a", { metadata: { labels: { touched } } })
          yield* settle
        }
        yield* pass("1 second")
        expect(story(attempts)).toEqual([
          "Failed +10000",
          "Failed +7000",
          "Failed +4000",
          "Failed +1000",
          "Failed +20000"
        ])
        expect(server.writes().filter(({ path }) => path.endsWith("/status"))).toHaveLength(2)
      })
    )
  )

  effect(
    "starts again with 10 s after another failure or another spec",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const [[, error]] = refusals as [(typeof refusals)[number]]
        const { reconcile } = counted((n) => Effect.fail(n === 3 ? "another" : error))
        yield* run({ reconcile, retry: Schedule.spaced("1 second") })
        yield* pass("35 seconds")
        expect(story(attempts)).toEqual(["Failed +10000", "Failed +20000", "Failed +1000", "Failed +10000"])
        server.change(Widget, "a", { spec: { size: 7 } })
        yield* settle
        expect(story(attempts).slice(4)).toEqual(["Failed +10000"])
      })
    )
  )

  effect(
    "is retried by a new process at the time that the status names",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        const [[, error]] = refusals as [(typeof refusals)[number]]
        const conditions = [
          {
            type: "Synced",
            status: "False" as const,
            reason: "No",
            message: "no; the next attempt is at 1970-01-01T00:02:00Z",
            lastTransitionTime: "1970-01-01T00:00:00Z"
          }
        ]
        server.put(Widget, { ...widget("a"), status: { conditions } })
        yield* pass("10500 millis")
        yield* run({ reconcile: counted(() => Effect.fail(error)).reconcile })
        expect(story(attempts)).toEqual(["Failed +109500"])
        yield* pass("2 minutes")
        expect(story(attempts).slice(1)).toEqual(["Failed +20000"])
      })
    )
  )

  effect(
    "can be named in the author's own conditions with the time",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const [[, error]] = refusals as [(typeof refusals)[number]]
        const { reconcile } = counted((n, owner) =>
          Effect.gen(function* () {
            const problem = n === 2 ? "another" : error
            const message = `own words${yield* Refused.nextAttempt(problem)}`
            yield* Status.reconciling(owner, { reason: "Own", message })
            return yield* Effect.fail(problem)
          })
        )
        yield* run({ reconcile, retry: Schedule.spaced("1 second") })
        expect(conditionOf(server)?.message).toBe("own words; the next attempt is at 1970-01-01T00:00:10Z")
        yield* pass("10 seconds")
        expect(conditionOf(server)?.message).toBe("own words")
        expect(story(attempts)).toEqual(["Failed +10000", "Failed +1000"])
      })
    )
  )
})

describe("The timer of a periodic controller", () => {
  const failures: ReadonlyArray<readonly [string, unknown, string]> = [
    ["a permanent error", new TerminalError({ message: "hopeless" }), "Terminal +3600000"],
    ["an error that is not retried", "bad", "Failed +3600000"],
    ["a 422", answer(422, "denied by a policy", cause), "Failed +3600000"],
    ["a 422 of a field", answer(422, "invalid", [{ field: "spec.a", message: "no" }]), "Terminal +3600000"]
  ]
  for (const [what, error, expected] of failures) {
    effect(
      `survives ${what}`,
      withWorld(({ attempts, server }) =>
        Effect.gen(function* () {
          server.put(Widget, widget("a"))
          const { reconcile, times } = counted((n) =>
            n === 2 ? Effect.fail(error) : Effect.succeed(Result.requeueAfter("1 hour"))
          )
          yield* run({ reconcile, retry: Schedule.recurs(0) })
          yield* pass("4 hours")
          // The success at 2 removes the report, whose event leads to one more run.
          expect(times().map((at) => at / 3_600_000)).toEqual([0, 1, 2, 2, 3, 4])
          expect(story(attempts)[1]).toBe(expected)
        })
      )
    )
  }

  effect(
    "keeps its time through permanent errors before it, and ends with a success without a timer",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const touch = (label: string) =>
          Effect.andThen(
            Effect.sync(() => server.change(Widget, "a", { metadata: { labels: { touched: label } } })),
            settle
          )
        const { reconcile, times } = counted((n, { metadata: { labels } }) =>
          n === 1
            ? Effect.succeed(Result.requeueAfter("1 hour"))
            : n <= 3 || labels?.touched === "2"
              ? Effect.fail(new TerminalError({ message: "hopeless" }))
              : Effect.succeed(Result.done)
        )
        yield* run({ reconcile })
        yield* pass("20 minutes")
        yield* touch("1")
        yield* pass("50 minutes")
        expect(times().map((at) => at / 60_000)).toEqual([0, 20, 60])
        yield* pass("1 hour")
        expect(times().map((at) => at / 60_000)).toEqual([0, 20, 60, 120, 120])
        yield* touch("2")
        yield* pass("4 hours")
        expect(times()).toHaveLength(6)
      })
    )
  )

  effect(
    "of milliseconds repeats a permanent error after 30 s",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile } = counted((n) =>
          n === 1
            ? Effect.succeed(Result.requeueAfter("10 millis"))
            : Effect.fail(new TerminalError({ message: "hopeless" }))
        )
        yield* run({ reconcile })
        yield* pass("1 second")
        expect(story(attempts)).toEqual(["RequeueAfter +10", "Terminal +30000"])
      })
    )
  )
})
