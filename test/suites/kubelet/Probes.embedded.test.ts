/** A program is asked how it is, as a container is, and what follows from that. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import { Event } from "@homeostat/runtime/resource/BuiltIn"
import * as Port from "@homeostat/testkit/envtest/Port"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import { onNode, pod, run, type Scene } from "./Scene.ts"

/** Answers as it was told to last, by a request to `/tell/<path>/<status>`: of what it was not told, 503. */
const server = `
const answers = new Map()
Bun.serve({ hostname: "127.0.0.1", port: Number(process.env.PORT), fetch(request) {
  const [, tell, path, status] = new URL(request.url).pathname.split("/")
  if (tell === "tell") answers.set(path, Number(status))
  return new Response("", { status: tell === "tell" ? 200 : (answers.get(tell) ?? 503) })
} })`

const probe = (path: string) => ({ httpGet: { path, port: "http" }, periodSeconds: 1, timeoutSeconds: 5 })

/** A pod `web` with such a program, and a way to tell it what to answer. */
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
    const tell = (path: string, status: number) =>
      Managed.eventually(
        "that it can be told",
        Effect.tryPromise(() => fetch(`http://127.0.0.1:${port}/tell/${path}/${status}`)),
        ({ ok }) => ok
      )
    return { tell }
  })

const container = (scene: Scene) => Effect.map(pod(scene, "web"), ({ status }) => status?.containerStatuses?.[0])

const events = ({ namespace }: Scene) =>
  Effect.map(Client.list(Event, { namespace }), ({ items }) => items.map(({ note, reason }) => `${reason}: ${note}`))

describe("A program in a pod", () => {
  onNode("is ready as long as its probe says so", (scene) =>
    Effect.gen(function* () {
      const { tell } = yield* web(scene, { readinessProbe: { ...probe("/ready"), failureThreshold: 2 } })
      const ready = (is: "True" | "False") =>
        Managed.eventually(`that it is ready is ${is}`, pod(scene, "web"), ({ status }) =>
          (status?.conditions ?? []).some(({ status, type }) => type === "Ready" && status === is)
        )
      yield* Managed.eventually("that it was asked", events(scene), (all) =>
        all.includes("Unhealthy: Readiness probe failed: HTTP probe failed with statuscode: 503")
      )
      expect(yield* container(scene)).toMatchObject({ ready: false, started: true })
      yield* tell("ready", 204)
      yield* ready("True")
      yield* tell("ready", 500)
      yield* ready("False")
      expect(yield* container(scene)).toMatchObject({ restartCount: 0, state: { running: {} } })
    })
  )

  onNode("is started again when it does not live any more, but not before it has started", (scene) =>
    Effect.gen(function* () {
      const { tell } = yield* web(scene, {
        startupProbe: { ...probe("/started"), failureThreshold: 100 },
        livenessProbe: { ...probe("/lives"), failureThreshold: 1 }
      })
      yield* Managed.eventually("that it runs", container(scene), (seen) => seen?.state?.running !== undefined)
      // It does not say that it lives, which nobody has asked yet.
      const first = yield* Managed.stays("that it starts", container(scene), "2 seconds")
      expect(first).toMatchObject({ ready: false, started: false, restartCount: 0 })
      yield* tell("lives", 200)
      yield* tell("started", 200)
      yield* Managed.eventually("that it is ready", container(scene), (seen) => seen?.ready === true)
      yield* tell("lives", 500)
      const again = yield* Managed.eventually("its restart", container(scene), (seen) => seen?.restartCount === 1)
      expect(again).toMatchObject({ ready: false, lastState: { terminated: { exitCode: 143 } } })
      expect(yield* events(scene)).toContain("Killing: Container main failed liveness probe, will be restarted")
    })
  )
})
