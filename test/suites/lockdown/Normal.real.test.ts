/** The manager works with the policies as it does with the shipped RBAC alone. */
import { describe, expect } from "bun:test"
import { Backup } from "@homeostat/backup/kinds/Backup"
import * as Settings from "@homeostat/backup/Settings"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Permissions from "@homeostat/runtime/manager/Permissions"
import { Deployment, Event, Lease } from "@homeostat/runtime/resource/BuiltIn"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect, Exit, Scope } from "effect"
import { program } from "../../../controllers/main.ts"
import * as Backups from "../backup/Backups.ts"
import * as Managed from "../Managed.ts"
import * as Audit from "../rbac/Audit.ts"
import * as BackupLife from "../rbac/BackupLife.ts"
import * as Granted from "../rbac/Granted.ts"
import * as WebAppLife from "../rbac/WebAppLife.ts"
import * as Counted from "../runtime/Counted.ts"
import * as Shipped from "../Shipped.ts"
import * as Scene from "../webapp/Scene.ts"
import * as Locked from "./Locked.ts"

/** The manager of the shipped overlay, with the generated roles. */
const account = (cluster: ControlPlane, home: string) =>
  Effect.gen(function* () {
    const user = yield* Locked.manager(cluster, home)
    const made: Granted.Account = {
      cluster,
      user,
      controllers: Shipped.controllers,
      settings: {
        name: home,
        serviceAccount: { namespace: home, name: program.name },
        namespaces: [],
        lease: { namespace: home, name: program.name },
        installCrds: false,
        metricsSecure: true
      }
    }
    yield* Granted.grant(made)
    return made
  })

/** Starts a manager in its own Scope, and waits until it leads. */
const start = (account: Granted.Account, labelSelector?: string) =>
  Effect.gen(function* () {
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
    const working = yield* Scope.provide(Granted.start(account, labelSelector), scope)
    yield* Managed.eventually("leadership", Effect.sync(working.leads), (does) => does)
    return { ...working, stop: Scope.close(scope, Exit.void) }
  })

const writes = ["create", "patch", "update", "delete"]

describe("The manager under the policies", () => {
  Backups.real(
    "makes every write that its roles allow, for WebApps, Backups, Restores, its Lease and Events",
    (scene) =>
      Effect.gen(function* () {
        const { cluster, namespace } = scene
        yield* Scene.install(cluster)
        const home = yield* cluster.namespace("system")
        const webapps = Scene.of(cluster, namespace)
        const manager = yield* account(cluster, home)
        // This manager uses another namespace, so that the audit log has no rejections for the tested one.
        const elsewhere = yield* cluster.namespace("elsewhere")
        const other = yield* Locked.manager(cluster, elsewhere)
        yield* cluster.kubectl([
          "create",
          "clusterrolebinding",
          elsewhere,
          "--clusterrole=cluster-admin",
          `--user=${other.user}`
        ])
        yield* Locked.lock(cluster, other, namespace)

        const working = yield* start(manager)
        yield* Counted.started(working)
        yield* Effect.all(
          [Effect.andThen(WebAppLife.life(webapps), WebAppLife.inheritance(webapps)), BackupLife.life(scene)],
          { concurrency: "unbounded", discard: true }
        )
        yield* WebAppLife.raced(webapps, working)
        // The new WebApp adopts the children that the deleted WebApp left.
        yield* Scene.launch(webapps, "back", { image: "registry.test/web:1" })
        yield* Client.delete(WebApp, webapps.key("back"), { propagation: "Orphan" })
        yield* Managed.eventually(
          "the WebApp is gone",
          Effect.result(Scene.app(webapps, "back")),
          ({ _tag }) => _tag === "Failure"
        )
        yield* Scene.launch(webapps, "back", { image: "registry.test/web:2", replicas: 3 })
        yield* Client.patch(WebApp, webapps.key("back"), Patch.merge({ spec: { replicas: 1 } }))
        yield* Managed.eventually("it is scaled", Scene.deployment(webapps, "back"), ({ spec }) => spec?.replicas === 1)
        yield* working.stop

        // A manager with a label selector creates a Job suspended, and then patches it.
        const sliced = yield* start(manager, "team=red")
        yield* Client.create(Backup, {
          metadata: { namespace, name: "slice", labels: { team: "red" } },
          spec: {
            source: "app",
            destination: "pvc://store",
            repository: { credentialsSecretRef: { name: "shop-backup-credentials" } }
          }
        })
        yield* Backups.completed(scene, "slice")
        yield* sliced.stop

        expect(
          (yield* Client.get(Lease, { namespace: home, name: program.name })).spec?.leaseTransitions
        ).toBeGreaterThan(0)
        const events = yield* Client.list(Event, { namespace: home })
        expect(events.items.map(({ regarding }) => regarding?.kind)).toContain("Lease")

        const granted = Permissions.all(Shipped.controllers, manager.settings)
          // Admission checks the permission on finalizers for requests to other kinds.
          .filter(
            ({ group, subresource, verb }) =>
              writes.includes(verb) && !/^auth/.test(group) && subresource !== "finalizers"
          )
          .map((each) => `${each.verb} ${Permissions.pathOf(each)} ${each.group}`)
        const asked = Audit.of(cluster, manager.user.user)
        // The audit log shows a request after its response.
        yield* Managed.eventually(
          "every write",
          Effect.map(asked, (entries) => granted.filter((each) => !Audit.permissions(entries).includes(each))),
          (unused) => unused.length === 0
        )
        // Before the manager deletes snapshots, it sends a dry run of a plain Job. The response shows whether the namespace is being
        // deleted.
        const refused = (yield* asked).filter(({ code }) => code === 403)
        expect(
          refused.filter(({ resource, uri }) => !(resource === "jobs batch" && uri.endsWith("&dryRun=All")))
        ).toEqual([])

        // A user may set a field that the policies reject. The status of the WebApp then names the field.
        const again = yield* start(manager)
        const pod = (serviceAccountName: string | null) =>
          Client.patch(
            Deployment,
            webapps.key("back"),
            Patch.merge({ spec: { template: { spec: { serviceAccountName, serviceAccount: serviceAccountName } } } })
          )
        yield* pod("admin")
        yield* Client.patch(WebApp, webapps.key("back"), Patch.merge({ spec: { replicas: 2 } }))
        yield* Managed.eventually(
          "the WebApp names the field",
          Scene.app(webapps, "back"),
          (app) =>
            Scene.condition(app, "Stalled")?.message.includes("pod template forbidden: serviceAccountName") === true
        )
        yield* pod(null)
        yield* Managed.eventually(
          "it is scaled when the field is gone",
          Scene.deployment(webapps, "back"),
          ({ spec }) => spec?.replicas === 2
        )
        yield* again.stop
      }).pipe(Effect.provideService(Settings.Settings, Backups.quick)),
    { control: { audit: true }, timeoutMillis: 300_000 }
  )
})
