/**
 * The permissions that a controller needs, declared beside the code that needs them. `homeostat rbac` generates roles from them, and a
 * manager checks each of them when it starts.
 *
 * Most permissions follow from the declarations of a controller, see {@link implied}. The controller declares those of its own code:
 *
 * ```ts
 * access: [Access.get(Secret), Access.of(Job, ["create", "delete"])]
 * ```
 */
import type * as Brand from "effect/Brand"
import { isByContent, type Selection } from "../cache/Selection.ts"
import type { Permission } from "../client/Permission.ts"
import { Event } from "../resource/BuiltIn.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import type * as Resource from "../resource/Resource.ts"
import type { OwnedKind } from "./OwnedKind.ts"

/** Verbs of requests. Server-side apply needs `patch`, and `create` for objects that do not exist. */
export type RequestVerb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete" | "deletecollection"

/**
 * Verbs that Kubernetes checks beside the verb of a request:
 *
 * - `bind` of a Role or ClusterRole: to create or change a binding that refers to it
 * - `escalate` of a Role or ClusterRole: to write permissions into it that the writer does not have
 * - `impersonate` of a user, group or service account: to act as it
 * - `use`, such as of a SecurityContextConstraints of OpenShift
 * - `approve`, `sign` and `attest` of a signer of certificates
 */
export type SpecialVerb = "bind" | "escalate" | "impersonate" | "use" | "approve" | "sign" | "attest"

/** A custom verb of another API server, see {@link verb}. */
export type CustomVerb = string & Brand.Brand<"@homeostat/runtime/CustomVerb">

/** A verb of RBAC. */
export type Verb = RequestVerb | SpecialVerb | CustomVerb

/** The target of a permission: a kind, or a resource that has no kind, such as `users` to impersonate. */
export type Target = Pick<Resource.Any, "group" | "plural" | "namespaced">

/** The objects of a kind that a permission covers. */
export interface Options {
  /** A subresource with its own permissions, such as `status`, `scale` or `log`. */
  readonly subresource?: string | undefined
  /**
   * Only objects of these names. Not allowed with `create` and `deletecollection`, whose requests have no name. With names, `list`
   * and `watch` work only with the field selector `metadata.name=…`.
   */
  readonly names?: ReadonlyArray<string> | undefined
  /** Only in this namespace. Default: the namespaces that the manager follows. */
  readonly namespace?: string | undefined
}

/** Verbs on a kind. */
export interface Access {
  /** The kind. */
  readonly resource: Target
  /** The verbs. */
  readonly verbs: ReadonlyArray<Verb>
  /** Such as `status`; absent for the kind itself. */
  readonly subresource: string | undefined
  /** The names; empty for all names. */
  readonly names: ReadonlyArray<string>
  /** The namespace; absent for every namespace that the manager follows. */
  readonly namespace: string | undefined
  /** The selected namespaces, of those that the manager follows; absent for all. */
  readonly selected?: ReadonlyArray<string> | undefined
}

const nameless: ReadonlyArray<Verb> = ["create", "deletecollection"]

/**
 * A verb that is neither of requests nor of Kubernetes: lower-case letters, digits, dashes and colons.
 *
 * @example
 * ```ts
 * const access = Access.of(BuiltIn.Secret, [Access.verb("sync")])
 * ```
 */
export const verb = (name: string): Verb => {
  if (!/^[a-z][a-z0-9:-]*$/.test(name)) {
    throw new Error(`invalid verb: "${name}" (lower-case letters, digits, dashes and colons)`)
  }
  return name as CustomVerb
}

/**
 * Several verbs on a kind.
 *
 * @example
 * ```ts
 * const access = [Access.of(BuiltIn.Secret, ["get", "list"], { namespace: "kube-system" })]
 * ```
 */
export const of = (
  resource: Target,
  verbs: ReadonlyArray<Verb>,
  { names = [], namespace, subresource }: Options = {}
): Access => {
  const unnamed = names.length === 0 ? undefined : verbs.find((verb) => nameless.includes(verb))
  // A rule with names never grants such a verb, and a rule without names grants more than the controller needs.
  if (unnamed !== undefined) throw new Error(`${unnamed} of ${resource.plural} can't be restricted to names`)
  return { resource, verbs, subresource, names, namespace }
}

const one =
  (...verbs: ReadonlyArray<Verb>) =>
  (resource: Target, options?: Options): Access =>
    of(resource, verbs, options)

/**
 * To read objects by name from the API server.
 *
 * @example
 * ```ts
 * const access = [Access.get(BuiltIn.Secret, { names: ["registry"] })]
 * ```
 */
export const get = one("get")
/**
 * To list objects from the API server.
 *
 * @example
 * ```ts
 * const access = [Access.list(BuiltIn.Pod)]
 * ```
 */
export const list = one("list")
/**
 * To watch objects without the cache.
 *
 * @example
 * ```ts
 * const access = [Access.list(BuiltIn.Pod), Access.watch(BuiltIn.Pod)]
 * ```
 */
export const watch = one("watch")
/**
 * To create objects.
 *
 * @example
 * ```ts
 * const access = [Access.create(BuiltIn.Job)]
 * ```
 */
export const create = one("create")
/**
 * To replace objects.
 *
 * @example
 * ```ts
 * const access = [Access.update(BuiltIn.ConfigMap)]
 * ```
 */
export const update = one("update")
/**
 * To change existing objects.
 *
 * @example
 * ```ts
 * const access = [Access.patch(BuiltIn.Deployment, { subresource: "scale" })]
 * ```
 */
export const patch = one("patch")
/**
 * Server-side apply, which creates or changes objects.
 *
 * @example
 * ```ts
 * const access = [Access.apply(BuiltIn.ConfigMap)]
 * ```
 */
export const apply = one("create", "patch")

/**
 * To create and change bindings that refer to these Roles or ClusterRoles: `Access.bind(ClusterRole, { names: ["edit"] })`.
 *
 * @example
 * ```ts
 * const access = [Access.bind(BuiltIn.ClusterRole, { names: ["edit"] })]
 * ```
 */
export const bind = one("bind")
/**
 * To write permissions into these Roles or ClusterRoles that the manager does not have.
 *
 * @example
 * ```ts
 * const access = [Access.escalate(BuiltIn.Role)]
 * ```
 */
export const escalate = one("escalate")
/**
 * To act as another user: `Access.impersonate({ group: "", plural: "users", namespaced: false }, { names: ["robot"] })`.
 *
 * @example
 * ```ts
 * const access = [Access.impersonate({ group: "", plural: "users", namespaced: false }, { names: ["robot"] })]
 * ```
 */
export const impersonate = one("impersonate")
/**
 * To use objects, such as of an admission plugin.
 *
 * @example
 * ```ts
 * const access = [Access.use({ group: "security.example.com", plural: "profiles", namespaced: false })]
 * ```
 */
export const use = one("use")

const remove = one("delete")

export {
  /**
   * To delete objects by name.
   *
   * @example
   * ```ts
   * const access = [Access.delete(BuiltIn.Pod)]
   * ```
   */
  remove as delete
}

/** The verbs that a cache needs to follow a kind. */
const follow = one("list", "watch")

/**
 * The permissions that follow from the declarations of a controller: exactly the requests that the runtime sends for it.
 *
 * - the reconciled kind: `list` and `watch`; `patch` if the controller adds or removes finalizers; `get` if the controller has
 *   children, because the runtime reads the owner from the API server before it adopts a child; `update` of `finalizers` if it has
 *   children, for the admission plugin OwnerReferencesPermissionEnforcement, because a child blocks the deletion of its owner; `patch` of `status` for a custom kind with a status, and `get` to find the manager that
 *   keeps changing it
 * - an owned kind: `list`, `watch`, `create` and `patch` for `Owned.apply`, and `get` for a child that exists but is not cached yet;
 *   `delete` if the declaration has `removes`. With `metadataOnly` only `list` and `watch`, and with `removes` also `get` and `delete`
 * - a watched kind: `list` and `watch`
 * - Events of its objects: `create` and `patch`. Events of cluster-scoped objects are in the namespace `default`
 *
 * A controller that creates bindings adds {@link bind}, and one that creates roles adds {@link escalate}, unless it holds all permissions
 * that they grant.
 *
 * @internal
 */
export const implied = (declared: {
  readonly for: Resource.Any
  readonly select?: Selection | undefined
  readonly owns: ReadonlyArray<OwnedKind>
  readonly watches: ReadonlyArray<{ readonly resource: Resource.Any; readonly select?: Selection | undefined }>
  /** Whether the controller adds or removes entries of `metadata.finalizers`. */
  readonly finalizes: boolean
}): ReadonlyArray<Access> => {
  const { finalizes, for: resource, owns, select, watches } = declared
  // The controllers of Kubernetes write the status of built-in kinds. Other writers declare the permission.
  const hasStatus = CustomResource.isCustomResource(resource) && resource.definition.hasStatus
  const leaves = finalizes && select !== undefined && isByContent(select)
  return [
    ...within(select, [
      follow(resource),
      ...(finalizes ? [patch(resource)] : []),
      ...(owns.length > 0 || hasStatus || leaves ? [get(resource)] : []),
      ...(hasStatus ? [patch(resource, { subresource: "status" })] : []),
      ...(owns.length > 0 ? [update(resource, { subresource: "finalizers" })] : [])
    ]),
    ...owns.flatMap(({ removes = false, resource: child, select }) =>
      within(select, [
        follow(child),
        ...(child.projection === "metadata" ? [] : [apply(child)]),
        ...(child.projection === "metadata" && !removes ? [] : [get(child)]),
        ...(removes ? [remove(child)] : [])
      ])
    ),
    ...watches.flatMap(({ resource, select }) => within(select, [follow(resource)])),
    ...(resource.namespaced ? within(select, [events()]) : [events("default")])
  ]
}

/** The permissions in the selected namespaces only. */
const within = (select: Selection | undefined, access: ReadonlyArray<Access>): ReadonlyArray<Access> =>
  select?.namespaces === undefined ? access : access.map((each) => ({ ...each, selected: select.namespaces }))

/**
 * Whether one of these declarations contains the permission, with any names and namespaces.
 *
 * @internal
 */
export const declares = (declared: ReadonlyArray<Access>, { group, resource, verb }: Permission): boolean =>
  // `Permission.describe` names the declaration for these itself.
  verb === "bind" ||
  verb === "escalate" ||
  declared.some(({ resource: target, subresource, verbs }) => {
    const name = subresource === undefined ? target.plural : `${target.plural}/${subresource}`
    return target.group === group && name === resource && verbs.some((each) => each === verb)
  })

/**
 * The permissions to record Events, in one namespace or in all namespaces of the manager.
 *
 * @example
 * ```ts
 * const access = [Access.events("default")]
 * ```
 */
export const events = (namespace?: string | undefined): Access => of(Event, ["create", "patch"], { namespace })
