/** A steady load on a Service, and the requests that it loses. */
import type * as Client from "@homeostat/runtime/client/Client"
import { Clock, Effect, type Scope } from "effect"
import type { Served } from "./Served.ts"
import * as ServiceProxy from "./ServiceProxy.ts"

/** The load until now. */
export interface Load {
  /** The number of requests that were sent. */
  readonly sent: () => number
  /** The errors of the requests that got no answer with status 200. */
  readonly lost: () => ReadonlyArray<string>
  /** The number of answers by their text. */
  readonly answers: () => ReadonlyMap<string, number>
  /** Stops sending requests, and waits for the answers of the requests on their way. */
  readonly stop: Effect.Effect<void>
}

/** A request without an answer after this time is lost. */
const patience = "10 seconds"

/** Sends requests to a Service until the end of the scope. Each request opens a connection, because kube-proxy chooses the pod of a connection. */
export const start = (
  { key, node }: Served,
  name: string,
  perSecond = 200
): Effect.Effect<Load, never, Client.Client | Scope.Scope> =>
  Effect.gen(function* () {
    const proxy = yield* ServiceProxy.start(key(name), node.host)
    const lost: Array<string> = []
    const answers = new Map<string, number>()
    let sent = 0
    let underway = 0
    let stopped = false

    const request = Effect.gen(function* () {
      const target = yield* proxy.pick
      if (target === undefined) return yield* Effect.fail(`request ${sent}: no endpoints available`)
      const answer = yield* Effect.tryPromise({
        try: async (signal) => {
          const response = await fetch(`http://${target}/`, { signal, keepalive: false })
          return { status: response.status, text: await response.text() }
        },
        catch: (error) => `${target}: ${error instanceof Error ? error.message : String(error)}`
      }).pipe(
        Effect.timeoutOrElse({
          duration: patience,
          orElse: () => Effect.fail(`${target}: no answer within ${patience}`)
        })
      )
      if (answer.status !== 200) return yield* Effect.fail(`${target}: status ${answer.status}`)
      answers.set(answer.text, (answers.get(answer.text) ?? 0) + 1)
    }).pipe(
      Effect.catch((error) => Effect.sync(() => lost.push(error))),
      Effect.ensuring(Effect.sync(() => underway--))
    )

    // The load begins when the first pod is ready.
    yield* Effect.repeat(Effect.andThen(Effect.sleep(20), proxy.pick), { until: (target) => target !== undefined })
    const began = yield* Clock.currentTimeMillis
    yield* Effect.gen(function* () {
      // A late timer must not lower the rate.
      const due = (((yield* Clock.currentTimeMillis) - began) * perSecond) / 1000
      while (sent < due && !stopped) {
        sent++
        underway++
        yield* Effect.forkScoped(request)
      }
      yield* Effect.sleep(1000 / perSecond)
    }).pipe(Effect.forever, Effect.forkScoped)
    return {
      sent: () => sent,
      lost: () => lost,
      answers: () => answers,
      stop: Effect.sync(() => {
        stopped = true
      }).pipe(Effect.andThen(Effect.repeat(Effect.sleep(20), { until: () => underway === 0 })), Effect.asVoid)
    }
  })
