/** `bun run demo`: what it tells, how it ends, and that nothing of it is left. */
import { describe, expect } from "bun:test"
import { existsSync } from "node:fs"
import { mkdir, symlink } from "node:fs/promises"
import { join } from "node:path"
import { eventually } from "@homeostat/testkit/Eventually"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import { demo, places, story } from "./Demonstrated.ts"

/**
 * A machine with nothing on it but what every one has, and a user who has just come: neither restic nor Go, no cluster's programs.
 */
const bare = Effect.gen(function* () {
  const home = yield* Directory.make
  const bin = join(home, "bin")
  yield* Effect.promise(async () => {
    await mkdir(bin)
    for (const program of ["sh", "rm", "sleep"]) await symlink(Bun.which(program) ?? "", join(bin, program))
  })
  return { PATH: bin, HOME: join(home, "empty"), TMPDIR: process.env.TMPDIR }
})

describe("The demo", () => {
  live(
    "tells of a WebApp, of what breaks and of its repair, in plain lines into a pipe, and ends by itself; without restic it says how to get it",
    () =>
      Effect.gen(function* () {
        const { exitCode, stderr, stdout } = yield* demo([], yield* bare)
        expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" })
        expect(stdout).not.toContain("\x1b")
        const order = places(stdout, [
          /^cluster a Kubernetes API server, .* on http:\/\/127\.0\.0\.1:\d+$/,
          /^manager runs webapp, backup, restore(, .+)?, as the leader$/,
          /^you apply -f deploy\/samples\/webapp\.yaml$/,
          /^webapp demo-app is Running, 3 of 3 ready$/,
          /^you delete deployment demo-app$/,
          /^manager the Deployment is back after \d+ ms$/,
          /^you scale deployment demo-app --replicas=1$/,
          /^manager there are to be 3 again after \d+ ms$/,
          /^webapp demo-app says: .*(Back-off pulling image "nginx:1\.72".*|nginx:1\.72: not found)$/,
          /^manager everything runs again after \d+ ms$/,
          /^trace [0-9a-f]{32}$/,
          /^because of watch\.modified WebApp default\/demo-app(, watch\.modified .*)?$/,
          /^reconcile webapp █+ [\d.]+ ms$/,
          /^ queue wait █ +[\d.]+ ms$/,
          /^ dependent Deployment █+ [\d.]+ ms$/,
          /^ PATCH deployments\/{name} █+ [\d.]+ ms$/,
          /^ answered 200, changed it$/,
          /^ status █+ [\d.]+ ms$/,
          /^cluster this part is left out: there is no restic here: install restic .*, or name it by RESTIC_BIN, or have Go .*$/,
          /^WebApp default\/demo-app /,
          /^Attempts .*ok/,
          /^ export KUBECONFIG=\//
        ])
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
      const { exitCode, stderr } = yield* demo(["--fast"])
      expect({ exitCode, stderr }).toEqual({
        exitCode: 2,
        stderr: "demo: --fast is no option; there are --keep and --plain\n"
      })
    })
  )

  live(
    "that is given a restic which the mover can't use says so, and goes on",
    () =>
      Effect.gen(function* () {
        const { exitCode, stderr, stdout } = yield* demo([], { ...(yield* bare), RESTIC_BIN: "/nowhere/restic" })
        expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" })
        expect(story(stdout)).toContainEqual(
          expect.stringMatching(
            /^cluster this part is left out: RESTIC_BIN names \/nowhere\/restic, which is no restic that/
          )
        )
      }),
    120_000
  )
})
