/** The generated roles have every permission that the manager needs, and no other. */
import { describe, expect } from "bun:test"
import { join } from "node:path"
import { Backup } from "@homeostat/backup/kinds/Backup"
import * as Settings from "@homeostat/backup/Settings"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Callers from "@homeostat/runtime/manager/Callers"
import * as Permissions from "@homeostat/runtime/manager/Permissions"
import type * as Rbac from "@homeostat/runtime/manager/Rbac"
import { Deployment, Lease } from "@homeostat/runtime/resource/BuiltIn"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import * as Shared from "@homeostat/testkit/Shared"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect, Exit, Layer, Scope } from "effect"
import { loadAll } from "js-yaml"
import { program } from "../../../controllers/main.ts"
import * as Backups from "../backup/Backups.ts"
import type * as BackupScene from "../backup/Scene.ts"
import * as Keeper from "../callers/Keeper.ts"
import * as Managed from "../Managed.ts"
import * as Counted from "../runtime/Counted.ts"
import * as Shipped from "../Shipped.ts"
import * as Scene from "../webapp/Scene.ts"
import * as Audit from "./Audit.ts"
import * as BackupLife from "./BackupLife.ts"
import * as Granted from "./Granted.ts"
import * as WebAppLife from "./WebAppLife.ts"

/** Options with an audit log. */
const options: Envtest.Options = {
  ...Envtest.everything,
  audit: true
}

const real = <A, E>(
  name: string,
  body: (cluster: ControlPlane) => Effect.Effect<A, E, Scope.Scope | Client.Client>
): void =>
  Shared.real(
    name,
    (cluster) =>
      Effect.gen(function* () {
        yield* Scene.install(cluster)
        return yield* Effect.provide(body(cluster), yield* Managed.client(cluster))
      }),
    { ...options, timeoutMillis: 240_000 }
  )

/** Starts a manager with a scope of its own. */
const start = (account: Granted.Account, labelSelector?: string) =>
  Effect.gen(function* () {
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
    const working = yield* Scope.provide(Granted.start(account, labelSelector), scope)
    return { ...working, stop: Scope.close(scope, Exit.void) }
  })

type Started = Effect.Success<ReturnType<typeof start>>

const leads = ({ leads }: Started) => Managed.eventually("leadership", Effect.sync(leads), (does) => does)

/** Without the permission on finalizers, which an admission plugin checks for a request to another kind. */
const expected = (account: Granted.Account) =>
  Audit.distinct(
    Granted.permissions(account)
      .filter(({ subresource }) => subresource !== "finalizers")
      .map((each) => `${each.verb} ${Permissions.pathOf(each)} ${each.group}`)
  )

/** Checks that the server forbade no request, and that the requests used every granted permission. */
const check = (account: Granted.Account) =>
  Effect.gen(function* () {
    const all = Audit.of(account.cluster, account.user.user)
    // The server logs a request after its response.
    yield* Managed.eventually(
      "no unused permission",
      Effect.map(all, (asked) => expected(account).filter((each) => !Audit.permissions(asked).includes(each))),
      (unused) => unused.length === 0
    )
    const asked = yield* all
    expect(asked.filter(({ code }) => code === 403 || code === 401)).toEqual([])
    expect(Audit.permissions(asked)).toEqual(expected(account))
    return asked
  })

/** Two replicas lead in turn while the scenes and `also` run. */
const work = (
  account: Granted.Account,
  scenes: ReadonlyArray<Scene.Scene>,
  also: Effect.Effect<unknown, unknown, Client.Client | Scope.Scope> = Effect.void
) =>
  Effect.gen(function* () {
    yield* Granted.grant(account)
    const first = yield* start(account)
    yield* leads(first)
    yield* Counted.started(first)
    const second = yield* start(account)
    const lives = scenes.map((scene) => Effect.andThen(WebAppLife.life(scene), WebAppLife.inheritance(scene)))
    yield* Effect.all([...lives, also], { concurrency: "unbounded", discard: true })
    for (const scene of scenes) yield* WebAppLife.raced(scene, first)

    yield* first.stop
    yield* leads(second)
    for (const scene of scenes) {
      yield* Client.patch(Deployment, scene.key("adopted"), Patch.merge({ spec: { replicas: 4 } }))
      yield* Managed.eventually(
        "a correction by the second replica",
        Scene.deployment(scene, "adopted"),
        ({ spec }) => spec?.replicas === 2
      )
    }
    yield* second.stop
  })

/** A request with a token for the metrics, which the manager reviews as with --metrics-secure. */
const scraped = (account: Granted.Account, namespace: string) =>
  Effect.gen(function* () {
    const { token } = yield* Keeper.account(account.cluster, namespace, "prometheus", {
      path: "/metrics",
      verbs: ["get"]
    })
    const request = new Request("https://manager/metrics", { headers: { authorization: `Bearer ${token}` } })
    const { status } = yield* Callers.guarded(() => Effect.succeed(new Response("# EOF")), { loopback: false }).pipe(
      Effect.flatMap((page) => page(request, { address: "192.0.2.1" })),
      Effect.provide(Layer.provide(Callers.layer(), Granted.client(account)))
    )
    expect(status).toBe(200)
  })

/** The rules of a file of deploy/rbac. */
const rulesOf = (path: string) =>
  Effect.promise(async () => {
    const objects = loadAll(await Bun.file(join(import.meta.dir, "../../../deploy/rbac", path)).text())
    return objects.flatMap((object) => Object(object).rules ?? [])
  })

/** One line for each verb on each resource. */
const permissionsOf = (rules: ReadonlyArray<Rbac.Rule>): ReadonlyArray<string> =>
  rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource} ${group}`)))
  )

/** A manager of Backups with some labels starts the Job that creates a repository in two steps. */
const slice = (account: Granted.Account, scene: BackupScene.Scene) =>
  Effect.gen(function* () {
    const working = yield* start(account, "team=red")
    yield* leads(working)
    yield* Client.create(Backup, {
      metadata: { namespace: scene.namespace, name: "slice", labels: { team: "red" } },
      spec: {
        source: "app",
        destination: "pvc://store",
        repository: { credentialsSecretRef: { name: "shop-backup-credentials" } }
      }
    })
    yield* Backups.completed(scene, "slice")
    yield* working.stop
  })

describe("The manager with all its controllers and exactly the rules of deploy/rbac", () => {
  Backups.real(
    "works cluster-wide without a refusal, and uses every permission",
    (scene) =>
      Effect.gen(function* () {
        const { cluster, namespace } = scene
        yield* Scene.install(cluster)
        const home = yield* cluster.namespace("system")
        // The flags of the default overlay: --leader-elect --metrics-secure.
        const settings = { lease: { namespace: home, name: program.name }, metricsSecure: true }
        const account = yield* Granted.account(cluster, home, settings, Shipped.controllers)
        const rules = Granted.roles(account).flatMap((object) => ("rules" in object ? object.rules : []))
        const installed = [...(yield* rulesOf("cluster/manager.yaml")), ...(yield* rulesOf("leader-election.yaml"))]
        // `deploy/Generated.test.ts` shows that the files have no other rules.
        expect(permissionsOf(installed)).toEqual(expect.arrayContaining([...permissionsOf(rules)]))
        const also = Effect.andThen(BackupLife.life(scene), scraped(account, home))
        yield* work(account, [Scene.of(cluster, namespace)], also).pipe(
          Effect.andThen(slice(account, scene)),
          Effect.provideService(Settings.Settings, Backups.quick)
        )
        yield* check(account)
        // The Secrets that a Backup names, and those of WebApps.
        expect(expected(account).filter((each) => each.includes(" secrets "))).toEqual([
          "get secrets ",
          "list secrets ",
          "watch secrets "
        ])
      }),
    { control: { audit: true }, timeoutMillis: 300_000 }
  )
})

describe("The manager of WebApps with exactly the generated roles", () => {
  real("works in some namespaces without permissions for the cluster or other namespaces", (cluster) =>
    Effect.gen(function* () {
      const home = yield* cluster.namespace("system")
      const scenes = [
        Scene.of(cluster, yield* cluster.namespace("permissions-a")),
        Scene.of(cluster, yield* cluster.namespace("permissions-b"))
      ]
      const namespaces = scenes.map(({ namespace }) => namespace)
      const account = yield* Granted.account(cluster, home, {
        namespaces,
        lease: { namespace: home, name: "homeostat" }
      })
      yield* work(account, scenes)
      const asked = yield* check(account)
      expect(Audit.distinct(asked.map(({ namespace }) => namespace ?? "cluster"))).toEqual([...namespaces, home].sort())

      const can = (where: string) =>
        Effect.map(
          cluster.kubectl(["auth", "can-i", "list", "webapps.apps.kubedojo.io", where], { as: account.user }),
          ({ stdout }) => stdout.trim()
        )
      expect(yield* can("--all-namespaces")).toBe("no")
      expect(yield* can(`--namespace=${home}`)).toBe("no")
      expect(yield* can(`--namespace=${namespaces[0]}`)).toBe("yes")
    })
  )

  real("leads beside another one with other labels, each with its own Lease", (cluster) =>
    Effect.gen(function* () {
      const home = yield* cluster.namespace("system")
      const scene = Scene.of(cluster, yield* cluster.namespace("permissions"))
      const { namespace } = scene
      const namespaces = [namespace]
      const slices = yield* Effect.forEach(["team=red", "team=blue"], (selector) =>
        Effect.gen(function* () {
          const lease = { namespace: home, name: selector.replace("=", "-") }
          const account = yield* Granted.account(cluster, home, { namespaces, lease })
          yield* Granted.grant(account)
          return { account, lease, working: yield* start(account, selector) }
        })
      )
      for (const { working } of slices) yield* leads(working)
      for (const { lease } of slices) {
        expect((yield* Client.get(Lease, lease)).spec?.holderIdentity).not.toBe("")
      }
      expect(new Set(slices.map(({ lease }) => lease.name)).size).toBe(2)

      const teams = ["red", "blue"]
      for (const team of [...teams, "green"]) {
        yield* Client.create(WebApp, {
          metadata: { namespace, name: team, labels: { team } },
          spec: { image: "registry.test/web:1", replicas: 1 }
        })
      }
      for (const team of teams) yield* Scene.running(scene, team)
      expect((yield* Scene.app(scene, "green")).status).toEqual({ observedGeneration: -1 })
      for (const [index, { account, working }] of slices.entries()) {
        // Children lack the labels, so each manager sees children of the other.
        const seen = working.attempts.filter(({ outcome }) => outcome._tag !== "Vanished").map(({ key }) => key)
        expect(Audit.distinct(seen)).toEqual([`${namespace}/${teams[index]}`])
        const asked = yield* Audit.of(cluster, account.user.user)
        expect(asked.filter(({ code }) => code === 403)).toEqual([])
      }
    })
  )
})
