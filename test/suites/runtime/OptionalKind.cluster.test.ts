/** A controller with an optional kind, on a cluster without the CRD of the kind. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Owned from "@homeostat/runtime/controller/Owned"
import * as Result from "@homeostat/runtime/controller/Result"
import { hindrance } from "@homeostat/runtime/manager/CacheReadiness"
import * as Crds from "@homeostat/runtime/manager/Crds"
import { CustomResourceDefinition, Role, RoleBinding } from "@homeostat/runtime/resource/BuiltIn"
import * as Condition from "@homeostat/runtime/resource/Condition"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import { Effect, Schema } from "effect"
import * as Managed from "../Managed.ts"
import { on } from "./Chore.ts"
import * as Counted from "./Counted.ts"

const group = "optional.homeostat.dev"

const Site = CustomResource.make({
  group,
  version: "v1",
  kind: "Site",
  spec: Schema.Struct({ host: Schema.String }),
  status: Schema.Struct({ conditions: Schema.optionalKey(Condition.list) })
})

/** A kind for this test alone, because the test installs and deletes the CRD. */
const Route = CustomResource.make({
  group,
  version: "v1",
  kind: "Route",
  spec: Schema.Struct({ host: Schema.String })
})

const crd = { name: Crd.of(Route).metadata.name ?? "" }

const controller = Controller.make("sites", {
  for: Site,
  owns: [Owned.kind(Route, { optional: true, removes: true })],
  reconcile: (site) => {
    const { metadata, spec } = site
    const routes = spec.host === "" ? [] : [Owned.child(Route, { metadata: { name: metadata.name }, spec })]
    return Effect.as(Owned.all(site, routes), Result.done)
  }
})

describe("A controller with an optional kind", () => {
  on([Crd.of(Site)])(
    "starts without its CRD, reconciles when the CRD is installed, and runs on when the CRD is deleted",
    ({ cluster, namespace }) =>
      Effect.gen(function* () {
        const reported = (name: string, reason: string | undefined) =>
          Managed.eventually(
            `the condition Stalled of ${name} has the reason ${reason}`,
            Client.get(Site, { namespace, name }),
            ({ status }) => Condition.find(status?.conditions, "Stalled")?.reason === reason
          )
        const route = (name: string) =>
          Managed.eventually(`there is a Route ${name}`, Client.get(Route, { namespace, name }), () => true)
        const create = (name: string, host: string) =>
          Client.create(Site, { metadata: { namespace, name }, spec: { host } })

        yield* Effect.addFinalizer(() => Effect.ignore(Client.delete(CustomResourceDefinition, crd)))
        yield* create("one", "one.test")
        const manager = yield* Counted.start(cluster.admin, [controller], { namespaces: [namespace] })
        yield* Counted.started(manager)
        const [runner] = manager.runners
        const problems = () => (runner?.informers ?? []).flatMap((informer) => hindrance(informer) ?? [])
        yield* reported("one", "NotServed")
        expect(problems()).toEqual([])

        yield* Crds.install([Route])
        yield* route("one")
        yield* reported("one", undefined)

        yield* Client.delete(CustomResourceDefinition, crd)
        yield* reported("one", "NotServed")
        yield* create("two", "two.test")
        yield* reported("two", "NotServed")
        yield* create("none", "")
        yield* Managed.eventually(
          "a Site without a Route is reconciled",
          Effect.sync(() => manager.attempts),
          (attempts) => attempts.some(({ key, outcome }) => key === `${namespace}/none` && outcome._tag === "Done")
        )
        expect(problems()).toEqual([])

        yield* Crds.install([Route])
        yield* route("one")
        yield* route("two")
      })
  )

  on([Crd.of(Site)])("does not start without the permission to list it", ({ cluster, namespace }) =>
    Effect.gen(function* () {
      const name = `sites-${namespace}`
      const user = yield* cluster.addUser({ name })
      yield* Client.create(Role, {
        metadata: { namespace, name },
        rules: [{ apiGroups: [group], resources: ["sites", "sites/status"], verbs: ["get", "list", "watch", "patch"] }]
      })
      yield* Client.create(RoleBinding, {
        metadata: { namespace, name },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name }]
      })
      const manager = yield* Counted.start(user, [controller], { namespaces: [namespace] })
      const [runner] = manager.runners
      yield* Managed.eventually(
        "the cache reports the missing permission",
        Effect.sync(() => (runner?.informers ?? []).flatMap((informer) => hindrance(informer) ?? [])),
        (problems) =>
          problems.some((problem) => problem.includes(`requires permission to list and watch routes.${group}`))
      )
      expect(manager.attempts).toEqual([])
    })
  )
})
