/** kubectl does with the embedded server's discovery and documents what it does with a kube-apiserver's. */
import { describe, expect } from "bun:test"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import { real } from "@homeostat/testkit/Shared"
import { kindsOf } from "@homeostat/testkit/server/crd/CustomKinds"
import { webApps } from "@homeostat/testkit/server/Definitions.fixture"
import { builtIn } from "@homeostat/testkit/server/Kinds.fixture"
import { Effect, Schedule } from "effect"
import * as Front from "./Front.ts"
import { get } from "./Get.ts"

const kinds = [...builtIn, ...kindsOf(webApps)]

/** Waits until the kube-apiserver has published the custom kind. */
const installed = (cluster: ControlPlane) =>
  Effect.zipRight(
    cluster.install(webApps),
    Effect.retry(
      Effect.filterOrFail(
        get(cluster, "/openapi/v3/apis/openapi.example.com/v1"),
        ({ body, status }) => status === 200 && body.includes("WebApp")
      ),
      Schedule.spaced("200 millis")
    )
  )

/** Runs kubectl on both, with a cache of its own each time. */
const both = (cluster: ControlPlane, front: Front.Front, args: ReadonlyArray<string>, stdin?: string) =>
  Effect.gen(function* () {
    const run = (...more: ReadonlyArray<string>) =>
      cluster.kubectl(
        [...args, ...more, `--cache-dir=${cluster.directory}/cache-${crypto.randomUUID()}`],
        stdin === undefined ? {} : { stdin }
      )
    return { ours: yield* run(`--server=${front.url}`), theirs: yield* run() }
  })

describe("kubectl explains", () => {
  const questions: ReadonlyArray<ReadonlyArray<string>> = [
    ["pods"],
    ["pod.spec.containers", "--recursive"],
    ["deployments.spec.strategy.rollingUpdate.maxSurge"],
    ["hpa", "--api-version=autoscaling/v1", "--recursive"],
    ["events.events.k8s.io"],
    ["crd.spec.versions.schema"],
    ["webapps", "--api-version=openapi.example.com/v1"],
    ["webapps.spec", "--recursive", "--api-version=openapi.example.com/v1"],
    ["webapps.spec.embedded.metadata", "--api-version=openapi.example.com/v1"],
    ["webapps.status.replicas", "--api-version=openapi.example.com/v1"],
    ["webapps", "--api-version=openapi.example.com/v1beta1"]
  ]
  for (const question of questions) {
    real(`${question.join(" ")} in the same words`, (cluster) =>
      Effect.gen(function* () {
        yield* installed(cluster)
        const { ours, theirs } = yield* both(cluster, yield* Front.start(cluster, kinds), ["explain", ...question])
        expect(theirs.stdout).not.toBe("")
        expect(ours).toEqual(theirs)
      })
    )
  }
})

describe("kubectl", () => {
  real("knows the same resources by the same names", (cluster) =>
    Effect.gen(function* () {
      yield* installed(cluster)
      const { ours, theirs } = yield* both(cluster, yield* Front.start(cluster, kinds), [
        "api-resources",
        "-o",
        "wide",
        "--no-headers"
      ])
      const table = (text: string) =>
        text
          .trim()
          .split("\n")
          .map((line) => line.trim().split(/\s+/).join(" "))
      const known = new Set(table(theirs.stdout))
      const lines = table(ours.stdout)
      expect(lines.length).toBe(new Set(kinds.map(({ group, plural }) => `${group}/${plural}`)).size)
      expect(lines.filter((line) => !known.has(line))).toEqual([])
    })
  )

  real("leaves the checking of fields to the server, and merges strategically by the documents", (cluster) =>
    Effect.gen(function* () {
      const namespace = yield* cluster.namespace("kubectl")
      const front = yield* Front.start(cluster, kinds)
      const run = (args: ReadonlyArray<string>, object: object) =>
        cluster.kubectl([...args, "-f", "-", "-n", namespace, `--server=${front.url}`], {
          stdin: JSON.stringify(object)
        })
      const service = (port: number) => ({
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "web" },
        spec: { ports: [{ name: "http", port }] }
      })
      const created = yield* run(["apply"], service(80))
      expect([created.stdout, created.stderr]).toEqual(["service/web created\n", ""])
      const changed = yield* run(["apply"], service(81))
      expect([changed.stdout, changed.stderr]).toEqual(["service/web configured\n", ""])
      const wrong = yield* run(["create"], { ...service(80), metadata: { name: "wrong" }, specc: {} })
      expect(wrong.stderr).toContain('strict decoding error: unknown field "specc"')
      expect(front.asked.some((line) => /^POST .*services\?.*fieldValidation=Strict/.test(line))).toBe(true)
      expect(front.asked.filter((line) => line.startsWith("GET /openapi/v2"))).toEqual([])
    })
  )
})
