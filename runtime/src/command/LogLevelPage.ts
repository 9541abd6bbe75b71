/**
 * `/loglevel` on the port for probes shows and changes log levels without a restart. It accepts requests from loopback, as by
 * `kubectl port-forward`, and requests with the token of an authorized user.
 *
 * ```sh
 * curl localhost:8081/loglevel
 * curl -X PUT 'localhost:8081/loglevel?level=debug&controller=webapp&for=10m'
 * curl -X DELETE 'localhost:8081/loglevel?controller=webapp'
 * ```
 *
 * Without `controller`, the level applies to the program and to controllers without their own level. With `for`, it expires.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as References from "effect/References"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Callers from "../manager/Callers.ts"
import * as Endpoints from "../manager/Endpoints.ts"
import * as LogLevels from "../telemetry/LogLevels.ts"
import * as DurationText from "./DurationText.ts"

/** The longest `for`. A level without `for` stays until it is reset. */
const longest = Duration.hours(24)

/** A requested change. */
type Wish =
  | { readonly _tag: "Set"; readonly level: LogLevels.Name; readonly during: Duration.Duration | undefined }
  | { readonly _tag: "Reset" }

const known = ["level", "controller", "for"]

const forOf = (text: string | null): Result.Result<Duration.Duration | undefined, string> =>
  text === null
    ? Result.succeed(undefined)
    : Result.flatMap(DurationText.parse({ atLeast: "1s" })(text), (during) =>
        Duration.isLessThanOrEqualTo(during, longest)
          ? Result.succeed(during)
          : Result.fail(`invalid duration: "${text}" (must be at most ${Duration.toHours(longest)}h)`)
      )

const levelOf = (query: URLSearchParams): Result.Result<Wish, string> => {
  const text = query.get("level") ?? ""
  if (text === "default") return Result.succeed({ _tag: "Reset" })
  const level = LogLevels.nameOf(text)
  if (level === undefined) {
    return Result.fail(`level: invalid value: "${text}" (must be one of ${[...LogLevels.names, "default"].join(", ")})`)
  }
  return Result.mapBoth(forOf(query.get("for")), {
    onFailure: (message) => `for: ${message}`,
    onSuccess: (during): Wish => ({ _tag: "Set", level, during })
  })
}

/** The requested change and its controller, or one line that says what is invalid. */
const wishOf = (
  method: string,
  query: URLSearchParams,
  controllers: ReadonlyArray<string>
): Result.Result<{ readonly wish: Wish; readonly controller: string | undefined }, string> => {
  const strange = [...query.keys()].find((name) => !known.includes(name))
  // A misspelt `for` would leave the level set until the process ends.
  if (strange !== undefined) return Result.fail(`unknown parameter: ${strange} (must be one of ${known.join(", ")})`)
  const controller = query.get("controller") ?? undefined
  if (controller !== undefined && !controllers.includes(controller)) {
    return Result.fail(`controller: invalid value: "${controller}" (must be one of ${controllers.join(", ")})`)
  }
  const wish = method === "DELETE" ? Result.succeed<Wish>({ _tag: "Reset" }) : levelOf(query)
  return Result.map(wish, (wish) => ({ wish, controller }))
}

/** `debug until 14:05:31 (9m 58s)` */
const shown = ({ level, until }: LogLevels.Setting, now: number): string =>
  until === undefined
    ? level
    : `${level} until ${new Date(until).toISOString()} (${Duration.format(Duration.seconds(Math.ceil((until - now) / 1000)))})`

/** The current levels: a line for the program, and one for each controller. */
const page = (levels: LogLevels.Levels, controllers: ReadonlyArray<string>) =>
  Effect.map(Clock.Clock, (clock) => {
    const now = clock.currentTimeMillisUnsafe()
    const overall = levels.setting()
    const lines = [
      ["", overall === undefined ? levels.initial : `${shown(overall, now)}, started with ${levels.initial}`],
      ...controllers.map((name) => {
        const own = levels.setting(name)
        return [`controller=${name}`, own === undefined ? "as above" : shown(own, now)] as const
      })
    ]
    return lines.map(([name, level]) => `${name === "" ? "all" : name}: ${level}`).join("\n")
  })

/** Logs a change of a level, at a rank that neither the old nor the new level hides. */
const inform = (line: string): Effect.Effect<void> =>
  Effect.provideService(Effect.logInfo(line), References.MinimumLogLevel, "Trace")

/** Serves the page until the scope closes. */
export const serve = (
  levels: LogLevels.Levels,
  controllers: ReadonlyArray<string>
): Effect.Effect<void, never, Callers.Callers | Scope.Scope> =>
  Effect.gen(function* () {
    const endpoints = yield* Endpoints.Endpoints
    const show = Effect.map(page(levels, controllers), (body) =>
      Endpoints.text(200, body, { "cache-control": "no-store" })
    )
    const change = (method: string, query: URLSearchParams) =>
      Result.match(wishOf(method, query, controllers), {
        onFailure: (message) => Effect.succeed(Endpoints.text(400, message)),
        onSuccess: ({ controller, wish }) => {
          const whose = controller === undefined ? "everything" : `controller ${controller}`
          const done =
            wish._tag === "Set"
              ? Effect.andThen(
                  levels.set(wish.level, {
                    controller,
                    during: wish.during,
                    over: inform(`The log level of ${whose} has expired and is reset`)
                  }),
                  inform(
                    `The log level of ${whose} is ${wish.level}${wish.during === undefined ? "" : ` for ${Duration.format(wish.during)}`}`
                  )
                )
              : Effect.andThen(levels.reset(controller), inform(`The log level of ${whose} is reset`))
          return Effect.andThen(done, show)
        }
      })
    const handler = yield* Callers.guarded(
      (request) =>
        request.method === "GET" || request.method === "HEAD"
          ? show
          : change(request.method, new URL(request.url).searchParams),
      { loopback: true }
    )
    yield* endpoints.route("probes", "/loglevel", handler, {
      methods: ["GET", "HEAD", "PUT", "POST", "DELETE"]
    })
  })
