import { describe, expect } from "bun:test"
import * as Faults from "@homeostat/testkit/Faults"
import { effect } from "@homeostat/testkit/Test"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as ApiError from "../client/ApiError.ts"
import type * as Cluster from "../client/Cluster.fixture.ts"
import { ConfigMap } from "../resource/BuiltIn.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import * as Controller from "./Controller.ts"
import * as Owned from "./Owned.ts"
import * as Result from "./Result.ts"
import * as RunnerFixture from "./Runner.fixture.ts"
import * as Status from "./Status.ts"
import { TerminalError } from "./TerminalError.ts"
import { counted, pass, run, settle, story, Widget, widget, withWorld } from "./World.fixture.ts"

const answered = (code: number, words = "words of the server"): ApiError.ApiError =>
  ApiError.fromStatus({ method: "PATCH", path: "/x" }, { kind: "Status", reason: "Any", message: words }, code)

class Unlucky extends Data.TaggedError("Unlucky")<{ readonly message: string }> {}

/** Each kind of failure that had no report, and the reason of its report. */
const failures: ReadonlyArray<readonly [what: string, failure: Effect.Effect<never, unknown>, reason: string]> = [
  ["a 401", Effect.fail(answered(401)), "Unauthorized"],
  ["a 404", Effect.fail(answered(404)), "NotFound"],
  ["a conflict", Effect.fail(answered(409)), "Conflict"],
  ["an expired version", Effect.fail(answered(410)), "Expired"],
  ["a throttled request", Effect.fail(answered(429)), "TooManyRequests"],
  [
    "a webhook that is down",
    Effect.fail(answered(500, "Internal error occurred: failed calling webhook")),
    "ServerError"
  ],
  ["a 503", Effect.fail(answered(503)), "ServerError"],
  ["a 504", Effect.fail(answered(504)), "Timeout"],
  ["an error of the author", Effect.fail(new Unlucky({ message: "no luck" })), "Unlucky"],
  ["an error without a tag", Effect.fail("no luck"), "ReconcileFailed"],
  ["a reconcile that takes too long", Effect.never, "ReconcileTimeout"],
  ["a reconcile that interrupts itself", Effect.interrupt, "ReconcileFailed"]
]

const conditions = (server: Cluster.Cluster) =>
  (server.get(Widget, "a")?.status?.conditions ?? []).map(({ reason, status, type }) => `${type} ${status} ${reason}`)

const warnings = (server: Cluster.Cluster) =>
  server.events().flatMap(({ reason, type }) => (type === "Warning" ? [String(reason)] : []))

const report = (reason: string) => [`Ready False ${reason}`, `Reconciling True ${reason}`]

const retry = Schedule.spaced("1 second")

describe("A failure of a reconcile", () => {
  for (const [what, failure, reason] of failures) {
    effect(
      `by ${what} is reported after ten seconds, until it is over`,
      withWorld(({ server }) =>
        Effect.gen(function* () {
          server.put(Widget, widget("a"))
          let isFailing = true
          const { reconcile } = counted(
            (): Effect.Effect<Result.Result, unknown> =>
              isFailing ? failure : Effect.succeed(Result.requeueAfter("1 hour"))
          )
          yield* run({ reconcile, retry, timeout: "1 second" })
          yield* pass("9 seconds")
          expect([conditions(server), warnings(server)]).toEqual([[], []])
          yield* pass("5 seconds")
          expect([conditions(server), warnings(server)]).toEqual([report(reason), [reason]])
          isFailing = false
          yield* pass("5 seconds")
          expect(conditions(server)).toEqual([])
        })
      )
    )
  }

  effect(
    "is reported at once if the retries end",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        yield* run({ reconcile: counted(() => Effect.fail("no luck")).reconcile, retry: Schedule.recurs(1) })
        expect(story(attempts)).toEqual(["Failed +0", "Failed !"])
        expect([conditions(server), warnings(server)]).toEqual([report("ReconcileFailed"), ["ReconcileFailed"]])
      })
    )
  )

  effect(
    "that is over within ten seconds, or a result for another run, causes no report",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile } = counted(
          (n): Effect.Effect<Result.Result, unknown> =>
            n % 8 === 0 || n > 24 ? Effect.succeed(Result.requeue) : Effect.fail("no luck")
        )
        yield* run({ reconcile, retry })
        yield* pass("1 minute")
        expect(server.writes()).toEqual([])
      })
    )
  )

  effect(
    "has only the Event if the reconcile writes its own conditions",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile } = counted((_, owner) =>
          Effect.andThen(Status.reconciling(owner, { reason: "Own", message: "own words" }), Effect.fail("no luck"))
        )
        yield* run({ reconcile, retry })
        yield* pass("15 seconds")
        expect([conditions(server), warnings(server)]).toEqual([report("Own"), ["ReconcileFailed"]])
      })
    )
  )

  effect(
    "has only the Event if the API server takes no status",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        server.faults.on({ subresource: "status" }, Faults.answer(500))
        yield* run({ reconcile: counted(() => Effect.fail("no luck")).reconcile, retry })
        yield* pass("15 seconds")
        expect([conditions(server), warnings(server)]).toEqual([[], ["ReconcileFailed"]])
      })
    )
  )
})

describe("A failure of a reconcile of a kind without conditions", () => {
  const Plain = CustomResource.make({
    group: "example.com",
    version: "v1",
    kind: "Plain",
    spec: Schema.Struct({}),
    status: Schema.Struct({ phase: Schema.String })
  })
  for (const [what, error, reason] of [
    ["permanent", new TerminalError({ message: "hopeless" }), "TerminalError"],
    ["lasting", "no luck", "ReconcileFailed"]
  ] as const) {
    for (const kind of ["Plain", "ConfigMap"] as const) {
      effect(
        `that is ${what} has a Warning Event on the ${kind}`,
        withWorld(
          ({ server }) =>
            Effect.gen(function* () {
              const failing = () => Effect.fail(error)
              const controller =
                kind === "Plain"
                  ? Controller.make("plain", { for: Plain, retry, reconcile: failing })
                  : Controller.make("plain", { for: ConfigMap, retry, reconcile: failing })
              if (kind === "Plain") server.put(Plain, { metadata: { name: "a" }, spec: {} })
              else server.put(ConfigMap, { metadata: { name: "a" } })
              const runner = yield* RunnerFixture.start(controller, { gracePeriod: 0 })
              yield* runner.started
              yield* pass("15 seconds")
              const found = server.events().map(({ reason, regarding, type }) => [type, reason, regarding?.kind])
              expect(found).toEqual([["Warning", reason, kind]])
            }),
          { kinds: [Plain] }
        )
      )
    }
  }
})

describe("A refused status", () => {
  const ready = { type: "Ready", status: "True", reason: "Good", message: "yes", observedGeneration: 1 } as const
  for (const [what, write] of [
    [
      "with two conditions of one type",
      (owner: Widget) =>
        Status.update(owner, {
          conditions: [
            { ...ready, status: "False" },
            { ...ready, status: "False" }
          ]
        })
    ],
    [
      "after another one of the attempt",
      (owner: Widget) =>
        Effect.andThen(
          Status.ready(owner, { reason: "Better", message: "yes" }),
          Status.update(owner, { conditions: [ready, ready] })
        )
    ]
  ] as const) {
    effect(
      `${what} leaves no older Ready`,
      withWorld(({ server }) =>
        Effect.gen(function* () {
          server.put(Widget, {
            ...widget("a"),
            status: { conditions: [{ ...ready, lastTransitionTime: "1970-01-01T00:00:00Z" }] }
          })
          yield* run({ reconcile: (owner) => Effect.as(write(owner), Result.done), retry })
          yield* settle
          expect(conditions(server)).toEqual(["Ready False Invalid", "Stalled True Invalid"])
        })
      )
    )
  }

  effect(
    "is not refused because the author passes the status that the object has",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        const lastTransitionTime = "1970-01-01T00:00:00Z"
        const others = [
          { ...ready, lastTransitionTime },
          { ...ready, type: "Synced", lastTransitionTime }
        ]
        server.put(Widget, { ...widget("a"), status: { phase: "Old", conditions: others } })
        yield* run({
          reconcile: (owner) =>
            Effect.as(Status.stalled(owner, { reason: "Bad", message: "no" }, owner.status), Result.done)
        })
        expect(conditions(server)).toEqual(["Ready False Bad", "Stalled True Bad", "Synced True Good"])
        expect(server.get(Widget, "a")?.status?.phase).toBe("Old")
      })
    )
  )
})

describe("A failure of the API server for one child", () => {
  for (const status of [500, 502, 503, 504]) {
    effect(
      `with ${status} does not stop its siblings`,
      withWorld(({ attempts, server }) =>
        Effect.gen(function* () {
          server.put(Widget, widget("a"))
          server.faults.on({ verb: ["patch", "create"], name: "one" }, Faults.answer(status))
          const { reconcile } = counted((_, owner) => {
            const [one, two] = ["one", "two"].map((name) => Owned.child(ConfigMap, { metadata: { name } }))
            return Effect.as(
              Owned.all(
                owner,
                [one, two].flatMap((each) => each ?? [])
              ),
              Result.done
            )
          })
          yield* run({ reconcile, owns: [ConfigMap], retry: Schedule.spaced("1 minute") })
          yield* pass("30 seconds")
          expect(server.get(ConfigMap, "two")).toBeDefined()
          expect(server.get(ConfigMap, "one")).toBeUndefined()
          expect(story(attempts)[0]).toStartWith("Failed +")
        })
      )
    )
  }
})
