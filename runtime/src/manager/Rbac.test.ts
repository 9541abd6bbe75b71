import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Access from "../controller/Access.ts"
import * as Controller from "../controller/Controller.ts"
import * as Result from "../controller/Result.ts"
import * as Trigger from "../controller/Trigger.ts"
import { Widget } from "../controller/World.fixture.ts"
import {
  ClusterRole,
  ClusterRoleBinding,
  ConfigMap,
  Deployment,
  Namespace,
  Pod,
  Role,
  RoleBinding,
  Secret,
  Service
} from "../resource/BuiltIn.ts"
import * as Permissions from "./Permissions.ts"
import * as Rbac from "./Rbac.ts"

const reconcile = () => Effect.succeed(Result.done)

const widgets = Controller.make("widgets", {
  for: Widget,
  owns: [Deployment, Service],
  watches: [Trigger.on(Pod, { map: () => [] })],
  access: [Access.get(Secret, { names: ["key"] })],
  reconcile
})

const settings: Rbac.Settings = {
  name: "shop",
  namespaces: [],
  lease: undefined,
  installCrds: false,
  serviceAccount: { namespace: "system", name: "manager" }
}

const lease = { namespace: "system", name: "shop-lease" }

const subjects = [{ kind: "ServiceAccount" as const, name: "manager", namespace: "system" }]

/** `Role a/shop` and its rules, such as `apps deployments: get list`. */
const summary = (objects: ReadonlyArray<Rbac.Role | Rbac.Binding>) =>
  Object.fromEntries(
    objects.flatMap((object) => {
      if (!("rules" in object)) return []
      const { kind, metadata, rules } = object
      const rows = rules.map(
        ({ apiGroups, resourceNames, resources, verbs }) =>
          `${apiGroups} ${resources.join(" ")}${resourceNames === undefined ? "" : ` [${resourceNames}]`}: ${verbs.join(" ")}`
      )
      return [[[kind, metadata.namespace, metadata.name].join(" "), rows]]
    })
  )

const work = [
  " pods: list watch",
  " secrets [key]: get",
  " services: get list watch create patch",
  "apps deployments: get list watch create patch",
  "events.k8s.io events: create patch",
  "example.com widgets: get list watch",
  "example.com widgets/finalizers: update",
  "example.com widgets/status: patch"
]

const leading = [
  "coordination.k8s.io leases: list create",
  "coordination.k8s.io leases [shop-lease]: get watch update",
  "events.k8s.io events: create patch"
]

describe("The roles of a manager", () => {
  test("for all namespaces: a ClusterRole bound to its ServiceAccount", () => {
    const objects = Rbac.objects([widgets], settings)
    expect(summary(objects)).toEqual({ "ClusterRole  shop": work })
    expect(objects[1]).toEqual({
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "shop" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "shop" },
      subjects
    })
  })

  test("for some namespaces: a Role in each, and no cluster-wide permission", () => {
    const objects = Rbac.objects([widgets], { ...settings, namespaces: ["b", "a"] })
    expect(summary(objects)).toEqual({ "Role a shop": work, "Role b shop": work })
    expect(objects.filter(({ kind }) => kind === "RoleBinding")).toEqual(
      ["a", "b"].map((namespace) => ({
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "RoleBinding",
        metadata: { namespace, name: "shop" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "shop" },
        subjects
      }))
    )
  })

  test("with leader election: a Role for the named Lease in its namespace", () => {
    const everywhere = summary(Rbac.objects([widgets], { ...settings, lease }))
    expect(everywhere).toEqual({ "ClusterRole  shop": work, "Role system shop-lease-leader-election": leading })
    const there = summary(Rbac.objects([widgets], { ...settings, lease, namespaces: ["system"] }))
    expect(there).toEqual({ "Role system shop": work, "Role system shop-lease-leader-election": leading })
  })

  test("with CRD installation: permissions for its own CRDs, except create without a name", () => {
    const crds = [
      "apiextensions.k8s.io customresourcedefinitions: create",
      "apiextensions.k8s.io customresourcedefinitions [widgets.example.com]: get patch"
    ]
    const settled = { ...settings, installCrds: true, namespaces: ["a"] }
    expect(summary(Rbac.objects([widgets], settled))).toEqual({ "ClusterRole  shop": crds, "Role a shop": work })
    const builtIn = Controller.make("pods", { for: Pod, reconcile })
    expect(Object.keys(summary(Rbac.objects([builtIn], settled)))).toEqual(["Role a shop"])
  })

  test("with secure metrics: create the reviews, cluster-wide", () => {
    const settled = { ...settings, metricsSecure: true, namespaces: ["a"] }
    expect(summary(Rbac.objects([widgets], settled))).toEqual({
      "ClusterRole  shop": [
        "authentication.k8s.io tokenreviews: create",
        "authorization.k8s.io subjectaccessreviews: create"
      ],
      "Role a shop": work
    })
  })

  test("for a cluster-scoped kind: a ClusterRole even with namespaces, and Events in default", () => {
    const guard = Controller.make("guard", { for: Namespace, owns: [ConfigMap], reconcile })
    expect(summary(Rbac.objects([guard], { ...settings, namespaces: ["a"] }))).toEqual({
      "ClusterRole  shop": [" namespaces: get list watch", " namespaces/finalizers: update"],
      "Role a shop": [" configmaps: get list watch create patch"],
      "Role default shop": ["events.k8s.io events: create patch"]
    })
  })

  test("for several controllers: each permission once, with the widest scope", () => {
    const other = Controller.make("other", {
      for: Namespace,
      access: [Access.list(Secret), Access.get(Secret), Access.get(Secret, { names: ["key"], namespace: "system" })],
      reconcile
    })
    expect(summary(Rbac.objects([widgets, other, widgets], settings))).toEqual({
      "ClusterRole  shop": [" namespaces pods: list watch", " secrets: get list", ...work.slice(2)]
    })
  })

  const binds = (kind: typeof RoleBinding | typeof ClusterRoleBinding) =>
    Controller.make("claims", {
      for: Widget,
      owns: [kind],
      access: [Access.bind(ClusterRole, { names: ["edit", "view"] })],
      reconcile
    })
  const bind = "rbac.authorization.k8s.io clusterroles [edit,view]: bind"
  const rolesOf = (objects: ReturnType<typeof Rbac.objects>) =>
    Object.entries(summary(objects)).flatMap(([role, rules]) => (rules.includes(bind) ? [role] : []))

  test("contain bind of ClusterRoles where the bindings are: in the namespaces, or cluster-wide", () => {
    expect(rolesOf(Rbac.objects([binds(RoleBinding)], settings))).toEqual(["ClusterRole  shop"])
    expect(rolesOf(Rbac.objects([binds(RoleBinding)], { ...settings, namespaces: ["a", "b"] }))).toEqual([
      "Role a shop",
      "Role b shop"
    ])
    expect(rolesOf(Rbac.objects([binds(ClusterRoleBinding)], { ...settings, namespaces: ["a"] }))).toEqual([
      "ClusterRole  shop"
    ])
  })

  test("contain verbs without requests, also for resources that are not kinds", () => {
    const robots = Controller.make("robots", {
      for: Pod,
      access: [
        Access.escalate(Role),
        Access.impersonate({ group: "", plural: "users", namespaced: false }, { names: ["robot"] }),
        Access.use({ group: "security.openshift.io", plural: "securitycontextconstraints", namespaced: false }),
        Access.of(ConfigMap, [Access.verb("publish"), "get"])
      ],
      reconcile
    })
    expect(Object.values(summary(Rbac.objects([robots], settings)))).toEqual([
      [
        " configmaps: get publish",
        " pods: list watch",
        " users [robot]: impersonate",
        "events.k8s.io events: create patch",
        "rbac.authorization.k8s.io roles: escalate",
        "security.openshift.io securitycontextconstraints: use"
      ]
    ])
  })

  test("list several object names in one rule", () => {
    const named = Controller.make("named", {
      for: Pod,
      access: [Access.get(Secret, { names: ["b"] }), Access.get(Secret, { names: ["a", "c"] }), Access.list(ConfigMap)],
      reconcile
    })
    expect(Object.values(summary(Rbac.objects([named], settings)))).toEqual([
      [" configmaps: list", " pods: list watch", " secrets [a,b,c]: get", "events.k8s.io events: create patch"]
    ])
  })

  test("do not depend on the order of controllers, namespaces and declarations", () => {
    const second = Controller.make("second", { for: Pod, access: [Access.delete(Pod), Access.get(Pod)], reconcile })
    const again = Controller.make("second", { for: Pod, access: [Access.of(Pod, ["get", "delete"])], reconcile })
    const one = Rbac.objects([widgets, second], { ...settings, lease, namespaces: ["a", "b"] })
    expect(Rbac.objects([again, widgets], { ...settings, lease, namespaces: ["b", "a", "b"] })).toEqual(one)
  })
})

test("A permission names the controllers that need it", () => {
  const other = Controller.make("other", { for: Pod, reconcile })
  const all = Permissions.all([widgets, other], { namespaces: ["a"], lease, installCrds: true, metricsSecure: true })
  const by = (resource: string, verb: string, subresource?: string) =>
    all
      .filter((permission) => permission.resource === resource && permission.subresource === subresource)
      .filter((permission) => permission.verb === verb)
      .map(({ by }) => by)
  expect(by("pods", "list")).toEqual([["controller widgets", "controller other"]])
  expect(by("widgets", "patch", "status")).toEqual([["controller widgets"]])
  expect(by("leases", "watch")).toEqual([["leader election"]])
  expect(by("customresourcedefinitions", "patch")).toEqual([["--install-crds"]])
  expect(by("tokenreviews", "create")).toEqual([["--metrics-secure"]])
})

test("A controller that writes roles or bindings gets a hint about the undeclared verb", () => {
  const makes = (access: ReadonlyArray<Access.Access>) =>
    Controller.make("claims", { for: Widget, owns: [Role, RoleBinding], access, reconcile })
  const hint = (plural: string, verb: string) =>
    `controller claims writes ${plural} and does not declare ${verb}: the API server refuses those that grant more than the manager may do; add Access.${verb} to access, with the names of the roles`
  expect(Permissions.hints([widgets, makes([])])).toEqual([hint("roles", "escalate"), hint("rolebindings", "bind")])
  expect(Permissions.hints([makes([Access.bind(Role, { names: ["edit"] })])])).toEqual([hint("roles", "escalate")])
  expect(Permissions.hints([makes([Access.bind(Role), Access.escalate(Role)])])).toEqual([])
})
