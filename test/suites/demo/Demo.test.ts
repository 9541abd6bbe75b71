/** `bun run demo`: what it tells, how it ends, and that nothing of it is left. */
import { describe, expect } from "bun:test"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { eventually } from "@homeostat/testkit/Eventually"
import * as Process from "@homeostat/testkit/envtest/Process"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"

const demo = (...args: ReadonlyArray<string>) =>
  Process.run(process.execPath, [join(import.meta.dir, "../../demo.ts"), ...args])

/** The lines without what differs from run to run. */
const story = (output: string): ReadonlyArray<string> =>
  output.split("\n").map((line) => line.replace(/^ *[\d.]+s +/, "").replace(/ +/g, " "))

describe("The demo", () => {
  live(
    "tells of a WebApp, of what breaks and of its repair, in plain lines into a pipe, and ends by itself",
    () =>
      Effect.gen(function* () {
        const { exitCode, stderr, stdout } = yield* demo()
        expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" })
        expect(stdout).not.toContain("\x1b")
        const lines = story(stdout)
        const told = (pattern: RegExp): number => lines.findIndex((line) => pattern.test(line))
        const order = [
          /^cluster a Kubernetes API server, .* on http:\/\/127\.0\.0\.1:\d+$/,
          /^manager runs webapp, as the leader$/,
          /^you apply -f deploy\/samples\/webapp\.yaml$/,
          /^webapp demo-app is Running, 3 of 3 ready$/,
          /^you delete deployment demo-app$/,
          /^manager the Deployment is back after \d+ ms$/,
          /^you scale deployment demo-app --replicas=1$/,
          /^manager there are to be 3 again after \d+ ms$/,
          /^webapp demo-app says: .*Back-off pulling image "nginx:1\.72"$/,
          /^manager everything runs again after \d+ ms$/,
          /^trace [0-9a-f]{32}$/,
          /^because of watch\.modified WebApp default\/demo-app$/,
          /^reconcile webapp █+ [\d.]+ ms$/,
          /^ queue wait █ +[\d.]+ ms$/,
          /^ dependent Deployment █+ [\d.]+ ms$/,
          /^ PATCH deployments\/{name} █+ [\d.]+ ms$/,
          /^ answered 200, changed it$/,
          /^ status █+ [\d.]+ ms$/,
          /^WebApp default\/demo-app /,
          /^Attempts .*ok/,
          /^ export KUBECONFIG=\//
        ].map(told)
        expect(order).not.toContain(-1)
        expect(order).toEqual([...order].sort((one, other) => one - other))
        expect(stdout).toMatch(/event +Normal DeploymentCreated: Created Deployment demo-app/)

        const [, kubeconfig = ""] = /KUBECONFIG=(.*)/.exec(stdout) ?? []
        yield* eventually(
          "its files are gone",
          Effect.sync(() => existsSync(kubeconfig)),
          (is) => !is
        )
        const [, probes = ""] = /curl (http:.*readyz)/.exec(stdout) ?? []
        const answer = yield* Effect.either(Effect.tryPromise(() => fetch(probes)))
        expect(answer._tag).toBe("Left")
      }),
    120_000
  )

  live("refuses an option that it does not have", () =>
    Effect.gen(function* () {
      const { exitCode, stderr } = yield* demo("--fast")
      expect({ exitCode, stderr }).toEqual({
        exitCode: 2,
        stderr: "demo: --fast is no option; there are --keep and --plain\n"
      })
    })
  )
})
