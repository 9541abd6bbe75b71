/**
 * The API server in memory that a plan writes to. The runtime has none: a program gives one to its verb `plan`, such as
 * `@homeostat/testkit/Simulation`. So a program without the verb does not contain one.
 */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Transport } from "../client/Transport.ts"

/** A kind in one version, as in a path: `apps`, `v1`, `deployments`. */
export interface Collection {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  readonly plural: string
}

/** The kind and the scope of a collection. */
export interface Served {
  readonly kind: string
  readonly namespaced: boolean
}

/** An API server in memory. It serves the kinds of Kubernetes, and custom kinds after their CRDs were created. */
export interface Simulation {
  /** Sends requests to it. */
  readonly transport: Transport["Service"]
  /** The kind of a collection; undefined if the API server does not serve it. */
  readonly served: (collection: Collection) => Served | undefined
  /** The collection of a kind; undefined if the API server does not serve it. */
  readonly collectionOf: (apiVersion: string, kind: string) => Collection | undefined
  /** Stores an object as another API server returned it. Watches show it. */
  readonly load: (collection: Collection, object: object) => void
  /** The stored object; undefined if it does not exist. Do not change it. */
  readonly find: (collection: Collection, namespace: string, name: string) => object | undefined
}

/** Loads the code of an API server in memory, when a plan needs it. */
export type Load = () => Promise<{ readonly make: Effect.Effect<Simulation, never, Scope.Scope> }>
