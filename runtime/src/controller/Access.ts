/**
 * What a controller may do to the kinds that it works with: the rights that RBAC is to grant, written down beside the code
 * that needs them. Roles are made of it (`homeostat rbac`), and a manager asks for each of them when it starts.
 *
 * Most of it follows from what a controller declares, see {@link implied}. What only its own code does, it says:
 *
 * ```ts
 * access: [Access.get(Secret), Access.of(Job, ["create", "delete"])]
 * ```
 */
import type * as Brand from "effect/Brand"
import type { Right } from "../client/Right.ts"
import { Event } from "../resource/BuiltIn.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import type * as Resource from "../resource/Resource.ts"

/** Verbs of requests. Server-side apply takes `patch`, and `create` for what is not there yet. */
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

/** A verb that only a server of its own knows, see {@link verb}. */
export type CustomVerb = string & Brand.Brand<"@homeostat/runtime/CustomVerb">

/** A verb of RBAC. */
export type Verb = RequestVerb | SpecialVerb | CustomVerb

/** The target of a permission: a kind, or a resource that has no kind, such as `users` to impersonate. */
export type Target = Pick<Resource.Any, "group" | "plural" | "namespaced">

/** Which objects of a kind. */
export interface Options {
  /** A part of the object that has rights of its own, such as `status`, `scale`, `log`. */
  readonly subresource?: string | undefined
  /**
   * Only objects of these names; not with `create` and `deletecollection`, whose requests name none. `list` and `watch` are
   * allowed only with the field selector `metadata.name=…` then.
   */
  readonly names?: ReadonlyArray<string> | undefined
  /** Only there, wherever the manager works otherwise. */
  readonly namespace?: string | undefined
}

/** Verbs on a kind. */
export interface Access {
  /** The kind. */
  readonly resource: Target
  /** What may be done with it. */
  readonly verbs: ReadonlyArray<Verb>
  /** Such as `status`; the kind itself where there is none. */
  readonly subresource: string | undefined
  /** Empty: of any name. */
  readonly names: ReadonlyArray<string>
  /** None: in every namespace that the manager works in. */
  readonly namespace: string | undefined
}

const nameless: ReadonlyArray<Verb> = ["create", "deletecollection"]

/** A verb that is neither of requests nor of Kubernetes: lower-case letters, digits, dashes and colons. */
export const verb = (name: string): Verb => {
  if (!/^[a-z][a-z0-9:-]*$/.test(name)) {
    throw new Error(`invalid verb: "${name}" (lower-case letters, digits, dashes and colons)`)
  }
  return name as CustomVerb
}

/** Several verbs on a kind. */
export const of = (
  resource: Target,
  verbs: ReadonlyArray<Verb>,
  { names = [], namespace, subresource }: Options = {}
): Access => {
  const unnamed = names.length === 0 ? undefined : verbs.find((verb) => nameless.includes(verb))
  // A rule that names objects grants such a verb never, and one that doesn't grants more than was asked for.
  if (unnamed !== undefined) throw new Error(`${unnamed} of ${resource.plural} can't be restricted to names`)
  return { resource, verbs, subresource, names, namespace }
}

const one =
  (...verbs: ReadonlyArray<Verb>) =>
  (resource: Target, options?: Options): Access =>
    of(resource, verbs, options)

/** To read objects by name, past the cache. */
export const get = one("get")
/** To read all objects, past the cache. */
export const list = one("list")
/** To follow objects past the cache. */
export const watch = one("watch")
/** To create objects. */
export const create = one("create")
/** To replace objects as a whole. */
export const update = one("update")
/** To change objects that are there. */
export const patch = one("patch")
/** Server-side apply, of what is there and of what is not. */
export const apply = one("create", "patch")

/** To create and change bindings that refer to these Roles or ClusterRoles: `Access.bind(ClusterRole, { names: ["edit"] })`. */
export const bind = one("bind")
/** To write permissions into these Roles or ClusterRoles that the manager does not have. */
export const escalate = one("escalate")
/** To act as another user: `Access.impersonate({ group: "", plural: "users", namespaced: false }, { names: ["robot"] })`. */
export const impersonate = one("impersonate")
/** To use objects, such as of an admission plugin. */
export const use = one("use")

const remove = one("delete")

export {
  /** To delete objects by name. */
  remove as delete
}

/** What a cache takes that follows a kind. */
const follow = one("list", "watch")

/**
 * What a controller's declarations imply: the requests that the runtime sends on its behalf, and no others.
 *
 * - the kind itself: `list`, `watch`; `patch` if finalizers are put on or taken off; `get` if it has children, since an owner
 *   is looked at past the cache before a child is adopted for it; if it is a custom kind that has a status, `patch` of `status`,
 *   and `get` to tell who keeps changing it
 * - a kind it owns: what `Owned.apply` sends, which is `list`, `watch`, `create`, `patch`, and `get` when somebody else was
 *   faster to create the child
 * - a kind it watches: `list`, `watch`
 * - Events of its objects: `create`, `patch`; those of cluster-scoped objects are in namespace `default`
 *
 * Where the API server's plugin OwnerReferencesPermissionEnforcement is on, a controller with children has to add
 * `Access.update(kind, { subresource: "finalizers" })`: it is no request, but a right that the plugin asks for. A controller that
 * makes bindings adds {@link bind}, and one that makes roles adds {@link escalate}, unless it has all permissions that they grant.
 */
export const implied = (declared: {
  readonly for: Resource.Any
  readonly owns: ReadonlyArray<Resource.Any>
  readonly watches: ReadonlyArray<Resource.Any>
  /** Whether entries of `metadata.finalizers` are put on or taken off. */
  readonly finalizes: boolean
}): ReadonlyArray<Access> => {
  const { finalizes, for: resource, owns, watches } = declared
  // The status of a built-in kind is its own controllers'; who writes it says so.
  const hasStatus = CustomResource.isCustomResource(resource) && resource.definition.hasStatus
  return [
    follow(resource),
    ...(finalizes ? [patch(resource)] : []),
    ...(owns.length > 0 || hasStatus ? [get(resource)] : []),
    ...(hasStatus ? [patch(resource, { subresource: "status" })] : []),
    ...owns.flatMap((child) => [follow(child), apply(child), get(child)]),
    ...watches.map((watched) => follow(watched)),
    events(resource.namespaced ? undefined : "default")
  ]
}

/** Whether one of these declarations names the permission, for whatever names and namespaces. */
export const declares = (declared: ReadonlyArray<Access>, { group, resource, verb }: Right): boolean =>
  // `Right.describe` names the declaration for these itself.
  verb === "bind" ||
  verb === "escalate" ||
  declared.some(({ resource: target, subresource, verbs }) => {
    const name = subresource === undefined ? target.plural : `${target.plural}/${subresource}`
    return target.group === group && name === resource && verbs.some((each) => each === verb)
  })

/** What recording Events takes, in one namespace or wherever the manager works. */
export const events = (namespace?: string | undefined): Access => of(Event, ["create", "patch"], { namespace })
