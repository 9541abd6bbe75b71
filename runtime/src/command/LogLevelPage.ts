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
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FiberRef from "effect/FiberRef"
import * as LogLevel from "effect/LogLevel"
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

const forOf = (text: string | null): Either.Either<Duration.Duration | undefined, string> =>
  text === null
    ? Either.right(undefined)
    : Either.flatMap(DurationText.parse({ atLeast: "1s" })(text), (during) =>
        Duration.lessThanOrEqualTo(during, longest)
          ? Either.right(during)
          : Either.left(`invalid duration: "${text}" (must be at most ${Duration.toHours(longest)}h)`)
      )

const levelOf = (query: URLSearchParams): Either.Either<Wish, string> => {
  const text = query.get("level") ?? ""
  if (text === "default") return Either.right({ _tag: "Reset" })
  const level = LogLevels.nameOf(text)
  if (level === undefined) {
    return Either.left(`level: invalid value: "${text}" (must be one of ${[...LogLevels.names, "default"].join(", ")})`)
  }
  return Either.mapBoth(forOf(query.get("for")), {
    onLeft: (message) => `for: ${message}`,
    onRight: (during): Wish => ({ _tag: "Set", level, during })
  })
}

/** The requested change and its controller, or one line that says what is invalid. */
const wishOf = (
  method: string,
  query: URLSearchParams,
  controllers: ReadonlyArray<string>
): Either.Either<{ readonly wish: Wish; readonly controller: string | undefined }, string> => {
  const strange = [...query.keys()].find((name) => !known.includes(name))
  // A misspelt `for` would leave the level set until the process ends.
  if (strange !== undefined) return Either.left(`unknown parameter: ${strange} (must be one of ${known.join(", ")})`)
  const controller = query.get("controller") ?? undefined
  if (controller !== undefined && !controllers.includes(controller)) {
    return Either.left(`controller: invalid value: "${controller}" (must be one of ${controllers.join(", ")})`)
  }
  const wish = method === "DELETE" ? Either.right<Wish>({ _tag: "Reset" }) : levelOf(query)
  return Either.map(wish, (wish) => ({ wish, controller }))
}

/** `debug until 14:05:31 (9m 58s)` */
const shown = ({ level, until }: LogLevels.Setting, now: number): string =>
  until === undefined
    ? level
    : `${level} until ${new Date(until).toISOString()} (${Duration.format(Duration.seconds(Math.ceil((until - now) / 1000)))})`

/** The current levels: a line for the program, and one for each controller. */
const page = (levels: LogLevels.Levels, controllers: ReadonlyArray<string>) =>
  Effect.map(Effect.clock, (clock) => {
    const now = clock.unsafeCurrentTimeMillis()
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
  Effect.locally(Effect.logInfo(line), FiberRef.currentMinimumLogLevel, LogLevel.All)

/** Serves the page until the scope closes. */
export const serve = (
  levels: LogLevels.Levels,
  controllers: ReadonlyArray<string>
): Effect.Effect<void, never, Endpoints.Endpoints | Callers.Callers | Scope.Scope> =>
  Effect.gen(function* () {
    const endpoints = yield* Endpoints.Endpoints
    const show = Effect.map(page(levels, controllers), (body) =>
      Endpoints.text(200, body, { "cache-control": "no-store" })
    )
    const change = (method: string, query: URLSearchParams) =>
      Either.match(wishOf(method, query, controllers), {
        onLeft: (message) => Effect.succeed(Endpoints.text(400, message)),
        onRight: ({ controller, wish }) => {
          const whose = controller === undefined ? "everything" : `controller ${controller}`
          const done =
            wish._tag === "Set"
              ? Effect.zipRight(
                  levels.set(wish.level, {
                    controller,
                    during: wish.during,
                    over: inform(`The log level of ${whose} has expired and is reset`)
                  }),
                  inform(
                    `The log level of ${whose} is ${wish.level}${wish.during === undefined ? "" : ` for ${Duration.format(wish.during)}`}`
                  )
                )
              : Effect.zipRight(levels.reset(controller), inform(`The log level of ${whose} is reset`))
          return Effect.zipRight(done, show)
        }
      })
    const handler = yield* Callers.guarded(
      (request) =>
        request.method === "GET" || request.method === "HEAD"
          ? show
          : change(request.method, new URL(request.url).searchParams),
      { loopback: true }
    )
    yield* endpoints.route("probes", "/loglevel", handler, ["GET", "HEAD", "PUT", "POST", "DELETE"])
  })
