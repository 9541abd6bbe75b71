/**
 * A scene: what happens in one namespace, and the story that it makes: what each object said about itself, one thing after
 * the other, and the Events. Names that are made up are told apart by their order, times are left out.
 */
import type { Json, JsonObject } from "@homeostat/testkit/server/Json"
import { at, object, objects, text } from "@homeostat/testkit/server/Json"
import { Clock, Effect } from "effect"
import { type Cluster, request, SceneFailed } from "./Cluster.ts"

/** What a scene is played with. */
export interface Scene {
  readonly cluster: Cluster
  readonly namespace: string
  readonly get: (path: string) => Effect.Effect<JsonObject, SceneFailed>
  readonly create: (kind: string, body: JsonObject) => Effect.Effect<JsonObject, SceneFailed>
  readonly change: (path: string, patch: JsonObject) => Effect.Effect<JsonObject, SceneFailed>
  readonly remove: (path: string, propagationPolicy?: string) => Effect.Effect<unknown, SceneFailed>
  /** Waits until it holds. */
  readonly until: (what: string, holds: Effect.Effect<boolean, SceneFailed>) => Effect.Effect<void, SceneFailed>
  /** Runs the pods that have a node, and ends those that are deleted, once. */
  readonly kubelet: Effect.Effect<void, SceneFailed>
  /** Ends the pods of a Job with an exit code. */
  readonly exit: (job: string, code: number) => Effect.Effect<void, SceneFailed>
  /** Asks for the eviction of each pod of a Job. */
  readonly evict: (job: string) => Effect.Effect<void, SceneFailed>
  /** Anything else, of the namespace or not. */
  readonly send: (method: string, path: string, body?: JsonObject) => Effect.Effect<JsonObject, SceneFailed>
}

/** Where kinds are. */
const paths: { readonly [kind: string]: string } = {
  pods: "/api/v1",
  services: "/api/v1",
  configmaps: "/api/v1",
  events: "/api/v1",
  endpoints: "/api/v1",
  deployments: "/apis/apps/v1",
  replicasets: "/apis/apps/v1",
  jobs: "/apis/batch/v1",
  persistentvolumeclaims: "/api/v1",
  endpointslices: "/apis/discovery.k8s.io/v1",
  poddisruptionbudgets: "/apis/policy/v1"
}

/** A story. */
export interface Story {
  /** By object and type of condition: `True Reason: message`, one after the other. */
  readonly conditions: { readonly [object: string]: { readonly [type: string]: ReadonlyArray<string> } }
  /** Each Event, and how often. */
  readonly events: { readonly [event: string]: number }
  /** What the statuses say in the end, besides, of what is not deleted. */
  readonly ends: { readonly [object: string]: JsonObject }
  /** What the pods that are left look like. */
  readonly pods: ReadonlyArray<JsonObject>
}

/** Plays a scene in a namespace of its own. */
export const play = (
  cluster: Cluster,
  script: (scene: Scene) => Effect.Effect<void, SceneFailed>
): Effect.Effect<Story, SceneFailed> =>
  Effect.gen(function* () {
    const namespace = `scene-${crypto.randomUUID().slice(0, 8)}`
    yield* request(cluster, "POST", "/api/v1/namespaces", { metadata: { name: namespace } })
    const scene = make(cluster, namespace)
    yield* scene.until(
      "the namespace to be ready",
      Effect.map(
        cluster.send("GET", `/api/v1/namespaces/${namespace}/serviceaccounts/default`),
        ({ status }) => status === 200
      )
    )
    const since = text(at(yield* scene.get("configmaps"), "metadata", "resourceVersion")) ?? ""
    yield* script(scene)
    // What is told last may still be on its way.
    for (let count = 0; count < 5; count++) yield* cluster.wait
    const story = yield* told(scene, since)
    yield* cluster.send("DELETE", `/api/v1/namespaces/${namespace}`)
    return story
  })

const make = (cluster: Cluster, namespace: string): Scene => {
  const pathOf = (path: string) => `${paths[path.split(/[/?]/)[0] ?? ""]}/namespaces/${namespace}/${path}`
  const get = (path: string) => request(cluster, "GET", pathOf(path))
  const change = (path: string, patch: JsonObject) =>
    request(cluster, "PATCH", pathOf(path), patch, "application/merge-patch+json")
  return {
    cluster,
    namespace,
    get,
    create: (kind, body) => request(cluster, "POST", pathOf(kind), body),
    change,
    remove: (path, propagationPolicy) =>
      cluster.send("DELETE", pathOf(path), propagationPolicy === undefined ? undefined : { propagationPolicy }),
    until: (what, holds) =>
      Effect.gen(function* () {
        for (let count = 0; count < 300; count++) {
          if (yield* holds) return
          yield* cluster.wait
        }
        return yield* new SceneFailed({ message: `waited in vain for ${what}` })
      }),
    kubelet: Effect.gen(function* () {
      const time = timestamp(yield* Clock.currentTimeMillis)
      for (const pod of objects((yield* get("pods")).items)) {
        const name = text(at(pod, "metadata", "name")) ?? ""
        if (at(pod, "metadata", "deletionTimestamp") !== undefined) {
          // One that is not to be restarted has failed by that, and is seen so before it goes.
          if (at(pod, "spec", "restartPolicy") === "Never" && at(pod, "status", "phase") === "Running") {
            yield* change(`pods/${name}/status`, { status: ended(143, time) })
            yield* cluster.wait
          }
          yield* cluster.send("DELETE", `${pathOf("pods")}/${name}?gracePeriodSeconds=0`)
        } else if (at(pod, "status", "phase") === "Pending" && at(pod, "spec", "nodeName") !== undefined) {
          const conditions = ["PodScheduled", "Ready"].map((type) => ({
            type,
            status: "True",
            lastTransitionTime: time
          }))
          // One after the other is seen, on both clusters.
          yield* cluster.wait
          yield* change(`pods/${name}/status`, {
            status: { phase: "Running", podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }], conditions }
          })
        }
      }
    }),
    exit: (job, exitCode) =>
      Effect.gen(function* () {
        const finishedAt = timestamp(yield* Clock.currentTimeMillis)
        for (const pod of objects((yield* get(`pods?labelSelector=job-name=${job}`)).items)) {
          if (["Succeeded", "Failed"].includes(text(at(pod, "status", "phase")) ?? "")) continue
          yield* change(`pods/${text(at(pod, "metadata", "name"))}/status`, { status: ended(exitCode, finishedAt) })
        }
      }),
    evict: (job) =>
      Effect.gen(function* () {
        for (const pod of objects((yield* get(`pods?labelSelector=job-name=${job}`)).items)) {
          const name = text(at(pod, "metadata", "name")) ?? ""
          const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace } }
          yield* request(cluster, "POST", `${pathOf("pods")}/${name}/eviction`, body)
        }
      }),
    send: (method, path, body) => request(cluster, method, path, body)
  }
}

/** The status of a pod whose container has ended. */
const ended = (exitCode: number, finishedAt: string): JsonObject => {
  const terminated = { exitCode, startedAt: finishedAt, finishedAt }
  const container = { name: "c", image: "i", imageID: "", ready: false, restartCount: 0, state: { terminated } }
  return { phase: exitCode === 0 ? "Succeeded" : "Failed", containerStatuses: [container] }
}

const timestamp = (millis: number): string => `${new Date(millis).toISOString().slice(0, 19)}Z`

const told = (scene: Scene, since: string): Effect.Effect<Story, SceneFailed> =>
  Effect.gen(function* () {
    const history = (kind: string) =>
      scene.cluster.history(`${paths[kind]}/namespaces/${scene.namespace}/${kind}`, since)
    const [sets, pods, deployments, jobs] = yield* Effect.all(
      [history("replicasets"), history("pods"), history("deployments"), history("jobs")],
      { concurrency: "unbounded" }
    )
    const names = aliases(sets, pods)
    const say = (words: string) => names.reduce((said, [name, alias]) => said.replaceAll(name, alias), words)
    const conditions: { [object: string]: { [type: string]: Array<string> } } = {}
    const ends: { [object: string]: JsonObject } = {}
    for (const one of [...deployments, ...sets, ...jobs]) {
      // What is said of something that goes depends on how fast it goes.
      if (at(one, "metadata", "deletionTimestamp") !== undefined) continue
      const who = say(`${text(one.kind)} ${text(at(one, "metadata", "name"))}`)
      ends[who] = finalState(object(one.status))
      const types = conditions[who] ?? {}
      conditions[who] = types
      for (const { message, reason, status, type } of objects(at(one, "status", "conditions"))) {
        const said = types[text(type) ?? ""] ?? []
        types[text(type) ?? ""] = said
        const now = say(`${text(status)} ${text(reason)}: ${text(message)}`).replaceAll(scene.namespace, "n")
        // The real controller writes this one with what it read before, and loses it when that has changed.
        if (reason === "NewReplicaSetCreated" && said.length > 0) continue
        if (said.at(-1) !== now) said.push(now)
      }
    }
    for (const kind of ["deployments", "replicasets", "jobs"]) {
      const left = objects((yield* scene.get(kind)).items).map((one) => say(text(at(one, "metadata", "name")) ?? ""))
      for (const who of Object.keys(ends)) {
        const [what = "", name = ""] = who.split(" ")
        if (`${what.toLowerCase()}s` === kind && !left.includes(name)) delete ends[who]
      }
    }
    for (const kind of ["endpoints", "endpointslices", "poddisruptionbudgets"]) {
      const found = objects((yield* scene.get(kind)).items).map(({ endpoints, status, subsets }) => ({
        endpoints,
        subsets,
        status: finalState(object(status))
      }))
      // Which of two pods comes first is decided by what is made up.
      const plain = JSON.stringify(found, (name, value) => (name === "uid" ? undefined : value))
      ends[kind] = object({ found: JSON.parse(say(plain).replaceAll(scene.namespace, "n")) as Json })
    }
    const events: { [event: string]: number } = {}
    for (const event of objects((yield* scene.get("events")).items)) {
      const who = `${text(at(event, "involvedObject", "kind"))} ${text(at(event, "involvedObject", "name"))}`
      const what = `${text(event.type)} ${text(event.reason)}: ${text(event.message)}`
      const said = say(`${who}: ${what}`).replaceAll(scene.namespace, "n")
      const count = typeof event.count === "number" ? event.count : 1
      // How often something is tried in vain depends on how long it is tried.
      events[said] = ["FailedScheduling", "FailedBinding", "FailedCreate", "NoPods"].includes(text(event.reason) ?? "")
        ? 1
        : (events[said] ?? 0) + count
    }
    const left = objects((yield* scene.get("pods")).items)
      .map((pod) => looks(pod, (words) => say(words).replaceAll(scene.namespace, "n")))
      .toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1))
    return { conditions, events: sortedByName(events), ends, pods: left }
  })

/** What a pod looks like, but for what is made up. */
const looks = (pod: JsonObject, say: (words: string) => string): JsonObject => {
  const { annotations, deletionTimestamp, finalizers, labels, name, ownerReferences } = object(pod.metadata)
  const { phase, reason } = object(pod.status)
  const plain = JSON.stringify({
    name,
    annotations,
    labels,
    finalizers,
    owners: ownerReferences,
    deleted: deletionTimestamp !== undefined,
    node: at(pod, "spec", "nodeName"),
    phase,
    reason,
    conditions: objects(at(pod, "status", "conditions"))
      .map(({ message, reason, status, type }) => `${text(type)} ${text(status)} ${text(reason)}: ${text(message)}`)
      .toSorted()
  })
  const hash = at(labels, "pod-template-hash")
  const said = typeof hash === "string" ? say(plain).replaceAll(hash, "hash") : say(plain)
  return object(JSON.parse(said.replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "uid")) as Json)
}

/** The made-up names, the longest first, and what they are called in a story. */
const aliases = (
  sets: ReadonlyArray<JsonObject>,
  pods: ReadonlyArray<JsonObject>
): ReadonlyArray<readonly [name: string, alias: string]> => {
  const found = new Map<string, string>()
  const nameOf = (one: JsonObject) => text(at(one, "metadata", "name")) ?? ""
  for (const set of sets) {
    const owner = text(at(objects(at(set, "metadata", "ownerReferences"))[0], "name")) ?? ""
    if (owner !== "" && !found.has(nameOf(set))) found.set(nameOf(set), `${owner}#${found.size + 1}`)
  }
  for (const pod of pods) {
    const prefix = text(at(pod, "metadata", "generateName"))
    if (prefix !== undefined) found.set(nameOf(pod), `${found.get(prefix.slice(0, -1)) ?? prefix.slice(0, -1)}-*`)
  }
  return [...found].sort(([one], [other]) => other.length - one.length)
}

/** A status without conditions and times. */
const finalState = (status: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(status).filter(([name]) => name !== "conditions" && !name.endsWith("Time")))

const sortedByName = <A>(values: { readonly [name: string]: A }): { readonly [name: string]: A } =>
  Object.fromEntries(Object.entries(values).sort(([one], [other]) => (one < other ? -1 : 1)))

/** A number that is there. */
export const number = (value: Json | undefined): number => (typeof value === "number" ? value : 0)
