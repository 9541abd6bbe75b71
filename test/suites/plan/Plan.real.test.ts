/** Tests of plans on a real kube-apiserver. Its audit log has no write of the plan, and the manager then makes the planned writes. */
import { expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Cluster from "@homeostat/runtime/client/Cluster"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Transport from "@homeostat/runtime/client/Transport"
import * as Manager from "@homeostat/runtime/manager/Manager"
import * as Rbac from "@homeostat/runtime/manager/Rbac"
import * as Plan from "@homeostat/runtime/plan/Plan"
import * as Reads from "@homeostat/runtime/plan/Reads"
import * as Target from "@homeostat/runtime/plan/Target"
import { ClusterRole, ClusterRoleBinding, Deployment, Service } from "@homeostat/runtime/resource/BuiltIn"
import * as Crd from "@homeostat/runtime/resource/Crd"
import type { User } from "@homeostat/testkit/envtest/User"
import * as Shared from "@homeostat/testkit/Shared"
import * as Simulation from "@homeostat/testkit/Simulation"
import { controller } from "@homeostat/webapp"
import { adoptAnnotation } from "@homeostat/webapp/children"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect, Layer, References } from "effect"
import * as Managed from "../Managed.ts"
import * as Audit from "../rbac/Audit.ts"
import * as Recorded from "./Recorded.ts"
import * as Scalars from "./Scalars.ts"

const transportOf = ({ ca, cert, key, server, token }: User) =>
  Transport.layer(Cluster.make({ server, token, tls: { ca, cert, key } }))

const kinds: { readonly [plural: string]: string } = {
  webapps: "WebApp",
  deployments: "Deployment",
  services: "Service",
  poddisruptionbudgets: "PodDisruptionBudget"
}

Shared.real(
  "a plan needs only read permissions, writes nothing, and equals the writes of the manager, also with dry runs",
  (cluster) =>
    Effect.gen(function* () {
      yield* cluster.install(Crd.of(WebApp))
      const namespace = yield* cluster.namespace("plan")
      const client = yield* Managed.client(cluster)
      const reader = yield* cluster.addUser({ name: "planner" })
      const key = (name: string) => ({ namespace, name })
      const plan = (user: User, dryRuns: boolean) =>
        Effect.gen(function* () {
          const simulation = yield* Simulation.make
          const settings = { simulation, kinds: [WebApp], namespaces: [namespace], dryRuns }
          return yield* Effect.provide(Plan.make([controller], Layer.empty, settings), transportOf(user))
        }).pipe(Effect.scoped)

      const stateOf = (target: Target.Target) =>
        Client.raw({ method: "GET", path: Target.objectPath(target) }).pipe(
          Effect.map(({ body }): object | undefined => JSON.parse(body)),
          Effect.catchTag("NotFound", () => Effect.succeed(undefined)),
          Effect.orDie,
          Effect.provide(client)
        )
      /** Runs a manager until it is idle, and returns its writes. */
      const managed = Effect.gen(function* () {
        const recorded = Recorded.through(transportOf(cluster.admin), ({ plural }) => kinds[plural] ?? plural, stateOf)
        yield* Manager.launch([controller], { namespaces: [namespace] }).pipe(Effect.provide(recorded.transport))
        yield* Effect.sleep("3 seconds")
        return recorded.writes
      }).pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "None"))

      const step = (count: number, change: Effect.Effect<unknown, unknown, Client.Client>) =>
        Effect.gen(function* () {
          yield* Effect.provide(change, client)
          const local = yield* plan(reader, false)
          const asked = yield* plan(cluster.admin, true)
          const written = (yield* managed).map(Recorded.plain).toSorted()
          expect(written).toHaveLength(count)
          expect([local.unknown, asked.unknown]).toEqual([[], []])
          expect(local.writes.map(Recorded.plain).toSorted()).toEqual(written)
          expect(asked.writes.map(Recorded.plain).toSorted()).toEqual(written)
        })

      // The rules are those of `homeostat rbac --plan`.
      const rules = Rbac.of(Reads.of([controller], [])).flatMap((object) =>
        "rules" in object ? [...object.rules] : []
      )
      yield* Effect.provide(
        Effect.gen(function* () {
          yield* Client.create(ClusterRole, { metadata: { name: "planner" }, rules })
          yield* Client.create(ClusterRoleBinding, {
            metadata: { name: "planner" },
            roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "planner" },
            subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "planner" }]
          })
        }),
        client
      )

      yield* step(
        11,
        Effect.gen(function* () {
          const env = [{ name: "A", valueFrom: { secretKeyRef: { name: "s", key: "k", optional: true } } }]
          yield* Client.create(WebApp, { metadata: key("shop"), spec: { image: "nginx:1.27", env } })
          yield* Client.create(WebApp, { metadata: key("adopts"), spec: { image: "nginx:1.27", port: 80 } })
          yield* Client.create(WebApp, { metadata: key("collides"), spec: { image: "nginx:1.27" } })
          yield* Client.create(Deployment, {
            metadata: { ...key("adopts"), annotations: { [adoptAnnotation]: "true" } },
            spec: {
              selector: { matchLabels: { tier: "web" } },
              template: {
                metadata: { labels: { tier: "web" } },
                spec: { containers: [{ name: "app", image: "old:1" }] }
              }
            }
          })
          yield* Client.create(Service, {
            metadata: key("collides"),
            spec: { selector: { tier: "web" }, ports: [{ port: 80 }] }
          })
        })
      )
      yield* step(0, Effect.void)
      yield* step(
        5,
        Effect.gen(function* () {
          const by = { fieldManager: "by-hand" }
          yield* Client.patch(WebApp, key("shop"), Patch.merge({ spec: { image: "nginx:1.28", env: null } }))
          yield* Client.patch(Deployment, key("shop"), Patch.merge({ spec: { replicas: 0 } }), by)
          yield* Client.patch(Service, key("shop"), Patch.merge({ spec: { selector: { extra: "x" } } }), by)
          yield* Client.delete(Service, key("adopts"))
          yield* Client.delete(Deployment, key("collides"))
        })
      )
      const entries = yield* Audit.of(cluster, "planner")
      expect(entries.length).toBeGreaterThan(10)
      expect([...new Set(entries.map(({ verb }) => verb))].toSorted()).toEqual(["get", "list"])
    }),
  { audit: true, timeoutMillis: 240_000 }
)

Shared.real("kubectl reads the values of a file as a plan does", (cluster) =>
  Effect.gen(function* () {
    const args = ["label", "--local", "--filename=-", "--output=json", "read=true"]
    const { stderr, stdout } = yield* cluster.kubectl(args, { stdin: Scalars.text })
    expect(stderr).toBe("")
    expect(JSON.parse(stdout).values).toEqual(Scalars.scalars.map(([, value]) => value))
  })
)
