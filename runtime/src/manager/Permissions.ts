/**
 * The permissions of a manager: a verb on a resource in a namespace, and the controllers that need it. `Rbac` turns them into roles,
 * and `Preflight` checks them.
 */
import * as Order from "effect/Order"
import * as Selection from "../cache/Selection.ts"
import * as Access from "../controller/Access.ts"
import type { Controller } from "../controller/Controller.ts"
import { CustomResourceDefinition, Lease } from "../resource/BuiltIn.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import { nameOf } from "../resource/Resource.ts"
import * as Callers from "./Callers.ts"

/** One permission. */
export interface Permission {
  readonly verb: Access.Verb
  /** API group; `""` is the core group. */
  readonly group: string
  /** Plural name. */
  readonly resource: string
  /** A subresource with its own permissions, such as `status`. */
  readonly subresource: string | undefined
  /** Only the object of this name. */
  readonly name: string | undefined
  /** The namespace; absent for all namespaces and for cluster-scoped kinds. */
  readonly namespace: string | undefined
  /** The parts that need it: `controller webapp`, `leader election`. */
  readonly by: ReadonlyArray<string>
}

/** A resource as rules and audit logs write it: `webapps/status`. */
export const pathOf = ({ resource, subresource }: Pick<Permission, "resource" | "subresource">): string =>
  subresource === undefined ? resource : `${resource}/${subresource}`

/** The settings of a manager that affect its permissions. */
export interface Settings {
  /** The namespaces that it follows; none means all. */
  readonly namespaces: ReadonlyArray<string>
  /** The Lease of the leader election; none: no election. */
  readonly lease: { readonly namespace: string; readonly name: string } | undefined
  /** Whether it applies the CustomResourceDefinitions. */
  readonly installCrds: boolean
  /** Custom kinds without a controller, whose CustomResourceDefinitions it applies too. Default: none. */
  readonly kinds?: ReadonlyArray<CustomResource.Any> | undefined
  /** Whether it asks the API server which callers may read its metrics. */
  readonly metricsSecure?: boolean | undefined
  /** The permissions of its webhooks. Default: none. */
  readonly webhookAccess?: ReadonlyArray<Access.Access> | undefined
}

type Declared = Pick<Controller<unknown>, "name" | "resource" | "access">

/** The permissions of leader election: for the Lease and its Events. */
export const ofLease = (lease: NonNullable<Settings["lease"]>): ReadonlyArray<Permission> => {
  const { name, namespace } = lease
  const access = [
    Access.of(Lease, ["get", "update", "watch"], { names: [name], namespace }),
    Access.of(Lease, ["create", "list"], { namespace }),
    Access.events(namespace)
  ]
  return distinct(access.flatMap((each) => placed(each, "leader election", [])))
}

const ofCrds = (
  controllers: ReadonlyArray<Declared>,
  kinds: ReadonlyArray<CustomResource.Any>
): ReadonlyArray<Permission> => {
  const names = [...controllers.map(({ resource }) => resource).filter(CustomResource.isCustomResource), ...kinds].map(
    nameOf
  )
  if (names.length === 0) return []
  return [
    Access.of(CustomResourceDefinition, ["get", "patch"], { names }),
    Access.create(CustomResourceDefinition)
  ].flatMap((access) => placed(access, "--install-crds", []))
}

/** The permissions of the controllers, and of the work before their start. */
export const ofControllers = (
  controllers: ReadonlyArray<Declared>,
  {
    installCrds,
    kinds = [],
    metricsSecure = false,
    namespaces
  }: Pick<Settings, "namespaces" | "installCrds" | "kinds" | "metricsSecure">
): ReadonlyArray<Permission> =>
  distinct([
    ...(installCrds ? ofCrds(controllers, kinds) : []),
    ...(metricsSecure ? Callers.access.flatMap((each) => placed(each, "--metrics-secure", [])) : []),
    ...controllers.flatMap(({ access, name }) => {
      const bindsWide = access.some(
        ({ resource }) => resource.group === rbac && resource.plural === "clusterrolebindings"
      )
      return access.flatMap((each) => placed(each, `controller ${name}`, namespaces, bindsWide))
    })
  ])

/** The part that needs the permissions of the webhooks. */
export const byWebhooks = "--webhooks"

/** The permissions of the webhooks. */
export const ofWebhooks = ({ webhookAccess = [] }: Pick<Settings, "webhookAccess">): ReadonlyArray<Permission> =>
  distinct(webhookAccess.flatMap((each) => placed(each, byWebhooks, [])))

/** All permissions of a manager, sorted and without duplicates. */
export const all = (controllers: ReadonlyArray<Declared>, settings: Settings): ReadonlyArray<Permission> =>
  distinct([
    ...ofControllers(controllers, settings),
    ...ofWebhooks(settings),
    ...(settings.lease === undefined ? [] : ofLease(settings.lease))
  ])

const rbac = "rbac.authorization.k8s.io"

/**
 * The permissions of a declaration, in each namespace that needs it.
 *
 * @param bindsWide whether the controller creates ClusterRoleBindings. The server checks `bind` of a ClusterRole where the binding is
 */
const placed = (
  access: Access.Access,
  by: string,
  namespaces: ReadonlyArray<string>,
  bindsWide = true
): ReadonlyArray<Permission> => {
  const { names, namespace, resource, selected, subresource, verbs } = access
  const followed = namespace !== undefined ? [namespace] : Selection.namespacesOf(namespaces, selected)
  const working = followed?.length === 0 ? [undefined] : (followed ?? [])
  const named: ReadonlyArray<string | undefined> = names.length === 0 ? [undefined] : names
  return verbs.flatMap((verb) => {
    const places = resource.namespaced || (verb === "bind" && !bindsWide) ? working : [undefined]
    return places.flatMap((namespace) =>
      named.map((name) => ({
        verb,
        group: resource.group,
        resource: resource.plural,
        subresource,
        name,
        namespace,
        by: [by]
      }))
    )
  })
}

/** The verb that the API server checks before it writes objects of a kind that grants permissions. */
const granting: { readonly [plural: string]: Access.SpecialVerb } = {
  roles: "escalate",
  clusterroles: "escalate",
  rolebindings: "bind",
  clusterrolebindings: "bind"
}

/** One sentence for each controller that writes bindings or roles and declares neither `bind` nor `escalate`. */
export const hints = (controllers: ReadonlyArray<Declared>): ReadonlyArray<string> =>
  controllers.flatMap(({ access, name }) => {
    const written = access.filter(
      ({ resource, verbs }) =>
        resource.group === rbac && verbs.some((verb) => ["create", "update", "patch"].includes(verb))
    )
    const plurals = [...new Set(written.map(({ resource }) => resource.plural))]
    return plurals.flatMap((plural) => {
      const verb = granting[plural]
      return verb === undefined || access.some(({ verbs }) => verbs.includes(verb))
        ? []
        : [
            `controller ${name} writes ${plural} and does not declare ${verb}: the API server refuses those that grant more than the manager may do; add Access.${verb} to access, with the names of the roles`
          ]
    })
  })

/** In reading order: verbs that read precede verbs that write. */
const verbs: ReadonlyArray<string> = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]

const placeOf = (verb: string): number => (verbs.includes(verb) ? verbs.indexOf(verb) : verbs.length)

/** The order of verbs in rules: the request verbs, and then the others alphabetically. */
export const byVerb: Order.Order<string> = Order.combine(Order.mapInput(Order.Number, placeOf), Order.String)

const order: Order.Order<Permission> = Order.combineAll([
  Order.mapInput(Order.String, ({ namespace }: Permission) => namespace ?? ""),
  Order.mapInput(Order.String, ({ group }: Permission) => group),
  Order.mapInput(Order.String, ({ resource }: Permission) => resource),
  Order.mapInput(Order.String, ({ subresource }: Permission) => subresource ?? ""),
  Order.mapInput(byVerb, ({ verb }: Permission) => verb),
  Order.mapInput(Order.String, ({ name }: Permission) => name ?? "")
])

/** The same text for the same permission in the same place, for all controllers that need it. */
export const keyOf = ({ group, name, namespace, resource, subresource, verb }: Permission): string =>
  [namespace ?? "", group, resource, subresource ?? "", verb, name ?? ""].join(" ")

/** Without duplicates and without permissions that a wider one includes: all namespaces include one, any name includes one. */
const distinct = (permissions: ReadonlyArray<Permission>): ReadonlyArray<Permission> => {
  const found = new Map<string, Permission>()
  for (const permission of permissions) {
    const by = found.get(keyOf(permission))?.by ?? []
    found.set(keyOf(permission), { ...permission, by: [...new Set([...by, ...permission.by])] })
  }
  const includes = (wide: Permission): boolean => found.has(keyOf(wide))
  return [...found.values()]
    .filter((permission) => {
      const { name, namespace } = permission
      const everywhere = { ...permission, namespace: undefined }
      const anyName = { ...permission, name: undefined }
      return !(
        (namespace !== undefined && includes(everywhere)) ||
        (name !== undefined && includes(anyName)) ||
        (namespace !== undefined && name !== undefined && includes({ ...everywhere, name: undefined }))
      )
    })
    .sort(order)
}
