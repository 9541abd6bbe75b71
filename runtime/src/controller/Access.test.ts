import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { ConfigMap, Deployment, Job, Namespace, Pod, Secret, Service } from "../resource/BuiltIn.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import * as Resource from "../resource/Resource.ts"
import * as Access from "./Access.ts"
import * as Controller from "./Controller.ts"
import * as Result from "./Result.ts"
import * as Trigger from "./Trigger.ts"
import { Widget } from "./World.fixture.ts"

const reconcile = () => Effect.succeed(Result.done)

/** Permissions such as `webapps/status: patch`, in the order of their first declaration. */
const summary = (access: ReadonlyArray<Access.Access>): ReadonlyArray<string> => {
  const verbs = new Map<string, Set<string>>()
  for (const { names, namespace, resource, subresource, verbs: more } of access) {
    const what = [
      `${Resource.nameOf(resource)}${subresource === undefined ? "" : `/${subresource}`}`,
      ...(names.length === 0 ? [] : [names.join("|")]),
      ...(namespace === undefined ? [] : [`in ${namespace}`])
    ].join(" ")
    verbs.set(what, new Set([...(verbs.get(what) ?? []), ...more]))
  }
  return [...verbs].map(([what, verbs]) => `${what}: ${[...verbs].join(" ")}`)
}

const Blind = CustomResource.make({ group: "example.com", version: "v1", kind: "Blind", spec: Schema.Struct({}) })
const finalizer = { name: "example.com/clean", cleanup: () => Effect.void }
const events = "events.events.k8s.io: create patch"

describe("The permissions of a controller", () => {
  const cases: ReadonlyArray<
    readonly [string, { readonly access: ReadonlyArray<Access.Access> }, ReadonlyArray<string>]
  > = [
    [
      "of a custom kind: list and watch it, write its status, and get its managers",
      Controller.make("it", { for: Widget, reconcile }),
      ["widgets.example.com: list watch get", "widgets.example.com/status: patch", events]
    ],
    [
      "of a kind without a status: no status writes",
      Controller.make("it", { for: Blind, reconcile }),
      ["blinds.example.com: list watch", events]
    ],
    [
      "of a built-in kind: no status writes, because its own controllers write the status",
      Controller.make("it", { for: Deployment, reconcile }),
      ["deployments.apps: list watch", events]
    ],
    [
      "of a cluster-scoped kind: Events in namespace default",
      Controller.make("it", { for: Namespace, reconcile }),
      ["namespaces: list watch", "events.events.k8s.io in default: create patch"]
    ],
    [
      "with children: apply them, and get their owner without the cache",
      Controller.make("it", { for: Blind, owns: [Deployment, Service], reconcile }),
      [
        "blinds.example.com: list watch get",
        "blinds.example.com/finalizers: update",
        "deployments.apps: list watch create patch get",
        "services: list watch create patch get",
        events
      ]
    ],
    [
      "with a finalizer: patch its kind",
      Controller.make("it", { for: Blind, finalizer, reconcile }),
      ["blinds.example.com: list watch patch", events]
    ],
    [
      "with inherited finalizers: patch its kind",
      Controller.make("it", { for: Blind, inheritedFinalizers: ["example.com/old"], reconcile }),
      ["blinds.example.com: list watch patch", events]
    ],
    [
      "with watches of other kinds: list and watch them",
      Controller.make("it", {
        for: Blind,
        watches: [Trigger.on(Pod, { map: () => [] }), Trigger.onMetadata(ConfigMap, { map: () => [] })],
        reconcile
      }),
      ["blinds.example.com: list watch", "pods: list watch", "configmaps: list watch", events]
    ],
    [
      "with access: the declared permissions",
      Controller.make("it", {
        for: Blind,
        access: [
          Access.get(Secret),
          Access.of(Job, ["create", "delete"]),
          Access.apply(Job),
          Access.get(Pod, { subresource: "log" }),
          Access.update(ConfigMap, { names: ["one", "two"], namespace: "kube-system" })
        ],
        reconcile
      }),
      [
        "blinds.example.com: list watch",
        events,
        "secrets: get",
        "jobs.batch: create delete patch",
        "pods/log: get",
        "configmaps one|two in kube-system: update"
      ]
    ]
  ]
  for (const [sentence, { access }, expected] of cases) {
    test(sentence, () => expect(summary(access)).toEqual(expected))
  }

  test("cannot be restricted to names for verbs without a name", () => {
    for (const verb of ["create", "deletecollection"] as const) {
      expect(() => Access.of(Secret, ["get", verb], { names: ["one"] })).toThrow(
        `${verb} of secrets can't be restricted to names`
      )
    }
  })

  test("may have a custom verb, but no wildcard", () => {
    expect(Access.of(Secret, [Access.verb("publish")]).verbs.map(String)).toEqual(["publish"])
    for (const name of ["*", "", "Publish", "a b"]) {
      expect(() => Access.verb(name)).toThrow(`invalid verb: "${name}" (`)
    }
  })
})

test("Access.declares compares the group, the resource and the verb", () => {
  const declared = [Access.of(Deployment, ["get", "list"]), Access.of(Pod, ["get"], { subresource: "log" })]
  const permission = (group: string, resource: string, verb: string) =>
    Access.declares(declared, { group, resource, verb, namespace: undefined })
  expect(permission("apps", "deployments", "list")).toBe(true)
  expect(permission("", "pods/log", "get")).toBe(true)
  expect(permission("apps", "deployments", "watch")).toBe(false)
  expect(permission("", "deployments", "list")).toBe(false)
  expect(permission("apps", "pods/log", "get")).toBe(false)
  expect(permission("", "pods", "get")).toBe(false)
  expect(permission("rbac.authorization.k8s.io", "roles", "bind")).toBe(true)
  expect(permission("rbac.authorization.k8s.io", "roles", "escalate")).toBe(true)
})

test("Each function of Access has its verbs", () => {
  const { apply, create, get, list, patch, update, use, watch } = Access
  const verbsOf = (each: (resource: typeof Secret) => Access.Access) => each(Secret).verbs.map(String)
  expect([get, list, watch, create, update, patch, Access.delete, use].flatMap(verbsOf)).toEqual([
    ...["get", "list", "watch", "create", "update", "patch", "delete", "use"]
  ])
  expect([apply, Access.bind, Access.escalate, Access.impersonate].flatMap(verbsOf)).toEqual([
    ...["create", "patch", "bind", "escalate", "impersonate"]
  ])
})
