/** What a manager logs: how much, as it is set while it runs, and never a secret. */
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

/** A ConfigMap that the controller is to take care of, and the Secret that it reads. */
const create = (cluster: ControlPlane, namespace: string, name: string, data = {}) =>
  Effect.gen(function* () {
    const of = (kind: string) => `/api/v1/namespaces/${namespace}/${kind}`
    yield* cluster.request("POST", of("secrets"), { body: { metadata: { name }, data: { token: encoded } } })
    yield* cluster.request("POST", of("configmaps"), {
      body: { metadata: { name, labels: { suite: "keeper" } }, data }
    })
  })

/** Has the object reconciled once more. */
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
  Shared.cluster("is set from loopback while it works, and ends when its time is over", (cluster) =>
    Effect.gen(function* () {
      const namespace = yield* cluster.namespace("logs")
      const program = yield* Keeper.start(cluster, [`--namespace=${namespace}`])
      const loglevel = `http://${yield* Keeper.address(program, "probes")}/loglevel`
      yield* create(cluster, namespace, "one")
      yield* program.written(/Controller keeper starts/)
      const told = (msg: string) => Keeper.lines(program).filter(about(msg)).length
      /** Reconciles it for sure. */
      const reconciles = Effect.map(
        Keeper.ask(`http://${program.stderr().match(/Serves metrics on ([\d.:]+)/)?.[1]}/metrics`),
        ({ body }) => Number(/^controller_runtime_reconcile_total\{[^}]*result="success"\} (\d+)$/m.exec(body)?.[1])
      )
      const again = Effect.gen(function* () {
        const before = yield* reconciles
        yield* touch(cluster, namespace, "one")
        yield* Managed.eventually("that it is reconciled", reconciles, (count) => count > before)
      })
      yield* Managed.eventually("that it is reconciled", reconciles, (count) => count > 0)
      yield* again
      expect(told("Has read it")).toBe(0)

      const set = yield* Keeper.ask(`${loglevel}?level=debug&controller=keeper&for=4s`, { method: "PUT" })
      expect(set.body).toMatch(/^all: info\ncontroller=keeper: debug until \S+ \(4s\)\n$/)
      yield* again
      const debug = told("Has read it")
      expect(debug).toBeGreaterThan(0)
      expect(Keeper.lines(program).filter(({ msg }) => String(msg).startsWith("Reconciled in"))).not.toEqual([])
      yield* Managed.eventually(
        "that the level is as before",
        Keeper.ask(loglevel),
        ({ body }) => body === "all: info\ncontroller=keeper: as above\n"
      )
      const before = told("Has read it")
      yield* again
      expect(told("Has read it")).toBe(before)
    })
  )
})

describe.concurrent("A line inside of a reconcile", () => {
  for (const traced of [true, false]) {
    Shared.cluster(`says which, of what, by whom${traced ? ", and in which span" : ""}`, (cluster) =>
      Effect.gen(function* () {
        const namespace = yield* cluster.namespace("logs")
        const program = yield* Keeper.start(
          cluster,
          [`--namespace=${namespace}`, "--log-level=trace"],
          // Nobody listens there, which is nothing to a manager.
          traced ? { OTEL_TRACES_EXPORTER: "otlp", OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" } : {}
        )
        yield* create(cluster, namespace, "one")
        yield* program.written(/Reconciled in/)
        const inside = Keeper.lines(program).filter(({ msg }) =>
          /^(It is|Has read it|Compares it|Reconciled in)/.test(String(msg))
        )
        expect(inside.length).toBeGreaterThan(3)
        for (const line of inside) {
          expect(line).toMatchObject({ controller: "keeper", object: `ConfigMap ${namespace}/one` })
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
  Shared.cluster("is in nothing that a manager says, however much it says", (cluster) =>
    Effect.gen(function* () {
      const namespace = yield* cluster.namespace("logs")
      const folder = yield* Directory.make
      const token = `known-${crypto.randomUUID()}`
      const kubeconfig = join(folder, "kubeconfig")
      yield* Effect.promise(() => writeFile(kubeconfig, Kubeconfig.render({ ...cluster.admin, token })))
      const program = yield* Keeper.start(cluster, [`--namespace=${namespace}`, "--log-level=trace"], {
        kubeconfig,
        // The spans are part of what is looked through.
        OTEL_TRACES_EXPORTER: "console"
      })
      const probes = yield* Keeper.address(program, "probes")
      const metrics = yield* Keeper.address(program, "metrics")
      yield* create(cluster, namespace, "one")
      yield* create(cluster, namespace, "two", { spoilt: "true" })
      yield* program.written(/Reconciled in/)
      yield* program.written(/Reconcile failed.*not a key/)
      const shown: Array<string> = []
      const look = (url: string, headers = {}) =>
        Effect.map(Keeper.ask(url, { token, headers }), ({ body }) => void shown.push(body))
      for (const name of ["one", "two"]) {
        yield* look(`http://${probes}/why?kind=configmap&namespace=${namespace}&name=${name}`)
      }
      for (const path of ["/healthz?verbose", "/readyz?verbose", "/loglevel", "/nothing"]) {
        yield* look(`http://${probes}${path}`)
      }
      yield* look(`http://${metrics}/metrics`)
      yield* look(`http://${metrics}/metrics`, { accept: "application/openmetrics-text" })
      // Of a caller who is not local, the token is shown to the API server.
      yield* look(`http://${probes}/loglevel`, { "x-forwarded-for": "10.0.0.7" })
      const events = yield* cluster.request("GET", `/apis/events.k8s.io/v1/namespaces/${namespace}/events`)
      yield* program.signal("SIGTERM")
      const { stderr, stdout } = yield* program.ended("40 seconds")
      const key = cluster.admin.key?.split("\n")[2]
      const all = [stderr, stdout, events.body, ...shown].join("\n")
      // It was there to be shown:
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
