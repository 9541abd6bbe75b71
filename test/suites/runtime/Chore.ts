/** A kind for tests of the runtime alone, and a place for each test. */
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import type { ObjectKey } from "@homeostat/runtime/resource/KubernetesObject"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import type { CustomResourceDefinition } from "@homeostat/testkit/envtest/Crds"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect, Schema, type Scope } from "effect"
import * as Managed from "../Managed.ts"

export const Chore = CustomResource.make({
  group: "suites.homeostat.dev",
  version: "v1",
  kind: "Chore",
  spec: Schema.Struct({ what: Schema.String.pipe(Schema.withDecodingDefaultType(Effect.succeed(""))) }),
  status: Schema.Struct({ result: Schema.optionalKey(Schema.String) })
})

export type Chore = typeof Chore.Type

export interface Place {
  readonly cluster: ControlPlane
  readonly namespace: string
}

/** Tests in namespaces of their own, on a cluster that serves the definitions, with a client. */
export const on =
  (definitions: ReadonlyArray<CustomResourceDefinition>, test = Shared.cluster) =>
  <A, E>(
    name: string,
    body: (place: Place) => Effect.Effect<A, E, Scope.Scope | Client.Client>,
    timeoutMillis?: number
  ): void =>
    test(
      name,
      (cluster) =>
        Effect.gen(function* () {
          yield* cluster.install(...definitions)
          const place = { cluster, namespace: yield* cluster.namespace("runtime") }
          return yield* Effect.provide(body(place), yield* Managed.client(cluster))
        }),
      { ...Envtest.everything, timeoutMillis }
    )

/** A test on a cluster of the lane. */
export const placed = on([Crd.of(Chore)])

/** A test on a real control plane. */
export const real = on([Crd.of(Chore)], Shared.real)

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

export const change = (key: ObjectKey, what: string) => Client.patch(Chore, key, Patch.merge({ spec: { what } }))

/** Causes an event without a change of the spec. */
export const touch = (key: ObjectKey, text: string) =>
  Client.patch(Chore, key, Patch.merge({ metadata: { annotations: { touched: text } } }))

export const report = (key: ObjectKey, result: string) =>
  Client.status.patch(Chore, key, Patch.merge({ status: { result } }))
