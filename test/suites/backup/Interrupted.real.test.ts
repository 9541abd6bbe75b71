/** Interrupted runs: the Backup loses no data, the run leaves no locks or Jobs behind, and each wait has a limit. */
import { expect } from "bun:test"
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Backup } from "@homeostat/backup/kinds/Backup"
import { Settings } from "@homeostat/backup/Settings"
import * as Client from "@homeostat/runtime/client/Client"
import { Job } from "@homeostat/runtime/resource/BuiltIn"
import { Effect, Scope as EffectScope, Exit } from "effect"
import * as Managed from "../Managed.ts"
import * as Backups from "./Backups.ts"
import * as Prepared from "./Prepared.ts"
import * as Scene from "./Scene.ts"
import * as Shim from "./Shim.ts"
import * as Tree from "./Tree.ts"

const quickly = Effect.provideService(Settings, Backups.quick)

const held = { mover: Shim.slow }

/** Creates a Backup `shop` whose first run takes most of a minute. */
const saving = (scene: Scene.Scene, spec: Backups.Spec = {}) =>
  Effect.gen(function* () {
    const made = yield* Prepared.shop(scene)
    Tree.writeNoise(join(made.app, "large"), 96, "large")
    writeFileSync(join(scene.directory, "slow"), "")
    yield* Backups.create(scene, "shop", { backoffLimit: 0, ...spec })
    return made
  })

/** Makes the later runs quick. */
const quicken = (scene: Scene.Scene) =>
  Effect.sync(() => {
    rmSync(join(scene.directory, "slow"))
    rmSync(join(scene.folder("app"), "large"))
  })

const isSaving = (scene: Scene.Scene, repository: Scene.Repository) =>
  Effect.gen(function* () {
    yield* Managed.eventually(
      "it saves",
      Effect.sync(() => Prepared.packs(repository)),
      (count) => count > 0
    )
    return yield* Backups.until(
      scene,
      "shop",
      "the status reports it",
      ({ message, phase }) => phase === "Running" && message === "The mover runs"
    )
  })

const gone = (scene: Scene.Scene, name: string) =>
  Managed.eventually(
    `Backup ${name} is gone`,
    Client.get(Backup, scene.key(name)).pipe(
      Effect.as("there"),
      Effect.catchTag("NotFound", () => Effect.succeed("gone"))
    ),
    (found) => found === "gone"
  )

/** Saves a snapshot with a tag into a repository. */
const put = (scene: Scene.Scene, repository: Scene.Repository, tag: string) =>
  Effect.gen(function* () {
    const labels = ["--host", `${scene.namespace}/app`, "--tag", `${scene.namespace}/${tag}`]
    const put = yield* scene.restic(repository, "backup", ...labels, join(scene.folder("app"), "a"))
    expect(put).toMatchObject({ exitCode: 0 })
  })

Backups.real(
  "An evicted mover is replaced by another one, which completes the run without a retry of the Job",
  (scene) =>
    Effect.gen(function* () {
      yield* scene.manage()
      const { repository } = yield* saving(scene)
      const running = yield* isSaving(scene, repository)
      const job = running.status?.active?.job ?? ""
      const [first] = yield* Scene.podsOf(scene, job)
      yield* quicken(scene)
      yield* Scene.evict(scene, first?.metadata.name ?? "")
      const backup = yield* Backups.completed(scene, "shop")
      // With backoffLimit 0, the Job has no retry to use.
      expect(backup.status).toMatchObject({ consecutiveFailures: 0, lastRun: { job, reason: "Succeeded" } })
      const done = yield* Client.get(Job, scene.key(job))
      expect(done.status?.failed ?? 0).toBe(0)
      expect(done.status?.succeeded).toBe(1)
      expect(yield* Scene.snapshots(scene, repository)).toHaveLength(1)
      expect(Prepared.locked(repository)).toBe(0)
    }).pipe(quickly),
  held
)

Backups.real(
  "A Backup that is deleted during a run is removed after its mover has released its lock, and the snapshots stay",
  (scene) =>
    Effect.gen(function* () {
      yield* scene.manage()
      const { repository } = yield* saving(scene)
      yield* isSaving(scene, repository)
      yield* put(scene, repository, "shop")
      yield* Client.delete(Backup, scene.key("shop"))
      yield* gone(scene, "shop")
      expect(Prepared.locked(repository)).toBe(0)
      expect(yield* Scene.jobs(scene)).toEqual([])
      expect(yield* Scene.snapshots(scene, repository)).toHaveLength(1)
    }).pipe(quickly),
  held
)

Backups.real(
  "A Backup with deletionPolicy Delete deletes its own snapshots, and no others",
  (scene) =>
    Effect.gen(function* () {
      yield* scene.manage()
      const { repository } = yield* saving(scene, { deletionPolicy: "Delete" })
      yield* isSaving(scene, repository)
      yield* put(scene, repository, "shop")
      yield* put(scene, repository, "other")
      yield* Client.delete(Backup, scene.key("shop"))
      yield* gone(scene, "shop")
      expect((yield* Scene.snapshots(scene, repository)).map(({ tags }) => tags)).toEqual([
        [`${scene.namespace}/other`]
      ])
      expect(Prepared.locked(repository)).toBe(0)
      yield* Managed.eventually("its Jobs are gone", Scene.jobs(scene), (jobs) => jobs.length === 0)
    }).pipe(quickly),
  held
)

for (const deletionPolicy of ["Retain", "Delete"] as const) {
  Backups.real(
    `A namespace that is deleted during a run is removed without a delay, with ${deletionPolicy}`,
    (scene) =>
      Effect.gen(function* () {
        yield* scene.manage()
        const { repository } = yield* saving(scene, { deletionPolicy })
        yield* isSaving(scene, repository)
        const path = `/api/v1/namespaces/${scene.namespace}`
        expect((yield* scene.cluster.request("DELETE", path)).status).toBe(200)
        yield* Managed.eventually(
          "the namespace is gone",
          scene.cluster.request("GET", path),
          ({ status }) => status === 404,
          // The namespace controller retries after its own estimate, which can take half a minute longer than the pods.
          "90 seconds"
        )
        expect(Prepared.locked(repository)).toBe(0)
      }).pipe(quickly),
    { ...held, timeoutMillis: 150_000 }
  )
}

/** Starts a manager that a test can stop before the scene ends. */
const manager = (scene: Scene.Scene, settings: Parameters<Scene.Scene["manage"]>[1] = {}) =>
  Effect.gen(function* () {
    const scope = yield* Effect.acquireRelease(EffectScope.make(), (scope) => EffectScope.close(scope, Exit.void))
    yield* scene.manage(undefined, settings).pipe(EffectScope.provide(scope))
    return { stop: EffectScope.close(scope, Exit.void) }
  })

Backups.real(
  "A run continues without a manager, and the next manager records its result",
  (scene) =>
    Effect.gen(function* () {
      const first = yield* manager(scene)
      const { repository } = yield* saving(scene)
      const running = yield* isSaving(scene, repository)
      const job = running.status?.active?.job ?? ""
      yield* first.stop
      yield* quicken(scene)
      // The running pod would stay slow. Its eviction makes the Job start another pod.
      const [pod] = yield* Scene.podsOf(scene, job)
      yield* Scene.evict(scene, pod?.metadata.name ?? "")
      yield* Managed.eventually(
        "the Job is complete",
        Client.get(Job, scene.key(job)),
        ({ status }) => status?.succeeded === 1
      )
      expect((yield* Backups.get(scene, "shop")).status?.phase).toBe("Running")

      yield* scene.manage()
      const backup = yield* Backups.completed(scene, "shop")
      expect(backup.status).toMatchObject({
        consecutiveFailures: 0,
        lastRun: { job, reason: "Succeeded", trigger: "start", snapshots: [{ pvc: "app", files: 1 }] }
      })
      expect(backup.status?.active).toBeUndefined()
      expect((yield* Scene.jobs(scene)).map(({ metadata }) => metadata.name)).toEqual([job])
      yield* Backups.eventsAre(scene, "shop", ["BackupScheduled", "BackupStarted", "BackupCompleted"])
    }).pipe(quickly),
  held
)

Backups.real(
  "A manager that stops after it created a Job and before it wrote the status causes only one run",
  (scene) =>
    Effect.gen(function* () {
      // A user who cannot write a status gets as far as the Job.
      const user = yield* scene.cluster.addUser({ name: `half-${scene.namespace}` })
      const half = yield* Effect.acquireRelease(
        scene.cluster.kubectl(["apply", "-f", "-"], { stdin: JSON.stringify(halfOf(scene.namespace, user.user)) }),
        () =>
          Effect.ignore(
            scene.cluster.kubectl(["delete", "-f", "-"], { stdin: JSON.stringify(halfOf(scene.namespace, user.user)) })
          )
      )
      expect(half).toMatchObject({ exitCode: 0 })
      const first = yield* manager(scene, { user })
      yield* Prepared.shop(scene)
      yield* Backups.create(scene, "shop")
      const [job] = yield* Managed.eventually("there is a Job", Scene.jobs(scene), (jobs) => jobs.length > 0)
      yield* first.stop
      expect((yield* Backups.get(scene, "shop")).status?.active).toBeUndefined()

      yield* scene.manage()
      const backup = yield* Backups.completed(scene, "shop")
      expect(backup.status?.lastRun).toMatchObject({ job: job?.metadata.name, reason: "Succeeded", trigger: "start" })
      expect(yield* Scene.jobs(scene)).toHaveLength(1)
      yield* Backups.eventsAre(scene, "shop", ["BackupScheduled", "BackupStarted", "BackupCompleted"])
    }).pipe(quickly)
)

/** The RBAC objects that allow a user everything except the status of a Backup. */
const halfOf = (namespace: string, name: string) => ({
  apiVersion: "v1",
  kind: "List",
  items: [
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: { namespace, name: "half" },
      rules: [
        { apiGroups: ["", "apps", "batch", "events.k8s.io"], resources: ["*"], verbs: ["*"] },
        { apiGroups: ["backup.example.com"], resources: ["backups", "restores", "backups/finalizers"], verbs: ["*"] }
      ]
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: { namespace, name: "half" },
      subjects: [{ kind: "User", name, apiGroup: "rbac.authorization.k8s.io" }],
      roleRef: { kind: "Role", name: "half", apiGroup: "rbac.authorization.k8s.io" }
    }
  ]
})
