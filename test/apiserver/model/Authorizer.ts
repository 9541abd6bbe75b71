/**
 * The authorizer, its access requests and decisions, and the policy rules of roles.
 */
import * as Failure from "./Failure.ts"
import type { JsonObject } from "./Json.ts"
import { quote } from "./Quote.ts"
import type { User } from "./User.ts"

/** A request for access: to a resource or to a non-resource path. */
export interface AccessRequest {
  readonly user: User
  readonly verb: string
  /** Undefined for a request to `path`. */
  readonly resource: ResourceAttributes | undefined
  /** A path outside `/api/VERSION` and `/apis/GROUP/VERSION`. Empty for a request to `resource`. */
  readonly path: string
}

/** The resource of an access request. */
export interface ResourceAttributes {
  readonly group: string
  readonly resource: string
  /** Empty for the object itself. */
  readonly subresource: string
  /** Empty for the cluster scope or for all namespaces. */
  readonly namespace: string
  /** Empty for a request without an object name. */
  readonly name: string
}

/** The decision of an authorizer. */
export interface Decision {
  readonly allowed: boolean
  /** Empty if the authorizer gives no reason. */
  readonly reason: string
}

/** A rule of a Role or ClusterRole. */
export interface PolicyRule {
  readonly verbs: ReadonlyArray<string>
  readonly apiGroups: ReadonlyArray<string>
  readonly resources: ReadonlyArray<string>
  readonly resourceNames: ReadonlyArray<string>
  readonly nonResourceURLs: ReadonlyArray<string>
}

/** The rules that a binding grants to a user. */
export interface Grant {
  /** The description of the binding, for the reason of a decision. */
  readonly source: string
  readonly rules: ReadonlyArray<PolicyRule>
}

/** All rules of a user in a namespace. */
export interface Grants {
  readonly grants: ReadonlyArray<Grant>
  /** The roles that do not exist although a binding refers to them. */
  readonly missing: ReadonlyArray<MissingRole>
}

/** A missing role that a binding refers to. */
export interface MissingRole {
  readonly kind: string
  readonly name: string
}

/** Decides access requests, and lists the rules of users and roles. */
export interface Authorizer {
  readonly authorize: (request: AccessRequest) => Decision
  /** Returns the rules of a user at the cluster scope, and in the namespace if it is not empty. */
  readonly grantsOf: (user: User, namespace: string) => Grants
  /** Returns the rules of a role that a binding in the namespace refers to. Throws a Failure (404, 500). */
  readonly rulesOf: (roleRef: JsonObject, namespace: string) => ReadonlyArray<PolicyRule>
}

/** Members of this group may do everything, even without RBAC. */
const privilegedGroup = "system:masters"

/** Reports whether the user may do everything. */
export const isPrivileged = ({ groups }: User): boolean => groups.includes(privilegedGroup)

/** The error (403) of a denied request, with the reason of the authorizer. */
export const forbidden = (request: AccessRequest, reason: string): Failure.Failure => {
  const { path, resource, user, verb } = request
  const suffix = reason === "" ? "" : `: ${reason}`
  const who = `User ${quote(user.name)} cannot ${verb}`
  if (resource === undefined) {
    const message = `forbidden: ${sanitized(`${who} path ${quote(path)}`)}${suffix}`
    return new Failure.Failure({ code: 403, reason: "Forbidden", message, details: {} })
  }
  const { group, name, namespace, subresource } = resource
  const full = subresource === "" ? resource.resource : `${resource.resource}/${subresource}`
  const scope = namespace === "" ? "at the cluster scope" : `in the namespace ${quote(namespace)}`
  const what = sanitized(`${who} resource ${quote(full)} in API group ${quote(group)} ${scope}`)
  const about = `${group === "" ? resource.resource : `${resource.resource}.${group}`}${name === "" ? "" : ` ${quote(name)}`}`
  return new Failure.Failure({
    code: 403,
    reason: "Forbidden",
    message: `${about} is forbidden: ${what}${suffix}`,
    details: { ...(name !== "" && { name }), ...(group !== "" && { group }), kind: resource.resource }
  })
}

const sanitized = (text: string): string =>
  text.replace(/[&<>]/g, (character) => (character === "&" ? "&amp;" : character === "<" ? "&lt;" : "&gt;"))
