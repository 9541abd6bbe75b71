/** Several Backups in one repository: they take turns. The status reports an abandoned lock, and a user can remove it. */
import { expect } from "bun:test"
import { readdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Backup } from "@homeostat/backup/kinds/Backup"
import * as RepositoryQueue from "@homeostat/backup/repository/RepositoryQueue"
import { Settings } from "@homeostat/backup/Settings"
import * as Client from "@homeostat/runtime/client/Client"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Backups from "./Backups.ts"
import * as Prepared from "./Prepared.ts"
import * as Scene from "./Scene.ts"
import * as Shim from "./Shim.ts"
import * as Tree from "./Tree.ts"

const quickly = Effect.provideService(Settings, Backups.quick)

Backups.real("Two new Backups with the same repository create it once, and both succeed", (scene) =>
  Effect.gen(function* () {
    yield* Scene.credentials(scene, "shared")
    yield* Scene.claim(scene, "app", { files: { a: "first" } })
    yield* Scene.claim(scene, "web", { files: { b: "second" } })
    const store = yield* Scene.claim(scene, "store")
    yield* scene.manage()
    const repository = { path: "together", credentialsSecretRef: { name: "shared" } }
    yield* Effect.all(
      [Backups.create(scene, "one", { repository }), Backups.create(scene, "two", { source: "web", repository })],
      { concurrency: "unbounded" }
    )
    const [one, two] = yield* Effect.all([Backups.completed(scene, "one"), Backups.completed(scene, "two")], {
      concurrency: "unbounded"
    })
    expect(one.status?.repositoryID).toMatch(/^[0-9a-f]{64}$/)
    expect(two.status?.repositoryID).toBe(one.status?.repositoryID ?? "")
    const found = { repository: join(store, "together"), password: "correct horse" }
    // Each creation of a repository adds a key, so one key means one creation.
    expect(readdirSync(join(found.repository, "keys"))).toHaveLength(1)
    const saved = yield* Scene.snapshots(scene, found)
    expect(new Set(saved.map(({ tags }) => tags?.[0]))).toEqual(
      new Set([`${scene.namespace}/one`, `${scene.namespace}/two`])
    )
    expect(yield* scene.restic(found, "check", "--quiet")).toMatchObject({ exitCode: 0 })
    // The two movers do not overlap.
    const spans = (yield* Scene.jobs(scene)).map(({ metadata, status }) => [
      Date.parse(metadata.creationTimestamp),
      Date.parse(status?.completionTime ?? "")
    ])
    expect(spans).toHaveLength(2)
    expect(spans[1]?.[0]).toBeGreaterThanOrEqual(spans[0]?.[1] ?? Number.NaN)
    yield* Backups.until(scene, "two", "it says that they share", (_, backup) =>
      [backup, one].some(
        (some) => Backups.condition(some, "Ready")?.message?.includes("The repository is shared with") === true
      )
    )
  }).pipe(quickly)
)

/** The id of the mover's process, which the shell lines before restic have written. */
const pidOf = (file: string) =>
  Managed.eventually(
    "restic prunes",
    Effect.tryPromise(() => Bun.file(file).text()),
    (text) => /^[0-9]+\n$/.test(text)
  ).pipe(Effect.map(Number))

Backups.real("Two managers that share the Backups by labels create one repository once", (scene) =>
  Effect.gen(function* () {
    yield* Scene.credentials(scene, "shared")
    yield* Scene.claim(scene, "app", { files: { a: "first" } })
    const store = yield* Scene.claim(scene, "store")
    const teams = ["red", "blue"]
    for (const team of teams) {
      yield* scene
        .manage(undefined, { labelSelector: `team=${team}` })
        .pipe(Effect.provideService(RepositoryQueue.RepositoryQueue, RepositoryQueue.make()))
    }
    yield* Effect.forEach(
      teams,
      (team) =>
        Client.create(Backup, {
          metadata: { namespace: scene.namespace, name: team, labels: { team } },
          spec: {
            source: "app",
            destination: "pvc://store",
            repository: { path: "together", credentialsSecretRef: { name: "shared" } }
          }
        }),
      { concurrency: "unbounded" }
    )
    const [red, blue] = yield* Effect.forEach(teams, (team) => Backups.completed(scene, team), {
      concurrency: "unbounded"
    })
    expect(red?.status?.repositoryID).toMatch(/^[0-9a-f]{64}$/)
    expect(blue?.status?.repositoryID).toBe(red?.status?.repositoryID ?? "")
    const found = { repository: join(store, "together"), password: "correct horse" }
    expect(readdirSync(join(found.repository, "keys"))).toHaveLength(1)
    expect(yield* scene.restic(found, "check", "--quiet")).toMatchObject({ exitCode: 0 })
  }).pipe(quickly)
)

Backups.real(
  "A mover that is killed during a prune leaves a lock, which fails the next run, and which an annotation removes",
  (scene) =>
    Effect.gen(function* () {
      const { app, repository } = yield* Prepared.shop(scene, { a: Tree.noise(400_000, "a"), b: "small" })
      yield* scene.manage()
      yield* Backups.create(scene, "shop", { retention: { keepLast: 1 }, backoffLimit: 0 })
      yield* Backups.completed(scene, "shop")

      // The mover dies during a prune, as on a node that loses its power.
      yield* Backups.overdue(scene, "shop", "lastPruneTime")
      rmSync(join(app, "a"))
      writeFileSync(join(scene.directory, "slow"), "")
      yield* Backups.annotate(scene, "shop", "run", "T")
      const pid = yield* pidOf(join(scene.directory, "pruning"))
      yield* Managed.eventually(
        "it has locked the repository",
        Effect.sync(() => Prepared.locked(repository)),
        (count) => count > 0
      )
      yield* Effect.sync(() => process.kill(pid, "SIGKILL"))
      const killed = yield* Backups.until(
        scene,
        "shop",
        "the maintenance has failed",
        ({ maintenance }) => (maintenance?.failures ?? 0) > 0
      )
      // The run saved its data before the prune.
      expect(killed.status).toMatchObject({
        phase: "Completed",
        lastRun: { reason: "Succeeded", trigger: "manual" },
        consecutiveFailures: 0,
        maintenance: { last: { reason: "Terminated" } }
      })
      expect(Prepared.locked(repository)).toBe(1)

      // The lock belongs to another pod and is younger than half an hour, so restic does not treat the lock as stale.
      rmSync(join(scene.directory, "slow"))
      const locked = yield* Backups.run(scene, "shop", "U")
      expect(locked.status).toMatchObject({
        phase: "Failed",
        lastRun: { reason: "RepositoryLocked" },
        consecutiveFailures: 1
      })
      expect(locked.status?.message).toMatch(/locked exclusively by .*backup\.example\.com\/unlock/)
      expect(Backups.condition(locked, "RepositoryHealthy")).toMatchObject({
        status: "False",
        reason: "RepositoryLocked"
      })
      yield* Backups.recorded(scene, "shop", {
        type: "Warning",
        reason: "RepositoryLocked",
        note: "retried in 30 minutes"
      })
      expect(Prepared.locked(repository)).toBe(1)

      yield* Backups.annotate(scene, "shop", "unlock", "V")
      const mended = yield* Backups.until(
        scene,
        "shop",
        "the lock was taken away",
        ({ lastUnlockTrigger }) => lastUnlockTrigger === "V"
      )
      expect(mended.status).toMatchObject({
        phase: "Completed",
        consecutiveFailures: 0,
        lastRun: { reason: "Succeeded", trigger: "unlock" }
      })
      expect(Backups.condition(mended, "RepositoryHealthy")?.status).toBe("True")
      expect(Prepared.locked(repository)).toBe(0)
      expect(yield* scene.restic(repository, "check", "--quiet")).toMatchObject({ exitCode: 0 })
    }).pipe(quickly),
  {
    mover: Shim.all(
      Shim.before(
        `case " $* " in *" prune "*) if [ -e "$SCENE/slow" ]; then echo $PPID >"$SCENE/pruning"; set -- --limit-download 1 "$@"; fi ;; esac`
      ),
      // The Job's default is five minutes.
      Shim.variables({ RETRY_LOCK: "1s" }),
      Shim.inContainer
    )
  }
)
