/**
 * The startup, liveness and readiness probes of a running container. The kubelet probes a program over HTTP and TCP only. The pods of a
 * node share the network of this machine. A probe without `host` connects to the address of this machine that stands for the pod's address.
 */
import { createConnection } from "node:net"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Container } from "./Environment.ts"

type Probe = NonNullable<Container["livenessProbe"]>

/** The kinds of probes. */
export type Kind = "liveness" | "readiness" | "startup"

/** Probes a container once. Returns the error message, or undefined if the container is healthy. */
export type Look = (kind: Kind, probe: Probe) => Effect.Effect<string | undefined>

/** The failed probe because of which the kubelet stops a container. */
export interface Verdict {
  readonly kind: Kind
  /** The grace period of the probe in seconds; undefined: the grace period of the pod applies. */
  readonly graceSeconds: number | undefined
}

/** Receives the results of the probes of a container. */
export interface Listener<R> {
  /** The startup probe has succeeded. The liveness and readiness probes begin. */
  readonly started: Effect.Effect<void, never, R>
  readonly ready: (is: boolean) => Effect.Effect<void, never, R>
  /** One probe has failed: `Readiness probe failed: HTTP probe failed with statuscode: 500`. */
  readonly unhealthy: (message: string) => Effect.Effect<void, never, R>
}

/** The health of a container by its probes. */
export interface Health {
  readonly started: boolean
  readonly ready: boolean
}

/** Whether a container has probes. */
export const isProbed = ({ livenessProbe, readinessProbe, startupProbe }: Container): boolean =>
  [livenessProbe, readinessProbe, startupProbe].some((probe) => probe !== undefined)

/** Returns the health of a container before its first probe. */
export const atFirst = ({ readinessProbe, startupProbe }: Container): Health => ({
  started: startupProbe === undefined,
  ready: startupProbe === undefined && readinessProbe === undefined
})

/** Whether a container that passes all of its probes becomes ready only after a delay. */
export const isDelayed = ({ readinessProbe, startupProbe }: Container): boolean =>
  (startupProbe?.initialDelaySeconds ?? 0) > 0 ||
  (readinessProbe?.initialDelaySeconds ?? 0) > 0 ||
  (readinessProbe?.successThreshold ?? 1) > 1

/** The error message of a failed probe of a simulated container. */
const symptom = ({ grpc, httpGet, tcpSocket }: Probe): string =>
  httpGet !== undefined
    ? "HTTP probe failed with statuscode: 500"
    : tcpSocket !== undefined
      ? `dial tcp :${tcpSocket.port}: connect: connection refused`
      : grpc !== undefined
        ? 'service unhealthy (responded with "NOT_SERVING")'
        : ""

/** Probes a simulated container. The kinds of probes that `failing` returns fail; all others succeed. */
export const pretended =
  (failing: () => ReadonlyArray<string>): Look =>
  (kind, probe) =>
    Effect.sync(() => (failing().includes(kind) ? symptom(probe) : undefined))

const portOf = ({ ports = [] }: Container, port: number | string): number | string =>
  ports.find(({ name }) => name === port)?.containerPort ?? port

/** Opens a TCP connection. Returns the error message, or undefined for success. */
const connect = (host: string, port: number, timeoutSeconds: number): Effect.Effect<string | undefined> =>
  Effect.callback((resume) => {
    const socket = createConnection({ host, port, timeout: timeoutSeconds * 1000 })
    const end = (wrong?: string) => {
      socket.destroy()
      resume(Effect.succeed(wrong === undefined ? undefined : `dial tcp ${host}:${port}: ${wrong}`))
    }
    socket.once("connect", () => end())
    socket.once("timeout", () => end("i/o timeout"))
    socket.once("error", ({ message }) =>
      end(message.includes("ECONNREFUSED") ? "connect: connection refused" : message)
    )
    return Effect.sync(() => socket.destroy())
  })

/** Probes a program over HTTP or TCP. A probe without a host connects to `address`. */
export const program =
  (container: Container, address: string): Look =>
  (_, { httpGet, tcpSocket, timeoutSeconds = 1 }) => {
    if (tcpSocket !== undefined) {
      return connect(tcpSocket.host ?? address, Number(portOf(container, tcpSocket.port)), timeoutSeconds)
    }
    if (httpGet === undefined) return Effect.succeed("this node knows HTTP and TCP probes only")
    const { host = address, httpHeaders = [], path = "/", port, scheme = "HTTP" } = httpGet
    const url = `${scheme.toLowerCase()}://${host}:${portOf(container, port)}${path}`
    return Effect.tryPromise({
      try: async (signal) => {
        const { status } = await fetch(url, {
          signal,
          keepalive: false,
          redirect: "manual",
          headers: Object.fromEntries(httpHeaders.map(({ name, value }) => [name, value])),
          // Like kubelet, this probe does not verify certificates.
          tls: { rejectUnauthorized: false }
        })
        return status >= 200 && status < 400 ? undefined : `HTTP probe failed with statuscode: ${status}`
      },
      catch: (error) => `Get ${JSON.stringify(url)}: ${error instanceof Error ? error.message : String(error)}`
    }).pipe(
      Effect.timeoutOrElse({
        duration: Duration.seconds(timeoutSeconds),
        orElse: () => Effect.fail(`Get ${JSON.stringify(url)}: no answer within ${timeoutSeconds}s`)
      }),
      Effect.catch(Effect.succeed)
    )
  }

/**
 * Probes a container that started at `since`, in epoch milliseconds, from its health `known` so far. Returns the failed probe because of
 * which the container must stop. While the container is healthy, `run` waits for `calm` before the next probe. For a
 * container that continues, the first probes run at the times that they would have had without the interruption.
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
    /** Probes until `successThreshold` or `failureThreshold` is reached. Returns true for success. */
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
      if (is) yield* Effect.andThen(calm, pause(readinessProbe))
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
    const lives = Effect.andThen(begin(livenessProbe), verdict("liveness", livenessProbe, false))
    yield* Effect.raceFirst(lives, readiness)
    return fatal("liveness", livenessProbe)
  })
