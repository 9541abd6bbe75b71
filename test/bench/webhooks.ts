/**
 * Measures the webhooks of the compiled binary: `bun test/bench/webhooks.ts [seconds [perSecond [warmUp]]]`.
 *
 * The binary runs on one core (`taskset`), serves its own certificate, and validates AdmissionReviews of Backups in full.
 * This process sends them at a fixed rate over 10 connections, so a slow response does not delay the next request. The latency counts
 * from the moment when a request was due.
 * A bare `node:https` server on the same core responds without validation. It shows the cost of TLS, of this client and of the machine.
 */
import { Agent, request } from "node:https"
import { availableParallelism } from "node:os"
import * as EmbeddedControlPlane from "@homeostat/testkit/EmbeddedControlPlane"
import * as Eventually from "@homeostat/testkit/Eventually"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Binary from "../suites/binary/Binary.ts"
import * as Endpoint from "../suites/binary/Endpoint.ts"
import * as Running from "../suites/binary/Running.ts"
import { freePort } from "../suites/webhooks/Scene.ts"

/** The arguments. `warmUp` is the time before the measurement under the same load, in seconds. */
const [seconds = 30, perSecond = 200, warmUp = 40] = process.argv.slice(2).map(Number)

const core = String(availableParallelism() - 1)

const review = (index: number): string =>
  JSON.stringify({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid: `review-${index}`,
      kind: { group: "backup.example.com", version: "v1", kind: "Backup" },
      resource: { group: "backup.example.com", version: "v1", resource: "backups" },
      namespace: "default",
      operation: "CREATE",
      userInfo: { username: "bench" },
      dryRun: true,
      object: {
        apiVersion: "backup.example.com/v1",
        kind: "Backup",
        metadata: { name: `backup-${index}`, namespace: "default" },
        spec: {
          source: "pvc/data",
          // The webhook rejects every second Backup.
          schedule: index % 2 === 0 ? "17 3 * * 1-5" : "61 3 * * *",
          timeZone: "Europe/Zurich",
          destination: "s3://bucket/path",
          retention: { keepDaily: 7, keepWeekly: 4 }
        }
      }
    }
  })

/** The latencies in ms of responses at a fixed rate of requests, and the number of requests without the expected response. */
const load = (url: string, forSeconds: number, expected: RegExp) =>
  Effect.promise(async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 10, rejectUnauthorized: false })
    const latencies: Array<number> = []
    let failed = 0
    const send = (index: number, due: number) =>
      new Promise<void>((resolve) => {
        const body = review(index)
        const end = (ok: boolean): void => {
          if (ok) latencies.push(performance.now() - due)
          else failed++
          resolve()
        }
        const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) }
        const call = request(url, { method: "POST", agent, headers }, (response) => {
          let text = ""
          response.setEncoding("utf8").on("data", (part: string) => {
            text += part
          })
          response.on("end", () => end(response.statusCode === 200 && expected.test(text)))
        })
        call.on("error", () => end(false)).end(body)
      })
    const start = performance.now()
    const calls: Array<Promise<void>> = []
    for (let index = 0; index < forSeconds * perSecond; index++) {
      const due = start + (index * 1000) / perSecond
      const wait = due - performance.now()
      if (wait > 0.5) await Bun.sleep(wait)
      calls.push(send(index, due))
    }
    await Promise.all(calls)
    agent.destroy()
    return { latencies: latencies.sort((a, b) => a - b), failed }
  })

/** The CPU time of a process so far, in seconds. */
const cpuOf = (pid: number) =>
  Effect.promise(async () => {
    const fields = (await Bun.file(`/proc/${pid}/stat`).text()).split(") ")[1]?.split(" ") ?? []
    return (Number(fields[11]) + Number(fields[12])) / 100
  })

const measure = (name: string, pid: number, url: string, expected: RegExp) =>
  Effect.gen(function* () {
    yield* load(url, warmUp, expected)
    const before = yield* cpuOf(pid)
    const { failed, latencies } = yield* load(url, seconds, expected)
    const cpu = (yield* cpuOf(pid)) - before
    const at = (share: number) => (latencies[Math.floor(share * (latencies.length - 1))] ?? 0).toFixed(1)
    yield* Console.log(
      `${name}: ${latencies.length} answers, ${failed} failed; ms p50 ${at(0.5)}, p99 ${at(0.99)}, most ${at(1)}; ` +
        `CPU ${((100 * cpu) / seconds).toFixed(1)} % of the core, ${((1e6 * cpu) / latencies.length).toFixed(0)} µs per review`
    )
  })

/** A server on the same core with the same certificate, which responds at once. */
const bare = `
const { createServer } = require("node:https")
const { readFileSync } = require("node:fs")
createServer({ cert: readFileSync(process.argv[2]), key: readFileSync(process.argv[3]) }, (request, response) => {
  let body = ""
  request.on("data", (part) => { body += part })
  request.on("end", () => {
    const { uid } = JSON.parse(body).request
    response.setHeader("content-type", "application/json")
    response.end(JSON.stringify({ response: { uid, allowed: true } }))
  })
}).listen(Number(process.argv[4]), "127.0.0.1", () => console.error("listening"))
`

const main = Effect.gen(function* () {
  const cluster = yield* EmbeddedControlPlane.start({})
  const port = yield* freePort
  const executable = yield* Binary.path
  const manager = yield* Running.start(
    [
      "taskset",
      "-c",
      core,
      executable,
      "run",
      `--kubeconfig=${cluster.admin.kubeconfigPath}`,
      "--install-crds",
      "--webhooks",
      `--webhook-bind-address=127.0.0.1:${port}`,
      `--webhook-url=https://127.0.0.1:${port}`
    ],
    Binary.probed(cluster.directory)
  )
  yield* Eventually.eventually("the manager is ready", Endpoint.get(manager, "/readyz"), ({ status }) => status === 200)
  const configurations = yield* cluster.request(
    "GET",
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    {}
  )
  const url = /https:[^"]*validate-backup[^"]*/.exec(configurations.body)?.[0] ?? ""
  yield* measure("manager", manager.pid, url, /"allowed":(true|false)/)

  const secret = yield* cluster.request("GET", "/api/v1/namespaces/default/secrets/homeostat-webhook-certificate", {})
  const { data }: { readonly data: { readonly [key: string]: string } } = JSON.parse(secret.body)
  const file = (key: string) =>
    Effect.promise(async () => {
      const path = `${cluster.directory}/bench-${key}`
      await Bun.write(path, Buffer.from(data[key] ?? "", "base64"))
      return path
    })
  const [cert, key, script] = [
    yield* file("tls.crt"),
    yield* file("tls.key"),
    yield* Effect.promise(async () => {
      const path = `${cluster.directory}/bare.cjs`
      await Bun.write(path, bare)
      return path
    })
  ]
  const other = yield* freePort
  const server = yield* Running.start(["taskset", "-c", core, process.execPath, script, cert, key, String(other)], {
    PATH: process.env.PATH
  })
  yield* server.written(/listening/)
  yield* measure("bare node:https", server.pid, `https://127.0.0.1:${other}/`, /"allowed":true/)
})

await Effect.runPromise(Effect.scoped(main))
