/** `bun run demo` on a machine with restic: a backup, a lost file and its restore. */
import { describe, expect } from "bun:test"
import * as Assets from "@homeostat/testkit/envtest/Assets"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import { demo, places } from "./Demonstrated.ts"

describe("The demo", () => {
  live(
    "saves a volume, loses a file of it and restores every byte, with the real restic",
    () =>
      Effect.gen(function* () {
        const restic = yield* Assets.find("restic")
        const env = { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: process.env.TMPDIR, RESTIC_BIN: restic }
        const { exitCode, stderr, stdout } = yield* demo([], env)
        expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" })
        const order = places(stdout, [
          /^manager everything runs again after \d+ ms$/,
          /^WebApp default\/demo-app /,
          /^you put holiday\.jpg into volume photos: 300000 bytes, SHA-256 [0-9a-f]{16}…$/,
          /^you apply -f deploy\/samples\/backup-to-volume\.yaml$/,
          /^manager volume photos is saved after \d+ ms$/,
          /^you delete holiday\.jpg, by mistake$/,
          /^you apply -f deploy\/samples\/restore\.yaml$/,
          /^manager holiday\.jpg is back after \d+ ms$/,
          /^you look: SHA-256 [0-9a-f]{16}…, every byte as it was$/
        ])
        expect(order).not.toContain(-1)
        expect(order).toEqual([...order].sort((one, other) => one - other))
        // The watch that prints a status may be later than the manager's line about it.
        const [saving, saved, restoring, restored] = places(stdout, [
          /^you apply -f deploy\/samples\/backup-to-volume\.yaml$/,
          /^backup photos is Completed: 1 volume saved$/,
          /^you apply -f deploy\/samples\/restore\.yaml$/,
          /^restore holiday-is-back is Complete: 1 file/
        ])
        expect(saved).toBeGreaterThan(saving ?? Number.NaN)
        expect(restored).toBeGreaterThan(restoring ?? Number.NaN)
        const [before, after] = Array.from(stdout.matchAll(/SHA-256 ([0-9a-f]{16})/g), ([, hash]) => hash)
        expect(after).toBe(before ?? "")
        expect(stdout).not.toContain("replace-me-and-keep-a-copy")
      }),
    240_000
  )
})
