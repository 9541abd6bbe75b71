/** The certificate of three replicas, on a real and on the embedded API server, which calls one of them for each request. */

import { describe, expect } from "bun:test"
import { connect, createServer, type Socket } from "node:net"
import * as Eventually from "@homeostat/testkit/Eventually"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect, Fiber } from "effect"
import * as Endpoint from "../binary/Endpoint.ts"
import * as Scene from "./Scene.ts"

/**
 * A port whose connections go to one target after the other, as those of a Service do. The API server opens new connections when the
 * CAs of a configuration change.
 */
const service = (targets: ReadonlyArray<number>) =>
  Effect.acquireRelease(
    Effect.async<{ readonly port: number; readonly close: () => void }>((resume) => {
      let next = 0
      const sockets = new Set<Socket>()
      const server = createServer((client) => {
        const target = connect(targets[next++ % targets.length] ?? 0, "127.0.0.1")
        for (const [one, other] of [
          [client, target],
          [target, client]
        ] as const) {
          sockets.add(one)
          one.on("error", () => other.destroy()).on("close", () => other.destroy())
          one.pipe(other)
        }
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        resume(
          Effect.succeed({
            port: typeof address === "object" ? (address?.port ?? 0) : 0,
            close: () => {
              server.close()
              for (const socket of sockets) socket.destroy()
            }
          })
        )
      })
    }),
    ({ close }) => Effect.sync(close)
  )

const secret = ["secret", "homeostat-webhook-certificate", "--namespace=default"]

/** The answer to an object that only the webhook denies: if its call failed, the API server would admit the object. */
const answer = (cluster: ControlPlane, namespace: string) =>
  Effect.map(
    cluster.request("POST", `/apis/backup.example.com/v1/namespaces/${namespace}/backups?dryRun=All`, {
      body: {
        apiVersion: "backup.example.com/v1",
        kind: "Backup",
        metadata: { generateName: "never-" },
        spec: { source: "pvc/data", schedule: "61 * * * *", destination: "s3://bucket" }
      }
    }),
    ({ body, status }) => (status === 422 ? "denied" : `${status} ${JSON.stringify(body)}`)
  )

describe.each([
  ["a real", Shared.real],
  ["the embedded", Shared.embedded]
] as const)("Three replicas, on %s API server,", (_, on) => {
  on(
    "share a certificate, and replace it under load after the Secret was deleted or edited, without a failed call",
    (cluster) =>
      Effect.gen(function* () {
        const namespace = yield* cluster.namespace("rotation")
        const ports = yield* Effect.all([Scene.freePort, Scene.freePort, Scene.freePort])
        const { port } = yield* service(ports)
        const replicas = yield* Effect.all(
          ports.map((own) => Scene.replica(cluster, own, [`--webhook-url=https://127.0.0.1:${port}`]))
        )
        yield* Effect.forEach(replicas, Scene.ready, { concurrency: "unbounded", discard: true })
        const starts = Effect.forEach(replicas, (replica) =>
          Endpoint.metric(replica, "homeostat_webhook_certificate_start_timestamp_seconds")
        )
        const [first] = yield* starts
        expect(yield* starts).toEqual([first ?? 0, first ?? 0, first ?? 0])
        yield* Eventually.eventually(
          "the webhooks are in force",
          answer(cluster, namespace),
          (text) => text === "denied"
        )

        let calls = 0
        const failures: Array<unknown> = []
        const call = Effect.gen(function* () {
          const outcome = yield* Effect.merge(answer(cluster, namespace))
          calls++
          if (outcome !== "denied") failures.push(outcome)
          yield* Effect.sleep("50 millis")
        })
        const load = yield* Effect.forkScoped(
          Effect.all(
            Array.from({ length: 6 }, () => Effect.forever(call)),
            { concurrency: "unbounded", discard: true }
          )
        )
        const replaced = (before: number) =>
          Eventually.eventually(
            "all replicas serve a new certificate",
            starts,
            (now) => now.every((each) => each > before && each === now[0]),
            "3 minutes"
          )
        expect(yield* cluster.kubectl(["delete", ...secret])).toMatchObject({ exitCode: 0 })
        const [second = 0] = yield* replaced(first ?? 0)
        const rubbish = '--patch={"data":{"tls.crt":"cnViYmlzaA==","ca.crt":"cnViYmlzaA==","tls.key":"cnViYmlzaA=="}}'
        expect(yield* cluster.kubectl(["patch", ...secret, "--type=merge", rubbish])).toMatchObject({ exitCode: 0 })
        yield* replaced(second)
        yield* Effect.sleep("3 seconds")
        yield* Fiber.interrupt(load)
        expect(failures).toEqual([])
        expect(calls).toBeGreaterThan(500)
      }),
    { ...Scene.options, timeoutMillis: 480_000 }
  )
})
