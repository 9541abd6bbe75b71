/** The output and the exit code of `bun run demo`, and the removal of its files. */
import { describe, expect } from "bun:test"
import { existsSync } from "node:fs"
import { mkdir, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { eventually } from "@homeostat/testkit/Eventually"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import { demo, places, story } from "./Demonstrated.ts"

/** The environment of a new user's machine, which has no restic, no Go and no program of a cluster. */
const bare = Effect.gen(function* () {
  const home = yield* Directory.make
  const bin = join(home, "bin")
  yield* Effect.promise(async () => {
    await mkdir(bin)
    for (const program of ["sh", "rm", "sleep"]) await symlink(Bun.which(program) ?? "", join(bin, program))
  })
  return { PATH: bin, HOME: join(home, "empty"), TMPDIR: process.env.TMPDIR }
})

/** The same machine with a fake Go that appends its arguments to the file `note`. */
const withGo = Effect.gen(function* () {
  const machine = yield* bare
  const [program, note] = [join(machine.PATH, "go"), join(machine.PATH, "called")]
  yield* Effect.promise(() => writeFile(program, `#!/bin/sh\necho "$@" >>'${note}'\nexit 1\n`, { mode: 0o755 }))
  return { machine, note }
})

const leavesOut = "The demo leaves out the story of a backup, as"

describe("The demo", () => {
  live(
    "prints the story of a WebApp as plain lines into a pipe, and ends; without restic it prints how to install it",
    () =>
      Effect.gen(function* () {
        const { machine, note } = yield* withGo
        const { exitCode, stderr, stdout } = yield* demo([], machine)
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
          /^ queue wait █+ +[\d.]+ ms$/,
          /^ dependent Deployment █+ [\d.]+ ms$/,
          /^ PATCH deployments\/{name} █+ [\d.]+ ms$/,
          /^ answered 200, changed it$/,
          /^ status █+ [\d.]+ ms$/,
          /^WebApp default\/demo-app /,
          /^Attempts .*ok/,
          /^The demo leaves out the story of a backup, as this machine has no restic: install .* RESTIC_BIN; .*--backup builds it once$/,
          /^ export KUBECONFIG=\//
        ])
        expect(order).not.toContain(-1)
        expect(order).toEqual([...order].sort((one, other) => one - other))
        expect(stdout).toMatch(/event +Normal ChildrenCreated: Created Deployment demo-app, Service demo-app/)

        // The compiler takes minutes, so the demo builds restic only with --backup.
        expect(existsSync(note)).toBe(false)

        const [, kubeconfig = ""] = /KUBECONFIG=(.*)/.exec(stdout) ?? []
        yield* eventually(
          "its files are gone",
          Effect.sync(() => existsSync(kubeconfig)),
          (is) => !is
        )
        const [, probes = ""] = /curl (http:.*readyz)/.exec(stdout) ?? []
        const answer = yield* Effect.result(Effect.tryPromise(() => fetch(probes)))
        expect(answer._tag).toBe("Failure")
      }),
    120_000
  )

  live("rejects an unknown option", () =>
    Effect.gen(function* () {
      const { exitCode, stderr } = yield* demo(["--fast"])
      expect({ exitCode, stderr }).toEqual({
        exitCode: 2,
        stderr: "demo: unknown option: --fast (accepted: --backup, --keep, --plain)\n"
      })
    })
  )

  live("fails at once with --backup if neither restic nor Go is installed", () =>
    Effect.gen(function* () {
      const { exitCode, stderr, stdout } = yield* demo(["--backup"], yield* bare)
      expect(exitCode).toBe(1)
      expect(stderr).toStartWith("demo: this machine has no restic: install restic ")
      expect(stderr.trimEnd()).not.toContain("\n")
      expect(stdout).not.toContain("apply -f")
    })
  )

  live(
    "reports a restic that the mover cannot use, and continues",
    () =>
      Effect.gen(function* () {
        const { exitCode, stderr, stdout } = yield* demo([], { ...(yield* bare), RESTIC_BIN: "/nowhere/restic" })
        expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" })
        expect(story(stdout)).toContainEqual(
          expect.stringContaining(`${leavesOut} RESTIC_BIN names /nowhere/restic, which the mover cannot use: install `)
        )
      }),
    120_000
  )
})
