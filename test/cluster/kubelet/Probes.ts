/**
 * The probes of a container that runs: whether it has started, lives, is ready. Over HTTP only; the pods of a node share the
 * machine's network, so a probe without a host of its own asks this machine.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Container } from "./Environment.ts"

type Probe = NonNullable<Container["livenessProbe"]>

/** What is told of a container while it is probed. */
export interface Listener<R> {
  /** It has started: from now on it is asked whether it lives and is ready. */
  readonly started: Effect.Effect<void, never, R>
  readonly ready: (is: boolean) => Effect.Effect<void, never, R>
  /** One look has failed: `Readiness probe failed: HTTP probe failed with statuscode: 500`. */
  readonly unhealthy: (message: string) => Effect.Effect<void, never, R>
}

/** What holds of a container that nobody has asked yet. */
export const atFirst = ({ readinessProbe, startupProbe }: Container) => ({
  started: startupProbe === undefined,
  ready: startupProbe === undefined && readinessProbe === undefined
})

/** Whether probes delay a container that passes all of them. */
export const isDelayed = ({ readinessProbe, startupProbe }: Container): boolean =>
  (startupProbe?.initialDelaySeconds ?? 0) > 0 ||
  (readinessProbe?.initialDelaySeconds ?? 0) > 0 ||
  (readinessProbe?.successThreshold ?? 1) > 1

/**
 * The probes of a container without a program, all of which succeed: it has started and is ready as early as a real one. A real kubelet
 * counts `initialDelaySeconds` from the start of the container, and asks whether it is ready only after its startup probe.
 */
export const pretend = <R>(
  { readinessProbe, startupProbe }: Container,
  { ready, started }: Pick<Listener<R>, "ready" | "started">
): Effect.Effect<void, never, R> =>
  Effect.gen(function* () {
    const startUp = startupProbe?.initialDelaySeconds ?? 0
    if (startupProbe !== undefined) {
      yield* Effect.sleep(Duration.seconds(startUp))
      yield* started
    }
    const { initialDelaySeconds = 0, periodSeconds = 10, successThreshold = 1 } = readinessProbe ?? {}
    const delay = Math.max(0, initialDelaySeconds - startUp) + (successThreshold - 1) * periodSeconds
    yield* Effect.sleep(Duration.seconds(delay))
    yield* ready(true)
  })

const portOf = ({ ports = [] }: Container, port: number | string): number | string =>
  ports.find(({ name }) => name === port)?.containerPort ?? port

/** What a look finds wrong; nothing, if it is well. */
const look = (container: Container, { httpGet, timeoutSeconds = 1 }: Probe): Effect.Effect<string | undefined> => {
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

/** Probes the containers of a node's pods. Ends when one is to be restarted, with what there is to be said of that. */
export const run = <R>(
  container: Container,
  { ready, started, unhealthy }: Listener<R>
): Effect.Effect<string, never, R> => {
  const { livenessProbe, name, readinessProbe, startupProbe } = container
  /** Asks, until it has been well or not well for so often as the probe says, and gives which. */
  const verdict = (what: string, probe: Probe, wellAgain: boolean): Effect.Effect<boolean, never, R> =>
    Effect.gen(function* () {
      const { failureThreshold = 3, periodSeconds = 10, successThreshold = 1 } = probe
      let well = 0
      let unwell = 0
      while (true) {
        const wrong = yield* look(container, probe)
        well = wrong === undefined ? well + 1 : 0
        unwell = wrong === undefined ? 0 : unwell + 1
        if (wrong !== undefined) yield* unhealthy(`${what} probe failed: ${wrong}`)
        const enough = (wellAgain && well >= successThreshold) || unwell >= failureThreshold
        if (enough) return unwell === 0
        yield* Effect.sleep(Duration.seconds(periodSeconds))
      }
    })
  const begin = ({ initialDelaySeconds = 0 }: Probe) => Effect.sleep(Duration.seconds(initialDelaySeconds))
  const asked = (what: string, probe: Probe | undefined, wellAgain: boolean) =>
    probe === undefined ? Effect.never : Effect.zipRight(begin(probe), verdict(what, probe, wellAgain))

  const restart = (what: string) => `Container ${name} failed ${what} probe, will be restarted`
  const readiness = Effect.gen(function* () {
    if (readinessProbe === undefined) {
      yield* ready(true)
      return yield* Effect.never
    }
    yield* begin(readinessProbe)
    const { periodSeconds = 10 } = readinessProbe
    let is = false
    while (true) {
      const now = yield* verdict("Readiness", readinessProbe, true)
      if (now !== is) yield* ready(now)
      is = now
      yield* Effect.sleep(Duration.seconds(periodSeconds))
    }
  })
  return Effect.gen(function* () {
    if (startupProbe !== undefined) {
      if (!(yield* asked("Startup", startupProbe, true))) return restart("startup")
      yield* started
    }
    yield* Effect.raceFirst(asked("Liveness", livenessProbe, false), readiness)
    return restart("liveness")
  })
}
