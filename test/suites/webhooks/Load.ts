/** Requests that the API server sends to several replicas through one address. */
import { connect, createServer, type Socket } from "node:net"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import { Effect } from "effect"

/** An address in front of replicas. */
export interface Service {
  readonly port: number
  /** Changes the targets of new connections. */
  readonly route: (ports: ReadonlyArray<number>) => void
}

/**
 * A port whose connections go to one target after the other, as those of a Service do. A connection stays with its target when the
 * targets change. The API server opens new connections when the CAs of a configuration change.
 */
export const service = (initial: ReadonlyArray<number>) =>
  Effect.acquireRelease(
    Effect.async<Service & { readonly close: () => void }>((resume) => {
      let targets = initial
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
            route: (ports) => {
              targets = ports
            },
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

/** The answer to an object that only the webhook denies: if its call failed, the API server would admit the object. */
export const answer = (cluster: ControlPlane, namespace: string) =>
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
