/** Applies objects of a file to the API server in memory, before the controllers of a plan start. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { ApiError } from "../client/ApiError.ts"
import type { Transport } from "../client/Transport.ts"
import type * as CustomResource from "../resource/CustomResource.ts"
import { keyString } from "../resource/KubernetesObject.ts"
import { apiVersionOf } from "../resource/Resource.ts"
import * as Answers from "./Answers.ts"
import * as Live from "./Live.ts"
import type { Collection, Simulation } from "./Simulation.ts"
import type { Copied } from "./Snapshot.ts"
import * as Target from "./Target.ts"

/** An object of a file. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined }
}

/** An object of a file cannot be applied. */
export class Rejected extends Data.TaggedError("Rejected")<{ readonly message: string }> {}

/** The way to the API servers. */
export interface Options {
  readonly client: Live.Reader
  readonly kinds: ReadonlyArray<CustomResource.Any>
  readonly serve: (target: Target.Target) => Copied
  readonly simulation: Simulation
  /** The transport of the plan. */
  readonly transport: Transport["Service"]
  /** The namespace of objects without one. */
  readonly namespace: string
  /** The namespaces of the plan; none means all. */
  readonly namespaces: ReadonlyArray<string>
}

const named = ({ kind, metadata: { name } }: Manifest, namespace = ""): string =>
  `${kind} ${keyString({ name, namespace })}`

const unserved = (manifest: Manifest, hint: string): Rejected =>
  new Rejected({
    message: `${named(manifest, manifest.metadata.namespace)}: the API server does not serve ${manifest.apiVersion} ${manifest.kind} (${hint})`
  })

/** The collection of a kind: of the program, of Kubernetes, or of the cluster. */
const collectionOf = (
  { client, kinds, simulation }: Options,
  manifest: Manifest
): Effect.Effect<Collection, ApiError | Rejected> => {
  const { apiVersion, kind } = manifest
  const own = kinds.find((each) => each.kind === kind && apiVersionOf(each) === apiVersion)
  const known = own ?? simulation.collectionOf(apiVersion, kind)
  if (known !== undefined) return Effect.succeed(known)
  const [first = "", second] = apiVersion.split("/")
  const [group, version] = second === undefined ? ["", first] : [first, second]
  return Effect.flatMap(Live.answered(Live.resources(client, { group, version })), (found) => {
    const resources = Result.isSuccess(found) ? found.success : []
    const resource = resources.find((each) => each.kind === kind && !each.name.includes("/"))
    return resource === undefined
      ? unserved(manifest, "put its CustomResourceDefinition into the file too")
      : Effect.succeed({ group, version, plural: resource.name })
  })
}

/** Applies the objects in their order, as `kubectl apply --server-side --force-conflicts` does. */
export const apply = (manifests: ReadonlyArray<Manifest>, options: Options): Effect.Effect<void, ApiError | Rejected> =>
  Effect.forEach(
    manifests,
    (manifest) =>
      Effect.gen(function* () {
        const { kinds, namespaces, serve, simulation, transport } = options
        const collection = yield* collectionOf(options, manifest)
        const { name, namespace: place = options.namespace } = manifest.metadata
        const { group, plural, version } = collection
        const unplaced = { group, plural, version, namespace: "", name, subresource: "", query: new URLSearchParams() }
        // The controllers need their own version.
        const own = kinds.find((kind) => kind.group === group && kind.plural === plural)
        if (own !== undefined) yield* serve({ ...unplaced, version: own.version })
        if ((yield* serve(unplaced))?.status === 404) return yield* unserved(manifest, "add --install-crds")
        const namespace = simulation.served(collection)?.namespaced === true ? place : ""
        const path = Target.objectPath({ ...unplaced, namespace })
        // kubectl refuses it too. Without an error, the plan would look empty.
        if (namespace !== "" && namespaces.length > 0 && !namespaces.includes(namespace)) {
          return yield* new Rejected({
            message: `${named(manifest, namespace)}: the plan does not follow the namespace "${namespace}" (add --namespace=${namespace})`
          })
        }
        const request = {
          method: "PATCH",
          path: `${path}?fieldManager=kubectl&force=true`,
          template: "",
          headers: { accept: "application/json", "content-type": "application/apply-patch+yaml" },
          body: JSON.stringify(manifest),
          repeatable: true
        } as const
        const response = yield* transport.send(request)
        if (response.status >= 300) {
          const remedy = response.status === 409 ? " (remove metadata.resourceVersion from the file)" : ""
          return yield* new Rejected({
            message: `${named(manifest, namespace)}: ${Answers.reasonOf(request, response)}${remedy}`
          })
        }
      }),
    { discard: true }
  )
