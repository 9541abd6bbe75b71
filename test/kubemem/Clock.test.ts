/** The clock of a cluster with a data folder. */
import { expect } from "bun:test"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import * as Json from "@homeostat/apiserver/model/Json"
import { eventually } from "@homeostat/testkit/Eventually"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"

/** Starts the program until the end of the Scope. Returns a function that sends requests as the administrator. */
const start = (folder: string, output: string) =>
  Effect.gen(function* () {
    const out = join(folder, output)
    const args = ["start", "--json", "--data", join(folder, "data"), "--kubeconfig", join(folder, "kubeconfig")]
    yield* Effect.acquireRelease(
      Effect.sync(() =>
        Bun.spawn([process.execPath, join(import.meta.dir, "main.ts"), ...args], {
          stdout: Bun.file(out),
          stderr: "inherit"
        })
      ),
      (started) =>
        Effect.promise(() => {
          started.kill()
          return started.exited
        })
    )
    const text = yield* eventually(
      "the line of JSON",
      Effect.promise(() => readFile(out, "utf8").catch(() => "")),
      (text) => text.endsWith("\n")
    )
    const { ca, server, token } = JSON.parse(text)
    return (method: string, path: string, body?: object) =>
      Effect.promise(async (): Promise<Json.Json> => {
        const answer = await fetch(`${server}${path}`, {
          method,
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: body === undefined ? undefined : JSON.stringify(body),
          tls: { ca }
        })
        return JSON.parse(await answer.text())
      })
  })

const cronJobs = "/apis/batch/v1/namespaces/default/cronjobs"
const pod = { restartPolicy: "Never", containers: [{ name: "main", image: "tick" }] }
const tick = {
  metadata: { name: "tick" },
  spec: { schedule: "0 * * * *", jobTemplate: { spec: { template: { spec: pod } } } }
}

const timeAt = (value: Json.Json, ...path: ReadonlyArray<string>) =>
  Date.parse(Json.text(Json.at(value, ...path)) ?? "")

// The certificate of the second start is valid now, although its clock is three hours ahead.
live("A cluster with a data folder continues at the time of its clock", () =>
  Effect.gen(function* () {
    const folder = yield* Directory.make
    const [stopped, scheduled] = yield* Effect.scoped(
      Effect.gen(function* () {
        const request = yield* start(folder, "first")
        yield* request("POST", cronJobs, tick)
        const now = yield* request("POST", "/clock?advance=3h")
        return [
          timeAt(now, "now"),
          timeAt(yield* request("GET", `${cronJobs}/tick`), "status", "lastScheduleTime")
        ] as const
      })
    )
    const request = yield* start(folder, "second")
    const now = timeAt(yield* request("GET", "/clock"), "now")
    expect(now).toBeGreaterThanOrEqual(stopped)
    expect(now - Date.now()).toBeLessThanOrEqual(3 * 3_600_000)
    yield* request("POST", "/clock?advance=61m")
    const again = timeAt(yield* request("GET", `${cronJobs}/tick`), "status", "lastScheduleTime")
    expect(again - scheduled).toBeGreaterThanOrEqual(3_600_000)
  })
)
