/**
 * The liveness and readiness of a manager: `/healthz` and `/readyz`, in the format of the Kubernetes components. They accept
 * `?verbose` (each check with its result), `?exclude=<check>` (repeatable), and `/readyz/<check>` for one check. The answer is 200 if
 * all checks pass, else 500 with every failed check and its reason, which the kubelet shows in an Event.
 *
 * Ready means that the process can do its work, as leader or on standby. It is not ready before `started` and after `shutDown`. An
 * unavailable API server does not change the readiness.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Text from "../resource/Text.ts"
import * as Endpoints from "./Endpoints.ts"

/** A check that passes, with one line for `?verbose`. */
export interface Note {
  readonly note: string
}

/**
 * An effect that succeeds, or fails with the reason in one line. A function returns the reason, a note or undefined, and needs no fiber. A
 * check runs at each probe.
 */
export type Check = Effect.Effect<void, string> | (() => string | Note | undefined)

/** The checks of a manager. */
export interface Checks {
  /**
   * Adds a check to `/healthz`, until the scope closes. If it fails, the kubelet restarts the container. The name is a segment of a
   * path.
   */
  readonly liveness: (name: string, check: Check) => Effect.Effect<void, never, Scope.Scope>
  /** Adds a check to `/readyz`, until the scope closes. An existing name gets the new check. */
  readonly readiness: (name: string, check: Check) => Effect.Effect<void, never, Scope.Scope>
  /** All readiness checks are registered, and from now on they decide. */
  readonly started: Effect.Effect<void>
  /** Reports not ready from now on. */
  readonly shutDown: Effect.Effect<void>
}

/** Checks without endpoints. */
const unasked: Checks = {
  liveness: () => Effect.void,
  readiness: () => Effect.void,
  started: Effect.void,
  shutDown: Effect.void
}

/** Registers checks, also those of the Layers of a program. The default ignores them: in a plan, in a replay, and in tests without ports. */
export const Health = Context.Reference("@homeostat/runtime/Health", {
  defaultValue: () => unasked
})

/** The timeout of a check: the kubelet waits for a second by default. */
const patience = "900 millis"

type Table = Map<string, Check>

/**
 * A check as an effect.
 *
 * @internal
 */
export const effectOf = (check: Check): Effect.Effect<void, string> =>
  Effect.isEffect(check)
    ? check
    : Effect.suspend(() => {
        const reason = check()
        return typeof reason === "string" ? Effect.fail(reason) : Effect.void
      })

/** The reason of a failed check; undefined if it passes. */
const look = (check: Check): Effect.Effect<string | undefined> =>
  (Effect.isEffect(check)
    ? Effect.timeoutOrElse(check, { duration: patience, orElse: () => Effect.fail(`no result within ${patience}`) })
    : effectOf(check)
  ).pipe(
    Effect.as(undefined),
    Effect.catchCause((cause) => Effect.succeed(String(Cause.squash(cause)))),
    Effect.map((reason) => reason?.replaceAll(/(?<!\s)\s*\n\s*/g, " "))
  )

/** The note of a check that passes. */
const noteOf = (check: Check): string => {
  const result = Effect.isEffect(check) ? undefined : check()
  return typeof result === "object" ? `: ${result.note}` : ""
}

/** The excluded checks that a request may name. */
const mostExcluded = 32

/** The longest part of a name in an answer to a request that has it, in characters. */
const mostNamed = 256

/** Responses to probes must not be cached. */
const headers = { "cache-control": "no-cache, private" }

/** The page of all checks. */
const overall = (endpoint: string, table: Table) => (request: Request) =>
  Effect.gen(function* () {
    const query = new URL(request.url).searchParams
    const excluded = new Set(query.getAll("exclude").flatMap((names) => names.split(",")))
    if (excluded.size > mostExcluded) {
      return Endpoints.text(400, `too many excluded checks: ${excluded.size} (at most ${mostExcluded})`)
    }
    const effects = Array.from(table).filter(([name, check]) => Effect.isEffect(check) && !excluded.has(name))
    const slow = new Map(
      yield* Effect.forEach(
        effects,
        ([name, check]) => Effect.map(look(check), (reason): readonly [string, string | undefined] => [name, reason]),
        { concurrency: "unbounded" }
      )
    )
    const lines = yield* Effect.forEach(table, ([name, check]) =>
      excluded.delete(name)
        ? Effect.succeed({ line: `[+]${name} excluded: ok`, failed: false })
        : Effect.map(Effect.isEffect(check) ? Effect.sync(() => slow.get(name)) : look(check), (reason) =>
            reason === undefined
              ? { line: `[+]${name} ok${noteOf(check)}`, failed: false }
              : { line: `[-]${name} failed: ${reason}`, failed: true }
          )
    )
    const failed = lines.some((line) => line.failed)
    if (!failed && !query.has("verbose")) return Endpoints.text(200, "ok", headers)
    const warnings = [...excluded].map(
      (name) => `warn: nothing to exclude: there is no check ${Text.clip(name, mostNamed)}`
    )
    const verdict = `${endpoint} check ${failed ? "failed" : "passed"}`
    return Endpoints.text(
      failed ? 500 : 200,
      [...lines.map(({ line }) => line), ...warnings, verdict].join("\n"),
      headers
    )
  })

/** The page of one check. */
const single = (endpoint: string, table: Table) => (request: Request) => {
  const name = new URL(request.url).pathname.slice(`/${endpoint}/`.length)
  const check = table.get(name)
  return check === undefined
    ? Effect.succeed(
        Endpoints.text(
          404,
          `unknown check: ${Text.clip(name, mostNamed)} (must be one of ${[...table.keys()].join(", ")})`
        )
      )
    : Effect.map(look(check), (reason) =>
        reason === undefined ? Endpoints.text(200, "ok", headers) : Endpoints.text(500, reason, headers)
      )
}

/** Checks and their pages at the probe port, until the scope closes. */
export const make: Effect.Effect<Checks, never, Scope.Scope> = Effect.gen(function* () {
  const endpoints = yield* Endpoints.Endpoints
  let phase: "starting" | "running" | "ending" = "starting"
  const ping: Check = () => undefined
  const live: Table = new Map([["ping", ping]])
  const ready: Table = new Map<string, Check>([
    ["ping", ping],
    ["startup", () => (phase === "starting" ? "the controllers are not started yet" : undefined)],
    ["shutdown", () => (phase === "ending" ? "the process is shutting down" : undefined)]
  ])
  const add = (table: Table) => (name: string, check: Check) =>
    Effect.acquireRelease(
      Effect.sync(() => void table.set(name, check)),
      () =>
        Effect.sync(() => {
          if (table.get(name) === check) table.delete(name)
        })
    )
  for (const [endpoint, table] of [
    ["healthz", live],
    ["readyz", ready]
  ] as const) {
    yield* endpoints.route("probes", `/${endpoint}`, overall(endpoint, table))
    yield* endpoints.route("probes", `/${endpoint}/*`, single(endpoint, table))
  }
  return {
    liveness: add(live),
    readiness: add(ready),
    started: Effect.sync(() => {
      if (phase === "starting") phase = "running"
    }),
    shutDown: Effect.sync(() => {
      phase = "ending"
    })
  }
})

/** Checks and their pages for the lifetime of the layer. */
export const layer: Layer.Layer<never> = Layer.effect(Health, make)
