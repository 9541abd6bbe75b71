/** The generated roles are what running takes: enough for everything, and nothing that is not used. */
import { describe, expect } from "bun:test"
import { join } from "node:path"
import * as Settings from "@homeostat/backup/Settings"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Callers from "@homeostat/runtime/manager/Callers"
import * as Permission from "@homeostat/runtime/manager/Permission"
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
import * as Keeper from "../callers/Keeper.ts"
import * as Managed from "../Managed.ts"
import * as Counted from "../runtime/Counted.ts"
import * as Shipped from "../Shipped.ts"
import * as Scene from "../webapp/Scene.ts"
import * as Audit from "./Audit.ts"
import * as BackupLife from "./BackupLife.ts"
import * as Granted from "./Granted.ts"
import * as WebAppLife from "./WebAppLife.ts"

/** The audit log tells who asked for what. Without WatchList, as on many a server before 1.34, the first state is a list. */
const options: Envtest.Options = {
  ...Envtest.everything,
  audit: true,
  apiServerFlags: ["--feature-gates=WatchList=false"]
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

/** Starts a manager with a scope of its own, to be stopped in order. */
const start = (account: Granted.Account, labelSelector?: string) =>
  Effect.gen(function* () {
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
    const working = yield* Scope.extend(Granted.start(account, labelSelector), scope)
    return { ...working, stop: Scope.close(scope, Exit.void) }
  })

type Started = Effect.Effect.Success<ReturnType<typeof start>>

const leads = ({ leads }: Started) => Managed.eventually("that it leads", Effect.sync(leads), (does) => does)

const expected = (account: Granted.Account) =>
  Audit.distinct(
    Granted.permissions(account).map((right) => `${right.verb} ${Permission.pathOf(right)} ${right.group}`)
  )

/** Nothing was refused, and what was asked for is what the roles grant. */
const check = (account: Granted.Account) =>
  Effect.gen(function* () {
    const all = Audit.of(account.cluster, account.user.user)
    // A line is written when its request is answered, and may be read a moment later.
    yield* Managed.eventually(
      "that no right is left unused",
      Effect.map(all, (asked) => expected(account).filter((right) => !Audit.rights(asked).includes(right))),
      (unused) => unused.length === 0
    )
    const asked = yield* all
    expect(asked.filter(({ code }) => code === 403 || code === 401)).toEqual([])
    expect(Audit.rights(asked)).toEqual(expected(account))
    return asked
  })

/**
 * Two replicas do all of that, one after the other leading.
 *
 * @param also what else is done meanwhile, with what else is worked on
 */
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
    const lives = scenes.map((scene) => Effect.zipRight(WebAppLife.life(scene), WebAppLife.inheritance(scene)))
    yield* Effect.all([...lives, also], { concurrency: "unbounded", discard: true })
    for (const scene of scenes) yield* WebAppLife.raced(scene, first)

    yield* first.stop
    yield* leads(second)
    for (const scene of scenes) {
      yield* Client.patch(Deployment, scene.key("adopted"), Patch.merge({ spec: { replicas: 4 } }))
      yield* Managed.eventually(
        "that the second one repairs",
        Scene.deployment(scene, "adopted"),
        ({ spec }) => spec?.replicas === 2
      )
    }
    yield* second.stop
  })

/** Somebody shows a token for the manager's metrics, which the manager asks the API server about, as with --metrics-secure. */
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
const rightsOf = (rules: ReadonlyArray<Rbac.Rule>): ReadonlyArray<string> =>
  rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource} ${group}`)))
  )

describe("The manager with all its controllers, under exactly the rules of deploy/rbac,", () => {
  Backups.real(
    "works in the whole cluster, is refused nothing, and uses every right that it is given",
    (scene) =>
      Effect.gen(function* () {
        const { cluster, namespace } = scene
        yield* Scene.install(cluster)
        const home = yield* cluster.namespace("system")
        // As the default overlay has it: --leader-elect --metrics-secure.
        const settings = { lease: { namespace: home, name: program.name }, metricsSecure: true }
        const account = yield* Granted.account(cluster, home, settings, Shipped.controllers)
        const rules = Granted.roles(account).flatMap((object) => ("rules" in object ? object.rules : []))
        const installed = [...(yield* rulesOf("cluster/manager.yaml")), ...(yield* rulesOf("leader-election.yaml"))]
        // Of a controller that somebody has added there is more. `deploy/Generated.test.ts` shows that there is nothing else.
        expect(rightsOf(installed)).toEqual(expect.arrayContaining([...rightsOf(rules)]))
        const also = Effect.zipRight(BackupLife.life(scene), scraped(account, home))
        yield* work(account, [Scene.of(cluster, namespace)], also).pipe(
          Effect.provideService(Settings.Settings, Backups.quick)
        )
        yield* check(account)
        // Of Secrets, those that a Backup names.
        expect(expected(account).filter((right) => right.includes(" secrets "))).toEqual(["get secrets "])
      }),
    { control: { audit: true }, timeoutMillis: 300_000 }
  )
})

describe("The manager of WebApps, under exactly the generated roles,", () => {
  real("works in some namespaces without any right across the cluster or in others", (cluster) =>
    Effect.gen(function* () {
      const home = yield* cluster.namespace("system")
      const scenes = [
        Scene.of(cluster, yield* cluster.namespace("rights-a")),
        Scene.of(cluster, yield* cluster.namespace("rights-b"))
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

  real("that sees some labels leads beside one that sees others, each by a Lease of its own", (cluster) =>
    Effect.gen(function* () {
      const home = yield* cluster.namespace("system")
      const scene = Scene.of(cluster, yield* cluster.namespace("rights"))
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
      expect((yield* Scene.app(scene, "green")).status).toBeUndefined()
      for (const [index, { account, working }] of slices.entries()) {
        // Children have no such labels, so those of the others are heard of, and lead to nothing.
        const seen = working.attempts.filter(({ outcome }) => outcome._tag !== "Vanished").map(({ key }) => key)
        expect(Audit.distinct(seen)).toEqual([`${namespace}/${teams[index]}`])
        const asked = yield* Audit.of(cluster, account.user.user)
        expect(asked.filter(({ code }) => code === 403)).toEqual([])
      }
    })
  )
})
