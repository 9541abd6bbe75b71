/** Permissions of callers on a real API server. */
import { describe, expect } from "bun:test"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Keeper from "./Keeper.ts"

describe.concurrent("Secure metrics", () => {
  Shared.real("accept service accounts with permission, and need only the generated roles", (cluster) =>
    Effect.gen(function* () {
      const namespace = yield* cluster.namespace("callers")
      const account = `${namespace}/manager`
      const roles = yield* Keeper.run(cluster, [
        "rbac",
        "--metrics-secure",
        `--namespace=${namespace}`,
        `--service-account=${account}`
      ])
      // Each test needs a separate ClusterRole.
      const named = roles.stdout.replace(/^( *name: )keeper$/gm, `$1${namespace}`)
      expect((yield* cluster.kubectl(["apply", "--filename=-"], { stdin: named })).stderr).toBe("")
      const manager = yield* cluster.addUser({ name: `system:serviceaccount:${namespace}:manager` })

      const program = yield* Keeper.start(cluster, ["--metrics-secure", `--namespace=${namespace}`], {
        kubeconfig: manager.kubeconfigPath
      })
      const at = yield* Keeper.address(program, "metrics")
      const metrics = `https://${at}/metrics`
      yield* program.written(/Starting controller keeper/)
      const get = { path: "/metrics", verbs: ["get"] }
      const reader = yield* Keeper.account(cluster, namespace, "prometheus", get)
      const none = yield* Keeper.account(cluster, namespace, "none", undefined)
      const other = yield* Keeper.account(cluster, namespace, "other", { path: "/why", verbs: ["get"] })

      const page = yield* Managed.eventually(
        "the permission to read",
        Keeper.ask(metrics, { token: reader.token }),
        ({ status }) => status !== 403
      )
      expect(page.status).toBe(200)
      expect(page.body).toContain("controller_runtime_max_concurrent_reconciles")
      for (const { token, user } of [none, other]) {
        expect(yield* Keeper.ask(metrics, { token })).toEqual({
          status: 403,
          body: `${user} is not allowed to get /metrics (add this rule to a ClusterRole: {"nonResourceURLs":["/metrics"],"verbs":["get"]})\n`
        })
      }
      expect(yield* Keeper.ask(metrics)).toEqual({
        status: 401,
        body: "/metrics takes a token of the cluster: Authorization: Bearer …\n"
      })
      for (const token of ["rubbish", Keeper.unsigned, `${reader.token}x`, reader.token.slice(0, -8)]) {
        expect((yield* Keeper.ask(metrics, { token })).status).toBe(401)
      }
      // The permission is for GET only.
      expect((yield* Keeper.ask(metrics, { token: reader.token, method: "HEAD" })).status).toBe(403)
      const plain = yield* Effect.result(Effect.tryPromise(() => fetch(`http://${at}/metrics`)))
      expect(plain._tag).toBe("Failure")
      const warnings = Keeper.lines(program).filter(({ level }) => level !== "info")
      expect(warnings).toEqual([])
      for (const token of [reader.token, none.token, "rubbish"]) expect(program.stderr()).not.toContain(token)
    })
  )

  Shared.real("reject all callers while the manager lacks the permission to review tokens, which it logs", (cluster) =>
    Effect.gen(function* () {
      const namespace = yield* cluster.namespace("callers")
      const manager = yield* cluster.addUser({ name: `no-permissions-${namespace}` })
      const program = yield* Keeper.start(cluster, ["--metrics-secure", `--namespace=${namespace}`], {
        kubeconfig: manager.kubeconfigPath
      })
      const metrics = `https://${yield* Keeper.address(program, "metrics")}/metrics`
      yield* program.written(
        /cannot create tokenreviews\.authentication\.k8s\.io cluster-wide, needed by --metrics-secure/
      )
      const answer = yield* Keeper.ask(metrics, { token: Keeper.unsigned })
      expect(answer.status).toBe(503)
      yield* program.written(
        /Cannot authorize requests for \/metrics: requires permission to create tokenreviews\.authentication\.k8s\.io/
      )
    })
  )
})

describe.concurrent("The log levels of a manager", () => {
  Shared.real("accept remote callers with permission", (cluster) =>
    Effect.gen(function* () {
      const namespace = yield* cluster.namespace("callers")
      const program = yield* Keeper.start(cluster, [`--namespace=${namespace}`])
      const loglevel = `http://${yield* Keeper.address(program, "probes")}/loglevel`
      yield* program.written(/Starting controller keeper/)
      const path = "/loglevel"
      const reader = yield* Keeper.account(cluster, namespace, "reader", { path, verbs: ["get"] })
      const writer = yield* Keeper.account(cluster, namespace, "writer", { path, verbs: ["get", "put"] })
      // A forwarded request does not count as local.
      const headers = { "x-forwarded-for": "10.0.0.7" }
      const from = ({ token }: { readonly token?: string }, method?: string) =>
        Effect.map(
          Keeper.ask(`${loglevel}${method === undefined ? "" : "?level=debug"}`, { token, headers, method }),
          ({ status }) => status
        )
      yield* Managed.eventually("the permission to set", from(writer, "PUT"), (status) => status === 200)
      expect([yield* from(reader), yield* from(reader, "PUT"), yield* from(writer, "DELETE")]).toEqual([200, 403, 403])
      expect([yield* from({}), yield* from({}, "PUT")]).toEqual([401, 401])
      expect((yield* Keeper.ask(loglevel)).body).toStartWith("all: debug, started with info\n")
    })
  )
})
