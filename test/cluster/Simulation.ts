/**
 * An API server in memory for the verb `plan` of a program. It shows the results of the controllers' writes. The program imports this
 * module when it plans (`simulation` of `Program.main`).
 *
 * It starts without any object, and its user is an administrator. It does not call the webhooks of the cluster.
 */

import * as UnknownFields from "@homeostat/apiserver/codec/UnknownFields"
import * as ApiServer from "@homeostat/apiserver/http/ApiServer"
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import * as Json from "@homeostat/apiserver/model/Json"
import { type Kind, typeOf } from "@homeostat/apiserver/model/Kind"
import { Transport, within } from "@homeostat/runtime/client/Transport"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Memory from "./Memory.ts"

/** A kind in one version, as in a path. */
export interface Collection {
  readonly group: string
  readonly version: string
  readonly plural: string
}

/** An API server in memory. */
export interface Simulation {
  /** Sends requests to the API server. */
  readonly transport: Transport["Service"]
  /** The kind and the scope of a collection; undefined if the API server does not serve it. */
  readonly served: (collection: Collection) => { readonly kind: string; readonly namespaced: boolean } | undefined
  /** The collection of a kind; undefined if the API server does not serve it. */
  readonly collectionOf: (apiVersion: string, kind: string) => Collection | undefined
  /** Stores an object that another API server returned. It keeps the fields that it knows. */
  readonly load: (collection: Collection, object: object) => void
  /** The stored object; undefined if it does not exist. The caller must not change it. */
  readonly find: (collection: Collection, namespace: string, name: string) => object | undefined
}

/** The fixed seed gives the same uids to the same new objects, so that plans can be compared. Clusters of tests use other seeds. */
const seed = 1_128_202_600

/** The owned fields of objects, each set once: the objects of a controller have the same ones, and they take more memory than the objects. */
const sharing = () => {
  const known = new Map<string, JsonObject>()
  const shared = (fields: JsonObject): JsonObject => {
    const text = JSON.stringify(fields)
    const found = known.get(text) ?? fields
    known.set(text, found)
    return found
  }
  return (object: JsonObject): JsonObject => {
    const { metadata } = object
    if (!Json.isObject(metadata) || !Json.isList(metadata.managedFields)) return object
    const managedFields = metadata.managedFields.map((entry) =>
      Json.isObject(entry) && Json.isObject(entry.fieldsV1) ? { ...entry, fieldsV1: shared(entry.fieldsV1) } : entry
    )
    return { ...object, metadata: { ...metadata, managedFields } }
  }
}

/** An object without the fields of a later version of Kubernetes, with which a write would be invalid here. */
const known = (kind: Kind, object: JsonObject): JsonObject => {
  if (kind.custom || !UnknownFields.has(kind.schema, object)) return object
  try {
    return UnknownFields.prune(kind.schema, object).value
  } catch {
    // A field has another type here.
    return object
  }
}

/** Makes an API server without objects. */
export const make: Effect.Effect<Simulation, never, Scope.Scope> = Effect.map(ApiServer.make({ seed }), (server) => {
  const { registry, store } = server
  store.restore({ revision: store.revision, storages: {} })
  const kindOf = ({ group, plural, version }: Collection): Kind | undefined => registry.find(group, version, plural)
  const transport = Memory.make(server)
  const withShared = sharing()
  return {
    // The response is available at once, so a request needs no abort.
    transport: Transport.of({
      ...transport,
      send: (request) =>
        Effect.flatMap(server.handle({ ...request, body: request.body }), ({ body, headers, status }) =>
          typeof body === "string"
            ? Effect.succeed(
                within(request, {
                  status,
                  headers: { get: (name: string) => headers[name.toLowerCase()] ?? null },
                  body
                })
              )
            : transport.send(request)
        )
    }),
    served: kindOf,
    collectionOf: (apiVersion, kind) => registry.named(apiVersion, kind),
    load: (collection, object) => {
      const kind = kindOf(collection)
      if (kind === undefined) throw new Error(`the API server does not serve ${collection.plural}`)
      const named = { ...(object as JsonObject), ...typeOf(kind) }
      store.load(kind.storage, kind.toStorage(withShared(known(kind, named))))
    },
    find: (collection, namespace, name) => {
      const kind = kindOf(collection)
      const stored = kind && store.get(kind.storage, kind.namespaced ? namespace : "", name)
      return stored && kind.fromStorage(stored)
    }
  }
})
