/** A repository in a volume that several users write to. These users share only a group, the volume's fsGroup. */
import { expect } from "bun:test"
import { chmodSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Test from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Mover from "./Mover.ts"
import * as Restic from "./Restic.ts"

const group = (path: string): number => (statSync(path).mode >> 3) & 7

Test.live("A repository of one user can be used, pruned and checked by another user of its group", () =>
  Effect.gen(function* () {
    const made = yield* Mover.make()
    const volume = join(made.folder, "volume")
    const own = join(volume, "shop/nightly")
    yield* Effect.promise(() => Bun.write(join(volume, ".keep"), ""))
    // The kubelet gives a volume with an fsGroup this mode. Here, root owns the volume.
    chmodSync(volume, 0o2770)
    writeFileSync(join(made.volume("data"), "file"), "content")
    const run = (operations: string, user: string, more: Mover.Run = {}) =>
      made.run(operations, { user, RESTIC_REPOSITORY: own, FORGET_ARGS: "--keep-last 1", ...more })

    expect(yield* run("preflight backup", "daemon", { INIT: "1" })).toMatchObject({ exitCode: 0 })
    for (const path of [join(volume, "shop"), own, join(own, "data/00"), join(own, "locks")])
      expect(group(path)).toBe(7)
    expect(group(join(own, "config"))).toBeGreaterThanOrEqual(4)

    writeFileSync(join(made.volume("data"), "file"), "changed")
    expect(yield* run("preflight backup forget prune check", "nobody")).toMatchObject({
      exitCode: 0,
      result: { kept: 1, removed: 1, pruned: true, checked: true }
    })
    expect(yield* run("preflight backup", "daemon")).toMatchObject({ exitCode: 0 })
    expect(yield* Restic.locks({ ...made.env, RESTIC_REPOSITORY: own })).toEqual([])
  })
)

Test.live("A user without permission for the repository gets a message about it, and not DestinationUnreachable", () =>
  Effect.gen(function* () {
    const made = yield* Mover.make()
    writeFileSync(join(made.volume("data"), "file"), "content")
    yield* Restic.output(made.env, "init")
    for (const INIT of [undefined, "1"]) {
      const ended = yield* made.run("preflight backup", { user: "nobody", INIT })
      expect(ended).toMatchObject({ exitCode: 44, result: { reason: "ResticFailed", operation: "preflight" } })
      expect(ended.result.message).toMatch(
        /^user 65534 with the groups .* lacks a permission for the files of the repository: .*permission denied/
      )
    }
    // The message is the same if the user cannot create the repository.
    const closed = join(made.folder, "closed")
    yield* Effect.promise(() => Bun.write(join(closed, ".keep"), ""))
    chmodSync(closed, 0o700)
    const never = yield* made.run("preflight", { user: "nobody", INIT: "1", RESTIC_REPOSITORY: join(closed, "a/b") })
    expect(never).toMatchObject({ exitCode: 44, result: { message: expect.stringContaining("permission denied") } })
  })
)
