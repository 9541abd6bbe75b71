/**
 * A kind that means nothing, for tests of the runtime alone; and what each of them begins with.
 */
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import type { ObjectKey } from "@homeostat/runtime/resource/KubernetesObject"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect, Schema, type Scope } from "effect"
import * as Managed from "../Managed.ts"

/** The kind. Its only field says whatever a test wants to tell its controller. */
export const Chore = CustomResource.make({
  group: "suites.homeostat.dev",
  version: "v1",
  kind: "Chore",
  spec: Schema.Struct({ what: Schema.optionalWith(Schema.String, { default: () => "" }) }),
  status: Schema.Struct({ told: Schema.optionalWith(Schema.String, { exact: true }) })
})

/** One of it. */
export type Chore = typeof Chore.Type

/** Where a test works. */
export interface Place {
  readonly cluster: ControlPlane
  /** Of the test alone. */
  readonly namespace: string
}

const on =
  (test: typeof Shared.cluster) =>
  <A, E>(
    name: string,
    body: (place: Place) => Effect.Effect<A, E, Scope.Scope | Client.Client>,
    timeoutMillis?: number
  ): void =>
    test(
      name,
      (cluster) =>
        Effect.gen(function* () {
          yield* cluster.install(Crd.of(Chore))
          const place = { cluster, namespace: yield* cluster.namespace("runtime") }
          return yield* Effect.provide(body(place), yield* Managed.client(cluster))
        }),
      { ...Envtest.everything, timeoutMillis }
    )

/** A test in a namespace of its own, on a cluster of the lane that knows the kind, and with a client for its own requests. */
export const placed = on(Shared.cluster)

/** The same on a real control plane. */
export const real = on(Shared.real)

/** Makes one. */
export const create = (
  { namespace }: Place,
  name: string,
  options: {
    readonly what?: string
    readonly labels?: { readonly [key: string]: string }
    readonly finalizers?: ReadonlyArray<string>
  } = {}
) => {
  const { what = "", ...metadata } = options
  return Client.create(Chore, { metadata: { namespace, name, ...metadata }, spec: { what } })
}

/** Changes what it says. */
export const say = (key: ObjectKey, what: string) => Client.patch(Chore, key, Patch.merge({ spec: { what } }))

/** Changes nothing that matters: an event and no more. */
export const touch = (key: ObjectKey, text: string) =>
  Client.patch(Chore, key, Patch.merge({ metadata: { annotations: { touched: text } } }))

/** Says in its status that it was seen. */
export const tell = (key: ObjectKey, told: string) => Client.status.patch(Chore, key, Patch.merge({ status: { told } }))
