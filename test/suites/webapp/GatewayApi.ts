/** The Gateway API in a cluster: the CRD of HTTPRoute, and the report of a Gateway's controller. */
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { CustomResourceDefinition } from "@homeostat/runtime/resource/BuiltIn"
import { HTTPRoute } from "@homeostat/runtime/resource/GatewayKinds"
import type { ObjectKey } from "@homeostat/runtime/resource/KubernetesObject"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"

const text = (fallback?: string) => ({ type: "string", ...(fallback !== undefined && { default: fallback }) })
const object = <P extends { readonly [field: string]: object }>(properties: P) => ({ type: "object", properties })
const atomic = <I extends object>(items: I) => ({ type: "array", items, "x-kubernetes-list-type": "atomic" })

const parentRef = object({
  group: text("gateway.networking.k8s.io"),
  kind: text("Gateway"),
  name: text(),
  namespace: text(),
  sectionName: text()
})

const condition = object({
  type: text(),
  status: text(),
  reason: text(),
  message: text(),
  lastTransitionTime: { type: "string", format: "date-time" },
  observedGeneration: { type: "integer", format: "int64" }
})

const filters = atomic(object({ type: text() }))

const backendRef = object({
  group: text(""),
  kind: text("Service"),
  name: text(),
  namespace: text(),
  filters,
  port: { type: "integer" },
  weight: { type: "integer", default: 1 }
})

const spec = object({
  parentRefs: atomic(parentRef),
  hostnames: atomic(text()),
  rules: atomic(
    object({
      matches: atomic(object({ path: object({ type: text("PathPrefix"), value: text("/") }) })),
      filters,
      backendRefs: atomic(backendRef)
    })
  )
})

const status = object({
  parents: atomic(
    object({
      parentRef,
      controllerName: text(),
      conditions: {
        type: "array",
        items: { ...condition, required: ["type"] },
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"]
      }
    })
  )
})

/** The part of the CRD of the standard channel that a WebApp uses, with its defaults and list types. */
export const definition = {
  metadata: {
    name: "httproutes.gateway.networking.k8s.io",
    annotations: { "api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/gateway-api/pull/4530" }
  },
  spec: {
    group: "gateway.networking.k8s.io",
    names: { kind: "HTTPRoute", listKind: "HTTPRouteList", plural: "httproutes", singular: "httproute" },
    scope: "Namespaced",
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { ...object({ spec, status }), required: ["spec"] } }
      }
    ]
  }
} as const

const key = { name: definition.metadata.name }

/** Installs the CRD, unless it is there, and waits until the API server serves the kind. */
export const install = Effect.gen(function* () {
  yield* Effect.catchTag(Client.create(CustomResourceDefinition, definition), "AlreadyExists", () => Effect.void)
  yield* Managed.eventually("HTTPRoute is served", Client.page(HTTPRoute), () => true)
})

/** Deletes the CRD, and waits until the API server does not serve the kind. */
export const uninstall = Effect.gen(function* () {
  yield* Effect.catchTag(Client.delete(CustomResourceDefinition, key), "NotFound", () => Effect.void)
  yield* Managed.eventually(
    "HTTPRoute is not served",
    Effect.catch(Client.page(HTTPRoute), Effect.succeed),
    (answer) => "_tag" in answer && answer._tag === "NotFound"
  )
})

/** Writes the conditions of the route as the controller of its Gateway, about its present generation. */
export const report = (
  route: ObjectKey,
  conditions: { readonly [type: string]: readonly [status: "True" | "False", reason: string, message: string] }
) =>
  Effect.gen(function* () {
    const { metadata, spec } = yield* Client.get(HTTPRoute, route)
    const [parentRef] = spec.parentRefs ?? []
    const parents = [
      {
        parentRef,
        controllerName: "example.net/gateway",
        conditions: Object.entries(conditions).map(([type, [status, reason, message]]) => ({
          type,
          status,
          reason,
          message,
          lastTransitionTime: "2026-11-20T08:00:00Z",
          observedGeneration: metadata.generation
        }))
      }
    ]
    yield* Client.status.patch(HTTPRoute, route, Patch.merge({ status: { parents } }))
  })
