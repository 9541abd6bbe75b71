/** Runs a manager in the test's process, with open ports. */
import { MetricsText, OpenMetrics } from "@homeostat/observability"
import * as Transport from "@homeostat/runtime/client/Transport"
import type { Controller } from "@homeostat/runtime/controller/Controller"
import type { Runner } from "@homeostat/runtime/controller/Runner"
import * as Endpoints from "@homeostat/runtime/manager/Endpoints"
import * as Health from "@homeostat/runtime/manager/Health"
import * as Manager from "@homeostat/runtime/manager/Manager"
import * as MetricsPage from "@homeostat/runtime/manager/MetricsPage"
import type { User } from "@homeostat/testkit/envtest/User"
import { Context, Effect, Exit, Layer, References, Scope } from "effect"
import * as Managed from "../Managed.ts"
import * as Counted from "../runtime/Counted.ts"

export interface Answer {
  readonly status: number
  readonly body: string
}

/** The ports of a process, and the manager behind them. */
export interface Served {
  /** Sends a GET to the port of the probes. */
  readonly probe: (path: string) => Effect.Effect<Answer>
  readonly metrics: Effect.Effect<string>
  /** The metrics page in a format. */
  readonly metricsAs: (format: MetricsPage.Format) => Effect.Effect<string>
  /** Starts controllers without waiting for them. They stop when the scope closes, or by `stop`. */
  readonly start: (
    user: User,
    controllers: ReadonlyArray<Controller<Manager.Runtime>>,
    settings: Manager.Settings & { readonly namespaces: ReadonlyArray<string> }
  ) => Effect.Effect<ReadonlyArray<Runner>, never, Scope.Scope>
  /** Stops the controllers as a signal does, and waits for their end. */
  readonly stop: Effect.Effect<void>
}

const local = { hostname: "127.0.0.1", port: 0 }

const get = (
  address: string | undefined,
  path: string,
  headers: { readonly [name: string]: string } = {}
): Effect.Effect<Answer> =>
  Effect.promise(async () => {
    const response = await fetch(`http://${address}${path}`, { headers })
    return { status: response.status, body: await response.text() }
  })

/** Opens the ports before a manager starts. */
export const open: Effect.Effect<Served, Endpoints.BindFailed, Scope.Scope> = Effect.gen(function* () {
  const ports = yield* Layer.build(Layer.provideMerge(Health.layer, Endpoints.layer({ metrics: local, probes: local })))
  const { addresses } = Context.get(ports, Endpoints.Endpoints)
  const life = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
  return {
    probe: (path) => get(addresses.probes, path),
    metrics: Effect.map(get(addresses.metrics, "/metrics"), ({ body }) => body),
    metricsAs: ({ mediaType, version }) =>
      Effect.map(
        get(addresses.metrics, "/metrics", { accept: `${mediaType};version=${version}, */*;q=0.1` }),
        ({ body }) => body
      ),
    start: (user, controllers, { namespaces, ...settings }) =>
      Effect.gen(function* () {
        const transport = Transport.layer(Counted.clusterOf(user))
        const services = yield* Layer.build(
          Manager.layer({ namespaces, instance: "test" }).pipe(Layer.provide(transport))
        )
        return yield* Effect.andThen(
          MetricsPage.serve([MetricsText.format, OpenMetrics.format]),
          Manager.start(controllers, settings)
        ).pipe(Effect.provide(services))
      }).pipe(Effect.provide(ports), Scope.provide(life), Effect.provideService(References.MinimumLogLevel, "None")),
    stop: Scope.close(life, Exit.void)
  }
})

/** Waits until a probe has the wanted response. */
export const until = (
  { probe }: Served,
  path: string,
  description: string,
  wanted: (answer: Answer) => boolean
): Effect.Effect<Answer, Managed.NotSo> => Managed.eventually(description, probe(path), wanted)
