/** Tests that the role of `homeostat rbac --plan` is sufficient for a plan, and that the plan names each missing permission. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Rbac from "@homeostat/runtime/manager/Rbac"
import * as Plan from "@homeostat/runtime/plan/Plan"
import * as Reads from "@homeostat/runtime/plan/Reads"
import { Service } from "@homeostat/runtime/resource/BuiltIn"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as EmbeddedCluster from "@homeostat/testkit/EmbeddedCluster"
import * as Simulation from "@homeostat/testkit/Simulation"
import { live } from "@homeostat/testkit/Test"
import { controller } from "@homeostat/webapp"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect, Layer } from "effect"
import * as Recorded from "./Recorded.ts"

const namespace = "default"

type Role = Exclude<ReturnType<typeof Rbac.of>[number], { readonly roleRef: unknown }>

const isRole = (object: ReturnType<typeof Rbac.of>[number]): object is Role => "rules" in object

/** A cluster with two WebApps. The Service of one already exists without an owner, so the controller reads it before it writes. */
const cluster = Effect.gen(function* () {
  const made = yield* EmbeddedCluster.make({ crds: [Crd.of(WebApp)], seed: 1, controllers: [], kubelet: false })
  yield* Effect.gen(function* () {
    for (const name of ["shop", "blog"]) {
      yield* Client.create(WebApp, { metadata: { namespace, name }, spec: { image: "nginx:1.28" } })
    }
    yield* Client.create(Service, { metadata: { namespace, name: "blog" }, spec: { ports: [{ port: 80 }] } })
  }).pipe(Effect.provide(made.client))
  return made
})

/** Returns the plan of a user with these roles. */
const planAs = (
  { bind }: EmbeddedCluster.EmbeddedCluster,
  roles: ReadonlyArray<object>,
  namespaces: ReadonlyArray<string> = []
) =>
  Effect.gen(function* () {
    const { transport } = yield* bind(roles)
    const simulation = yield* Simulation.make
    const settings = { simulation, kinds: [WebApp], namespaces }
    return yield* Plan.make([controller], Layer.empty, settings).pipe(Effect.provide(transport))
  }).pipe(Effect.scoped)

const writesOf = ({ writes }: Plan.Plan) => writes.map(Recorded.plain)

/** Returns the bound rules without one verb on one resource. */
const without = (roles: ReturnType<typeof Rbac.of>, resource: string, verb: string, name: string) =>
  roles.map((object) => {
    const metadata = { ...object.metadata, name }
    if (!isRole(object)) {
      const [subject] = object.subjects
      return { ...object, metadata, roleRef: { ...object.roleRef, name }, subjects: [{ ...subject, name }] }
    }
    const rules = object.rules.flatMap((rule) =>
      rule.resources.map((each) => ({
        ...rule,
        resources: [each],
        verbs: rule.verbs.filter((one) => each !== resource || one !== verb)
      }))
    )
    return { ...object, metadata, rules: rules.filter(({ verbs }) => verbs.length > 0) }
  })

describe("A plan", () => {
  live("needs the role of rbac --plan only, in all namespaces and in one", () =>
    Effect.gen(function* () {
      const made = yield* cluster
      const all = yield* planAs(made, Rbac.of(Reads.of([controller], [])))
      expect([all.unknown, all.writes.length]).toEqual([[], 7])
      const one = Rbac.of(Reads.of([controller], [namespace]), { name: "one", namespaces: [namespace] })
      expect(one.filter(isRole).map(({ kind }) => kind)).toEqual(["ClusterRole", "Role"])
      const own = one.map((object) =>
        "subjects" in object
          ? { ...object, subjects: object.subjects.map((each) => ({ ...each, name: "one" })) }
          : object
      )
      const placed = yield* planAs(made, own, [namespace])
      expect([placed.unknown, writesOf(placed)]).toEqual([[], writesOf(all)])
    }).pipe(Effect.scoped)
  )

  live(
    "reports each missing permission of that role, unless the plan is the same without it",
    () =>
      Effect.gen(function* () {
        const made = yield* cluster
        const roles = Rbac.of(Reads.of([controller], []))
        const whole = writesOf(yield* planAs(made, roles))
        const outcomes: Array<string> = []
        const pairs = roles
          .filter(isRole)
          .flatMap(({ rules }) => rules)
          .flatMap(({ resources, verbs }) =>
            resources.flatMap((resource) => verbs.map((verb) => [resource, verb] as const))
          )
        for (const [resource, verb] of pairs) {
          const plan = yield* planAs(made, without(roles, resource, verb, `without-${verb}-${resource}`))
          const isNamed = plan.unknown.some(({ reason }) => reason.includes(resource))
          if (!isNamed) expect(writesOf(plan)).toEqual(whole)
          outcomes.push(`${verb} ${resource}: ${isNamed ? "unknown" : "the same"}`)
        }
        expect(outcomes.toSorted()).toEqual([
          "get configmaps: the same",
          "get controllerrevisions: the same",
          "get customresourcedefinitions: the same",
          "get deployments: the same",
          "get horizontalpodautoscalers: the same",
          "get httproutes: the same",
          "get ingresses: the same",
          "get jobs: the same",
          "get namespaces: the same",
          "get networkpolicies: the same",
          "get poddisruptionbudgets: the same",
          "get secrets: the same",
          "get services: the same",
          "get webapps: the same",
          "list configmaps: unknown",
          "list controllerrevisions: unknown",
          "list deployments: unknown",
          "list events: the same",
          "list horizontalpodautoscalers: unknown",
          "list httproutes: the same",
          "list ingresses: unknown",
          "list jobs: unknown",
          "list networkpolicies: unknown",
          "list poddisruptionbudgets: unknown",
          "list pods: unknown",
          "list secrets: unknown",
          "list services: unknown",
          "list webapps: unknown"
        ])
      }).pipe(Effect.scoped),
    60_000
  )
})
