/** The setup of tests with replicas of the program. */
import * as Client from "@homeostat/runtime/client/Client"
import * as Kinds from "@homeostat/runtime/command/Kinds"
import { Deployment } from "@homeostat/runtime/resource/BuiltIn"
import * as Crd from "@homeostat/runtime/resource/Crd"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import * as Shared from "@homeostat/testkit/Shared"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect, type Scope } from "effect"
import { program } from "../../../controllers/main.ts"
import * as Managed from "../Managed.ts"

/** The CRDs of all kinds that the program reconciles. Without its CRD, a controller waits. */
export const definitions = Kinds.of(program).map((kind) => Crd.of(kind))

const on =
  (test: typeof Shared.cluster) =>
  (
    name: string,
    body: (cluster: ControlPlane, namespace: string) => Effect.Effect<unknown, unknown, Scope.Scope | Client.Client>,
    timeoutMillis = 120_000
  ): void =>
    test(
      name,
      (cluster) =>
        Effect.gen(function* () {
          yield* cluster.install(...definitions)
          const namespace = yield* cluster.namespace("leadership")
          yield* Effect.provide(body(cluster, namespace), yield* Managed.client(cluster))
        }),
      { ...Envtest.everything, timeoutMillis }
    )

/** Declares a test in a separate namespace, with a client for the test itself. */
export const replicated = on(Shared.cluster)

/** Declares a test on a real control plane. The programs are separate processes, whose requests the test process does not measure. */
export const real = on(Shared.real)

/** Creates a WebApp with one replica. */
export const createApp = (namespace: string, name = "shop", labels: { readonly [name: string]: string } = {}) =>
  Client.create(WebApp, { metadata: { namespace, name, labels }, spec: { image: "registry.test/web:1", replicas: 1 } })

/** The desired number of replicas of the WebApp's Deployment. */
export const replicasOf = (namespace: string, name = "shop") =>
  Effect.map(Client.get(Deployment, { namespace, name }), ({ spec }) => spec?.replicas)
