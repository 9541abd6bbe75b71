/**
 * The two requests that a reflector needs, for one kind in one namespace or in all namespaces.
 */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { ApiError } from "../client/ApiError.ts"
import type * as Client from "../client/Client.ts"
import type { Selection } from "../client/Options.ts"
import type * as Watch from "../client/Watch.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import type * as Resource from "../resource/Resource.ts"

/** A page of a list, as of `resourceVersion`. */
export interface Page {
  readonly items: ReadonlyArray<KubernetesObject>
  readonly resourceVersion: string
  /** Where the next page begins; absent on the last one. */
  readonly continue?: string | undefined
  /** The characters of the answer; absent if unknown. */
  readonly length?: number | undefined
}

/** The list and the watch of one kind. Objects have no managedFields. */
export interface ListerWatcher {
  readonly page: (options: {
    readonly limit: number
    readonly continue?: string | undefined
  }) => Effect.Effect<Page, ApiError>
  /** Watches the changes after a resourceVersion. */
  readonly watch: (options: {
    readonly resourceVersion: string
  }) => Effect.Effect<Watch.Connection, ApiError, Scope.Scope>
}

/** The requests through `client`, for each namespace, or for all of them. */
export const of =
  (
    client: Client.Client["Service"],
    resource: Resource.Any,
    selectors: Pick<Selection, "labelSelector" | "fieldSelector">
  ) =>
  (namespace: string | undefined): ListerWatcher => ({
    // The reflector has its own rules for retries, so it must see each error.
    page: (options) => client.page(resource, { ...options, namespace, ...selectors, retry: false }),
    watch: (options) => client.watch(resource, { ...options, namespace, ...selectors })
  })
