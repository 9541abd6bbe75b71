/** The values of Secrets do not leak. The shipped program runs, and the test searches all output of the program and its movers. */
import { expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Pod, Secret } from "@homeostat/runtime/resource/BuiltIn"
import * as Port from "@homeostat/testkit/envtest/Port"
import { Effect } from "effect"
import * as Binary from "../binary/Binary.ts"
import * as Endpoint from "../binary/Endpoint.ts"
import * as Managed from "../Managed.ts"
import * as Backups from "./Backups.ts"
import * as RestServer from "./RestServer.ts"
import * as Scene from "./Scene.ts"

/** Starts a collector of spans that stores each request body. */
const collector = Effect.gen(function* () {
  const sent: Array<string> = []
  const server = yield* Effect.acquireRelease(
    Effect.sync(() =>
      Bun.serve({
        hostname: Port.host,
        port: 0,
        fetch: async (request) => {
          sent.push(await request.text())
          return Response.json({})
        }
      })
    ),
    (server) => Effect.promise(() => server.stop(true))
  )
  return { endpoint: `http://${Port.host}:${server.port}`, sent }
})

/** All objects of a namespace except its Secrets. */
const everything = ({ cluster, namespace }: Scene.Scene) =>
  Effect.gen(function* () {
    const known = yield* cluster.kubectl(["api-resources", "--namespaced", "--verbs=list", "-o", "name"])
    const kinds = known.stdout.split("\n").filter((name) => name !== "" && name !== "secrets")
    expect(kinds).toContain("jobs.batch")
    expect(kinds).toContain("events.events.k8s.io")
    const read = yield* cluster.kubectl([
      "get",
      kinds.join(","),
      "-n",
      namespace,
      "-o",
      "json",
      "--show-managed-fields"
    ])
    expect(read.exitCode).toBe(0)
    return read.stdout
  })

Backups.real(
  "No readable object or log contains a value of a Secret, and movers are admitted in a restricted namespace",
  (scene) =>
    Effect.gen(function* () {
      const { cluster, namespace } = scene
      const enforce = { labels: { "pod-security.kubernetes.io/enforce": "restricted" } }
      const labelled = yield* cluster.request("PATCH", `/api/v1/namespaces/${namespace}`, {
        body: { metadata: enforce },
        contentType: "application/merge-patch+json"
      })
      expect(labelled.status).toBe(200)
      // The API server enforces the standard: it rejects a pod without a security context.
      const careless = yield* Effect.result(
        Client.create(Pod, {
          metadata: { namespace, name: "careless" },
          spec: { containers: [{ name: "app", image: "registry.test/app:1" }] }
        })
      )
      expect(careless).toMatchObject({ _tag: "Failure", failure: { _tag: "Forbidden" } })

      const secret = (what: string) => `${what}-${crypto.randomUUID()}`
      const values = {
        user: secret("user"),
        login: secret("login"),
        password: secret("password"),
        wrongLogin: secret("wronglogin"),
        wrongPassword: secret("wrongpassword")
      }
      const server = yield* RestServer.start({ users: { [values.user]: values.login } })
      yield* Scene.credentials(scene, "shop-backup-credentials", {
        RESTIC_PASSWORD: values.password,
        RESTIC_REST_USERNAME: values.user,
        RESTIC_REST_PASSWORD: values.login
      })
      yield* Scene.credentials(scene, "rest-ca", { "ca.crt": server.ca })
      yield* Scene.claim(scene, "app", { files: { a: "first" } })
      yield* Scene.claim(scene, "fresh")

      const { endpoint, sent } = yield* collector
      const program = yield* Binary.start(
        ["run", `--kubeconfig=${cluster.admin.kubeconfigPath}`, `--namespace=${namespace}`, "--log-level=debug"],
        {
          ...Binary.probed(scene.directory),
          HOMEOSTAT_BACKUP_RETRY_PERIOD: "1s",
          HOMEOSTAT_BACKUP_PREFLIGHT_TIMEOUT: "5s",
          OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
          OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
          OTEL_TRACES_SAMPLER: "always_on",
          OTEL_BSP_SCHEDULE_DELAY: "100"
        }
      )
      yield* Backups.create(scene, "shop", {
        destination: `rest+https://${server.host}`,
        repository: { caSecretRef: { name: "rest-ca" } },
        retention: { keepLast: 1 },
        backoffLimit: 0,
        // The pods of failed runs stay, so that the test can read their logs.
        failedRunsHistoryLimit: 10
      })
      yield* Backups.completed(scene, "shop")
      yield* Backups.restoring(scene, "back")
      expect((yield* Backups.restored(scene, "back")).status?.phase).toBe("Complete")

      const set = (stringData: { readonly [key: string]: string }) =>
        Client.patch(Secret, scene.key("shop-backup-credentials"), Patch.merge({ stringData }))
      yield* set({ RESTIC_REST_PASSWORD: values.wrongLogin })
      expect((yield* Backups.run(scene, "shop", "T")).status?.lastRun?.reason).toBe("DestinationUnreachable")
      yield* set({ RESTIC_REST_PASSWORD: values.login, RESTIC_PASSWORD: values.wrongPassword })
      expect((yield* Backups.run(scene, "shop", "U")).status?.lastRun?.reason).toBe("WrongPassword")

      const pods = (yield* Client.list(Pod, { namespace })).items
      expect(pods.length).toBeGreaterThan(1)
      expect(pods.every(({ spec }) => spec?.automountServiceAccountToken === false)).toBe(true)
      const podLogs = yield* Effect.forEach(pods, ({ metadata: { name } }) => scene.node.logs({ namespace, name }))
      yield* Managed.eventually(
        "its spans are sent",
        Effect.sync(() => sent.join("\n")),
        (text) => text.includes("shop")
      )
      yield* Backups.recorded(scene, "shop", { type: "Warning", reason: "BackupFailed", note: "RESTIC_PASSWORD" })
      const metrics = yield* Endpoint.get(program, "/metrics")
      const found = {
        objects: yield* everything(scene),
        log: program.stderr(),
        metrics: metrics.body,
        spans: sent.join("\n"),
        movers: podLogs.join("\n")
      }
      // Each text contains what its name promises.
      expect(found.objects).toContain("secretKeyRef")
      expect(found.log).toContain('"level":"debug"')
      expect(found.metrics).toContain("homeostat_backup_run_total")
      expect(found.movers).toContain("mover: preflight")
      for (const [where, text] of Object.entries(found)) {
        for (const [what, value] of Object.entries(values)) {
          for (const form of [value, Buffer.from(value).toString("base64"), encodeURIComponent(value)]) {
            expect({ where, what, isThere: text.includes(form) }).toEqual({ where, what, isThere: false })
          }
        }
      }
    })
)
