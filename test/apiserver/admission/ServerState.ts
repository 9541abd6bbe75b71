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
  /** Decides what users may do. */
  readonly authorizer: Authorizer
  /** Recognizes users by their tokens. */
  readonly authentication: Authentication
  /** The admission plugins that are off by default, and on here. */
  readonly plugins: ReadonlySet<Plugin>
  /** The way to webhooks. */
  readonly outside: Outside
  /** The kinds of each CustomResourceDefinition, and the definition that they come from. */
  readonly definitions: Map<string, { readonly made: Json; readonly kinds: ReadonlyArray<Kind> }>
}

/** The user, the time and the options of a write. */
export interface WriteOptions extends Writing {
  /** The field manager. */
  readonly manager: string
  /** The query parameters of a request, as far as it has them. */
  readonly query?: { readonly fieldManager?: string; readonly fieldValidation?: string } | undefined
  /** Whether everything is done but the writing. */
  readonly dryRun: boolean
  /** Whether the request is about a collection. */
  readonly collection?: boolean
  /**
   * The object as policies and webhooks change it; undefined: they do not. Throws a Failure if one of them fails, or `Step.Pending`.
   * Absent: there are none.
   */
  readonly mutate?: (attributes: Attributes) => JsonObject | undefined
  /** Throws a Failure if a policy or a webhook denies the write, or `Step.Pending`. Absent: none is asked. */
  readonly admit?: (attributes: Attributes) => void
}

/** The user of the writes by Kubernetes itself. */
export const system: User = { name: "system:apiserver", groups: ["system:masters"] }

/** The options of a write by Kubernetes itself. */
export const internally = (state: ServerState, now: number): WriteOptions => ({
  manager: "kube-apiserver",
  dryRun: false,
  now,
  user: system,
  authorizer: state.authorizer,
  authentication: state.authentication,
  warn: () => undefined,
  stored: state.store.list
})

/** Whether it is that kind, in whichever version. */
export const isKind = (kind: Kind, group: string, name: string): boolean => kind.group === group && kind.kind === name
