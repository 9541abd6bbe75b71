/** What tests of replicas of the program begin with. */
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

/** The definitions of all kinds that the program works on: without one, its controller waits. */
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

/** A test in a namespace of its own, which the test itself reads and writes by a client. */
export const replicated = on(Shared.cluster)

/** The same on a real control plane: its processes are not the one whose requests are measured. */
export const real = on(Shared.real)

/** Makes a WebApp with one replica. */
export const createApp = (namespace: string, name = "shop", labels: { readonly [name: string]: string } = {}) =>
  Client.create(WebApp, { metadata: { namespace, name, labels }, spec: { image: "registry.test/web:1", replicas: 1 } })

/** How many replicas its Deployment is to have. */
export const replicasOf = (namespace: string, name = "shop") =>
  Effect.map(Client.get(Deployment, { namespace, name }), ({ spec }) => spec?.replicas)
