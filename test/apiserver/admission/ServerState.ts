/**
 * The state of a server, and the options of a write to it.
 */

import type { Authentication } from "../access/Authentication.ts"
import type { Attributes } from "../model/Attributes.ts"
import type { Authorizer } from "../model/Authorizer.ts"
import type { Json, JsonObject } from "../model/Json.ts"
import type { Kind, Writing } from "../model/Kind.ts"
import type { Registry } from "../model/Registry.ts"
import type { User } from "../model/User.ts"
import type { Identity } from "../storage/Identity.ts"
import type { Store } from "../storage/Store.ts"
import type { Outside } from "../webhook/Outside.ts"

/** An admission plugin that is off by default. */
export type Plugin = "ServiceAccount"

/** The stored objects, the served kinds, and the services that the verbs use. */
export interface ServerState {
  readonly store: Store
  readonly registry: Registry
  readonly identity: Identity
  /** Decides which requests a user may make. */
  readonly authorizer: Authorizer
  /** Authenticates users by their tokens. */
  readonly authentication: Authentication
  /** The enabled plugins of those that are off by default. */
  readonly plugins: ReadonlySet<Plugin>
  /** Calls webhooks. */
  readonly outside: Outside
  /** The kinds of each CRD, with the CRD from which they were compiled. */
  readonly definitions: Map<string, { readonly made: Json; readonly kinds: ReadonlyArray<Kind> }>
}

/** The user, the time and the options of a write. */
export interface WriteOptions extends Writing {
  /** The field manager. */
  readonly manager: string
  /** The query parameters of the request, as far as they are set. */
  readonly query?: { readonly fieldManager?: string; readonly fieldValidation?: string } | undefined
  /** True if the server does everything except the write. */
  readonly dryRun: boolean
  /** True if the request deletes a collection. */
  readonly collection?: boolean
  /**
   * The object after mutating policies and webhooks; undefined if they do not change it. Throws a Failure if one of them fails, or
   * `Step.Pending`. Absent without policies and webhooks.
   */
  readonly mutate?: (attributes: Attributes) => JsonObject | undefined
  /** Throws a Failure if a policy or a webhook denies the write, or `Step.Pending`. Absent without policies and webhooks. */
  readonly admit?: (attributes: Attributes) => void
}

/** The user for writes of the API server itself. */
export const system: User = { name: "system:apiserver", groups: ["system:masters"] }

/** The options for a write of the API server itself. */
export const internally = (state: ServerState, now: number): WriteOptions => ({
  manager: "kube-apiserver",
  dryRun: false,
  now,
  user: system,
  authorizer: state.authorizer,
  authentication: state.authentication,
  warn: () => undefined,
  stored: state.store.list,
  values: state.store.values
})

/** True if it is that kind, in any version. */
export const isKind = (kind: Kind, group: string, name: string): boolean => kind.group === group && kind.kind === name
