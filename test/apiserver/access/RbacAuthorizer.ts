/**
 * The RBAC authorizer: it allows a request if a binding of the user refers to a role with a rule for the request.
 *
 * It reads the roles and bindings from the store. It caches the bindings of each user until a role or a binding changes.
 */

import {
  type Authorizer,
  type Grant,
  type Grants,
  isPrivileged,
  type MissingRole,
  type PolicyRule as Rule
} from "../model/Authorizer.ts"
import * as Failure from "../model/Failure.ts"
import type { JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import { nameOf, namespaceOf } from "../model/ObjectMeta.ts"
import { quote } from "../model/Quote.ts"
import type { User } from "../model/User.ts"
import type { Store } from "../storage/Store.ts"
import * as PolicyRule from "./PolicyRule.ts"

/** The API group of RBAC. */
export const group = "rbac.authorization.k8s.io"

/** The storage key of a resource of RBAC. */
export const storageOf = (plural: string): string => `${group}/${plural}`

/** The resources of RBAC. */
export const plurals: ReadonlyArray<string> = ["clusterroles", "clusterrolebindings", "roles", "rolebindings"]

/** The maximum number of cached users. */
const mostUsers = 1000

/** Makes an authorizer that reads the roles and bindings of a store. */
export const make = (store: Store): Authorizer => {
  const kept = new Map<string, Map<string, Grants>>()
  const forget = (): void => kept.clear()
  for (const plural of plurals) store.subscribe(forget, storageOf(plural))

  const grantsOf = (user: User, namespace: string): Grants => {
    const key = [user.name, ...user.groups].join("\0")
    let byNamespace = kept.get(key)
    if (byNamespace === undefined) {
      if (kept.size >= mostUsers) kept.clear()
      byNamespace = new Map()
      kept.set(key, byNamespace)
    }
    const found = byNamespace.get(namespace)
    if (found !== undefined) return found
    const made = resolve(store, user, namespace)
    byNamespace.set(namespace, made)
    return made
  }

  return {
    grantsOf,
    rulesOf: (roleRef, namespace) => rulesOf(store, roleRef, namespace),
    authorize: (request) => {
      if (isPrivileged(request.user)) return { allowed: true, reason: "" }
      const { grants, missing } = grantsOf(request.user, request.resource?.namespace ?? "")
      for (const { rules, source } of grants) {
        if (rules.some((rule) => PolicyRule.allows(rule, request))) {
          return { allowed: true, reason: `RBAC: allowed by ${source}` }
        }
      }
      return { allowed: false, reason: missing.length === 0 ? "" : `rbac: RBAC: ${aggregate(missing)}` }
    }
  }
}

/** The errors of an authorizer in Go's format for several errors, without duplicates. */
export const aggregate = (missing: ReadonlyArray<MissingRole>): string => {
  const messages = [
    ...new Set(missing.map(({ kind, name }) => `${kind.toLowerCase()}.${group} ${quote(name)} not found`))
  ]
  return messages.length === 1 ? (messages[0] ?? "") : `[${messages.join(", ")}]`
}

const resolve = (store: Store, user: User, namespace: string): Grants => {
  const grants: Array<Grant> = []
  const missing: Array<MissingRole> = []
  const visit = (bindings: ReadonlyArray<JsonObject>): void => {
    for (const binding of bindings) {
      const bindingNamespace = namespaceOf(binding)
      const subject = J.objects(binding.subjects).find((each) => appliesTo(each, user, bindingNamespace))
      if (subject === undefined) continue
      const roleRef = J.object(binding.roleRef)
      const role = roleOf(store, roleRef, bindingNamespace)
      const [kind, name] = [J.text(roleRef.kind) ?? "", J.text(roleRef.name) ?? ""]
      if (role === undefined) missing.push({ kind, name })
      else grants.push({ source: describe(binding, kind, name, subject), rules: PolicyRule.ofRole(role) })
    }
  }
  visit(store.list(storageOf("clusterrolebindings")))
  if (namespace !== "") visit(store.list(storageOf("rolebindings"), namespace))
  return { grants, missing }
}

const appliesTo = (subject: JsonObject, user: User, namespace: string): boolean => {
  const name = J.text(subject.name) ?? ""
  switch (subject.kind) {
    case "User":
      return user.name === name
    case "Group":
      return user.groups.includes(name)
    case "ServiceAccount": {
      const subjectNamespace = J.text(subject.namespace) || namespace
      return subjectNamespace !== "" && user.name === `system:serviceaccount:${subjectNamespace}:${name}`
    }
    default:
      return false
  }
}

const roleOf = (store: Store, roleRef: JsonObject, namespace: string): JsonObject | undefined => {
  const name = J.text(roleRef.name) ?? ""
  return roleRef.kind === "Role"
    ? store.get(storageOf("roles"), namespace, name)
    : store.get(storageOf("clusterroles"), "", name)
}

const rulesOf = (store: Store, roleRef: JsonObject, namespace: string): ReadonlyArray<Rule> => {
  const kind = J.text(roleRef.kind) ?? ""
  if (kind !== "Role" && kind !== "ClusterRole") {
    throw Failure.plain(`unsupported role reference kind: ${quote(kind)}`)
  }
  const role = roleOf(store, roleRef, namespace)
  if (role !== undefined) return PolicyRule.ofRole(role)
  // A kube-apiserver names the resource of the binding here, whose handler interprets the error.
  const plural = namespace === "" ? "clusterrolebindings" : "rolebindings"
  throw Failure.notFound({ group, kind, plural }, J.text(roleRef.name) ?? "")
}

/** `ClusterRoleBinding "system:discovery" of ClusterRole "system:discovery" to Group "system:authenticated"`. */
const describe = (binding: JsonObject, roleKind: string, roleName: string, subject: JsonObject): string => {
  const namespace = namespaceOf(binding)
  const [kind, name] = namespace === "" ? ["ClusterRoleBinding", ""] : ["RoleBinding", `/${namespace}`]
  const who = J.text(subject.name) ?? ""
  const to = subject.kind === "ServiceAccount" ? `${who}/${J.text(subject.namespace) || namespace}` : who
  return `${kind} ${quote(nameOf(binding) + name)} of ${roleKind} ${quote(roleName)} to ${subject.kind} ${quote(to)}`
}
