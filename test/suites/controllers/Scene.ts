/** A scene in one namespace. */
import type { Json, JsonObject } from "@homeostat/apiserver/model/Json"
import { at, objects, text } from "@homeostat/apiserver/model/Json"
import { Clock, Effect } from "effect"
import { type Cluster, request, SceneFailed } from "./Cluster.ts"
import { type Played, played } from "./Story.ts"

export interface Scene {
  readonly namespace: string
  /** Waits a short time, in which the controllers work. */
  readonly wait: Effect.Effect<void>
  readonly get: (path: string) => Effect.Effect<JsonObject, SceneFailed>
  readonly create: (kind: string, body: JsonObject) => Effect.Effect<JsonObject, SceneFailed>
  readonly change: (path: string, patch: JsonObject) => Effect.Effect<JsonObject, SceneFailed>
  readonly remove: (path: string, propagationPolicy?: string) => Effect.Effect<unknown, SceneFailed>
  readonly until: (what: string, holds: Effect.Effect<boolean, SceneFailed>) => Effect.Effect<void, SceneFailed>
  /** Acts once as the kubelet: runs the scheduled pods, and removes the deleted ones. */
  readonly kubelet: Effect.Effect<void, SceneFailed>
  /** Ends the pods of a Job with an exit code. */
  readonly exit: (job: string, code: number) => Effect.Effect<void, SceneFailed>
  /** Evicts each pod of a Job. */
  readonly evict: (job: string) => Effect.Effect<void, SceneFailed>
  /** Sends any other request. A PATCH is a merge patch. */
  readonly send: (method: string, path: string, body?: JsonObject) => Effect.Effect<JsonObject, SceneFailed>
  /** The versions of all objects of a kind since a resourceVersion. */
  readonly history: (kind: string, since: string) => Effect.Effect<ReadonlyArray<JsonObject>, SceneFailed>
}

const paths: { readonly [kind: string]: string } = {
  pods: "/api/v1",
  services: "/api/v1",
  configmaps: "/api/v1",
  events: "/api/v1",
  endpoints: "/api/v1",
  deployments: "/apis/apps/v1",
  replicasets: "/apis/apps/v1",
  statefulsets: "/apis/apps/v1",
  daemonsets: "/apis/apps/v1",
  controllerrevisions: "/apis/apps/v1",
  jobs: "/apis/batch/v1",
  cronjobs: "/apis/batch/v1",
  persistentvolumeclaims: "/api/v1",
  endpointslices: "/apis/discovery.k8s.io/v1",
  poddisruptionbudgets: "/apis/policy/v1"
}

/** Plays a scene in a new namespace. */
export const play = (
  cluster: Cluster,
  script: (scene: Scene) => Effect.Effect<void, SceneFailed>
): Effect.Effect<Played, SceneFailed> =>
  Effect.gen(function* () {
    const namespace = `scene-${crypto.randomUUID().slice(0, 8)}`
    yield* request(cluster, "POST", "/api/v1/namespaces", { metadata: { name: namespace } })
    const asked: Array<Json> = []
    const scene = make(cluster, namespace, asked)
    yield* scene.until(
      "the namespace to be ready",
      Effect.map(
        cluster.send("GET", `/api/v1/namespaces/${namespace}/serviceaccounts/default`),
        ({ status }) => status === 200
      )
    )
    const since = text(at(yield* scene.get("configmaps"), "metadata", "resourceVersion")) ?? ""
    yield* script(scene)
    // The controllers may still send the last Events.
    for (let count = 0; count < 5; count++) yield* cluster.wait
    const all = yield* played(scene, asked, since, yield* Clock.currentTimeMillis)
    yield* cluster.send("DELETE", `/api/v1/namespaces/${namespace}`)
    return all
  })

const make = (cluster: Cluster, namespace: string, asked: Array<Json>): Scene => {
  const pathOf = (path: string) => `${paths[path.split(/[/?]/)[0] ?? ""]}/namespaces/${namespace}/${path}`
  const get = (path: string) => request(cluster, "GET", pathOf(path))
  const change = (path: string, patch: JsonObject) => request(cluster, "PATCH", pathOf(path), patch)
  /** Records a request of the script, and sends it. */
  const noting = <A>(what: ReadonlyArray<Json | undefined>, effect: Effect.Effect<A, SceneFailed>) =>
    Effect.suspend(() => {
      asked.push(JSON.parse(JSON.stringify(what).replaceAll(namespace, "NAMESPACE")) as Json)
      return effect
    })
  return {
    namespace,
    wait: cluster.wait,
    get,
    create: (kind, body) => noting(["create", kind, body], request(cluster, "POST", pathOf(kind), body)),
    change: (path, patch) => noting(["change", path, patch], change(path, patch)),
    remove: (path, propagationPolicy) => {
      const body = propagationPolicy === undefined ? undefined : { propagationPolicy }
      return noting(["remove", path, body], cluster.send("DELETE", pathOf(path), body))
    },
    until: (what, holds) =>
      noting(
        ["until", what],
        Effect.gen(function* () {
          for (let count = 0; count < 300; count++) {
            if (yield* holds) return
            yield* cluster.wait
          }
          return yield* new SceneFailed({ message: `timed out waiting for ${what}` })
        })
      ),
    kubelet: Effect.gen(function* () {
      const time = timestamp(yield* Clock.currentTimeMillis)
      for (const pod of objects((yield* get("pods")).items)) {
        const name = text(at(pod, "metadata", "name")) ?? ""
        if (at(pod, "metadata", "deletionTimestamp") !== undefined) {
          // A deleted pod with `restartPolicy: Never` fails before its removal.
          if (at(pod, "spec", "restartPolicy") === "Never" && at(pod, "status", "phase") === "Running") {
            yield* change(`pods/${name}/status`, { status: ended(143, time) })
            yield* cluster.wait
          }
          yield* cluster.send("DELETE", `${pathOf("pods")}/${name}?gracePeriodSeconds=0`)
        } else if (at(pod, "status", "phase") === "Pending" && at(pod, "spec", "nodeName") !== undefined) {
          const ready = { type: "Ready", status: "True", lastTransitionTime: time }
          const conditions = [...objects(at(pod, "status", "conditions")), ready]
          // On both clusters, the controllers see one running pod after the other.
          yield* cluster.wait
          yield* change(`pods/${name}/status`, {
            status: { phase: "Running", podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }], conditions }
          })
        }
      }
    }),
    exit: (job, exitCode) =>
      noting(
        ["exit", job, exitCode],
        Effect.gen(function* () {
          const finishedAt = timestamp(yield* Clock.currentTimeMillis)
          for (const pod of objects((yield* get(`pods?labelSelector=job-name=${job}`)).items)) {
            if (["Succeeded", "Failed"].includes(text(at(pod, "status", "phase")) ?? "")) continue
            yield* change(`pods/${text(at(pod, "metadata", "name"))}/status`, { status: ended(exitCode, finishedAt) })
          }
        })
      ),
    evict: (job) =>
      noting(
        ["evict", job],
        Effect.gen(function* () {
          for (const pod of objects((yield* get(`pods?labelSelector=job-name=${job}`)).items)) {
            const name = text(at(pod, "metadata", "name")) ?? ""
            const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace } }
            yield* request(cluster, "POST", `${pathOf("pods")}/${name}/eviction`, body)
          }
        })
      ),
    send: (method, path, body) =>
      method === "GET"
        ? request(cluster, method, path)
        : noting([method, path, body], request(cluster, method, path, body)),
    history: (kind, since) => cluster.history(`${paths[kind]}/namespaces/${namespace}/${kind}`, since)
  }
}

/** The status of a pod whose container has ended. */
const ended = (exitCode: number, finishedAt: string): JsonObject => {
  const terminated = { exitCode, startedAt: finishedAt, finishedAt }
  const container = { name: "c", image: "i", imageID: "", ready: false, restartCount: 0, state: { terminated } }
  return { phase: exitCode === 0 ? "Succeeded" : "Failed", containerStatuses: [container] }
}

const timestamp = (millis: number): string => `${new Date(millis).toISOString().slice(0, 19)}Z`

/** Returns the value if it is a number, and otherwise 0. */
export const number = (value: Json | undefined): number => (typeof value === "number" ? value : 0)
