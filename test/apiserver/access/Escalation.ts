/** Checks writes of roles and bindings. Users can grant only their own permissions, unless they have the verb `escalate` or `bind`. */

import { type Authorizer, isPrivileged, type PolicyRule as Rule } from "../model/Authorizer.ts"
import * as Failure from "../model/Failure.ts"
import type { JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import type { Kind, Writing } from "../model/Kind.ts"
import { nameOf } from "../model/ObjectMeta.ts"
import { quote } from "../model/Quote.ts"
import type { User } from "../model/User.ts"
import * as PolicyRule from "./PolicyRule.ts"
import { group, plurals } from "./RbacAuthorizer.ts"

/** A write of an object, before its validation. */
interface Write {
  readonly kind: Kind
  /** The namespace; empty for the cluster scope. */
  readonly namespace: string
  readonly object: JsonObject
  /** The current object; undefined if the object is new. */
  readonly old: JsonObject | undefined
  readonly user: User
}

/** Throws a Failure (403) for a role, or a binding of a role, with permissions that the user does not have. */
export const check = (
  { authorizer, user }: Pick<Writing, "authorizer" | "user">,
  kind: Kind,
  namespace: string,
  object: JsonObject,
  old?: JsonObject
): void => {
  if (kind.group !== group || authorizer === undefined || isPrivileged(user) || !plurals.includes(kind.plural)) return
  if (old !== undefined && changesOnlyMetadataOfCollector(old, object)) return
  const write = { kind, namespace, object, old, user }
  if (kind.plural.endsWith("bindings")) checkBinding(write, authorizer)
  else checkRole(write, authorizer)
}

const checkRole = ({ kind, namespace, object, old, user }: Write, authorizer: Authorizer): void => {
  const resource = {
    group,
    resource: kind.plural,
    subresource: "",
    namespace,
    name: old === undefined ? "" : nameOf(old)
  }
  if (authorizer.authorize({ user, verb: "escalate", resource, path: "" }).allowed) return
  const refuse = (message: string) => Failure.forbidden(kind, nameOf(object), message)
  const lacking = escalation(PolicyRule.ofRole(object), user, namespace, authorizer)
  if (lacking !== undefined) throw refuse(lacking)
  const aggregates = [object, old].some((each) => J.isObject(each?.aggregationRule))
  if (aggregates && escalation(everything, user, namespace, authorizer) !== undefined) {
    throw refuse("must have cluster-admin privileges to use the aggregationRule")
  }
}

const checkBinding = ({ kind, namespace, object, user }: Write, authorizer: Authorizer): void => {
  const roleRef = J.object(object.roleRef)
  const resource = {
    group: J.text(roleRef.apiGroup) ?? "",
    resource: roleRef.kind === "Role" ? "roles" : roleRef.kind === "ClusterRole" ? "clusterroles" : "",
    subresource: "",
    namespace,
    name: J.text(roleRef.name) ?? ""
  }
  if (resource.resource !== "" && authorizer.authorize({ user, verb: "bind", resource, path: "" }).allowed) return
  const lacking = escalation(authorizer.rulesOf(roleRef, namespace), user, namespace, authorizer)
  if (lacking !== undefined) throw Failure.forbidden(kind, nameOf(object), lacking)
}

const everything: ReadonlyArray<Rule> = [
  { verbs: ["*"], apiGroups: ["*"], resources: ["*"], resourceNames: [], nonResourceURLs: [] },
  { verbs: ["*"], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: ["*"] }
]

/** The message about permissions that the user does not have; undefined if the user has all of them. */
const escalation = (
  rules: ReadonlyArray<Rule>,
  user: User,
  namespace: string,
  authorizer: Authorizer
): string | undefined => {
  const { grants, missing } = authorizer.grantsOf(user, namespace)
  const lacking = PolicyRule.missing(
    grants.flatMap((grant) => grant.rules),
    rules
  )
  if (lacking.length === 0) return undefined
  const who = `user ${quote(user.name)} (groups=${PolicyRule.quoted(user.groups)})`
  const lines = PolicyRule.describe(lacking).join("\n")
  const errors = missing.map(({ kind, name }) => `${kind.toLowerCase()}s.${group} ${quote(name)} not found`)
  const unresolved = errors.length === 0 ? "" : `; resolution errors: [${bracketed(errors)}]`
  return `${who} is attempting to grant RBAC permissions not currently held:\n${lines}${unresolved}`
}

const bracketed = (errors: ReadonlyArray<string>): string =>
  errors.length === 1 ? (errors[0] ?? "") : `[${errors.join(", ")}]`

/** True if a change affects only owner references and finalizers, as the garbage collector needs. */
const changesOnlyMetadataOfCollector = (old: JsonObject, object: JsonObject): boolean => {
  const rest = ({ metadata, ...others }: JsonObject): JsonObject => {
    const { finalizers: _, managedFields: __, ownerReferences: ___, ...kept } = J.object(metadata)
    return { ...others, metadata: kept }
  }
  return !J.equal(old, object) && J.equal(rest(old), rest(object))
}
