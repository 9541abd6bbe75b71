/**
 * The two requests that a reflector needs, for one kind in one namespace or in all namespaces.
 */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { ApiError } from "../client/ApiError.ts"
import type * as Watch from "../client/Watch.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"

/** A page of a list, as of `resourceVersion`. */
export interface Page {
  readonly items: ReadonlyArray<KubernetesObject>
  readonly resourceVersion: string
  /** Where the next page begins; absent on the last one. */
  readonly continue?: string | undefined
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
