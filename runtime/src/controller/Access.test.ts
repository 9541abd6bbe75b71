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

describe("a controller's rights", () => {
  const cases: ReadonlyArray<
    readonly [string, { readonly access: ReadonlyArray<Access.Access> }, ReadonlyArray<string>]
  > = [
    [
      "of a custom kind alone: to follow it, to write its status, and to look who else does",
      Controller.make("it", { for: Widget, reconcile }),
      ["widgets.example.com: list watch get", "widgets.example.com/status: patch", events]
    ],
    [
      "of a kind without a status: not to write any",
      Controller.make("it", { for: Blind, reconcile }),
      ["blinds.example.com: list watch", events]
    ],
    [
      "of a built-in kind: not to write its status, which is its own controllers'",
      Controller.make("it", { for: Deployment, reconcile }),
      ["deployments.apps: list watch", events]
    ],
    [
      "of a cluster-scoped kind: to tell of it in namespace default",
      Controller.make("it", { for: Namespace, reconcile }),
      ["namespaces: list watch", "events.events.k8s.io in default: create patch"]
    ],
    [
      "with children: to make them, and to look at their owner past the cache",
      Controller.make("it", { for: Blind, owns: [Deployment, Service], reconcile }),
      [
        "blinds.example.com: list watch get",
        "deployments.apps: list watch create patch get",
        "services: list watch create patch get",
        events
      ]
    ],
    [
      "with a finalizer: to patch its kind",
      Controller.make("it", { for: Blind, finalizer, reconcile }),
      ["blinds.example.com: list watch patch", events]
    ],
    [
      "with somebody's old finalizers: to patch its kind",
      Controller.make("it", { for: Blind, inheritedFinalizers: ["example.com/old"], reconcile }),
      ["blinds.example.com: list watch patch", events]
    ],
    [
      "that watches other kinds: to follow them",
      Controller.make("it", {
        for: Blind,
        watches: [Trigger.on(Pod, { map: () => [] }), Trigger.onMetadata(ConfigMap, { map: () => [] })],
        reconcile
      }),
      ["blinds.example.com: list watch", "pods: list watch", "configmaps: list watch", events]
    ],
    [
      "that says more: that too",
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

  test("can't be restricted to names where a request has none", () => {
    for (const verb of ["create", "deletecollection"] as const) {
      expect(() => Access.of(Secret, ["get", verb], { names: ["one"] })).toThrow(
        `${verb} of secrets can't be restricted to names`
      )
    }
  })

  test("may have a verb of a server of its own, and no wildcard", () => {
    expect(Access.of(Secret, [Access.verb("publish")]).verbs.map(String)).toEqual(["publish"])
    for (const name of ["*", "", "Publish", "a b"]) {
      expect(() => Access.verb(name)).toThrow(`invalid verb: "${name}" (`)
    }
  })
})

test("a permission is declared by its group, its resource and its verb", () => {
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

test("each name of a permission stands for its verbs", () => {
  const { apply, create, get, list, patch, update, use, watch } = Access
  const verbsOf = (each: (resource: typeof Secret) => Access.Access) => each(Secret).verbs.map(String)
  expect([get, list, watch, create, update, patch, Access.delete, use].flatMap(verbsOf)).toEqual([
    ...["get", "list", "watch", "create", "update", "patch", "delete", "use"]
  ])
  expect([apply, Access.bind, Access.escalate, Access.impersonate].flatMap(verbsOf)).toEqual([
    ...["create", "patch", "bind", "escalate", "impersonate"]
  ])
})
