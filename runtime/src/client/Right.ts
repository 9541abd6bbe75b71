/**
 * The right that a request lacks, in the words of the API server's authorizer. Not every refusal is for want of one: admission
 * (a quota, a policy) and a namespace that is being deleted refuse too, and no rule helps against those.
 */
import type { InvalidObject } from "../resource/Resource.ts"
import type { ApiError, Forbidden } from "./ApiError.ts"

/** A verb on a resource. */
export interface Right {
  readonly verb: string
  /** As rules name it: `deployments`, `webapps/status`. */
  readonly resource: string
  /** API group; `""` is the core group. */
  readonly group: string
  /** None: in the whole cluster, or of a kind that is in no namespace. */
  readonly namespace: string | undefined
}

/** The words of every authorizer; those of admission are others. */
const words = /User "[^"]*" cannot (\S+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)")?/

/** The words for a role or binding that would grant what its writer may not do. */
const granting = / is attempting to grant RBAC permissions not currently held/

const rbac = "rbac.authorization.k8s.io"

/** The verb that allows a request nevertheless, by the resource in its path. */
const allowing: { readonly [plural: string]: Pick<Right, "verb" | "resource"> } = {
  roles: { verb: "escalate", resource: "roles" },
  clusterroles: { verb: "escalate", resource: "clusterroles" },
  rolebindings: { verb: "bind", resource: "roles or clusterroles" },
  clusterrolebindings: { verb: "bind", resource: "clusterroles" }
}

/** The right for want of which a request was refused, if that is why. */
export const wanting = (error: Forbidden): Right | undefined => {
  const [, verb, resource, group = "", namespace] = words.exec(error.message) ?? []
  if (verb !== undefined && resource !== undefined) return { verb, resource, group, namespace }
  if (!granting.test(error.message)) return undefined
  const [, place, plural = ""] = /\/v1\/(?:namespaces\/([^/]+)\/)?([a-z]+)/.exec(error.request.path) ?? []
  const right = allowing[plural]
  return right && { ...right, group: rbac, namespace: place }
}

/** `it takes the verb patch on deployments of API group "apps" in namespace default` */
export const describe = ({ group, namespace, resource, verb }: Right): string =>
  `it takes the verb ${verb} on ${resource} of API group "${group}" ${where(namespace)}${
    verb === "bind" || verb === "escalate" ? ` (Access.${verb} in the controller's access), or all that they grant` : ""
  }`

/** Why something is not to be had, in one line: for want of a right, which one. */
export const reasonOf = (error: ApiError | InvalidObject): string => {
  const right = error._tag === "Forbidden" ? wanting(error) : undefined
  return right === undefined ? error.message : describe(right)
}

/** Where a right holds. */
export const where = (namespace: string | undefined): string =>
  namespace === undefined ? "in the whole cluster" : `in namespace ${namespace}`
