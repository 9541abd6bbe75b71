/**
 * The minimal roles of a manager, and their bindings.
 *
 * A manager for all namespaces gets a ClusterRole. A manager for some namespaces gets a Role in each of them, and a ClusterRole only
 * for cluster-scoped kinds. The Lease has its own Role with the name of the Lease, so that managers with different Leases do not
 * overwrite each other's Roles.
 *
 * Pure: the same declarations give the same objects in the same order.
 */
import * as Order from "effect/Order"
import type { Controller } from "../controller/Controller.ts"
import type { Admission } from "../webhook/Admission.ts"
import * as Permissions from "./Permissions.ts"

/** Some verbs on some resources of one API group. The arrays are mutable, as in the built-in kinds. */
export interface Rule {
  readonly apiGroups: Array<string>
  readonly resources: Array<string>
  readonly resourceNames?: Array<string>
  readonly verbs: Array<string>
}

/** The ServiceAccount of the manager. */
export interface Account {
  readonly namespace: string
  readonly name: string
}

/** The settings for roles. */
export interface Settings extends Permissions.Settings {
  /** The name of the roles and their bindings. */
  readonly name: string
  readonly serviceAccount: Account
}

const apiGroup = "rbac.authorization.k8s.io"
const apiVersion = `${apiGroup}/v1`

/** A named list of rules. */
export interface Role {
  readonly apiVersion: typeof apiVersion
  readonly kind: "ClusterRole" | "Role"
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly rules: ReadonlyArray<Rule>
}

/** Binds a role to the account. */
export interface Binding {
  readonly apiVersion: typeof apiVersion
  readonly kind: "ClusterRoleBinding" | "RoleBinding"
  readonly metadata: Role["metadata"]
  readonly roleRef: { readonly apiGroup: typeof apiGroup; readonly kind: Role["kind"]; readonly name: string }
  readonly subjects: ReadonlyArray<Account & { readonly kind: "ServiceAccount" }>
}

/** The permissions as rules: one for each group of resources with the same verbs and names. Ignores namespaces. */
export const rulesOf = (permissions: ReadonlyArray<Permissions.Permission>): ReadonlyArray<Rule> => {
  const rules = permissions.map(
    (permission): Rule => ({
      apiGroups: [permission.group],
      resources: [Permissions.pathOf(permission)],
      ...(permission.name === undefined ? {} : { resourceNames: [permission.name] }),
      verbs: [permission.verb]
    })
  )
  const verbs = merge(rules, "verbs").map((rule) => ({ ...rule, verbs: rule.verbs.sort(Permissions.byVerb) }))
  return merge(merge(verbs, "resourceNames"), "resources").sort(byText)
}

/** Merges rules that differ only in one field. A rule without names allows all names and stays as it is. */
const merge = (rules: ReadonlyArray<Rule>, field: "verbs" | "resources" | "resourceNames"): Array<Rule> =>
  groupBy(rules, (rule) => JSON.stringify({ ...rule, [field]: rule[field] === undefined ? undefined : [] })).map(
    (same) => {
      const values = [...new Set(same.flatMap((rule) => rule[field] ?? []))]
      return { ...same[0], ...(same[0][field] === undefined ? {} : { [field]: values.sort(Order.String) }) }
    }
  )

const byText: Order.Order<Rule> = Order.combineAll([
  Order.mapInput(Order.String, ({ apiGroups }: Rule) => apiGroups.join()),
  Order.mapInput(Order.String, ({ resources }: Rule) => resources.join()),
  Order.mapInput(Order.String, ({ resourceNames = [] }: Rule) => resourceNames.join())
])

/** All roles of a manager with these controllers, each followed by its binding. */
export const objects = (
  controllers: ReadonlyArray<Pick<Controller<unknown>, "name" | "resource" | "access">>,
  settings: Settings
): ReadonlyArray<Role | Binding> => {
  const { lease, name, serviceAccount } = settings
  const everywhere = (name: string, permissions: ReadonlyArray<Permissions.Permission>) =>
    groupBy(permissions, ({ namespace }) => namespace ?? "").flatMap((permissions) =>
      roleAndBinding(name, permissions[0].namespace, rulesOf(permissions), serviceAccount)
    )
  return [
    ...everywhere(name, Permissions.ofControllers(controllers, settings)),
    ...everywhere(`${name}-webhooks`, Permissions.ofWebhooks(settings)),
    ...(lease === undefined
      ? []
      : roleAndBinding(
          `${lease.name}-leader-election`,
          lease.namespace,
          rulesOf(Permissions.ofLease(lease)),
          serviceAccount
        ))
  ]
}

/**
 * The roles and bindings of a manager with these controllers for the option `as` of the testkit's `Harness`: what `homeostat rbac`
 * prints, for the account `manager` in the namespace `default`. Default of the settings: all namespaces, without leader election and
 * without the permissions of `webhooks`.
 *
 * @example
 * ```ts
 * import { BuiltIn, Controller, Manager, Result } from "@homeostat/runtime"
 * import * as Rbac from "@homeostat/runtime/manager/Rbac"
 * import * as Harness from "@homeostat/testkit/Harness"
 * import { Effect } from "effect"
 *
 * const controller = Controller.make("watch", {
 *   for: BuiltIn.ConfigMap,
 *   reconcile: () => Effect.succeed(Result.done)
 * })
 *
 * const test = Harness.make({ as: Rbac.of([controller]), manager: Manager.launch([controller]) })
 * ```
 */
export const of = (
  controllers: ReadonlyArray<Pick<Controller<unknown>, "name" | "resource" | "access">>,
  { webhooks = [], ...settings }: Partial<Settings> & { readonly webhooks?: ReadonlyArray<Admission<unknown>> } = {}
): ReadonlyArray<Role | Binding> =>
  objects(controllers, {
    webhookAccess: webhooks.flatMap(({ access }) => access),
    name: "manager",
    serviceAccount: { namespace: "default", name: "manager" },
    namespaces: [],
    lease: undefined,
    installCrds: false,
    ...settings
  })

/** A role and its binding, for the whole cluster or for one namespace. */
const roleAndBinding = (
  name: string,
  namespace: string | undefined,
  rules: ReadonlyArray<Rule>,
  { name: account, namespace: home }: Account
): readonly [Role, Binding] => {
  const isWide = namespace === undefined
  const kind = isWide ? "ClusterRole" : "Role"
  const metadata = isWide ? { name } : { name, namespace }
  return [
    { apiVersion, kind, metadata, rules },
    {
      apiVersion,
      kind: isWide ? "ClusterRoleBinding" : "RoleBinding",
      metadata,
      roleRef: { apiGroup, kind, name },
      subjects: [{ kind: "ServiceAccount", name: account, namespace: home }]
    }
  ]
}

/** Groups in the order of their first entries. */
const groupBy = <A>(
  values: ReadonlyArray<A>,
  keyOf: (value: A) => string
): ReadonlyArray<readonly [A, ...Array<A>]> => {
  const groups = new Map<string, [A, ...Array<A>]>()
  for (const value of values) {
    const group = groups.get(keyOf(value))
    if (group === undefined) groups.set(keyOf(value), [value])
    else group.push(value)
  }
  return [...groups.values()]
}
