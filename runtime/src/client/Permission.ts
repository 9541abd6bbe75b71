/**
 * The permission that a forbidden request lacks, from the API server's message. Admission (a quota, a policy) and a namespace that is
 * being deleted also cause Forbidden, and then no rule helps.
 */
import type { InvalidObject } from "../resource/Resource.ts"
import type { ApiError, Forbidden } from "./ApiError.ts"

/** A verb on a resource. */
export interface Permission {
  readonly verb: string
  /** The name in rules: `deployments`, `webapps/status`. */
  readonly resource: string
  /** API group; `""` is the core group. */
  readonly group: string
  /** Absent for the whole cluster and for cluster-scoped kinds. */
  readonly namespace: string | undefined
}

/** The message of every authorizer; messages of admission differ. */
const words = /User "[^"]*" cannot (\S+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)")?/

/** The message for a role or binding that would grant more permissions than its writer has. */
const granting = / is attempting to grant RBAC permissions not currently held/

const rbac = "rbac.authorization.k8s.io"

/** The verb that would still allow the request, by the resource in its path. */
const allowing: { readonly [plural: string]: Pick<Permission, "verb" | "resource"> } = {
  roles: { verb: "escalate", resource: "roles" },
  clusterroles: { verb: "escalate", resource: "clusterroles" },
  rolebindings: { verb: "bind", resource: "roles or clusterroles" },
  clusterrolebindings: { verb: "bind", resource: "clusterroles" }
}

/** The missing permission of a forbidden request; undefined if the reason is another one. */
export const missing = (error: Forbidden): Permission | undefined => {
  const [, verb, resource, group = "", namespace] = words.exec(error.message) ?? []
  if (verb !== undefined && resource !== undefined) return { verb, resource, group, namespace }
  if (!granting.test(error.message)) return undefined
  const [, place, plural = ""] = /\/v1\/(?:namespaces\/([^/]+)\/)?([a-z]+)/.exec(error.request.path) ?? []
  const permission = allowing[plural]
  return permission && { ...permission, group: rbac, namespace: place }
}

/** `requires permission to patch deployments.apps in namespace default` */
export const describe = ({ group, namespace, resource, verb }: Permission): string =>
  `requires permission to ${verb} ${qualified(resource, group)} ${where(namespace)}${
    verb === "bind" || verb === "escalate" ? ` (Access.${verb} in the controller's access), or all that they grant` : ""
  }`

/** The resource as kubectl writes it: `deployments.apps`, `webapps.apps.kubedojo.io/status`. */
const qualified = (resource: string, group: string): string => {
  const [plural = "", ...subresource] = resource.split("/")
  return group === "" || plural.includes(" ") ? resource : [`${plural}.${group}`, ...subresource].join("/")
}

/** Why a request failed, in one line; for a missing permission, which one. */
export const reasonOf = (error: ApiError | InvalidObject): string => {
  const permission = error._tag === "Forbidden" ? missing(error) : undefined
  return permission === undefined ? error.message : describe(permission)
}

/** The namespace of a permission, in words. */
export const where = (namespace: string | undefined): string =>
  namespace === undefined ? "cluster-wide" : `in namespace ${namespace}`
