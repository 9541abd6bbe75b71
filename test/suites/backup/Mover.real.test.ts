/** Runs the mover with restic for each kind of destination: the restored volumes equal the saved ones. */
import { describe, expect } from "bun:test"
import { chmodSync, mkdirSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Test from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Mover from "./Mover.ts"
import * as QuickKey from "./QuickKey.ts"
import * as Restic from "./Restic.ts"
import * as RestServer from "./RestServer.ts"
import * as S3Server from "./S3Server.ts"
import * as Tree from "./Tree.ts"

/** A repository's location and, if the repository is a local folder, that folder. */
interface Place {
  readonly env: Restic.Environment
  readonly folder?: string
}

const places = {
  "a folder": Effect.succeed<Place>({ env: {} }),
  "a REST server": Effect.map(
    RestServer.start({ privateRepos: true }),
    (server): Place => ({ env: server.environment("joe/nightly"), folder: join(server.folder, "joe/nightly") })
  ),
  "an S3 service": Effect.map(
    S3Server.start,
    (server): Place => ({ env: server.environment("shop-backups", "shop/nightly") })
  )
}

describe("A volume that is saved, changed, saved again, pruned and checked is restored unchanged", () => {
  for (const [name, place] of Object.entries(places)) {
    Test.live(`from ${name}${name === "a REST server" ? ", with a file of 300 MB" : ""}`, () =>
      Effect.gen(function* () {
        const { env, folder } = yield* place
        const mover = yield* Mover.make(env)
        const data = mover.volume("data")
        const other = mover.volume("other")
        mkdirSync(join(mover.volume("void"), "lost+found"))
        Tree.write(data)
        mkdirSync(join(data, "lost+found"))
        writeFileSync(join(data, "lost+found/of fsck"), "")
        writeFileSync(join(other, "one"), "of the other volume")
        const large = name === "a REST server" ? 300 : 0
        if (large > 0) Tree.writeNoise(join(other, "large"), large, "large")

        const first = yield* mover.run("preflight backup", { INIT: "1" })
        expect(first.message).toContain('"Succeeded"')
        expect(first.exitCode).toBe(0)
        const { repository, snapshots } = first.result
        expect(repository).toMatch(/^[0-9a-f]{64}$/)
        expect(snapshots.map(({ pvc }) => pvc)).toEqual(["data", "other", "void"])
        expect(snapshots.map(({ id }) => id?.length)).toEqual([64, 64, undefined])
        expect(snapshots[0]?.bytes).toBeGreaterThan(Tree.sparseSize)
        expect(snapshots[1]?.bytes).toBe(19 + (large << 20))
        expect(first.result).toMatchObject({ message: "", complete: true, pruned: false, checked: false })
        expect(first.result.removed).toBeUndefined()

        if (name !== "an S3 service") yield* QuickKey.write(folder ?? join(mover.folder, "repository"), mover.env)
        const before = Tree.read(data)
        writeFileSync(join(data, "plain"), "changed\n")
        writeFileSync(join(data, "new"), Tree.noise(500_000, "new"))
        unlinkSync(join(data, "for nobody else"))
        unlinkSync(join(data, "link"))
        symlinkSync("new", join(data, "link"))
        chmodSync(join(data, "runs.sh"), 0o700)
        const after = Tree.read(data)

        const second = yield* mover.run("preflight backup forget prune check", { FORGET_ARGS: "--keep-last 1" })
        expect(second.message).toContain('"Succeeded"')
        expect(second.exitCode).toBe(0)
        expect(second.result).toMatchObject({
          repository,
          // One snapshot of each volume.
          kept: 2,
          removed: 2,
          pruned: true,
          checked: true
        })
        // restic does not upload unchanged data again.
        const added = second.result.snapshots[0]?.added ?? 0
        expect(added).toBeGreaterThan(500_000)
        expect(added).toBeLessThan(1_000_000)
        expect(second.result.snapshots[1]?.added).toBe(0)

        rmSync(data, { recursive: true })
        mkdirSync(join(mover.volume("fresh"), "lost+found"), { recursive: true })
        const restored = yield* mover.run("preflight restore", {
          RESTORE_VOLUME: "data",
          RESTORE_TARGET: mover.volume("fresh"),
          SNAPSHOT: "latest"
        })
        expect(restored.message).toContain('"Succeeded"')
        expect(restored.result.restored).toMatchObject({ snapshot: second.result.snapshots[0]?.id })
        const fresh = Tree.read(mover.volume("fresh"))
        expect(fresh).toEqual(after)
        expect(fresh).not.toEqual(before)
        expect(fresh.sparse?.sparse).toBe(true)
        expect(fresh.noise?.same).toBe("deep/noise again")

        if (large > 0) {
          const target = mover.volume("large")
          yield* mover.run("preflight restore", { RESTORE_VOLUME: "other", RESTORE_TARGET: target })
          expect(Tree.read(target)).toEqual(Tree.read(other))
        }

        // The snapshot contains neither the file system's own `lost+found` nor the mount path.
        const listed = yield* Restic.output(mover.env, "ls", "latest", "--host", "shop/data")
        expect(listed).toMatch(/\n\/plain\n/)
        expect(listed).not.toContain("lost+found")
        for (const text of [first, second, restored].flatMap(({ message, stderr, stdout }) => [
          message,
          stderr,
          stdout
        ])) {
          expect(text).not.toContain(Mover.password)
          if (env.RESTIC_REST_PASSWORD !== undefined) expect(text).not.toContain(env.RESTIC_REST_PASSWORD)
        }
      })
    )
  }
})
