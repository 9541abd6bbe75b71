/** preflight, the log and the status of objects name missing permissions. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import { Service } from "@homeostat/runtime/resource/BuiltIn"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import * as Shared from "@homeostat/testkit/Shared"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect, type Scope } from "effect"
import * as Binary from "../binary/Binary.ts"
import * as Managed from "../Managed.ts"
import * as Counted from "../runtime/Counted.ts"
import * as Kubectl from "../webapp/Kubectl.ts"
import * as Scene from "../webapp/Scene.ts"
import * as Granted from "./Granted.ts"

interface Place {
  readonly scene: Scene.Scene
  readonly namespace: string
  /** An account of the namespace without permissions. */
  readonly account: Granted.Account
}

const leaseName = "missing"
const electing = ["--leader-elect", "--leader-elect-resource-name", leaseName]

const real = <A, E>(name: string, body: (place: Place) => Effect.Effect<A, E, Scope.Scope | Client.Client>): void =>
  Shared.real(
    name,
    (cluster: ControlPlane) =>
      Effect.gen(function* () {
        yield* Scene.install(cluster)
        const namespace = yield* cluster.namespace("missing")
        const namespaces = [namespace]
        const lease = { namespace, name: leaseName }
        const account = yield* Granted.account(cluster, namespace, { namespaces, lease })
        const place = { scene: Scene.of(cluster, namespace), namespace, account }
        return yield* Effect.provide(body(place), yield* Managed.client(cluster))
      }),
    { ...Envtest.everything, timeoutMillis: 180_000 }
  )

const binary = ({ account, namespace }: Place, verb: string, ...flags: ReadonlyArray<string>) => {
  const place = ["--namespace", namespace, ...electing, "--leader-elect-resource-namespace", namespace]
  const args = [verb, "--kubeconfig", account.user.kubeconfigPath, ...place, ...flags]
  return { args, home: Binary.bare(account.cluster.directory) }
}

const webapp = "--controllers=webapp"

const preflight = (place: Place, ...flags: ReadonlyArray<string>) => {
  const { args, home } = binary(place, "preflight", ...flags)
  return Binary.run(args, home)
}

describe("A missing permission", () => {
  real("makes preflight fail, which prints the rules to add", (place) =>
    Effect.gen(function* () {
      const { account, namespace, scene } = place
      yield* Granted.grant(account, ["create services", "patch webapps/status", "watch leases"])
      const end = yield* preflight(place, webapp)
      const lines = [
        `cannot create services in namespace ${namespace}, needed by controller webapp: add to a Role there {"apiGroups":[""],"resources":["services"],"verbs":["create"]}`,
        `cannot patch webapps.apps.kubedojo.io/status in namespace ${namespace}, needed by controller webapp: add to a Role there {"apiGroups":["apps.kubedojo.io"],"resources":["webapps/status"],"verbs":["patch"]}`,
        `cannot watch leases.coordination.k8s.io ${account.settings.lease?.name} in namespace ${namespace}, needed by leader election: add to a Role there {"apiGroups":["coordination.k8s.io"],"resources":["leases"],"resourceNames":["${account.settings.lease?.name}"],"verbs":["watch"]}`
      ]
      const flags = ["--controllers=webapp", "--leader-elect", `--leader-elect-resource-name=${leaseName}`]
      const lease = `--leader-elect-resource-namespace=${namespace}`
      const roles = `homeostat rbac --namespace=${namespace} ${flags.join(" ")} ${lease}`
      const [, all] = /^homeostat: 3 of (\d+) permissions/.exec(end.stderr) ?? expect.unreachable(end.stderr)
      expect(end).toMatchObject({
        code: 1,
        stdout: `${lines.join("\n")}\n`,
        stderr: `homeostat: 3 of ${all} permissions are missing (${roles} prints roles with all of them)\n`
      })

      const rules = end.stdout
        .trim()
        .split("\n")
        .map((line): unknown => JSON.parse(line.slice(line.indexOf("{"))))
      const { name } = account.settings
      const apiGroup = "rbac.authorization.k8s.io"
      const metadata = { name: "more" }
      const subjects = [{ kind: "ServiceAccount", namespace, name }]
      for (const part of [
        { kind: "Role", metadata, rules },
        { kind: "RoleBinding", metadata, roleRef: { apiGroup, kind: "Role", name: "more" }, subjects }
      ]) {
        yield* Kubectl.run(scene, ["apply", "--filename=-"], { apiVersion: `${apiGroup}/v1`, ...part })
      }
      const after = yield* Managed.eventually("all permissions", preflight(place, webapp), ({ code }) => code === 0)
      expect(after.stdout).toBe(`All ${all} permissions that homeostat needs are granted on ${account.cluster.url}\n`)
    })
  )

  real("does not exist with the printed manifests", (place) =>
    Effect.gen(function* () {
      const { account, namespace, scene } = place
      const { name } = account.settings
      const flags = ["--namespace", namespace, ...electing, "--service-account", `${namespace}/${name}`]
      const printed = yield* Binary.run(["manifests", ...flags], Binary.bare(account.cluster.directory))
      expect(printed).toMatchObject({ code: 0, stderr: "" })
      yield* Kubectl.run(scene, ["apply", "--filename=-"], printed.stdout)
      const after = yield* Managed.eventually("all permissions", preflight(place), ({ code }) => code === 0)
      expect(after.stderr).toBe("")
      expect(yield* Kubectl.run(scene, ["get", "serviceaccount", name, "--output=name"])).toBe(`serviceaccount/${name}`)
    })
  )

  real("causes a warning of the program, which starts", (place) =>
    Effect.gen(function* () {
      const { account, namespace, scene } = place
      yield* Granted.grant(account, ["create services"])
      const checked = yield* preflight(place, "--webhooks", webapp)
      const flags = `--namespace=${namespace} --controllers=webapp --leader-elect --leader-elect-resource-name=${leaseName} --leader-elect-resource-namespace=${namespace} --webhooks`
      const remedy = `To add the permissions of the webhooks: homeostat rbac ${flags} | kubectl apply -f -`
      expect(checked.stdout.trim().split("\n").at(-1)).toStartWith(remedy)
      const { args, home } = binary(
        place,
        "run",
        webapp,
        "--log-format=json",
        "--metrics-bind-address=0",
        "--health-probe-bind-address=0"
      )
      const running = yield* Binary.start(args, home)
      const line = yield* running.written(/cannot create services/)
      expect(JSON.parse(line)).toMatchObject({
        level: "warn",
        msg: expect.stringContaining(`cannot create services in namespace ${namespace}, needed by controller webapp`)
      })
      yield* Scene.create(scene, "shop")
      yield* Managed.eventually("its Deployment", Scene.deployment(scene, "shop"), () => true)
    })
  )

  real("for a write causes one condition on the object until it is granted", (place) =>
    Effect.gen(function* () {
      const { account, namespace, scene } = place
      yield* Granted.grant(account, ["create services"])
      const working = yield* Granted.start(account)
      yield* Counted.started(working)
      const states = yield* Scene.record(scene, WebApp)
      yield* Scene.create(scene, "shop")
      const stalled = yield* Managed.eventually(
        "the Forbidden condition",
        Scene.app(scene, "shop"),
        (app) => Scene.condition(app, "Ready")?.reason === "Forbidden"
      )
      const facts = { reason: "Forbidden", observedGeneration: 1 }
      expect(Scene.condition(stalled, "Ready")).toMatchObject({ status: "False", ...facts })
      expect(Scene.condition(stalled, "Stalled")).toMatchObject({ status: "True", ...facts })
      const message = Scene.condition(stalled, "Stalled")?.message ?? ""
      expect(message).toStartWith(`The API server refuses PATCH /api/v1/namespaces/${namespace}/services/shop: `)
      expect(message).toEndWith(`; requires permission to create services in namespace ${namespace}`)

      const before = working.attempts.length
      yield* Managed.eventually(
        "further attempts",
        Effect.sync(() => working.attempts.slice(before)),
        (all) => all.filter(({ outcome }) => outcome._tag === "Failed").length >= 5
      )
      expect((yield* Scene.app(scene, "shop")).status).toEqual(stalled.status ?? {})
      const isForbidden = ({ status }: WebApp) =>
        status?.conditions?.some(({ reason }) => reason === "Forbidden") === true
      expect(states().filter(({ object }) => isForbidden(object))).toHaveLength(1)

      yield* Granted.grant(account)
      const app = yield* Scene.running(scene, "shop")
      expect(app.status?.conditions?.filter(({ reason }) => reason === "Forbidden")).toEqual([])
      expect(Scene.condition(app, "Stalled")).toBeUndefined()
      yield* Client.get(Service, scene.key("shop"))
    })
  )

  real("for a cache causes a warning within seconds, and its controller starts when it is granted", (place) =>
    Effect.gen(function* () {
      const { account, namespace, scene } = place
      yield* Scene.create(scene, "shop")
      yield* Granted.grant(account, ["list services", "watch services"])
      const working = yield* Granted.start(account)
      const lacking = `cannot list services in namespace ${namespace}: requires permission to list and watch services`
      yield* Managed.eventually(
        "the warning",
        Effect.sync(() => working.warnings),
        (lines) => lines.some((line) => line.startsWith(lacking)),
        "15 seconds"
      )
      const informers = () => working.runners[0]?.informers ?? []
      const states = () => informers().map((informer) => informer.state())
      // The first lists of other kinds may end later.
      const waiting = yield* Managed.eventually(
        "every other kind",
        Effect.sync(() => states().filter(({ synced }) => !synced)),
        (unsynced) => unsynced.length === 1
      )
      expect(waiting.map(({ problem }) => problem?.slice(0, lacking.length))).toEqual([lacking])
      expect(working.attempts).toEqual([])

      yield* Granted.grant(account)
      yield* Scene.running(scene, "shop")
      const all = informers().map((informer) => `${informer.resource.plural} ${informer.state().status}`)
      expect(all).toContain("services synced")
      // Another test may have installed the CRD of HTTPRoute in this control plane.
      expect(all.filter((one) => !one.endsWith(" synced") && one !== "httproutes absent")).toEqual([])
    })
  )
})
