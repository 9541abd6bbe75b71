/**
 * Measures the cost of tracing: `bun run test/bench/tracing.ts [rounds [objects]]`.
 *
 * Two managers of WebApps run in this process, each with its own API server in memory. Only one of them traces. They take turns: one
 * works while the other is idle, so other load on the machine affects both. The result is the CPU time of the process per object.
 * Tracing is configured as in the binary, with propagation `link`, and includes the sampling decision for each trace. The exporter sends
 * nothing.
 *
 * - `no-op`: every WebApp is converged and is added to the queue once. The manager writes nothing and keeps no trace.
 * - `write`: the image of every WebApp changes on the server. The manager writes its Deployment, its status and an Event. The
 *   CPU time includes the server's work in both runs.
 */
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import { controller } from "../../controllers/webapp/controller.ts"
import { WebApp } from "../../controllers/webapp/WebApp.ts"
import * as Traces from "../../observability/src/Traces.ts"
import * as Cache from "../../runtime/src/cache/Cache.ts"
import * as Client from "../../runtime/src/client/Client.ts"
import * as Cluster from "../../runtime/src/client/Cluster.fixture.ts"
import * as Attempt from "../../runtime/src/controller/Attempt.ts"
import * as Reachability from "../../runtime/src/controller/Reachability.ts"
import * as RunnerFixture from "../../runtime/src/controller/Runner.fixture.ts"
import * as EventRecorder from "../../runtime/src/events/EventRecorder.ts"
import * as Tracing from "../../runtime/src/telemetry/Tracing.ts"

const [rounds = 200, objects = 50] = process.argv.slice(2).map(Number)

const names = Array.from({ length: objects }, (_, index) => `shop-${index}`)

const image = (version: number) => `nginx:1.${version}`

const seconds = (): number => {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1e6
}

/** An exporter of traces that accepts all traces and sends nothing. */
const nowhere: Traces.Open = () =>
  Effect.succeed({
    room: () => Number.POSITIVE_INFINITY,
    inFlight: () => 0,
    write: () => {},
    shutdown: () => Promise.resolve()
  })

/** An API server with converged WebApps, and their manager. */
const world = (settings: Tracing.Settings | undefined) =>
  Effect.gen(function* () {
    const server = yield* Cluster.make()
    for (const name of names) {
      server.put(WebApp, { metadata: { name }, spec: { image: image(0), replicas: 2, port: 8080 } })
    }
    const counts = { attempts: 0, requests: 0, kept: 0 }
    const count: Attempt.Observer = (attempt) =>
      Effect.sync(() => {
        counts.attempts++
        counts.requests += attempt.exchanges.length
        if (attempt.root?.recording.exported === true) counts.kept++
      })
    const client = Client.layer().pipe(Layer.provide(server.transport))
    const services = yield* Layer.mergeAll(
      Cache.layer(),
      EventRecorder.layer({ instance: "bench" }),
      Layer.effect(Reachability.Reachability, Reachability.ofCluster)
    ).pipe(Layer.provideMerge(client), Layer.provide(server.transport), Layer.build)
    const exporting = Traces.exporting({ ratio: 0, parentBased: true }, nowhere)
    const decide = settings === undefined ? () => Effect.void : (yield* exporting).attempts
    const runner = yield* RunnerFixture.start(controller).pipe(
      Effect.provideService(Attempt.Observers, [Attempt.log, decide, count]),
      Effect.provideService(Tracing.Tracing, settings),
      Effect.provide(services)
    )
    yield* runner.started
    const queue = Option.getOrThrow(runner.queue())

    /** Waits until the queue is empty and no reconcile has run for 10 ms. */
    const quiet = Effect.gen(function* () {
      let before = -1
      while (true) {
        const { processing, ready } = queue.snapshot()
        if (ready + processing === 0 && counts.attempts === before) return
        before = counts.attempts
        yield* Effect.sleep(10)
      }
    })
    yield* quiet

    const measured = (begin: (at: number) => void) =>
      Effect.gen(function* () {
        const at = yield* Clock.currentTimeMillis
        const before = { ...counts, cpu: seconds() }
        begin(at)
        yield* quiet
        return {
          micros: ((seconds() - before.cpu) * 1e6) / objects,
          reconciles: (counts.attempts - before.attempts) / objects,
          requests: (counts.requests - before.requests) / objects,
          kept: (counts.kept - before.kept) / objects
        }
      })

    let version = 0
    return {
      "no-op": measured((at) => {
        for (const key of names) queue.add(`default/${key}`, { kind: "resync", at })
      }),
      write: measured(() => {
        version++
        for (const name of names) server.change(WebApp, name, { spec: { image: image(version) } })
      })
    }
  })

const median = (values: ReadonlyArray<number>): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2
}

const main = Effect.gen(function* () {
  const off = yield* world(undefined)
  const on = yield* world({ propagation: "link", annotation: Tracing.annotation })
  for (const scenario of ["no-op", "write"] as const) {
    const warmUp = Effect.zip(off[scenario], on[scenario])
    for (let round = 0; round < 20; round++) yield* warmUp
    const pairs: Array<readonly [Effect.Success<typeof off.write>, Effect.Success<typeof off.write>]> = []
    for (let round = 0; round < rounds; round++) {
      // The manager that goes first alternates too.
      if (round % 2 === 0) pairs.push(yield* Effect.zip(off[scenario], on[scenario]))
      else {
        const [second, first] = yield* Effect.zip(on[scenario], off[scenario])
        pairs.push([first, second])
      }
    }
    const ratios = pairs.map(([without, traced]) => traced.micros / without.micros).sort((a, b) => a - b)
    const first = pairs[0]?.[1]
    const total = (which: 0 | 1) => pairs.reduce((sum, pair) => sum + pair[which].micros, 0)
    const share = (at: number) => (ratios[Math.floor(at * (ratios.length - 1))] ?? 0).toFixed(3)
    yield* Console.log(
      `${scenario}: CPU per object ${median(pairs.map(([{ micros }]) => micros)).toFixed(0)} µs off, ` +
        `${median(pairs.map(([, { micros }]) => micros)).toFixed(0)} µs on; ` +
        `ratio ${median(ratios).toFixed(3)} (half of the rounds ${share(0.25)}–${share(0.75)}), of the sums ` +
        `${(total(1) / total(0)).toFixed(3)}; ` +
        `${first?.reconciles} reconciles, ${first?.requests} requests, ${first?.kept} traces kept`
    )
  }
}).pipe(Effect.scoped, Effect.provide(Logger.layer([])))

await Effect.runPromise(main)
