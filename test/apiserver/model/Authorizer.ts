/**
 * An authorizer, the requests for access that it decides, and the rules of roles.
 */
import * as Failure from "./Failure.ts"
import type { JsonObject } from "./Json.ts"
import { quote } from "./Quote.ts"
import type { User } from "./User.ts"

/** A request for access. */
export interface AccessRequest {
  readonly user: User
  readonly verb: string
  /** Undefined: the request is about `path`. */
  readonly resource: ResourceAttributes | undefined
  /** A path outside of `/api/VERSION` and `/apis/GROUP/VERSION`. Empty: the request is about `resource`. */
  readonly path: string
}

/** The resource of a request. */
export interface ResourceAttributes {
  readonly group: string
  readonly resource: string
  /** Empty: the object itself. */
  readonly subresource: string
  /** Empty: the cluster scope, or all namespaces. */
  readonly namespace: string
  /** Empty: no object is named. */
  readonly name: string
}

/** The answer of an authorizer. */
export interface Decision {
  readonly allowed: boolean
  /** Empty: the authorizer gives none. */
  readonly reason: string
}

/** A rule of a role. */
export interface PolicyRule {
  readonly verbs: ReadonlyArray<string>
  readonly apiGroups: ReadonlyArray<string>
  readonly resources: ReadonlyArray<string>
  readonly resourceNames: ReadonlyArray<string>
  readonly nonResourceURLs: ReadonlyArray<string>
}

/** The rules that a binding gives to a user. */
export interface Grant {
  /** The binding in words, for the reason of a decision. */
  readonly source: string
  readonly rules: ReadonlyArray<PolicyRule>
}

/** All rules of a user in a namespace. */
export interface Grants {
  readonly grants: ReadonlyArray<Grant>
  /** A 404 for each role that a binding names and that does not exist. */
  readonly missing: ReadonlyArray<MissingRole>
}

/** A role that a binding names. */
export interface MissingRole {
  readonly kind: string
  readonly name: string
}

/** An authorizer. */
export interface Authorizer {
  readonly authorize: (request: AccessRequest) => Decision
  /** The rules that a user has at the cluster scope, and in the namespace if it is not empty. */
  readonly grantsOf: (user: User, namespace: string) => Grants
  /** The rules of a role that a binding in the namespace names. Throws a Failure (404, 500). */
  readonly rulesOf: (roleRef: JsonObject, namespace: string) => ReadonlyArray<PolicyRule>
}

/** Members of the group may do everything, with RBAC or without. */
const privilegedGroup = "system:masters"

/** Whether the user may do everything. */
export const isPrivileged = ({ groups }: User): boolean => groups.includes(privilegedGroup)

/** 403, with the reason of the authorizer. */
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
