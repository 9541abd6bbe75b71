/** Real destinations of Backups: S3 and restic's own server over TLS. The restored files equal the saved files. */
import { expect } from "bun:test"
import { join } from "node:path"
import { Restore } from "@homeostat/backup/kinds/Restore"
import { Settings } from "@homeostat/backup/Settings"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Namespace } from "@homeostat/runtime/resource/BuiltIn"
import * as Condition from "@homeostat/runtime/resource/Condition"
import { Effect } from "effect"
import { loadAll } from "js-yaml"
import * as Managed from "../Managed.ts"
import * as Backups from "./Backups.ts"
import * as Claims from "./Claims.ts"
import * as Prepared from "./Prepared.ts"
import * as QuickKey from "./QuickKey.ts"
import * as Restic from "./Restic.ts"
import * as Restored from "./Restored.ts"
import * as RestServer from "./RestServer.ts"
import * as S3Server from "./S3Server.ts"
import * as Scene from "./Scene.ts"
import * as Tree from "./Tree.ts"

const quickly = Effect.provideService(Settings, Backups.quick)

const files = { "docs/a.txt": "first", "größe 日本": "", "b.bin": Tree.noise(300_000, "b") }

/** The tutorial's manifest from the samples. */
const tutorial = Effect.promise(async () => {
  const text = await Bun.file(join(import.meta.dirname, "../../../deploy/samples/backup.yaml")).text()
  const [manifest] = loadAll(text) as ReadonlyArray<{
    readonly metadata: { readonly name: string }
    readonly spec: { readonly [field: string]: unknown }
  }>
  if (manifest === undefined) throw new Error("there is no sample")
  return manifest
})

Backups.real("The tutorial's Backup saves to S3, and a Restore restores every byte", (scene) =>
  Effect.gen(function* () {
    const server = yield* S3Server.start
    const { RESTIC_REPOSITORY: _, RESTIC_CACERT: __, ...keys } = server.environment("", "")
    yield* Scene.credentials(scene, "my-app-backup-backup-credentials", { RESTIC_PASSWORD: Prepared.password, ...keys })
    yield* Scene.credentials(scene, "s3-ca", { "ca.crt": server.ca })
    const app = yield* Scene.claim(scene, "my-application-pvc", { files })
    yield* scene.manage()

    const manifest = yield* tutorial
    const { metadata, spec } = manifest
    expect(spec).toEqual({
      source: "my-application-pvc",
      schedule: "0 2 * * *",
      destination: "s3://my-backup-bucket",
      retentionPolicy: "30d"
    })
    const applied = yield* scene.cluster.kubectl(["apply", "-f", "-"], {
      stdin: JSON.stringify({
        ...manifest,
        metadata: { ...metadata, namespace: scene.namespace },
        spec: { ...spec, repository: { endpoint: server.host, caSecretRef: { name: "s3-ca" } } }
      })
    })
    expect(applied).toMatchObject({ exitCode: 0 })

    yield* Backups.completed(scene, metadata.name)
    const backup = yield* Backups.maintained(scene, metadata.name)
    expect(backup.status).toMatchObject({
      phase: "Completed",
      message: "1 volume saved",
      lastBackupTime: expect.stringMatching(/Z$/),
      nextBackupTime: expect.stringMatching(/T02:00:00Z$/),
      consecutiveFailures: 0,
      snapshots: 1,
      lastRun: { reason: "Succeeded", trigger: "start", snapshots: [{ pvc: "my-application-pvc", files: 3 }] }
    })
    expect(Backups.condition(backup, "LastRunSucceeded")?.status).toBe("True")
    expect(Backups.condition(backup, "RetentionApplied")?.status).toBe("True")
    expect(Backups.condition(backup, "RepositoryHealthy")?.status).toBe("True")

    const restic = {
      ...server.environment("my-backup-bucket", `${scene.namespace}/${metadata.name}`),
      RESTIC_PASSWORD: Prepared.password,
      RESTIC_CACHE_DIR: join(scene.directory, "cache")
    }
    const [snapshot] = yield* Restic.snapshots(restic)
    expect(snapshot).toMatchObject({
      id: backup.status?.lastRun?.snapshots?.[0]?.id,
      hostname: `${scene.namespace}/my-application-pvc`,
      tags: expect.arrayContaining([`${scene.namespace}/${metadata.name}`])
    })

    const fresh = yield* Scene.claim(scene, "fresh")
    yield* Backups.restoring(scene, "back", { backupRef: metadata.name })
    expect((yield* Backups.restored(scene, "back")).status).toMatchObject({
      phase: "Complete",
      restored: { snapshot: snapshot?.id, bytes: 300_005 }
    })
    expect(Prepared.files(fresh)).toEqual(Prepared.files(app))
  }).pipe(quickly)
)

/** Every mode, each with a claim that the Restore creates and with an existing claim. */
const targets = [
  { name: "new", isNew: true, mode: "IntoEmpty" },
  { name: "new-overlay", isNew: true, mode: "Overlay" },
  { name: "new-mirror", isNew: true, mode: "Mirror" },
  { name: "empty", isNew: false, mode: "IntoEmpty" },
  { name: "overlay", isNew: false, mode: "Overlay" },
  { name: "mirror", isNew: false, mode: "Mirror" }
] as const

/** Restores every mode into the Backup's namespace or into another one, and compares the contents of each volume. */
const restoresEveryMode = (scene: Scene.Scene, isOther: boolean) =>
  Effect.gen(function* () {
    const server = yield* S3Server.start
    const { RESTIC_REPOSITORY: _, RESTIC_CACERT: __, ...keys } = server.environment("", "")
    const other = yield* scene.cluster.namespace("staging")
    const folder = (name: string) => scene.node.claim(other, name)
    const staging = { ...scene, folder, namespace: other, key: (name: string) => ({ namespace: other, name }) }
    const place = isOther ? staging : scene
    for (const { namespace } of isOther ? [scene, staging] : [scene]) {
      const owner = { ...scene, namespace }
      yield* Scene.credentials(owner, "shop-backup-credentials", { RESTIC_PASSWORD: Prepared.password, ...keys })
      yield* Scene.credentials(owner, "s3-ca", { "ca.crt": server.ca })
    }
    const app = yield* Scene.claim(scene, "app")
    Restored.write(app)
    const expected = Restored.read(app)
    yield* scene.manage(undefined, { otherNamespaces: [other] })
    yield* Backups.create(scene, "shop", {
      destination: "s3://my-backup-bucket",
      repository: { endpoint: server.host, caSecretRef: { name: "s3-ca" } }
    })
    const saved = (yield* Backups.completed(scene, "shop")).status?.lastRun?.snapshots?.[0]?.id

    for (const { isNew, mode, name } of targets) {
      if (isNew) yield* Claims.volume(place.namespace, name)
      else yield* Scene.claim(place, name)
      if (!isNew && mode !== "IntoEmpty") Restored.fill(place.folder(name))
      yield* Backups.restoring(place, name, {
        targetPVC: name,
        volume: "app",
        mode,
        ...(isOther && { backupNamespace: scene.namespace }),
        ...(isNew && {
          volumeClaimTemplate: { spec: { storageClassName: "", resources: { requests: { storage: "1Gi" } } } }
        })
      })
      if (isOther && name === "new") {
        yield* Managed.eventually(
          "the other namespace does not allow it",
          Client.get(Restore, staging.key(name)),
          ({ status }) => Condition.find(status?.conditions, "Ready")?.reason === "RestoreNotAllowed"
        )
        const annotations = { "backup.example.com/restore-to-namespaces": other }
        yield* Client.patch(Namespace, { name: scene.namespace }, Patch.merge({ metadata: { annotations } }))
      }
      expect((yield* Backups.restored(place, name)).status).toMatchObject({
        phase: "Complete",
        restored: { snapshot: saved, ownership: "Preserved" }
      })
      const found = Restored.read(place.folder(name))
      const kept = Object.keys(found).filter((path) => expected[path] === undefined)
      expect([name, kept]).toEqual([name, name === "overlay" ? [...Restored.own] : []])
      expect(Object.fromEntries(Object.keys(expected).map((path) => [path, found[path]]))).toEqual(expected)
    }
  }).pipe(quickly)

for (const [target, isOther] of [
  ["its own namespace", false],
  ["another namespace", true]
] as const)
  Backups.real(`A Restore into ${target} preserves content, owner, mode, time, attributes, links and holes`, (scene) =>
    restoresEveryMode(scene, isOther)
  )

Backups.real(
  "A server that forbids deletions stores the data, and the status reports that old snapshots stay",
  (scene) =>
    Effect.gen(function* () {
      const server = yield* RestServer.start({
        appendOnly: true,
        privateRepos: true,
        users: { [scene.namespace]: "a pass word" }
      })
      const path = `${scene.namespace}/shop`
      const { RESTIC_REST_PASSWORD, RESTIC_REST_USERNAME, ...opened } = server.environment(path)
      const login = { RESTIC_REST_PASSWORD, RESTIC_REST_USERNAME }
      yield* Scene.credentials(scene, "logins", login)
      yield* Scene.credentials(scene, "kept-apart", { password: Prepared.password })
      yield* Scene.credentials(scene, "rest-ca", { "ca.pem": server.ca })
      const app = yield* Scene.claim(scene, "app", { files })
      yield* scene.manage()
      yield* Backups.create(scene, "shop", {
        destination: `rest+https://${server.host}`,
        retention: { keepLast: 1 },
        repository: {
          credentialsSecretRef: { name: "logins" },
          passwordSecretRef: { name: "kept-apart", key: "password" },
          caSecretRef: { name: "rest-ca", key: "ca.pem" }
        }
      })
      expect((yield* Backups.completed(scene, "shop")).status).toMatchObject({ message: "1 volume saved" })
      expect((yield* Backups.maintained(scene, "shop")).status).toMatchObject({ snapshots: 1 })
      const restic = {
        ...opened,
        ...login,
        RESTIC_PASSWORD: Prepared.password,
        RESTIC_CACHE_DIR: join(scene.directory, "cache")
      }
      // From now on, the repository opens quickly. Only a write to the server's disk can remove a key.
      yield* QuickKey.write(join(server.folder, path), restic)

      yield* Effect.promise(() => Bun.write(join(app, "docs/a.txt"), "changed"))
      yield* Backups.run(scene, "shop", "again")
      const backup = yield* Backups.maintained(scene, "shop")
      expect(backup.status).toMatchObject({
        phase: "Completed",
        consecutiveFailures: 0,
        lastRun: { reason: "Succeeded", trigger: "manual", snapshots: [{ pvc: "app" }] },
        maintenance: { last: { reason: "RetentionFailed" }, failures: 1 }
      })
      expect(backup.status?.maintenance?.last?.message).toMatch(
        /^Old snapshots could not be deleted\. .*403.*append-only/
      )
      expect(Backups.condition(backup, "LastRunSucceeded")).toMatchObject({ status: "True", reason: "Succeeded" })
      expect(Backups.condition(backup, "RetentionApplied")).toMatchObject({
        status: "False",
        reason: "RetentionFailed"
      })
      expect(yield* Restic.snapshots(restic)).toHaveLength(2)
      yield* Backups.recorded(scene, "shop", {
        type: "Warning",
        reason: "MaintenanceFailed",
        note: "could not be deleted"
      })

      const fresh = yield* Scene.claim(scene, "fresh")
      yield* Backups.restoring(scene, "back")
      expect((yield* Backups.restored(scene, "back")).status).toMatchObject({ phase: "Complete" })
      expect(Prepared.files(fresh)).toEqual(Prepared.files(app))
    }).pipe(quickly)
)
