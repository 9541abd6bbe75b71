/**
 * What the verbs work on, and what is known of whoever asks for one.
 */

import type { Authentication } from "./access/Authentication.ts"
import type { RbacAuthorizer } from "./access/RbacAuthorizer.ts"
import type { User } from "./access/User.ts"
import type { Attributes } from "./admission/Attributes.ts"
import type { Identity } from "./Identity.ts"
import type { Json, JsonObject } from "./Json.ts"
import type { Kind, Writing } from "./Kind.ts"
import type { Registry } from "./Registry.ts"
import type { Store } from "./Store.ts"
import type { Outside } from "./webhook/Outside.ts"

/** An admission plugin that is off by default. */
export type Plugin = "ServiceAccount"

/** The state of a server. */
export interface World {
  readonly store: Store
  readonly registry: Registry
  readonly identity: Identity
  /** Decides what users may do. */
  readonly authorizer: RbacAuthorizer
  /** Recognizes users by their tokens. */
  readonly authentication: Authentication
  /** The admission plugins that are off by default, and on here. */
  readonly plugins: ReadonlySet<Plugin>
  /** The way to webhooks. */
  readonly outside: Outside
  /** What each CustomResourceDefinition declares, and what that was made of. */
  readonly definitions: Map<string, { readonly made: Json; readonly kinds: ReadonlyArray<Kind> }>
}

/** Who writes, when, and how. */
export interface WriteOptions extends Writing {
  /** The field manager. */
  readonly manager: string
  /** The query parameters of a request, as far as it has them. */
  readonly asked?: { readonly fieldManager?: string; readonly fieldValidation?: string } | undefined
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

/** Who Kubernetes' own writes are made by. */
export const system: User = { name: "system:apiserver", groups: ["system:masters"] }

/** The options of a write by Kubernetes itself. */
export const internally = (world: World, now: number): WriteOptions => ({
  manager: "kube-apiserver",
  dryRun: false,
  now,
  user: system,
  authorizer: world.authorizer,
  authentication: world.authentication,
  warn: () => undefined,
  stored: world.store.list
})

/** Whether it is that kind, in whichever version. */
export const isKind = (kind: Kind, group: string, name: string): boolean => kind.group === group && kind.kind === name
