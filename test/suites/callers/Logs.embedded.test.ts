/** The log of a manager: levels that change at run time, and no secrets. */
import { describe, expect } from "bun:test"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as Kubeconfig from "@homeostat/testkit/envtest/Kubeconfig"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Keeper from "./Keeper.ts"

const value = "hunter2-correct-horse-battery-staple"
const encoded = Buffer.from(value).toString("base64")

/** Creates a ConfigMap for the controller, and its Secret. */
const create = (cluster: ControlPlane, namespace: string, name: string, data = {}) =>
  Effect.gen(function* () {
    const of = (kind: string) => `/api/v1/namespaces/${namespace}/${kind}`
    yield* cluster.request("POST", of("secrets"), { body: { metadata: { name }, data: { token: encoded } } })
    yield* cluster.request("POST", of("configmaps"), {
      body: { metadata: { name, labels: { suite: "keeper" } }, data }
    })
  })

/** Triggers a reconcile. */
const touch = (cluster: ControlPlane, namespace: string, name: string) =>
  cluster.request("PATCH", `/api/v1/namespaces/${namespace}/configmaps/${name}`, {
    contentType: "application/merge-patch+json",
    body: { data: { touched: crypto.randomUUID() } }
  })

const about =
  (msg: string) =>
  (line: Readonly<Record<string, unknown>>): boolean =>
    line.msg === msg

describe.concurrent("The log level of a controller", () => {
  Shared.cluster("changes by a request from loopback, and returns when its time ends", (cluster) =>
    Effect.gen(function* () {
      const namespace = yield* cluster.namespace("logs")
      const program = yield* Keeper.start(cluster, [`--namespace=${namespace}`])
      const loglevel = `http://${yield* Keeper.address(program, "probes")}/loglevel`
      yield* create(cluster, namespace, "one")
      yield* program.written(/Starting controller keeper/)
      const logged = (msg: string) => Keeper.lines(program).filter(about(msg)).length
      const reconciles = Effect.map(
        Keeper.ask(`http://${program.stderr().match(/Serving metrics on ([\d.:]+)/)?.[1]}/metrics`),
        ({ body }) => Number(/^controller_runtime_reconcile_total\{[^}]*result="success"\} (\d+)$/m.exec(body)?.[1])
      )
      const again = Effect.gen(function* () {
        const before = yield* reconciles
        yield* touch(cluster, namespace, "one")
        yield* Managed.eventually("a reconcile", reconciles, (count) => count > before)
      })
      yield* Managed.eventually("a reconcile", reconciles, (count) => count > 0)
      yield* again
      expect(logged("Has read it")).toBe(0)

      const set = yield* Keeper.ask(`${loglevel}?level=debug&controller=keeper&for=4s`, { method: "PUT" })
      expect(set.body).toMatch(/^all: info\ncontroller=keeper: debug until \S+ \(4s\)\n$/)
      yield* again
      // The process counts a reconcile before the test has read the lines of the reconcile.
      yield* Managed.eventually(
        "the end of a reconcile in the log",
        Effect.sync(() => Keeper.lines(program).some(({ msg }) => String(msg).startsWith("Reconciled in"))),
        (isLogged) => isLogged
      )
      expect(logged("Has read it")).toBeGreaterThan(0)
      yield* Managed.eventually(
        "the end of the level",
        Keeper.ask(loglevel),
        ({ body }) => body === "all: info\ncontroller=keeper: as above\n"
      )
      const before = logged("Has read it")
      yield* again
      expect(logged("Has read it")).toBe(before)
    })
  )
})

describe.concurrent("A line of a reconcile", () => {
  for (const traced of [true, false]) {
    Shared.cluster(`names the reconcile, the object and the controller${traced ? ", and the span" : ""}`, (cluster) =>
      Effect.gen(function* () {
        const namespace = yield* cluster.namespace("logs")
        const program = yield* Keeper.start(
          cluster,
          [`--namespace=${namespace}`, "--log-level=trace"],
          // No collector listens there.
          traced ? { OTEL_TRACES_EXPORTER: "otlp", OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" } : {}
        )
        yield* create(cluster, namespace, "one")
        yield* program.written(/Reconciled in/)
        const inside = Keeper.lines(program).filter(({ msg }) =>
          /^(It is|Has read it|Compares it|Reconciled in)/.test(String(msg))
        )
        expect(inside.length).toBeGreaterThan(3)
        for (const line of inside) {
          expect(line).toMatchObject({
            controller: "keeper",
            controllerKind: "ConfigMap",
            object: `ConfigMap ${namespace}/one`,
            namespace,
            name: "one"
          })
          expect(line.reconcileID).toMatch(/^[0-9a-f]{8}-/)
          if (!traced) expect(line).not.toHaveProperty("trace_id")
          else {
            expect(line.trace_id).toBe(String(line.reconcileID).replaceAll("-", ""))
            expect(line.span_id).toMatch(/^[0-9a-f]{16}$/)
          }
        }
        const first = inside.filter(({ reconcileID }) => reconcileID === inside[0]?.reconcileID)
        const spanOf = (msg: string) => first.find((line) => String(line.msg).startsWith(msg))?.span_id
        if (traced) expect(spanOf("Compares it")).not.toBe(spanOf("Has read it"))
        expect(spanOf("Reconciled in")).toBe(spanOf("Has read it"))
      })
    )
  }
})

describe.concurrent("A secret", () => {
  Shared.cluster("is in no output of a manager at any level", (cluster) =>
    Effect.gen(function* () {
      const namespace = yield* cluster.namespace("logs")
      const folder = yield* Directory.make
      const user = yield* cluster.addUser({ name: "known", groups: ["system:masters"] })
      const token = user.token ?? ""
      const kubeconfig = join(folder, "kubeconfig")
      yield* Effect.promise(() => writeFile(kubeconfig, Kubeconfig.render(user)))
      const program = yield* Keeper.start(cluster, [`--namespace=${namespace}`, "--log-level=trace"], {
        kubeconfig,
        // The search includes the spans.
        OTEL_TRACES_EXPORTER: "console"
      })
      const probes = yield* Keeper.address(program, "probes")
      const metrics = yield* Keeper.address(program, "metrics")
      yield* create(cluster, namespace, "one")
      yield* create(cluster, namespace, "two", { spoilt: "true" })
      yield* program.written(/Reconciled in/)
      yield* program.written(/Reconcile failed.*not a key/)
      const shown: Array<string> = []
      const fetched = (url: string, headers = {}) =>
        Effect.map(Keeper.ask(url, { token, headers }), ({ body }) => void shown.push(body))
      for (const name of ["one", "two"]) {
        yield* fetched(`http://${probes}/why?kind=configmap&namespace=${namespace}&name=${name}`)
      }
      for (const path of ["/healthz?verbose", "/readyz?verbose", "/loglevel", "/nothing"]) {
        yield* fetched(`http://${probes}${path}`)
      }
      yield* fetched(`http://${metrics}/metrics`)
      yield* fetched(`http://${metrics}/metrics`, { accept: "application/openmetrics-text" })
      // The manager sends the token of a remote caller to the API server.
      yield* fetched(`http://${probes}/loglevel`, { "x-forwarded-for": "10.0.0.7" })
      const events = yield* cluster.request("GET", `/apis/events.k8s.io/v1/namespaces/${namespace}/events`)
      yield* program.signal("SIGTERM")
      const { stderr, stdout } = yield* program.ended("40 seconds")
      const key = cluster.admin.key?.split("\n")[2]
      const all = [stderr, stdout, events.body, ...shown].join("\n")
      // The output contains the places where the secret would appear:
      expect(stderr).toContain('\\"token\\":\\"<redacted>\\"')
      expect(stdout).toContain("reconcile keeper")
      expect(shown.join("\n")).toContain("controller_runtime_reconcile_total")
      expect(shown[1]).toContain("not a key")
      for (const secret of [value, encoded, token, ...(key === undefined ? [] : [key])]) {
        expect(all.split("\n").filter((line) => line.includes(secret))).toEqual([])
      }
    })
  )
})
