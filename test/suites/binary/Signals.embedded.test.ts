/** Signals end a program: an idle one, a busy one, and one that gets two signals. */
import { describe, expect } from "bun:test"
import { join } from "node:path"
import * as Client from "@homeostat/runtime/client/Client"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect, Option, Schema } from "effect"
import * as Managed from "../Managed.ts"
import * as Binary from "./Binary.ts"
import * as Running from "./Running.ts"
import { definitions } from "./Scene.ts"

const slow = join(import.meta.dir, "fixtures", "slow.ts")

/** Creates a ConfigMap, starts the fixture's program and waits until this program reconciles the ConfigMap. */
const atWork = (cluster: ControlPlane, millis: string, flags: ReadonlyArray<string> = []) =>
  Effect.gen(function* () {
    const namespace = yield* cluster.namespace("signals")
    const client = yield* Managed.client(cluster)
    const key = { namespace, name: "work" }
    yield* Client.create(ConfigMap, { metadata: { ...key, labels: { suite: "slow" } }, data: { millis } }).pipe(
      Effect.provide(client)
    )
    const program = yield* Running.start(
      [process.execPath, slow, "run", "--kubeconfig", cluster.admin.kubeconfigPath, "--namespace", namespace, ...flags],
      Binary.bare(cluster.directory)
    )
    yield* program.written(/"msg":"Begun"/)
    const isWritten = Client.get(ConfigMap, key).pipe(
      Effect.map(({ metadata }) => metadata.annotations?.["suite/written"] !== undefined),
      Effect.provide(client)
    )
    return { program, isWritten }
  })

const Line = Schema.fromJsonString(Schema.Struct({ time: Schema.String, level: Schema.String, msg: Schema.String }))

describe.concurrent("The binary", () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    Shared.cluster(
      `that is idle ends soon after ${signal}, with exit code 0 and a log line; each line is a JSON object`,
      (cluster) =>
        Effect.gen(function* () {
          yield* cluster.install(...definitions)
          const namespace = yield* cluster.namespace("signals")
          const program = yield* Binary.start(["run"], {
            ...Binary.bare(cluster.directory),
            KUBECONFIG: cluster.admin.kubeconfigPath,
            HOMEOSTAT_NAMESPACE: namespace,
            HOMEOSTAT_LOG_LEVEL: "debug"
          })
          for (const name of ["webapp", "backup", "restore"]) {
            yield* program.written(new RegExp(`"msg":"Starting controller ${name} \\(\\d+ workers\\)"`))
          }
          yield* program.signal(signal)
          const end = yield* program.ended("10 seconds")
          expect(end).toMatchObject({ code: 0, stdout: "" })
          const lines = end.stderr
            .trimEnd()
            .split("\n")
            .map((line) => Option.getOrUndefined(Schema.decodeOption(Line)(line)))
          expect(lines).not.toContain(undefined)
          expect(lines[0]?.msg).toMatch(
            new RegExp(
              `^homeostat \\S+ connects to ${cluster.url} \\(from context "envtest" of .* \\(KUBECONFIG\\)\\)$`
            )
          )
          expect(lines.at(-1)?.msg).toBe("Stopped")
          expect(lines.filter((line) => line?.level === "warn" || line?.level === "error")).toEqual([])
        }),
      Envtest.everything
    )
  }
})

describe.concurrent("A program with a reconcile in progress", () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    Shared.cluster(
      `finishes it when ${signal} comes: its write arrives, and the exit code is 0`,
      (cluster) =>
        Effect.gen(function* () {
          const { program, isWritten } = yield* atWork(cluster, "1500")
          yield* program.signal(signal)
          const end = yield* program.ended("10 seconds")
          expect(end.code).toBe(0)
          expect(yield* isWritten).toBe(true)
          expect(end.stderr).toContain("Controller slow finishes 1 reconciles")
          expect(end.stderr).not.toContain("Cut off")
        }),
      Envtest.everything
    )
  }

  Shared.cluster(
    "that hangs interrupts the reconcile after the grace period, logs that, and ends with exit code 0",
    (cluster) =>
      Effect.gen(function* () {
        const { program, isWritten } = yield* atWork(cluster, "for ever", ["--graceful-shutdown-timeout=1s"])
        const before = performance.now()
        yield* program.signal("SIGTERM")
        const end = yield* program.ended("10 seconds")
        expect(performance.now() - before).toBeGreaterThan(950)
        expect(end.code).toBe(0)
        expect(end.stderr).toContain("Controller slow interrupts 1 reconciles: the grace period is over")
        expect(end.stderr).toContain("Cut off")
        expect(yield* isWritten).toBe(false)
      }),
    Envtest.everything
  )

  for (const [first, second] of [
    ["SIGTERM", "SIGTERM"],
    ["SIGTERM", "SIGINT"],
    ["SIGINT", "SIGINT"]
  ] as const) {
    Shared.cluster(
      `ends at once when ${second} follows ${first}`,
      (cluster) =>
        Effect.gen(function* () {
          const { program, isWritten } = yield* atWork(cluster, "for ever")
          yield* program.signal(first)
          yield* program.written(/finishes 1 reconciles/)
          yield* program.signal(second)
          const end = yield* program.ended("10 seconds")
          expect(end.code).toBe(1)
          expect(end.stderr).toEndWith(`slow: ended at once by a second signal (${second})\n`)
          expect(yield* isWritten).toBe(false)
        }),
      Envtest.everything
    )
  }
})
