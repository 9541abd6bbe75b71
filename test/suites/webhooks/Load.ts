/** Requests that the API server sends to several replicas through one address. */
import { Worker } from "node:worker_threads"
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
    Effect.callback<Service & { readonly worker: Worker }>((resume) => {
      const worker = new Worker(new URL("./Service.worker.ts", import.meta.url))
      const route = (ports: ReadonlyArray<number>): void => worker.postMessage(ports)
      route(initial)
      worker.once("message", (port: number) => resume(Effect.succeed({ port, route, worker })))
    }),
    ({ worker }) => Effect.promise(() => worker.terminate())
  )

/** The response to an object that only the webhook denies. If the call failed, the API server would admit the object. */
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
