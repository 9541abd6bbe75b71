/** Tests of `homeostat replay` in the compiled program, with the recordings of a running manager. */
import { describe, expect } from "bun:test"
import { chmod, readFile, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { Document } from "@homeostat/runtime/manager/recordings/Document"
import type { Line } from "@homeostat/runtime/manager/recordings/Page"
import type { Page } from "@homeostat/runtime/manager/why/Page"
import type { Report } from "@homeostat/runtime/replay/Replay"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import { Effect } from "effect"
import * as Binary from "../binary/Binary.ts"
import * as Scene from "../binary/Scene.ts"
import * as Managed from "../Managed.ts"

describe("homeostat replay", () => {
  Scene.replicated(
    "lists the recordings of a manager, and replays one of them, from the manager and from a file",
    (cluster, namespace) =>
      Effect.gen(function* () {
        const flags = [`--kubeconfig=${cluster.admin.kubeconfigPath}`, `--namespace=${namespace}`, "--log-format=json"]
        const manager = yield* Binary.start(["run", ...flags], Binary.probed(cluster.directory))
        const line = yield* manager.written(/Serving probes on /)
        const address = `--probe-address=${/ on ([0-9.]+:\d+)/.exec(line)?.[1]}`
        const run = (verb: string, ...args: ReadonlyArray<string>) =>
          Binary.run([verb, address, ...args], Binary.bare(cluster.directory))
        // The manager adds the endpoint after the others.
        yield* Managed.eventually("that it serves recordings", run("replay"), ({ code, stdout }) => {
          const empty = "No attempt failed or wrote, or the recordings are off (--recordings).\n"
          return code === 0 && stdout === empty
        })
        yield* Scene.createApp(namespace)
        yield* Managed.eventually("that it was reconciled", run("why", "-n", namespace, "webapp/shop"), ({ stdout }) =>
          stdout.startsWith(`WebApp ${namespace}/shop was reconciled`)
        )
        const listed: { readonly recordings: ReadonlyArray<Line> } = JSON.parse(
          (yield* run("replay", "-o", "json")).stdout
        )
        const created = listed.recordings.at(-1)
        if (created === undefined) return yield* Effect.die(new Error("there is no recording"))
        expect(created).toMatchObject({
          controller: "webapp",
          kind: "WebApp",
          key: `${namespace}/shop`,
          outcome: "Done",
          writes: 3
        })
        expect((yield* run("replay")).stdout).toContain(
          `${created.trace}  ${created.startedAt}  webapp      WebApp ${namespace}/shop  3 writes  Done`.replace(
            "webapp      ",
            "webapp  "
          )
        )

        // `why` names the recording of each attempt that has one.
        const { answers }: Page = JSON.parse((yield* run("why", "-n", namespace, "webapp/shop", "-o", "json")).stdout)
        expect(answers.flatMap(({ runs }) => runs.map(({ recording }) => recording))).toContain(created.trace)
        expect((yield* run("why", "-n", namespace, "webapp/shop")).stdout).toContain(`replay ${created.trace}`)

        const replayed = yield* run("replay", created.trace)
        expect(replayed).toMatchObject({ code: 0, stderr: "" })
        expect(replayed.stdout).toContain(`\n  cache  Deployment ${namespace}/shop: not found\n`)
        expect(replayed.stdout).toMatch(/\nOutcome: Done\nSame as the recording: \d+ reads, 3 writes\.\n$/)

        const folder = yield* Directory.make
        const file = join(folder, "recording.json")
        expect(yield* run("replay", created.reconcileID, "--save", file)).toMatchObject({ code: 0, stdout: "" })
        expect((yield* Effect.promise(() => stat(file))).mode & 0o777).toBe(0o600)
        // The file becomes private, even if the old file was readable by others.
        yield* Effect.promise(() => chmod(file, 0o644))
        expect(yield* run("replay", created.reconcileID, "--save", file)).toMatchObject({ code: 0 })
        expect((yield* Effect.promise(() => stat(file))).mode & 0o777).toBe(0o600)
        const json = yield* run("replay", `--recording=${file}`, "-o", "json")
        const report: Report = JSON.parse(json.stdout)
        expect(report).toMatchObject({ kind: "Replay", same: true, writes: 3, recording: { trace: created.trace } })
        expect(report.recording.program).toStartWith("homeostat/")

        // The recording is changed as if the recorded build had written another image.
        const text = yield* Effect.promise(() => readFile(file, "utf8"))
        const document: Document = JSON.parse(text)
        expect(document.requests.filter(({ method }) => method === "PATCH")).toHaveLength(3)
        const [start = "", ...writes] = text.split('"requests": [')
        const changed = writes.join("").replace('"image": "registry.test/web:1"', '"image": "other:1"')
        yield* Effect.promise(() => writeFile(file, `${start}"requests": [${changed}`))
        const differs = yield* run("replay", "--recording", file)
        expect(differs.code).toBe(2)
        expect(differs.stdout).toContain(
          "      spec.template.spec.containers[app].image: other:1 -> registry.test/web:1\n"
        )

        const cases: ReadonlyArray<readonly [args: ReadonlyArray<string>, line: string]> = [
          [["shop"], 'invalid trace: "shop" (must be a trace ID or a reconcileID, of 32 hexadecimal digits)'],
          [
            ["0".repeat(32)],
            `unknown recording: "${"0".repeat(32)}" (list those that there are: replay without a trace)`
          ],
          [["--save", file], "--save and --break need a trace or --recording"],
          [["--break"], "--save and --break need a trace or --recording"],
          [[created.trace, "--recording", file], "a trace and --recording: only one is possible"],
          [["--recording", `${file}x`], `--recording: ${file}x does not exist`],
          [
            ["--recording", cluster.admin.kubeconfigPath],
            `--recording: ${cluster.admin.kubeconfigPath}: not a recording: it is not JSON`
          ]
        ]
        for (const [args, line] of cases) {
          const end = yield* run("replay", ...args)
          expect(end).toMatchObject({ code: 1, stdout: "" })
          expect(end.stderr).toContain(line)
        }
      })
  )

  Scene.replicated("reports with --recordings=0 that the recordings are off", (cluster, namespace) =>
    Effect.gen(function* () {
      const flags = [`--kubeconfig=${cluster.admin.kubeconfigPath}`, `--namespace=${namespace}`, "--recordings=0"]
      const manager = yield* Binary.start(["run", ...flags, "--log-format=json"], Binary.probed(cluster.directory))
      const line = yield* manager.written(/Serving probes on /)
      const address = `--probe-address=${/ on ([0-9.]+:\d+)/.exec(line)?.[1]}`
      const run = (...args: ReadonlyArray<string>) => Binary.run([...args, address], Binary.bare(cluster.directory))
      yield* Scene.createApp(namespace)
      yield* Managed.eventually("that it was reconciled", run("why", "-n", namespace, "webapp/shop"), ({ stdout }) =>
        stdout.startsWith(`WebApp ${namespace}/shop was reconciled`)
      )
      expect((yield* run("replay")).stdout).toStartWith("No attempt failed or wrote, or the recordings are off")
    })
  )
})
