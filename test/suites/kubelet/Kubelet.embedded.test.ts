/** The kubelet of the testkit runs images that are programs, and pretends to run all others. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { ConfigMap, Deployment, Job, PersistentVolumeClaim, Pod, Secret } from "@homeostat/runtime/resource/BuiltIn"
import * as Kubelet from "@homeostat/testkit/kubelet/Kubelet"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import {
  dataMount,
  dataVolumes,
  isAlive,
  noPods,
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

describe("A pod whose image is a program", () => {
  onNode("runs it with its environment, Secrets, ConfigMaps and volumes, and reports its end", (scene) =>
    Effect.gen(function* () {
      const { kubelet, namespace } = scene
      yield* Client.create(Secret, { metadata: { namespace, name: "keys" }, stringData: { token: "s3cret" } })
      yield* Client.create(ConfigMap, { metadata: { namespace, name: "settings" }, data: { mode: "fast" } })
      yield* Client.create(PersistentVolumeClaim, {
        metadata: { namespace, name: "data" },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } }
      })
      const script = `
        echo "$GREETING $(cat "$SETTINGS/mode") $(cat "$KEYS/token") $TOKEN $POD"
        echo kept > "$DATA/file"
        printf 'all is well' > "$RESULT"
        exit 3`
      yield* run(
        scene,
        "worker",
        {
          args: [script],
          env: [
            { name: "NAME", value: "you" },
            { name: "GREETING", value: "hello $(NAME)" },
            { name: "TOKEN", valueFrom: { secretKeyRef: { name: "keys", key: "token" } } },
            { name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
            { name: "DATA", value: "/data" },
            { name: "SETTINGS", value: "/etc/settings" },
            { name: "KEYS", value: "/etc/keys" },
            { name: "RESULT", value: "/dev/termination-log" }
          ],
          volumeMounts: [
            { name: "data", mountPath: "/data" },
            { name: "settings", mountPath: "/etc/settings" },
            { name: "keys", mountPath: "/etc/keys", readOnly: true }
          ]
        },
        {
          volumes: [
            { name: "data", persistentVolumeClaim: { claimName: "data" } },
            { name: "settings", configMap: { name: "settings" } },
            { name: "keys", secret: { secretName: "keys" } }
          ]
        }
      )
      const failed = yield* phase(scene, "worker", "Failed")
      expect(state(failed)?.terminated).toMatchObject({ exitCode: 3, reason: "Error", message: "all is well" })
      expect(yield* kubelet.logs({ namespace, name: "worker" })).toBe("hello you fast s3cret s3cret worker\n")
      const file = Bun.file(`${kubelet.claim(namespace, "data")}/file`)
      expect(yield* Effect.promise(() => file.text())).toBe("kept\n")
    })
  )

  onNode("has the end of its log as its message when it fails without one", (scene) =>
    Effect.gen(function* () {
      yield* run(scene, "worker", {
        args: ["echo first; echo why it failed; exit 1"],
        terminationMessagePolicy: "FallbackToLogsOnError"
      })
      const failed = yield* phase(scene, "worker", "Failed")
      expect(state(failed)?.terminated?.message).toBe("first\nwhy it failed\n")
    })
  )

  onNode("waits for a missing Secret and names it", (scene) =>
    Effect.gen(function* () {
      const { namespace } = scene
      yield* run(scene, "worker", {
        args: ["exit 0"],
        env: [{ name: "TOKEN", valueFrom: { secretKeyRef: { name: "keys", key: "token" } } }]
      })
      yield* Managed.eventually("the missing Secret", pod(scene, "worker"), (seen) => {
        const waiting = state(seen)?.waiting
        return waiting?.reason === "CreateContainerConfigError" && waiting.message === 'secret "keys" not found'
      })
      yield* Client.create(Secret, { metadata: { namespace, name: "keys" }, stringData: { token: "x" } })
      yield* phase(scene, "worker", "Succeeded")
    })
  )

  onNode("gets SIGTERM when it is deleted, and is removed after its end", (scene) =>
    Effect.gen(function* () {
      const { kubelet, namespace } = scene
      const script = `trap 'echo bye > "$DATA/last"; exit 0' TERM; echo up; while :; do sleep 0.05; done`
      yield* run(
        scene,
        "server",
        {
          args: [script],
          ...dataMount
        },
        { restartPolicy: "Always", volumes: dataVolumes }
      )
      yield* phase(scene, "server", "Running")
      yield* Managed.eventually("the log", kubelet.logs({ namespace, name: "server" }), (log) => log === "up\n")
      yield* Client.delete(Pod, { namespace, name: "server" })
      yield* noPods(scene)
      const last = Bun.file(`${kubelet.claim(namespace, "data")}/last`)
      expect(yield* Effect.promise(() => last.text())).toBe("bye\n")
    })
  )

  onNode("is killed when it does not end within its grace period", (scene) =>
    Effect.gen(function* () {
      const { kubelet, namespace } = scene
      yield* run(scene, "server", { args: [stubborn] }, { terminationGracePeriodSeconds: 1 })
      const pid = yield* pidOf(kubelet, namespace)
      yield* Client.delete(Pod, { namespace, name: "server" })
      yield* noPods(scene)
      expect(isAlive(pid)).toBe(false)
    })
  )

  onNode("ends with its node, even if it ignores SIGTERM", (scene) =>
    Effect.gen(function* () {
      const { namespace } = scene
      const other = { namespace, name: `${namespace}-other` }
      const pid = yield* Effect.scoped(
        Effect.gen(function* () {
          const kubelet = yield* Kubelet.start({ name: other.name, images: { "registry.test/shell": shell } })
          const spec = { nodeName: other.name, restartPolicy: "Always", terminationGracePeriodSeconds: 1 }
          yield* run(scene, "server", { args: [stubborn] }, spec)
          return yield* pidOf(kubelet, namespace)
        })
      )
      expect(isAlive(pid)).toBe(false)
    })
  )

  onNode("runs on when another client writes its status, and reports again that it runs", (scene) =>
    Effect.gen(function* () {
      const { kubelet, namespace } = scene
      yield* run(scene, "server", { args: [stubborn] }, { terminationGracePeriodSeconds: 1 })
      const pid = yield* pidOf(kubelet, namespace)
      yield* phase(scene, "server", "Running")
      const status = { phase: "Pending", containerStatuses: [] }
      yield* Client.status.patch(Pod, { namespace, name: "server" }, Patch.merge({ status }))
      yield* phase(scene, "server", "Running")
      expect(isAlive(pid)).toBe(true)
    })
  )

  onNode("is removed at once when it is deleted while it waits for a Secret", (scene) =>
    Effect.gen(function* () {
      const { namespace } = scene
      yield* run(scene, "worker", { args: ["exit 0"], envFrom: [{ secretRef: { name: "keys" } }] })
      yield* waiting(scene, "worker", "CreateContainerConfigError")
      yield* Client.delete(Pod, { namespace, name: "worker" })
      yield* noPods(scene)
    })
  )

  onNode("does not restart after its deadline, and runs in its working directory", (scene) =>
    Effect.gen(function* () {
      const { kubelet, namespace } = scene
      const script = "pwd; trap 'exit 1' TERM; while :; do sleep 0.05; done"
      const container = { args: [script], workingDir: "/srv/app" }
      yield* run(scene, "worker", container, { restartPolicy: "Always", activeDeadlineSeconds: 1 })
      const failed = yield* phase(scene, "worker", "Failed")
      expect(failed.status?.reason).toBe("DeadlineExceeded")
      expect(failed.status?.containerStatuses?.[0]).toMatchObject({
        restartCount: 0,
        state: { terminated: { exitCode: 1 } }
      })
      expect(yield* kubelet.logs({ namespace, name: "worker" })).toContain("/srv/app\n")
    })
  )

  onNode("of a Job completes it, and its exit code can fail it", (scene) =>
    Effect.gen(function* () {
      const { namespace } = scene
      const job = (name: string, script: string) =>
        Client.create(Job, {
          metadata: { namespace, name },
          spec: {
            backoffLimit: 0,
            template: { spec: podSpec(scene, { args: [script] }) }
          }
        })
      yield* job("good", "exit 0")
      yield* job("bad", "exit 42")
      const condition = (name: string, type: string) =>
        Managed.eventually(`Job ${name} is ${type}`, Client.get(Job, { namespace, name }), ({ status }) =>
          (status?.conditions ?? []).some((one) => one.type === type && one.status === "True")
        )
      expect((yield* condition("good", "Complete")).status?.succeeded).toBe(1)
      expect((yield* condition("bad", "Failed")).status?.failed).toBe(1)
    })
  )
})

describe("A pod whose image is not a program", () => {
  const pretended = { image: "registry.test/web:1" }

  onNode("of a Deployment becomes ready", (scene) =>
    Effect.gen(function* () {
      const { namespace } = scene
      const labels = { app: "web" }
      yield* Client.create(Deployment, {
        metadata: { namespace, name: "web" },
        spec: {
          replicas: 2,
          selector: { matchLabels: labels },
          template: {
            metadata: { labels },
            spec: podSpec(scene, pretended, { restartPolicy: "Always" })
          }
        }
      })
      yield* Managed.eventually(
        "two available replicas",
        Client.get(Deployment, { namespace, name: "web" }),
        ({ status }) => status?.availableReplicas === 2
      )
      const { items } = yield* Client.list(Pod, { namespace })
      const ready = items.map(({ status }) => status?.conditions?.find(({ type }) => type === "Ready")?.status)
      expect(ready).toEqual(["True", "True"])
      expect(new Set(items.map(({ status }) => status?.podIP)).size).toBe(2)
    })
  )

  onNode("whose image cannot be pulled stays pending with the reason", (scene) =>
    Effect.gen(function* () {
      yield* run(scene, "web", pretended, {}, { "envtest/image-pull-error": "manifest unknown" })
      const seen = yield* waiting(scene, "web", "ImagePullBackOff")
      expect(seen.status?.phase).toBe("Pending")
      expect(state(seen)?.waiting?.message).toBe('Back-off pulling image "registry.test/web:1": manifest unknown')
    })
  )

  onNode("that crashes restarts, and then waits with CrashLoopBackOff", (scene) =>
    Effect.gen(function* () {
      yield* run(scene, "web", pretended, { restartPolicy: "Always" }, { "envtest/crash-loop": "7" })
      const seen = yield* waiting(scene, "web", "CrashLoopBackOff")
      const status = seen.status?.containerStatuses?.[0]
      expect(status).toMatchObject({ restartCount: 1, lastState: { terminated: { exitCode: 7, reason: "Error" } } })
      expect(state(seen)?.waiting?.message).toStartWith("back-off 10s restarting failed container=main")
    })
  )

  onNode("that is evicted fails with DisruptionTarget", (scene) =>
    Effect.gen(function* () {
      yield* run(scene, "web", pretended, {}, { "envtest/evict": "" })
      const seen = yield* phase(scene, "web", "Failed")
      expect(seen.status?.reason).toBe("Evicted")
      const disruption = seen.status?.conditions?.find(({ type }) => type === "DisruptionTarget")
      expect(disruption).toMatchObject({ status: "True", reason: "TerminationByKubelet" })
    })
  )

  onNode("fails after its deadline", (scene) =>
    Effect.gen(function* () {
      yield* run(scene, "web", pretended, { activeDeadlineSeconds: 1 })
      const seen = yield* phase(scene, "web", "Failed")
      expect(seen.status?.reason).toBe("DeadlineExceeded")
    })
  )

  onNode("is removed at once when it is deleted after a patch of its labels", (scene) =>
    Effect.gen(function* () {
      const { namespace } = scene
      yield* run(scene, "web", pretended, { restartPolicy: "Always" })
      yield* phase(scene, "web", "Running")
      yield* Client.patch(Pod, { namespace, name: "web" }, Patch.merge({ metadata: { labels: { a: "b" } } }))
      yield* Client.delete(Pod, { namespace, name: "web" })
      yield* noPods(scene)
    })
  )
})

describe("A sidecar that is a program", () => {
  const sidecar = (script: string) => ({
    name: "proxy",
    image: "registry.test/shell:1",
    restartPolicy: "Always",
    args: [script],
    ...dataMount
  })
  const file = ({ kubelet, namespace }: Scene, name: string) =>
    Effect.promise(() => Bun.file(`${kubelet.claim(namespace, "data")}/${name}`).text())

  onNode("serves the containers, restarts after its exit, and gets SIGTERM after their end", (scene) =>
    Effect.gen(function* () {
      const script = `
        [ -e "$DATA/again" ] || { touch "$DATA/again"; sleep 0.5; exit 3; }
        trap 'cat "$DATA/main" > "$DATA/proxy"; exit 0' TERM
        touch "$DATA/up"; while :; do sleep 0.05; done`
      const args = ['until [ -e "$DATA/up" ]; do sleep 0.05; done; echo done > "$DATA/main"']
      const spec = { volumes: dataVolumes, initContainers: [sidecar(script)] }
      yield* run(scene, "worker", { args, ...dataMount }, spec)
      const { status } = yield* phase(scene, "worker", "Succeeded")
      expect(status?.initContainerStatuses?.[0]).toMatchObject({
        restartCount: 1,
        lastState: { terminated: { exitCode: 3 } },
        state: { terminated: { exitCode: 0 } }
      })
      expect(yield* file(scene, "proxy")).toBe("done\n")
    })
  )

  onNode("ends when an init container after it fails", (scene) =>
    Effect.gen(function* () {
      const script = `trap 'touch "$DATA/proxy"; exit 0' TERM; touch "$DATA/up"; while :; do sleep 0.05; done`
      const { restartPolicy: _, ...setup } = sidecar('until [ -e "$DATA/up" ]; do sleep 0.05; done; exit 1')
      const spec = { volumes: dataVolumes, initContainers: [sidecar(script), { ...setup, name: "setup" }] }
      yield* run(scene, "worker", { args: ["exit 0"] }, spec)
      const { status } = yield* phase(scene, "worker", "Failed")
      expect(status?.initContainerStatuses?.map(({ state }) => state?.terminated?.exitCode)).toEqual([0, 1])
      expect(yield* file(scene, "proxy")).toBe("")
    })
  )
})
