/**
 * The probes of a container that runs: whether it has started, lives, is ready. A program is asked over HTTP only; the pods of a node
 * share the machine's network, so a probe without a host of its own asks this machine.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Container } from "./Environment.ts"

type Probe = NonNullable<Container["livenessProbe"]>

/** The probes that a container can have. */
export type Kind = "liveness" | "readiness" | "startup"

/** Asks a container once; gives what is wrong, or undefined if it is well. */
export type Look = (kind: Kind, probe: Probe) => Effect.Effect<string | undefined>

/** Why a container is to end. */
export interface Verdict {
  readonly kind: Kind
  /** How long it may take to end, if its probe says so. */
  readonly graceSeconds: number | undefined
}

/** What is told of a container while it is probed. */
export interface Listener<R> {
  /** It has started: from now on it is asked whether it lives and is ready. */
  readonly started: Effect.Effect<void, never, R>
  readonly ready: (is: boolean) => Effect.Effect<void, never, R>
  /** One look has failed: `Readiness probe failed: HTTP probe failed with statuscode: 500`. */
  readonly unhealthy: (message: string) => Effect.Effect<void, never, R>
}

/** What holds of a container, as far as its probes tell. */
export interface Health {
  readonly started: boolean
  readonly ready: boolean
}

/** Whether a container has probes. */
export const isProbed = ({ livenessProbe, readinessProbe, startupProbe }: Container): boolean =>
  [livenessProbe, readinessProbe, startupProbe].some((probe) => probe !== undefined)

/** What holds of a container that nobody has asked yet. */
export const atFirst = ({ readinessProbe, startupProbe }: Container): Health => ({
  started: startupProbe === undefined,
  ready: startupProbe === undefined && readinessProbe === undefined
})

/** Whether probes delay a container that passes all of them. */
export const isDelayed = ({ readinessProbe, startupProbe }: Container): boolean =>
  (startupProbe?.initialDelaySeconds ?? 0) > 0 ||
  (readinessProbe?.initialDelaySeconds ?? 0) > 0 ||
  (readinessProbe?.successThreshold ?? 1) > 1

/** What a probe that fails says of a container without a program. */
const symptom = ({ grpc, httpGet, tcpSocket }: Probe): string =>
  httpGet !== undefined
    ? "HTTP probe failed with statuscode: 500"
    : tcpSocket !== undefined
      ? `dial tcp :${tcpSocket.port}: connect: connection refused`
      : grpc !== undefined
        ? 'service unhealthy (responded with "NOT_SERVING")'
        : ""

/** Asks a container without a program: the kinds of probes that `failing` returns fail. */
export const pretended =
  (failing: () => ReadonlyArray<string>): Look =>
  (kind, probe) =>
    Effect.sync(() => (failing().includes(kind) ? symptom(probe) : undefined))

const portOf = ({ ports = [] }: Container, port: number | string): number | string =>
  ports.find(({ name }) => name === port)?.containerPort ?? port

/** Asks a program over HTTP. */
export const http =
  (container: Container): Look =>
  (_, { httpGet, timeoutSeconds = 1 }) => {
    if (httpGet === undefined) return Effect.succeed("this node knows HTTP probes only")
    const { host = "127.0.0.1", httpHeaders = [], path = "/", port, scheme = "HTTP" } = httpGet
    const url = `${scheme.toLowerCase()}://${host}:${portOf(container, port)}${path}`
    return Effect.tryPromise({
      try: async (signal) => {
        const { status } = await fetch(url, {
          signal,
          keepalive: false,
          redirect: "manual",
          headers: Object.fromEntries(httpHeaders.map(({ name, value }) => [name, value])),
          // As kubelet does: a certificate is not looked at.
          tls: { rejectUnauthorized: false }
        })
        return status >= 200 && status < 400 ? undefined : `HTTP probe failed with statuscode: ${status}`
      },
      catch: (error) => `Get ${JSON.stringify(url)}: ${error instanceof Error ? error.message : String(error)}`
    }).pipe(
      Effect.timeoutFail({
        duration: Duration.seconds(timeoutSeconds),
        onTimeout: () => `Get ${JSON.stringify(url)}: no answer within ${timeoutSeconds}s`
      }),
      Effect.merge
    )
  }

/**
 * Probes a container that started at `since`, in epoch milliseconds, and whose health is known so far. Ends when the container is to end,
 * and says why. While the container is well, it waits for `calm` before it asks again. The first probes of a container that continues come
 * when they would have come without the pause.
 */
export const run = <R>(
  container: Container,
  since: number,
  known: Health,
  look: Look,
  calm: Effect.Effect<void>,
  { ready, started, unhealthy }: Listener<R>
): Effect.Effect<Verdict, never, R> =>
  Effect.gen(function* () {
    const { livenessProbe, readinessProbe, startupProbe } = container
    const begun = yield* Clock.currentTimeMillis
    const begin = ({ initialDelaySeconds = 0, periodSeconds = 10 }: Probe) => {
      const first = since + initialDelaySeconds * 1000
      const missed = Math.max(0, Math.ceil((begun - first) / (periodSeconds * 1000)))
      const next = first + missed * periodSeconds * 1000
      return Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.sleep(Duration.millis(Math.max(0, next - now))))
    }
    const pause = ({ periodSeconds = 10 }: Probe) => Effect.sleep(Duration.seconds(periodSeconds))
    /** Asks, until it has been well or not well for so often as the probe says, and gives which. */
    const verdict = (kind: Kind, probe: Probe, wellAgain: boolean): Effect.Effect<boolean, never, R> =>
      Effect.gen(function* () {
        const { failureThreshold = 3, successThreshold = 1 } = probe
        let well = 0
        let unwell = 0
        while (true) {
          const wrong = yield* look(kind, probe)
          well = wrong === undefined ? well + 1 : 0
          unwell = wrong === undefined ? 0 : unwell + 1
          if (wrong !== undefined) {
            yield* unhealthy(`${kind.charAt(0).toUpperCase()}${kind.slice(1)} probe failed: ${wrong}`)
          }
          const enough = (wellAgain && well >= successThreshold) || unwell >= failureThreshold
          if (enough) return unwell === 0
          if (well >= successThreshold) yield* calm
          yield* pause(probe)
        }
      })
    const fatal = (kind: Kind, { terminationGracePeriodSeconds }: Probe): Verdict => ({
      kind,
      graceSeconds: terminationGracePeriodSeconds
    })
    const readiness = Effect.gen(function* () {
      let is = known.ready
      if (readinessProbe === undefined) {
        if (!is) yield* ready(true)
        return yield* Effect.never
      }
      if (is) yield* Effect.zipRight(calm, pause(readinessProbe))
      else yield* begin(readinessProbe)
      while (true) {
        const now = yield* verdict("readiness", readinessProbe, true)
        if (now !== is) yield* ready(now)
        is = now
        if (is) yield* calm
        yield* pause(readinessProbe)
      }
    })
    if (startupProbe !== undefined && !known.started) {
      yield* begin(startupProbe)
      if (!(yield* verdict("startup", startupProbe, true))) return fatal("startup", startupProbe)
      yield* started
    }
    if (livenessProbe === undefined) return yield* readiness
    const lives = Effect.zipRight(begin(livenessProbe), verdict("liveness", livenessProbe, false))
    yield* Effect.raceFirst(lives, readiness)
    return fatal("liveness", livenessProbe)
  })
