/**
 * Release 0.1.0 and this version take over from each other, forward, back and forward again, over the same Backups, Restores and WebApps. No
 * snapshot is lost, none is counted that does not exist, and no run is made or reported twice. A Deployment rolls out only when the version or
 * the user changes its pods.
 */
import { describe, expect } from "bun:test"
import { mkdtempSync, writeFileSync } from "node:fs"
import { rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Backup } from "@homeostat/backup/kinds/Backup"
import * as Names from "@homeostat/backup/kinds/Names"
import { Restore } from "@homeostat/backup/kinds/Restore"
import { Settings } from "@homeostat/backup/Settings"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Deployment, Event, Job, Node } from "@homeostat/runtime/resource/BuiltIn"
import * as AtEnd from "@homeostat/testkit/envtest/AtEnd"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect, type Scope } from "effect"
import * as Backups from "../backup/Backups.ts"
import * as Prepared from "../backup/Prepared.ts"
import * as Restic from "../backup/Restic.ts"
import * as Scene from "../backup/Scene.ts"
import * as Shim from "../backup/Shim.ts"
import * as Managed from "../Managed.ts"
import * as WebAppScene from "../webapp/Scene.ts"
import * as ReleasedProgram from "./ReleasedProgram.ts"

const restic = await Effect.runPromise(Restic.find)
const released = await Effect.runPromise(ReleasedProgram.folder)

/** A file for each namespace names the command of restic that waits. */
const gates = mkdtempSync(join(tmpdir(), "homeostat-gates-"))
AtEnd.add(() => rm(gates, { recursive: true, force: true }))
const gated = Shim.before(
  `for each in backup forget restore; do case " $* " in *" $each "*) while grep -qsx "$each" "${gates}/$BACKUP_HOST"; do sleep 0.1; done ;; esac; done`
)
const gate = ({ namespace }: Scene.Scene, command: "" | "backup" | "forget" | "restore") =>
  Effect.sync(() => writeFileSync(join(gates, namespace), command))

const currentMover = `${Scene.image}:current`

const versions = {
  /** Release 0.1.0 with its mover. */
  released: (scene: Scene.Scene): Effect.Effect<unknown, never, Scope.Scope> => ReleasedProgram.start(scene),
  /** This version with its mover. */
  current: (scene: Scene.Scene): Effect.Effect<unknown, never, Scope.Scope> =>
    Effect.andThen(
      Effect.provideService(scene.manage(), Settings, { ...Backups.quick, moverImage: currentMover }),
      WebAppScene.of(scene.cluster, scene.namespace).manage()
    ),
  /** Release 0.1.0 with the mover of this version. */
  mixed: (scene: Scene.Scene): Effect.Effect<unknown, never, Scope.Scope> => ReleasedProgram.start(scene, currentMover)
}
type Version = keyof typeof versions

/** Lets a version manage the scene, until the body ends. */
const under = <A, E, R>(scene: Scene.Scene, version: Version, body: Effect.Effect<A, E, R>) =>
  Effect.scoped(Effect.andThen(versions[version](scene), body))

const declare = (
  name: string,
  body: (scene: Scene.Scene) => Effect.Effect<unknown, unknown, Scope.Scope | Client.Client>
): void =>
  Backups.real(name, (scene) => Effect.andThen(WebAppScene.install(scene.cluster), body(scene)), {
    mover: gated,
    node: { images: { [ReleasedProgram.image]: gated(ReleasedProgram.mover(released)(restic), gates) } },
    timeoutMillis: 120_000
  })

/** Changes a harmless field, and waits until the manager has reconciled it. */
const reconciled = (scene: Scene.Scene) =>
  Effect.gen(function* () {
    const { spec } = yield* Backups.get(scene, "shop")
    const successfulRunsHistoryLimit = spec.successfulRunsHistoryLimit + 1
    const { metadata } = yield* Client.patch(
      Backup,
      scene.key("shop"),
      Patch.merge({ spec: { successfulRunsHistoryLimit } })
    )
    return yield* Backups.until(
      scene,
      "shop",
      "it is reconciled",
      ({ observedGeneration = 0 }) => observedGeneration >= (metadata.generation ?? 0)
    )
  })

/** The Jobs that save volumes, and how often each Event of the Backup about a run was recorded. */
const runs = (scene: Scene.Scene) =>
  Effect.gen(function* () {
    const jobs = (yield* Client.list(Job, { namespace: scene.namespace })).items.filter(
      ({ spec }) => spec?.template.spec?.containers[0]?.args?.includes("backup") === true
    )
    const { items } = yield* Client.list(Event, { namespace: scene.namespace })
    const count = (reason: string) =>
      items
        .filter((event) => event.regarding?.name === "shop" && event.reason === reason)
        .reduce((sum, { series }) => sum + (series?.count ?? 1), 0)
    return { jobs: jobs.length, started: count("BackupStarted"), completed: count("BackupCompleted") }
  })

/** Waits until each of these runs is reported, and no other. */
const reportedOnce = (scene: Scene.Scene, count: number) =>
  Managed.eventually(`${count} runs are reported`, runs(scene), (found) =>
    Bun.deepEquals(found, { jobs: count, started: count, completed: count })
  )

const create = (scene: Scene.Scene, spec: Backups.Spec = {}) =>
  Backups.create(scene, "shop", { schedule: "0 5 1 1 *", retention: { keepLast: 2 }, ...spec })

/** A Backup in a repository with three snapshots that are older than the Backup, which holds their deletion. */
const heldShop = (scene: Scene.Scene) =>
  Effect.gen(function* () {
    const shop = yield* Prepared.shop(scene)
    const labels = ["--host", `${scene.namespace}/app`, "--tag", `${scene.namespace}/shop`]
    for (const day of ["01", "02", "03"]) {
      const { exitCode } = yield* scene.restic(
        shop.repository,
        "backup",
        ...labels,
        "--time",
        `2026-01-${day} 12:00:00`,
        shop.app
      )
      expect(exitCode).toBe(0)
    }
    yield* create(scene, { retention: { keepLast: 1 }, backoffLimit: 0 })
    return shop
  })

/** Waits until the Backup holds a deletion. */
const held = (scene: Scene.Scene) =>
  Backups.completed(scene, "shop").pipe(
    Effect.andThen(Backups.until(scene, "shop", "it is held", ({ retentionHold }) => retentionHold !== undefined))
  )

const workingOn = (scene: Scene.Scene, operation: string) =>
  Managed.eventually(`a mover runs ${operation}`, Scene.jobs(scene), (jobs) =>
    jobs.some(
      ({ spec, status }) =>
        (status?.active ?? 0) > 0 && spec?.template.spec?.containers[0]?.args?.includes(operation) === true
    )
  )

describe("Release 0.1.0 and this version", () => {
  declare("count no maintenance as a run, and report no run twice", (scene) =>
    Effect.gen(function* () {
      const { repository } = yield* Prepared.shop(scene)
      const snapshots = Effect.map(Scene.snapshots(scene, repository), (all) => all.map(({ id }) => id))
      yield* create(scene)
      yield* under(scene, "released", Backups.completed(scene, "shop"))
      const second = yield* under(
        scene,
        "current",
        Effect.gen(function* () {
          yield* Backups.run(scene, "shop", "second")
          yield* Backups.maintained(scene, "shop")
          // A maintenance is at work at the roll-back.
          yield* gate(scene, "forget")
          yield* Backups.annotate(scene, "shop", "apply-retention", "now")
          yield* workingOn(scene, "forget")
          return yield* Backups.get(scene, "shop")
        })
      )
      yield* under(
        scene,
        "released",
        Effect.gen(function* () {
          const back = yield* reconciled(scene)
          expect(back.status).toMatchObject({
            lastBackupTime: second.status?.lastBackupTime ?? "",
            lastRun: { job: second.status?.lastRun?.job ?? "" }
          })
          // It waits for the maintenance, and the maintenance is not its run.
          yield* Backups.annotate(scene, "shop", "run", "third")
          yield* Backups.until(scene, "shop", "the run waits", ({ message = "" }) =>
            message.includes("waits for its turn")
          )
          yield* gate(scene, "")
          yield* Backups.until(scene, "shop", "it has run", ({ lastManualTrigger }) => lastManualTrigger === "third")
          yield* reportedOnce(scene, 3)
        })
      )
      yield* under(
        scene,
        "current",
        Effect.gen(function* () {
          yield* reconciled(scene)
          const forward = yield* Backups.until(
            scene,
            "shop",
            "the retention of the third run is applied",
            ({ lastRetentionRun, lastRun, maintenance }) =>
              lastRetentionRun === lastRun?.job && maintenance?.active === undefined
          )
          expect(forward.status?.lastRun?.job).not.toBe(second.status?.lastRun?.job)
          expect(forward.status?.lastRun?.uid).toBeUndefined()
          expect(forward.status?.lastRun?.tag).toBeUndefined()
          yield* reportedOnce(scene, 3)
          yield* Backups.run(scene, "shop", "fourth")
          const last = yield* Backups.maintained(scene, "shop")
          yield* reportedOnce(scene, 4)
          const kept = yield* snapshots
          expect(kept).toContain(last.status?.lastRun?.snapshots?.[0]?.id ?? "missing")
          expect([last.status?.snapshots, kept.length]).toEqual([2, 2])
        })
      )
    })
  )

  for (const [from, to] of [
    ["released", "current"],
    ["current", "released"]
  ] as const) {
    declare(`finish a run and a Restore once that began under the other: ${from} to ${to}`, (scene) =>
      Effect.gen(function* () {
        const { app } = yield* Prepared.shop(scene)
        const fresh = yield* Scene.claim(scene, "fresh")
        yield* gate(scene, "backup")
        yield* create(scene)
        yield* under(scene, from, workingOn(scene, "backup"))
        yield* under(
          scene,
          to,
          Effect.gen(function* () {
            yield* reconciled(scene)
            yield* gate(scene, "")
            yield* Backups.completed(scene, "shop")
            yield* reportedOnce(scene, 1)
          })
        )
        yield* gate(scene, "restore")
        yield* under(scene, from, Effect.andThen(Backups.restoring(scene, "again"), workingOn(scene, "restore")))
        yield* under(
          scene,
          to,
          Effect.gen(function* () {
            yield* reconciled(scene)
            yield* gate(scene, "")
            const { status } = yield* Backups.restored(scene, "again")
            expect(status).toMatchObject({ phase: "Complete", restored: { files: 1 } })
            expect(Prepared.files(fresh)).toEqual(Prepared.files(app))
            const jobs = yield* Scene.jobs(scene)
            const of = (trigger: string) =>
              jobs.filter(({ metadata }) => metadata.labels?.[Names.triggerLabel] === trigger).length
            expect([of("start"), of("restore")]).toEqual([1, 1])
            yield* reportedOnce(scene, 1)
          })
        )
      })
    )
  }

  declare("delete no snapshot that this version holds", (scene) =>
    Effect.gen(function* () {
      const { repository } = yield* heldShop(scene)
      const snapshots = Effect.map(Scene.snapshots(scene, repository), (all) => all.map(({ id }) => id))
      const suspend = (value: boolean) =>
        Client.patch(Backup, scene.key("shop"), Patch.merge({ spec: { suspend: value } }))
      const before = yield* under(scene, "current", Effect.andThen(held(scene), snapshots))
      expect(before).toHaveLength(4)
      // The first step of a roll-back in docs/operations.md.
      yield* suspend(true)
      yield* under(scene, "released", reconciled(scene))
      expect(yield* snapshots).toEqual(before)
      yield* under(
        scene,
        "mixed",
        Effect.gen(function* () {
          yield* suspend(false)
          yield* Backups.run(scene, "shop", "second")
        })
      )
      const after = yield* snapshots
      expect(after).toHaveLength(5)
      expect(after.slice(0, 4)).toEqual(before)
      yield* under(
        scene,
        "current",
        Effect.gen(function* () {
          yield* reconciled(scene)
          yield* Backups.maintained(scene, "shop")
          const { status } = yield* held(scene)
          expect(status?.retentionHold).toMatchObject({ reason: "ExistingSnapshots", keep: 2, remove: 3 })
          expect(yield* snapshots).toEqual(after)
          yield* reportedOnce(scene, 2)
          yield* Backups.annotate(scene, "shop", "apply-retention", "now")
          const allowed = yield* Backups.until(scene, "shop", "it is not held", (status) => !status.retentionHold)
          expect([allowed.status?.snapshots, yield* snapshots]).toEqual([2, after.slice(3)])
        })
      )
    })
  )

  declare("roll a WebApp out only when the user or the version changes its pods", (scene) =>
    Effect.gen(function* () {
      const key = scene.key("web")
      const cordon = (unschedulable: boolean) =>
        Client.patch(Node, { name: scene.namespace }, Patch.merge({ spec: { unschedulable } }))
      const setImage = (version: number) =>
        Client.patch(WebApp, key, Patch.merge({ spec: { image: `registry.test/web:${version}` } }))
      const deployment = Client.get(Deployment, key)
      const revisionOf = ({ metadata }: Deployment) =>
        Number(metadata.annotations?.["deployment.kubernetes.io/revision"] ?? 0)
      /** Waits until the Deployment has rolled out, or has begun to, for the time with this number. */
      const rolled = (revision: number, isOver: boolean) =>
        Managed.eventually(
          `rollout ${revision} ${isOver ? "is over" : "is at work"}`,
          deployment,
          (found) =>
            revisionOf(found) === revision &&
            found.status?.observedGeneration === found.metadata.generation &&
            // The old pods stay, because no node takes a new one.
            found.status?.availableReplicas === 2 &&
            (found.status.updatedReplicas === 2 && found.status.replicas === 2) === isOver
        )
      const finished = (revision: number) =>
        cordon(false).pipe(Effect.andThen(rolled(revision, true)), Effect.andThen(WebAppScene.running(scene, "web")))

      yield* WebAppScene.create(WebAppScene.of(scene.cluster, scene.namespace), "web", {
        image: "registry.test/web:1",
        replicas: 2
      })
      yield* under(
        scene,
        "released",
        Effect.gen(function* () {
          yield* finished(1)
          yield* cordon(true)
          yield* setImage(2)
          yield* rolled(2, false)
        })
      )
      yield* under(
        scene,
        "current",
        Effect.gen(function* () {
          yield* rolled(3, false)
          yield* finished(3)
          yield* cordon(true)
          yield* setImage(3)
          yield* rolled(4, false)
        })
      )
      yield* under(scene, "released", Effect.andThen(rolled(5, false), finished(5)))
      yield* under(scene, "current", finished(6))
      yield* under(
        scene,
        "current",
        Effect.gen(function* () {
          // A restart of the same version, and a change of another field.
          yield* Client.patch(WebApp, key, Patch.merge({ spec: { replicas: 3 } }))
          yield* Managed.eventually(
            "it has three replicas",
            deployment,
            ({ status }) => status?.availableReplicas === 3
          )
          expect(revisionOf(yield* deployment)).toBe(6)
        })
      )
    })
  )

  declare(
    "refuse to work together, if the mover is the released one: no snapshot is deleted, and the image is named",
    (scene) =>
      Effect.gen(function* () {
        const { repository } = yield* heldShop(scene)
        const fresh = yield* Scene.claim(scene, "fresh")
        const { image } = ReleasedProgram
        const tooOld = `The image ${image} has protocol 1 (must be 2). there is no operation protocol-2. `
        yield* under(
          scene,
          "current",
          Effect.gen(function* () {
            const { status } = yield* held(scene)
            expect(status?.retentionHold).toMatchObject({ reason: "ExistingSnapshots", remove: 3 })
            yield* Client.patch(Backup, scene.key("shop"), Patch.merge({ spec: { image } }))
            const maintained = yield* Backups.until(
              scene,
              "shop",
              "the maintenance has failed",
              ({ maintenance }) => maintenance?.last?.reason === "MoverTooOld"
            )
            expect(maintained.status?.maintenance?.last?.message).toContain(tooOld)
            const run = yield* Backups.run(scene, "shop", "second")
            expect(run.status?.lastRun?.reason).toBe("MoverTooOld")
            expect(run.status?.message).toContain(tooOld)
            yield* Backups.restoring(scene, "again", { backoffLimit: 0 })
            const restored = yield* Backups.restored(scene, "again")
            expect(restored.status?.phase).toBe("Failed")
            expect(restored.status?.message).toContain(tooOld)
            expect(Prepared.files(fresh)).toEqual({})
          })
        )
        expect(yield* Scene.snapshots(scene, repository)).toHaveLength(4)
        expect(yield* Client.get(Restore, scene.key("again"))).toMatchObject({ status: { phase: "Failed" } })
      })
  )
})
