/** Restores: the snapshot that they choose, the files that they write, and the files that they keep. */
import { expect } from "bun:test"
import { readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Restore } from "@homeostat/backup/kinds/Restore"
import { Settings } from "@homeostat/backup/Settings"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Condition from "@homeostat/runtime/resource/Condition"
import * as Time from "@homeostat/runtime/resource/Time"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Backups from "./Backups.ts"
import * as Prepared from "./Prepared.ts"
import * as Scene from "./Scene.ts"
import * as Shim from "./Shim.ts"
import * as Tree from "./Tree.ts"

const quickly = Effect.provideService(Settings, Backups.quick)

/** Reads a Restore. */
const get = (scene: Scene.Scene, name: string) => Client.get(Restore, scene.key(name))

const pendingFor = (scene: Scene.Scene, name: string, reason: string) =>
  Managed.eventually(
    `it waits: ${reason}`,
    get(scene, name),
    ({ status }) => status?.phase === "Pending" && Condition.find(status.conditions, "Ready")?.reason === reason
  )

Backups.real("A Restore restores the latest snapshot, one by id, or one by time, completely or in part", (scene) =>
  Effect.gen(function* () {
    const { app, repository } = yield* Prepared.shop(scene, { a: "old", "docs/b": "b" })
    const labels = ["--host", `${scene.namespace}/app`, "--tag", `${scene.namespace}/shop`]
    // Saves from the volume's root, as the mover does.
    const inside = (time: string) => scene.restic(repository, "backup", ...labels, "--time", time, `${app}/.`)
    expect(yield* inside("2026-01-05 12:00:00")).toMatchObject({ exitCode: 0 })
    yield* scene.manage()
    // A Restore whose Backup does not exist waits.
    const future = Time.seconds(Date.parse("2100-01-01T00:00:00Z"))
    yield* Backups.restoring(scene, "early", { targetPVC: "first", asOf: future })
    const early = yield* pendingFor(scene, "early", "BackupNotFound")
    expect(early.status?.message).toContain("Backup not found in namespace")
    const first = yield* Scene.claim(scene, "first")
    writeFileSync(join(app, "a"), "new")
    yield* Backups.create(scene, "shop")
    const saved = (yield* Backups.completed(scene, "shop")).status?.lastRun?.snapshots?.[0]?.id ?? ""
    expect((yield* Backups.restored(scene, "early")).status).toMatchObject({
      phase: "Complete",
      restored: { snapshot: saved }
    })
    expect(Prepared.files(first)).toEqual(Prepared.files(app))

    // A Restore does not overwrite files unless its spec allows that.
    writeFileSync(join(first, "a"), "mine")
    writeFileSync(join(first, "own"), "mine")
    yield* Backups.restoring(scene, "over", { targetPVC: "first", backoffLimit: 6 })
    const refused = yield* Backups.restored(scene, "over")
    expect(refused.status).toMatchObject({ phase: "Failed" })
    expect(refused.status?.message).toContain("The target volume is not empty. Nothing was written")
    expect(Condition.find(refused.status?.conditions, "Stalled")).toMatchObject({
      status: "True",
      reason: "TargetNotEmpty"
    })
    expect(yield* Scene.podsOf(scene, refused.status?.job ?? "")).toHaveLength(1)
    expect(yield* Effect.promise(() => Bun.file(join(first, "a")).text())).toBe("mine")

    yield* Backups.restoring(scene, "really", {
      targetPVC: "first",
      overwrite: true,
      snapshot: saved.slice(0, 8),
      paths: ["/a"]
    })
    expect((yield* Backups.restored(scene, "really")).status).toMatchObject({
      phase: "Complete",
      restored: { snapshot: saved }
    })
    expect(yield* Effect.promise(() => Bun.file(join(first, "a")).text())).toBe("new")
    expect(yield* Effect.promise(() => Bun.file(join(first, "own")).text())).toBe("mine")

    // Restores by time, and only some paths.
    const [old] = yield* Scene.snapshots(scene, repository)
    const second = yield* Scene.claim(scene, "second")
    const asOf = Time.seconds(Date.parse("2026-02-01T00:00:00Z"))
    yield* Backups.restoring(scene, "then", { targetPVC: "second", volume: "app", asOf })
    expect((yield* Backups.restored(scene, "then")).status).toMatchObject({
      phase: "Complete",
      restored: { snapshot: old?.id }
    })
    expect(Object.values(Prepared.files(second))).toContain(Buffer.from("old").toString("base64"))

    // A Restore of an unknown snapshot writes nothing and runs once.
    yield* Scene.claim(scene, "third")
    yield* Backups.restoring(scene, "unknown", { targetPVC: "third", snapshot: "0123456789abcdef", backoffLimit: 6 })
    const unknown = yield* Backups.restored(scene, "unknown")
    expect(Condition.find(unknown.status?.conditions, "Ready")).toMatchObject({
      status: "False",
      reason: "SnapshotNotFound"
    })
    expect(unknown.status?.message).toContain("there is no snapshot 0123456789abcdef")
    expect(yield* Scene.podsOf(scene, unknown.status?.job ?? "")).toHaveLength(1)
    expect(readdirSync(scene.folder("third"))).toEqual([])

    // The API server rejects changes of a finished Restore.
    const changed = yield* Effect.result(
      Client.patch(Restore, scene.key("then"), Patch.merge({ spec: { overwrite: true } }))
    )
    // The client maps the API server's status 422 to this error.
    expect(changed).toMatchObject({ _tag: "Failure", failure: { _tag: "Invalid" } })
  }).pipe(quickly)
)

Backups.real(
  "A Restore works during a run, and restores the previous snapshot",
  (scene) =>
    Effect.gen(function* () {
      const { app, repository } = yield* Prepared.shop(scene)
      yield* scene.manage()
      yield* Backups.create(scene, "shop")
      yield* Backups.completed(scene, "shop")
      const before = Prepared.files(app)
      Tree.writeNoise(join(app, "large"), 12, "large")
      writeFileSync(join(scene.directory, "slow"), "")
      yield* Backups.annotate(scene, "shop", "run", "T")
      yield* Managed.eventually(
        "it saves",
        Effect.sync(() => Prepared.locked(repository)),
        (count) => count > 0
      )
      const fresh = yield* Scene.claim(scene, "fresh")
      yield* Backups.restoring(scene, "back")
      expect((yield* Backups.restored(scene, "back")).status?.phase).toBe("Complete")
      expect((yield* Backups.get(scene, "shop")).status?.phase).toBe("Running")
      expect(Prepared.files(fresh)).toEqual(before)
    }).pipe(quickly),
  { mover: Shim.slow }
)
