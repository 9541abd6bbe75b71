/** Programs start, end and fail to start as containers do. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Event, Job, Pod, Secret } from "@homeostat/runtime/resource/BuiltIn"
import * as Kubelet from "@homeostat/testkit/kubelet/Kubelet"
import { Clock, Effect } from "effect"
import * as Managed from "../Managed.ts"
import {
  dataMount,
  dataVolumes,
  gone,
  isAlive,
  onNode,
  phase,
  pidOf,
  pod,
  podSpec,
  run,
  type Scene,
  shell,
  state,
  stubborn,
  waiting
} from "./Scene.ts"

const finalizer = "suites.homeostat.dev/keep"

/** A pod with a finalizer, so that its status remains readable after its deletion. */
const kept = (scene: Scene, name: string, script: string, spec: Parameters<typeof podSpec>[2] = {}) =>
  Effect.acquireRelease(
    Client.create(Pod, {
      metadata: { namespace: scene.namespace, name, finalizers: [finalizer] },
      spec: podSpec(scene, { args: [script] }, spec)
    }),
    () =>
      Effect.ignore(
        scene.cluster.request("PATCH", `/api/v1/namespaces/${scene.namespace}/pods/${name}`, {
          body: { metadata: { finalizers: null } },
          contentType: "application/merge-patch+json"
        })
      )
  )

const evict = ({ cluster, namespace }: Scene, name: string) =>
  Effect.map(
    cluster.request("POST", `/api/v1/namespaces/${namespace}/pods/${name}/eviction`, {
      body: { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace } }
    }),
    ({ status }) => expect(status).toBe(201)
  )

const writes = ({ kubelet, namespace }: Scene, name: string) =>
  Managed.eventually("the log", kubelet.logs({ namespace, name }), (log) => log.endsWith("\n"))

const events = ({ namespace }: Scene, name: string) =>
  Effect.map(Client.list(Event, { namespace }), ({ items }) =>
    items.filter(({ regarding }) => regarding?.name === name).map(({ note, reason }) => `${reason}: ${note}`)
  )

/** A program that logs a line and stops its child on SIGTERM. */
const obedient = `trap 'kill $!; echo asked; printf bye > /dev/null; exit 143' TERM; echo up; sleep 60 & wait`

describe("A program in a pod", () => {
  onNode("that is evicted gets SIGTERM, and its pod fails with DisruptionTarget", (scene) =>
    Effect.gen(function* () {
      yield* kept(scene, "worker", obedient)
      yield* writes(scene, "worker")
      yield* evict(scene, "worker")
      const failed = yield* phase(scene, "worker", "Failed")
      expect(state(failed)?.terminated).toMatchObject({ exitCode: 143, reason: "Error" })
      expect(failed.status?.conditions?.find(({ type }) => type === "DisruptionTarget")).toMatchObject({
        status: "True",
        reason: "EvictionByEvictionAPI",
        message: "Eviction API: evicting"
      })
      // The kubelet has released the pod. Only the finalizer keeps the object.
      yield* Managed.eventually(
        "a grace period of 0",
        pod(scene, "worker"),
        (seen) => seen.metadata.deletionGracePeriodSeconds === 0
      )
      const log = scene.kubelet.logs({ namespace: scene.namespace, name: "worker" })
      expect(yield* Managed.stays("its log", log, "1 second")).toBe("up\nasked\n")
    })
  )

  onNode("gets SIGTERM after the sleep of its preStop hook, which takes no more than the grace period", (scene) =>
    Effect.gen(function* () {
      const { kubelet, namespace } = scene
      const script = "trap 'echo asked; exit 0' TERM; echo up; while :; do sleep 0.05; done"
      const stopped = (name: string, hookSeconds: number, gracePeriodSeconds: number) =>
        Effect.gen(function* () {
          const lifecycle = { preStop: { sleep: { seconds: hookSeconds } } }
          const spec = podSpec(scene, { args: [script], lifecycle }, { terminationGracePeriodSeconds: 90 })
          yield* Client.create(Pod, { metadata: { namespace, name, finalizers: [finalizer] }, spec })
          yield* writes(scene, name)
          const began = yield* Clock.currentTimeMillis
          yield* Client.delete(Pod, { namespace, name }, { gracePeriodSeconds })
          const ended = yield* phase(scene, name, "Succeeded")
          expect([ended.status?.phase, yield* kubelet.logs({ namespace, name })]).toEqual(["Succeeded", "up\nasked\n"])
          yield* Client.patch(Pod, { namespace, name }, Patch.merge({ metadata: { finalizers: null } }))
          return (yield* Clock.currentTimeMillis) - began
        })
      const [hooked, cut] = yield* Effect.all([stopped("hooked", 2, 30), stopped("cut", 60, 1)], {
        concurrency: "unbounded"
      })
      expect(hooked).toBeGreaterThanOrEqual(2000)
      expect(cut).toBeGreaterThanOrEqual(1000)
    })
  )

  onNode("reads the address of its pod from its environment", (scene) =>
    Effect.gen(function* () {
      const env = [{ name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } }]
      yield* run(scene, "worker", { args: ['echo "$IP"'], env })
      const { status } = yield* phase(scene, "worker", "Succeeded")
      expect(yield* scene.kubelet.logs({ namespace: scene.namespace, name: "worker" })).toBe(`${status?.podIP}\n`)
    })
  )

  onNode("without a handler of SIGTERM ends with 143, and one that ignores SIGTERM with 137", (scene) =>
    Effect.gen(function* () {
      const { namespace } = scene
      yield* kept(scene, "deaf", "echo up; exec sleep 60")
      yield* kept(scene, "stubborn", stubborn, { terminationGracePeriodSeconds: 1 })
      for (const name of ["deaf", "stubborn"]) {
        yield* writes(scene, name)
        yield* Client.delete(Pod, { namespace, name })
      }
      expect(state(yield* phase(scene, "deaf", "Failed"))?.terminated?.exitCode).toBe(143)
      expect(state(yield* phase(scene, "stubborn", "Failed"))?.terminated?.exitCode).toBe(137)
    })
  )

  onNode("gets SIGTERM without its children, as the first process of a container does", (scene) =>
    Effect.gen(function* () {
      const { namespace } = scene
      // The child logs a line if it receives SIGTERM.
      const child = "trap 'echo the child got SIGTERM' TERM; while :; do sleep 0.05; done"
      yield* kept(scene, "worker", `trap 'exit 0' TERM; sh -c "${child}" & echo up; while :; do sleep 0.05; done`)
      yield* writes(scene, "worker")
      yield* Client.delete(Pod, { namespace, name: "worker" })
      yield* phase(scene, "worker", "Succeeded")
      expect(yield* scene.kubelet.logs({ namespace, name: "worker" })).not.toContain("the child got SIGTERM")
    })
  )

  for (const [how, script, ends] of [
    ["ends", "trap '' TERM; sleep 60 & echo $!; exit 0", false],
    ["is killed", `trap '' TERM; (trap '' TERM; sleep 60) & echo $!; while :; do sleep 0.05; done`, true]
  ] as const) {
    onNode(`leaves no process behind when it ${how}`, (scene) =>
      Effect.gen(function* () {
        const { kubelet, namespace } = scene
        yield* kept(scene, "server", script, { terminationGracePeriodSeconds: 1 })
        const child = yield* pidOf(kubelet, namespace)
        if (ends) yield* Client.delete(Pod, { namespace, name: "server" })
        yield* Managed.eventually("the end", pod(scene, "server"), (seen) => state(seen)?.terminated !== undefined)
        yield* Managed.eventually(
          "the end of the child",
          Effect.sync(() => isAlive(child)),
          (is) => !is
        )
      })
    )
  }

  onNode("leaves the last 4096 bytes of its message, in whole characters", (scene) =>
    Effect.gen(function* () {
      const script = `{ printf '€%.0s' $(seq 2000); printf '!!'; } > "$RESULT"`
      yield* run(scene, "worker", { args: [script], env: [{ name: "RESULT", value: "/dev/termination-log" }] })
      const { terminated } = state(yield* phase(scene, "worker", "Succeeded")) ?? {}
      // The limit is 4096 bytes. Before the two last ones, 4094 bytes hold 1364 characters of three bytes.
      expect(terminated?.message).toBe(`${"€".repeat(1364)}!!`)
    })
  )

  onNode("whose Secret lacks a key names the key", (scene) =>
    Effect.gen(function* () {
      const { namespace } = scene
      yield* Client.create(Secret, { metadata: { namespace, name: "keys" }, stringData: { OTHER: "x" } })
      const valueFrom = { secretKeyRef: { name: "keys", key: "RESTIC_PASSWORD" } }
      yield* run(scene, "worker", { args: ["exit 0"], env: [{ name: "RESTIC_PASSWORD", valueFrom }] })
      const seen = yield* waiting(scene, "worker", "CreateContainerConfigError")
      expect([seen.status?.phase, state(seen)?.waiting?.message]).toEqual([
        "Pending",
        `couldn't find key RESTIC_PASSWORD in Secret ${namespace}/keys`
      ])
    })
  )

  onNode("whose volume lacks its Secret waits with an Event that names it", (scene) =>
    Effect.gen(function* () {
      const volumes = [{ name: "keys", secret: { secretName: "keys" } }]
      yield* run(scene, "worker", { args: ["exit 0"] }, { volumes })
      yield* Managed.eventually("the Event", events(scene, "worker"), (all) =>
        all.includes('FailedMount: MountVolume.SetUp failed for volume "keys" : secret "keys" not found')
      )
      expect(state(yield* pod(scene, "worker"))?.waiting?.reason).toBe("ContainerCreating")
    })
  )

  onNode("whose image no registry has fails to be pulled, and then waits with ImagePullBackOff", (scene) =>
    Effect.gen(function* () {
      yield* run(scene, "worker", { image: gone })
      const why = `failed to pull and unpack image "${gone}": failed to resolve reference "${gone}": ${gone}: not found`
      expect(state(yield* waiting(scene, "worker", "ErrImagePull"))?.waiting?.message).toBe(why)
      const seen = yield* waiting(scene, "worker", "ImagePullBackOff")
      expect(state(seen)?.waiting?.message).toBe(`Back-off pulling image "${gone}": ErrImagePull: ${why}`)
      expect(seen.status?.phase).toBe("Pending")
      yield* Managed.eventually("the Event", events(scene, "worker"), (all) =>
        all.includes("Failed: Error: ImagePullBackOff")
      )
    })
  )

  onNode("finds the same files in a claim on another node with the same folder", (scene) =>
    Effect.gen(function* () {
      const { directory, namespace } = scene
      const other = `${namespace}-other`
      yield* Kubelet.start({ name: other, directory, images: { "registry.test/shell": shell } })
      const container = (script: string) => ({
        args: [script],
        ...dataMount
      })
      yield* run(scene, "writer", container('echo kept > "$DATA/file"'), { volumes: dataVolumes })
      yield* phase(scene, "writer", "Succeeded")
      yield* run(scene, "reader", container('read -r word <"$DATA/file"; [ "$word" = kept ]'), {
        volumes: dataVolumes,
        nodeName: other
      })
      yield* phase(scene, "reader", "Succeeded")
    })
  )

  onNode("of a Job that is evicted is replaced without a failure of the Job", (scene) =>
    Effect.gen(function* () {
      const { namespace } = scene
      const args = [`[ -e "$DATA/again" ] && exit 0; touch "$DATA/again"; ${obedient}`]
      const container = {
        args,
        ...dataMount
      }
      const onPodConditions = [{ type: "DisruptionTarget", status: "True" }]
      yield* Client.create(Job, {
        metadata: { namespace, name: "save" },
        spec: {
          backoffLimit: 0,
          podFailurePolicy: { rules: [{ action: "Ignore", onPodConditions }] },
          template: { spec: podSpec(scene, container, { volumes: dataVolumes }) }
        }
      })
      const [first] = yield* Managed.eventually(
        "a running pod",
        Effect.map(Client.list(Pod, { namespace }), ({ items }) => items),
        (all) => all.some(({ status }) => status?.phase === "Running")
      )
      const name = first?.metadata.name ?? ""
      yield* writes(scene, name)
      yield* evict(scene, name)
      const { status } = yield* Managed.eventually(
        "the end of the Job",
        Client.get(Job, { namespace, name: "save" }),
        (job) => (job.status?.conditions ?? []).some((one) => one.type === "Complete" && one.status === "True")
      )
      expect([status?.succeeded, status?.failed]).toEqual([1, undefined])
    })
  )
})
