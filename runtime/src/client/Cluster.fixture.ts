/**
 * The embedded cluster for the unit tests of the runtime: the API server without controllers and nodes, behind Faults. A test changes
 * objects as another client. A reconcile can make such changes too, so they take effect at once.
 */
import * as EmbeddedCluster from "@homeostat/testkit/EmbeddedCluster"
import * as Faults from "@homeostat/testkit/Faults"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { CustomResourceDefinition, Event, Namespace } from "../resource/BuiltIn.ts"
import * as Crd from "../resource/Crd.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as Path from "./Path.ts"
import type { Method } from "./Request.ts"
import type * as Transport from "./Transport.ts"

/** Fields of an object as JSON. */
export interface Fields {
  readonly [field: string]: unknown
}

/** An object of a test. The default namespace is `default`. */
export type Put = Fields & { readonly metadata: Fields & { readonly name: string; readonly namespace?: string } }

/** Requests for assertions: `patch /api/v1/namespaces/default/configmaps/page`. */
export const lines = (requests: ReadonlyArray<Faults.Recorded>): ReadonlyArray<string> =>
  requests.map(({ path, verb }) => `${verb} ${path}`)

/** A cluster with the controls of a test. */
export interface Cluster {
  /** The transport of the tested program, with the faults. */
  readonly transport: Layer.Layer<Transport.Transport>
  readonly faults: Faults.Faults
  /** The requests of the tested program so far, and its writes. */
  readonly requests: ReadonlyArray<Faults.Recorded>
  readonly writes: () => ReadonlyArray<Faults.Recorded>
  /** The stored object, in the namespace `default`. */
  readonly get: <A extends KubernetesObject>(kind: Resource.Resource<A, never>, name: string) => A | undefined
  /** The stored objects in the order of their names. */
  readonly list: <A extends KubernetesObject>(kind: Resource.Resource<A, never>) => ReadonlyArray<A>
  /** The stored Events in the order of their times. */
  readonly events: () => ReadonlyArray<Event>
  /** Creates an object with its status, or replaces it. Also creates its namespace and the CRD of its kind, if they are missing. */
  readonly put: (kind: Resource.Any, object: Put) => void
  /** Merges fields into an object and its status. */
  readonly change: (kind: Resource.Any, name: string, patch: Fields, manager?: string) => void
  /** Applies an object (server-side apply), without force. */
  readonly apply: (kind: Resource.Any, object: Put, manager: string) => void
  /** Deletes an object, if it exists. */
  readonly remove: (kind: Resource.Any, name: string) => void
  /** From now on, the API server accepts any spec and status of this kind, like the CRD of an older or newer version. */
  readonly loosen: (kind: CustomResource.Any) => void
}

/** A cluster with custom kinds. */
export const make = (
  kinds: ReadonlyArray<CustomResource.Any> = [],
  options: EmbeddedCluster.Options = {}
): Effect.Effect<Cluster, never, Scope.Scope> =>
  Effect.gen(function* () {
    const crds = kinds.map((kind) => Crd.of(kind))
    const { server, transport } = yield* EmbeddedCluster.make({ controllers: [], kubelet: false, crds, ...options })
    const run = Effect.runSyncWith(yield* Effect.context())
    const faults = Faults.make()
    const requests = faults.record()

    const send = (method: Method, path: string, body?: object, type = "json", manager = "somebody") => {
      const headers = { accept: "application/json", "content-type": `application/${type}`, "user-agent": manager }
      const text = body === undefined ? undefined : JSON.stringify(body)
      const query = body === undefined ? "" : `?fieldManager=${manager}`
      const answer = run(server.handle({ method, path: path + query, headers, body: text, user: undefined }))
      if (answer.status === 404 && method === "GET") return undefined
      if (answer.status > 299) throw new Error(`${method} ${path}: ${answer.status} ${answer.body}`)
      return JSON.parse(String(answer.body))
    }
    const pathOf = (kind: Resource.Any, { name, namespace = "default" }: Put["metadata"], subresource?: string) =>
      Path.object(kind, { ...(kind.namespaced ? { namespace } : {}), name }, subresource).path
    const typed = (kind: Resource.Any, { metadata, ...rest }: Put) => ({
      apiVersion: Resource.apiVersionOf(kind),
      kind: kind.kind,
      ...rest,
      metadata: { ...(kind.namespaced ? { namespace: "default" } : {}), ...metadata }
    })
    const ensure = (kind: Resource.Any, object: Put): void => {
      if (send("GET", pathOf(kind, object.metadata)) === undefined) send("POST", Path.collection(kind).path, object)
    }
    const declare = (kind: CustomResource.Any): void =>
      ensure(CustomResourceDefinition, { ...Crd.of(kind), metadata: { name: Resource.nameOf(kind) } })

    const cluster: Cluster = {
      transport: faults.over(transport),
      faults,
      requests,
      writes: () => requests.filter(({ verb }) => !["get", "list", "watch"].includes(verb)),
      get: (kind, name) => send("GET", pathOf(kind, { name })),
      list: (kind) => send("GET", Path.collection(kind).path)?.items ?? [],
      events: () =>
        cluster.list(Event).toSorted((one, other) => ((one.eventTime ?? "") < (other.eventTime ?? "") ? -1 : 1)),
      put: (kind, { status, ...fields }) => {
        if (CustomResource.isCustomResource(kind)) declare(kind)
        const object = typed(kind, fields)
        const { namespace } = object.metadata
        if (namespace !== undefined) ensure(Namespace, { metadata: { name: namespace } })
        const resourceVersion = send("GET", pathOf(kind, object.metadata))?.metadata.resourceVersion
        if (resourceVersion === undefined) send("POST", Path.collection(kind, namespace).path, object)
        else
          send(
            "PUT",
            pathOf(kind, object.metadata),
            typed(kind, { ...fields, metadata: { ...object.metadata, resourceVersion } })
          )
        if (status !== undefined) send("PATCH", pathOf(kind, object.metadata, "status"), { status }, "merge-patch+json")
      },
      change: (kind, name, { status, ...patch }, manager) => {
        if (Object.keys(patch).length > 0) send("PATCH", pathOf(kind, { name }), patch, "merge-patch+json", manager)
        if (status !== undefined)
          send("PATCH", pathOf(kind, { name }, "status"), { status }, "merge-patch+json", manager)
      },
      apply: (kind, object, manager) =>
        send("PATCH", pathOf(kind, object.metadata), typed(kind, object), "apply-patch+yaml", manager),
      remove: (kind, name) => {
        if (cluster.get(kind, name) !== undefined) send("DELETE", pathOf(kind, { name }))
      },
      loosen: (kind) => {
        declare(kind)
        const unchecked = { type: "object", "x-kubernetes-preserve-unknown-fields": true }
        const openAPIV3Schema = { type: "object", properties: { spec: unchecked, status: unchecked } }
        const versions = Crd.of(kind).spec.versions.map((version) => ({ ...version, schema: { openAPIV3Schema } }))
        cluster.change(CustomResourceDefinition, Resource.nameOf(kind), { spec: { versions } })
      }
    }
    return cluster
  })
