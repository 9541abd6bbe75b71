/** The kubelet of the testkit probes programs as a kubelet probes containers. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import { Event } from "@homeostat/runtime/resource/BuiltIn"
import * as Port from "@homeostat/testkit/envtest/Port"
import * as Kubelet from "@homeostat/testkit/kubelet/Kubelet"
import type * as Program from "@homeostat/testkit/kubelet/Program"
import { Effect, Random } from "effect"
import * as Managed from "../Managed.ts"
import { onNode, pod, run, type Scene } from "./Scene.ts"

/** Responds to `/<path>` with the status of the last request to `/set/<path>/<status>`, by default 503. */
const server = `
const answers = new Map()
Bun.serve({ hostname: "127.0.0.1", port: Number(process.env.PORT), fetch(request) {
  const [, first, path, status] = new URL(request.url).pathname.split("/")
  if (first === "set") answers.set(path, Number(status))
  return new Response("", { status: first === "set" ? 200 : (answers.get(first) ?? 503) })
} })`

const probe = (path: string) => ({ httpGet: { path, port: "http" }, periodSeconds: 1, timeoutSeconds: 5 })

/** Listens after a pause on the address of its pod. */
const listener = `
await Bun.sleep(1500)
Bun.listen({ hostname: process.env.HOST, port: Number(process.env.PORT), socket: { data() {} } })`

/** A pod `web` with the server, and a function that sets the server's responses. */
const web = (scene: Scene, probes: { readonly [probe: string]: object }) =>
  Effect.gen(function* () {
    const port = yield* Port.free
    yield* run(
      scene,
      "web",
      {
        command: [process.execPath, "-e", server],
        env: [{ name: "PORT", value: String(port) }],
        ports: [{ name: "http", containerPort: port }],
        ...probes
      },
      { restartPolicy: "Always" }
    )
    const set = (path: string, status: number) =>
      Managed.eventually(
        "an answer of the server",
        Effect.tryPromise(() => fetch(`http://127.0.0.1:${port}/set/${path}/${status}`)),
        ({ ok }) => ok
      )
    return { set }
  })

const container = (scene: Scene) => Effect.map(pod(scene, "web"), ({ status }) => status?.containerStatuses?.[0])

const events = ({ namespace }: Scene) =>
  Effect.map(Client.list(Event, { namespace }), ({ items }) => items.map(({ note, reason }) => `${reason}: ${note}`))

describe("A program in a pod", () => {
  onNode("is ready while its probe succeeds", (scene) =>
    Effect.gen(function* () {
      const { set } = yield* web(scene, { readinessProbe: { ...probe("/ready"), failureThreshold: 2 } })
      const ready = (is: "True" | "False") =>
        Managed.eventually(`Ready=${is}`, pod(scene, "web"), ({ status }) =>
          (status?.conditions ?? []).some(({ status, type }) => type === "Ready" && status === is)
        )
      yield* Managed.eventually("the failed probe", events(scene), (all) =>
        all.includes("Unhealthy: Readiness probe failed: HTTP probe failed with statuscode: 503")
      )
      expect(yield* container(scene)).toMatchObject({ ready: false, started: true })
      yield* set("ready", 204)
      yield* ready("True")
      yield* set("ready", 500)
      yield* ready("False")
      expect(yield* container(scene)).toMatchObject({ restartCount: 0, state: { running: {} } })
    })
  )

  onNode("restarts when its liveness probe fails, but not before it has started", (scene) =>
    Effect.gen(function* () {
      const { set } = yield* web(scene, {
        startupProbe: { ...probe("/started"), failureThreshold: 100 },
        livenessProbe: { ...probe("/lives"), failureThreshold: 1 }
      })
      yield* Managed.eventually("a running container", container(scene), (seen) => seen?.state?.running !== undefined)
      // The liveness probe would fail, but the kubelet starts it only after the startup probe succeeds.
      const first = yield* Managed.stays("no restart", container(scene), "2 seconds")
      expect(first).toMatchObject({ ready: false, started: false, restartCount: 0 })
      yield* set("lives", 200)
      yield* set("started", 200)
      yield* Managed.eventually("a ready container", container(scene), (seen) => seen?.ready === true)
      yield* set("lives", 500)
      const again = yield* Managed.eventually("its restart", container(scene), (seen) => seen?.restartCount === 1)
      expect(again).toMatchObject({ ready: false, lastState: { terminated: { exitCode: 143 } } })
      expect(yield* events(scene)).toContain("Killing: Container main failed liveness probe, will be restarted")
    })
  )

  onNode("is ready when its TCP probe succeeds, and pods with addresses of their own can have the same port", (scene) =>
    Effect.gen(function* () {
      const { directory, namespace } = scene
      const name = `${namespace}-own`
      const port = yield* Port.free
      const program: Program.Program = ({ env, host }) => ({
        executable: process.execPath,
        args: ["-e", listener],
        env: { ...env, HOST: host, PORT: String(port) }
      })
      const network = yield* Random.nextIntBetween(1, 244, { halfOpen: true })
      yield* Kubelet.start({ name, directory, network, images: { "registry.test/shell": program } })
      const readinessProbe = { tcpSocket: { port }, periodSeconds: 1 }
      for (const pod of ["one", "other"]) yield* run(scene, pod, { readinessProbe }, { nodeName: name })
      yield* Managed.eventually("the failed probe", events(scene), (all) =>
        all.includes(
          `Unhealthy: Readiness probe failed: dial tcp 127.${network}.0.1:${port}: connect: connection refused`
        )
      )
      for (const each of ["one", "other"]) {
        const { status } = yield* Managed.eventually(`${each} is ready`, pod(scene, each), ({ status }) =>
          (status?.conditions ?? []).some(({ status, type }) => type === "Ready" && status === "True")
        )
        expect(status?.podIP).toStartWith(`10.${network}.0.`)
      }
    })
  )
})
