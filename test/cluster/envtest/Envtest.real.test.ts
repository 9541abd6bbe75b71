import { describe, expect } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { ConfigProvider, Effect, Schedule } from "effect"
import * as Shared from "../Shared.ts"
import { live } from "../Test.ts"
import * as Envtest from "./Envtest.ts"
import { isAlive } from "./fixtures/pids.ts"

/** A Deployment with three replicas. */
const deployment = (namespace: string) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", namespace },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: "web" } },
    template: {
      metadata: { labels: { app: "web" } },
      spec: { containers: [{ name: "web", image: "nothing/runs:1" }] }
    }
  }
})

const eventually = <A, E, R>(effect: Effect.Effect<A, E, R>, holds: (value: A) => boolean, seconds = 40) =>
  effect.pipe(Effect.repeat({ until: holds, schedule: Schedule.spaced("50 millis") }), Effect.timeout(seconds * 1000))

describe("Envtest", () => {
  live(
    "starts a control plane that answers, and leaves no process and no file behind",
    () =>
      Effect.gen(function* () {
        const { pids, directory } = yield* Effect.scoped(
          Effect.gen(function* () {
            const cluster = yield* Envtest.start()
            expect((yield* cluster.request("GET", "/readyz")).status).toBe(200)
            expect(cluster.logs("kube-apiserver", 3).split("\n")).toHaveLength(3)
            const pids = cluster.processes.map((process) => process.pid() ?? 0)
            expect(pids.map(isAlive)).toEqual([true, true])
            return { pids, directory: cluster.directory }
          })
        )
        expect(pids.map(isAlive)).toEqual([false, false])
        expect(existsSync(directory)).toBe(false)
      }),
    120_000
  )

  live(
    "fails without its programs with advice, instead of skipping tests",
    () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(Envtest.start())
        expect(error.message).toStartWith("etcd is missing; set KUBEBUILDER_ASSETS=")
        expect(error.message).not.toContain("\n")
      }).pipe(Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord({}))),
    120_000
  )

  live(
    "reports an unknown flag of the API server at once, with the message of the API server",
    () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(Envtest.start({ apiServerFlags: ["--no-such-flag"] }))
        expect(error._tag).toBe("StartFailed")
        expect(error.message).toContain("unknown flag: --no-such-flag")
      }),
    120_000
  )

  Shared.real("adds users without permissions until a role is bound to them", (cluster) =>
    Effect.gen(function* () {
      const namespace = yield* cluster.namespace()
      const jane = yield* cluster.addUser({ name: "jane", groups: ["readers"] })
      const pods = `/api/v1/namespaces/${namespace}/pods`
      const forbidden = yield* cluster.request("GET", pods, { as: jane })
      expect([forbidden.status, JSON.parse(forbidden.body).message]).toEqual([
        403,
        expect.stringContaining('User "jane" cannot list resource "pods"')
      ])

      const admin = (...args: ReadonlyArray<string>) => cluster.kubectl([...args, `--namespace=${namespace}`])
      expect(yield* admin("create", "role", "reader", "--verb=list", "--resource=pods")).toMatchObject({ exitCode: 0 })
      expect(yield* admin("create", "rolebinding", "readers", "--role=reader", "--group=readers")).toMatchObject({
        exitCode: 0
      })
      yield* eventually(cluster.request("GET", pods, { as: jane }), ({ status }) => status === 200)
      const kubectl = yield* cluster.kubectl(["get", "pods", `--namespace=${namespace}`], { as: jane })
      expect(kubectl).toMatchObject({ exitCode: 0, stderr: expect.stringContaining("No resources found") })
      expect((yield* cluster.request("GET", "/api/v1/pods", { as: jane })).status).toBe(403)
    })
  )

  Shared.real("runs kubectl with input, and returns its failures as results", (cluster) =>
    Effect.gen(function* () {
      const namespace = yield* cluster.namespace()
      const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace }, data: { key: "value" } }
      const applied = yield* cluster.kubectl(["apply", "-f", "-"], { stdin: JSON.stringify(object) })
      expect(applied).toMatchObject({ stdout: "configmap/a created\n", exitCode: 0 })
      const missing = yield* cluster.kubectl(["get", "configmap", "b", `--namespace=${namespace}`])
      expect(missing).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("NotFound") })
    })
  )

  Shared.real(
    "runs a Deployment of three pods with controllers, scheduler and kwok, and removes it with its pods",
    (cluster) =>
      Effect.gen(function* () {
        const namespace = yield* cluster.namespace()
        const deployments = `/apis/apps/v1/namespaces/${namespace}/deployments`
        const get = (path: string) =>
          Effect.map(cluster.request("GET", path), ({ status, body }) => ({ status, object: JSON.parse(body) }))
        yield* cluster.request("POST", deployments, { body: deployment(namespace) })
        yield* eventually(get(`${deployments}/web`), ({ object }) => object.status?.availableReplicas === 3)

        yield* cluster.request("DELETE", `${deployments}/web`)
        yield* eventually(get(`/api/v1/namespaces/${namespace}/pods`), ({ object }) => object.items.length === 0)
        expect((yield* get(`${deployments}/web`)).status).toBe(404)
      }),
    Envtest.everything
  )

  Shared.real(
    "collects the dependents of a new kind at once",
    (cluster) =>
      Effect.gen(function* () {
        const namespace = yield* cluster.namespace()
        yield* cluster.install(gizmos)
        const owner = yield* cluster.request("POST", `/apis/envtest.example/v1/namespaces/${namespace}/gizmos`, {
          body: { apiVersion: "envtest.example/v1", kind: "Gizmo", metadata: { name: "a" } }
        })
        const { name, uid } = JSON.parse(owner.body).metadata
        const owned = `/api/v1/namespaces/${namespace}/configmaps`
        yield* cluster.request("POST", owned, {
          body: {
            apiVersion: "v1",
            kind: "ConfigMap",
            metadata: {
              name: "owned",
              ownerReferences: [{ apiVersion: "envtest.example/v1", kind: "Gizmo", name, uid }]
            }
          }
        })
        yield* cluster.request("DELETE", `/apis/envtest.example/v1/namespaces/${namespace}/gizmos/a`)
        yield* eventually(cluster.request("GET", `${owned}/owned`), ({ status }) => status === 404)
      }),
    Envtest.everything
  )

  Shared.real(
    "removes a namespace with its scope",
    (cluster) =>
      Effect.gen(function* () {
        const name = yield* Effect.scoped(cluster.namespace("short"))
        expect(name).toMatch(/^short-/)
        yield* eventually(cluster.request("GET", `/api/v1/namespaces/${name}`), ({ status }) => status === 404)
      }),
    Envtest.everything
  )

  live(
    "can kill, pause and restart the API server, which keeps its address and data",
    () =>
      Effect.gen(function* () {
        const cluster = yield* Envtest.start()
        const apiServer = yield* cluster.process("kube-apiserver")
        const namespace = yield* cluster.namespace()
        const path = `/api/v1/namespaces/${namespace}`

        yield* apiServer.kill
        expect((yield* Effect.flip(cluster.request("GET", path))).status).toBeUndefined()
        yield* apiServer.start
        expect((yield* cluster.request("GET", path)).status).toBe(200)

        yield* apiServer.pause
        const hung = yield* Effect.flip(cluster.request("GET", path, { timeoutMillis: 300 }))
        expect(hung.reason).toContain("TimeoutError")
        yield* apiServer.resume
        expect((yield* cluster.request("GET", path)).status).toBe(200)
      }),
    120_000
  )

  Shared.real(
    "the audit log has a line about each request",
    (cluster) =>
      Effect.gen(function* () {
        const namespace = yield* cluster.namespace()
        const log = Effect.sync(() =>
          readFileSync(cluster.auditLogPath ?? "", "utf8")
            .split("\n")
            .filter((line) => line.endsWith("}"))
            .map((line) => JSON.parse(line))
            .filter((event) => event.objectRef?.name === namespace)
        )
        // The API server writes the audit event after the response.
        yield* eventually(log, ({ length }) => length > 0)
        expect(yield* log).toMatchObject([
          { verb: "create", user: { username: "admin" }, responseStatus: { code: 201 } }
        ])
      }),
    { audit: true }
  )

  Shared.real(
    "uses the cluster of the current context with USE_EXISTING_CLUSTER, also for users, and keeps its programs",
    (cluster) =>
      Effect.gen(function* () {
        const settings = ConfigProvider.fromEnvRecord({
          ...process.env,
          USE_EXISTING_CLUSTER: "true",
          KUBECONFIG: cluster.admin.kubeconfigPath
        })
        yield* Effect.gen(function* () {
          const existing = yield* Envtest.start(Envtest.everything)
          expect([existing.url, existing.processes]).toEqual([cluster.url, []])
          const jane = yield* existing.addUser({ name: "jane", groups: ["readers"] })
          const who = yield* existing.kubectl(["auth", "whoami", "--output=json"], { as: jane })
          expect(JSON.parse(who.stdout).status.userInfo).toMatchObject({
            username: "jane",
            groups: ["readers", "system:authenticated"]
          })
          const notOurs = yield* Effect.flip(existing.process("kube-apiserver"))
          expect(notOurs.message).toContain("unset USE_EXISTING_CLUSTER")
          expect((yield* Effect.flip(Envtest.start({ audit: true }))).message).toContain("unset USE_EXISTING_CLUSTER")
        }).pipe(Effect.scoped, Effect.provideService(ConfigProvider.ConfigProvider, settings))
      }),
    Envtest.everything
  )
})

const gizmos = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "gizmos.envtest.example" },
  spec: {
    group: "envtest.example",
    scope: "Namespaced",
    names: { plural: "gizmos", singular: "gizmo", kind: "Gizmo" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }]
  }
}
