/**
 * Where a reflector reads one kind from: the two requests of the Client that it needs, for one namespace or all of them.
 */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { ApiError } from "../client/ApiError.ts"
import type * as Watch from "../client/Watch.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"

/** A part of a list, as of `resourceVersion`. */
export interface Page {
  readonly items: ReadonlyArray<KubernetesObject>
  readonly resourceVersion: string
  /** Where the next page begins; absent on the last one. */
  readonly continue?: string | undefined
}

/** List and watch of one kind, in one namespace or in all of them. Objects come without managedFields. */
export interface Source {
  readonly page: (options: {
    readonly limit: number
    readonly continue?: string | undefined
  }) => Effect.Effect<Page, ApiError>
  /** Without a resourceVersion `initialEvents` is set: the present state first, then what happens. */
  readonly watch: (options: {
    readonly resourceVersion?: string | undefined
    readonly initialEvents: boolean
  }) => Effect.Effect<Watch.Connection, ApiError, Scope.Scope>
}
