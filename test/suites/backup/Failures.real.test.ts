/** The status of a Backup that cannot save, and the data that it keeps. Real cluster only: these tests check only messages. */
import { describe, expect } from "bun:test"
import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Settings } from "@homeostat/backup/Settings"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Secret } from "@homeostat/runtime/resource/BuiltIn"
import * as Port from "@homeostat/testkit/envtest/Port"
import { Duration, Effect } from "effect"
import * as Backups from "./Backups.ts"
import * as Prepared from "./Prepared.ts"
import * as RestServer from "./RestServer.ts"
import * as S3Server from "./S3Server.ts"
import * as Scene from "./Scene.ts"
import * as Tree from "./Tree.ts"

const quickly = Effect.provideService(Settings, Backups.quick)

const set = (scene: Scene.Scene, secret: string, stringData: { readonly [key: string]: string }) =>
  Client.patch(Secret, scene.key(secret), Patch.merge({ stringData }))

describe("A Backup fails with a reason", () => {
  Backups.real("when its endpoint does not answer", (scene) =>
    Effect.gen(function* () {
      yield* Scene.credentials(scene, "shop-backup-credentials", {
        RESTIC_PASSWORD: Prepared.password,
        AWS_ACCESS_KEY_ID: "somebody",
        AWS_SECRET_ACCESS_KEY: "a secret that nobody sees"
      })
      yield* Scene.claim(scene, "app", { files: { a: "first" } })
      yield* scene.manage()
      const port = yield* Port.free
      yield* Backups.create(scene, "shop", {
        destination: "s3://bucket",
        repository: { endpoint: `127.0.0.1:${port}` },
        backoffLimit: 0
      })
      const backup = yield* Backups.ended(scene, "shop")
      expect(backup.status).toMatchObject({
        phase: "Failed",
        consecutiveFailures: 1,
        lastRun: { reason: "DestinationUnreachable" }
      })
      expect(backup.status?.message).toMatch(
        /^The destination did not answer, or it refused the request\. .*connect: connection refused/
      )
      expect(backup.status?.message).not.toContain("nobody sees")
      expect(Backups.condition(backup, "LastRunSucceeded")?.status).toBe("False")
      expect(Backups.condition(backup, "Ready")).toMatchObject({ status: "False", reason: "DestinationUnreachable" })
      yield* Backups.recorded(scene, "shop", { type: "Warning", reason: "BackupFailed", note: "connection refused" })
    }).pipe(Effect.provideService(Settings, { ...Backups.quick, preflightTimeout: Duration.seconds(2) }))
  )

  Backups.real(
    "when the password is wrong, or the repository is gone, after one attempt and without a new repository",
    (scene) =>
      Effect.gen(function* () {
        const { repository } = yield* Prepared.shop(scene)
        yield* set(scene, "shop-backup-credentials", { RESTIC_PASSWORD: "some other" })
        yield* scene.manage()
        yield* Backups.create(scene, "shop", { backoffLimit: 6 })
        const wrong = yield* Backups.ended(scene, "shop")
        expect(wrong.status).toMatchObject({ phase: "Failed", lastRun: { reason: "WrongPassword" } })
        expect(wrong.status?.message).toMatch(/^RESTIC_PASSWORD does not open the repository\. .*wrong password/)
        expect(Backups.condition(wrong, "RepositoryHealthy")).toMatchObject({
          status: "False",
          reason: "WrongPassword"
        })
        expect(yield* Scene.podsOf(scene, wrong.status?.lastRun?.job ?? "")).toHaveLength(1)
        expect(readdirSync(join(repository.repository, "keys"))).toHaveLength(1)

        yield* set(scene, "shop-backup-credentials", { RESTIC_PASSWORD: Prepared.password })
        expect((yield* Backups.run(scene, "shop", "T")).status).toMatchObject({
          phase: "Completed",
          consecutiveFailures: 0
        })

        renameSync(repository.repository, `${repository.repository}-away`)
        const missing = yield* Backups.run(scene, "shop", "U")
        expect(missing.status).toMatchObject({ phase: "Failed", lastRun: { reason: "RepositoryMissing" } })
        expect(missing.status?.message).toMatch(
          /^The repository was not found at the destination\..*Restore the repository/
        )
        expect(yield* Scene.podsOf(scene, missing.status?.lastRun?.job ?? "")).toHaveLength(1)
        expect(existsSync(repository.repository)).toBe(false)

        renameSync(`${repository.repository}-away`, repository.repository)
        const back = yield* Backups.run(scene, "shop", "V")
        expect(back.status?.phase).toBe("Completed")
        expect(Backups.condition(back, "RepositoryHealthy")?.status).toBe("True")
      }).pipe(quickly)
  )

  Backups.real("when S3 rejects its key, or its bucket is gone, without a new bucket", (scene) =>
    Effect.gen(function* () {
      const server = yield* S3Server.start
      const { RESTIC_REPOSITORY: _, RESTIC_CACERT: __, ...keys } = server.environment("", "")
      yield* Scene.credentials(scene, "shop-backup-credentials", { RESTIC_PASSWORD: Prepared.password, ...keys })
      yield* Scene.credentials(scene, "s3-ca", { "ca.crt": server.ca })
      yield* Scene.claim(scene, "app", { files: { a: "first" } })
      yield* scene.manage()
      yield* Backups.create(scene, "shop", {
        destination: "s3://bucket",
        repository: { endpoint: server.host, caSecretRef: { name: "s3-ca" } },
        backoffLimit: 0
      })
      yield* Backups.completed(scene, "shop")

      yield* set(scene, "shop-backup-credentials", { AWS_ACCESS_KEY_ID: "AKIANOBODY" })
      const unknown = yield* Backups.run(scene, "shop", "T")
      expect(unknown.status).toMatchObject({ phase: "Failed", lastRun: { reason: "DestinationUnreachable" } })
      expect(unknown.status?.message).toContain("Access Key Id you provided does not exist")

      yield* set(scene, "shop-backup-credentials", keys)
      rmSync(join(server.folder, "bucket"), { recursive: true })
      const missing = yield* Backups.run(scene, "shop", "U")
      expect(missing.status).toMatchObject({ phase: "Failed", lastRun: { reason: "DestinationUnreachable" } })
      expect(missing.status?.message).toContain("bucket does not exist")
      expect(readdirSync(server.folder)).toEqual([])
    }).pipe(quickly)
  )

  Backups.real("when its destination is full, and frees space if a prune is due", (scene) =>
    Effect.gen(function* () {
      const server = yield* RestServer.start({ maxSize: 6_000_000 })
      const { RESTIC_REST_PASSWORD, RESTIC_REST_USERNAME } = server.environment("")
      yield* Scene.credentials(scene, "shop-backup-credentials", {
        RESTIC_PASSWORD: Prepared.password,
        RESTIC_REST_PASSWORD,
        RESTIC_REST_USERNAME
      })
      yield* Scene.credentials(scene, "rest-ca", { "ca.crt": server.ca })
      const app = yield* Scene.claim(scene, "app")
      const repository = yield* Prepared.into(join(server.folder, scene.namespace, "shop"))
      const save = (seed: string, bytes: number) =>
        Effect.sync(() => writeFileSync(join(app, "noise"), Tree.noise(bytes, seed)))
      yield* scene.manage()
      yield* save("one", 2_000_000)
      yield* Backups.create(scene, "shop", {
        destination: `rest+https://${server.host}`,
        repository: { caSecretRef: { name: "rest-ca" } },
        retention: { keepLast: 1 },
        backoffLimit: 0
      })
      yield* Backups.completed(scene, "shop")
      yield* save("two", 2_000_000)
      yield* Backups.run(scene, "shop", "T")
      const kept = yield* Backups.maintained(scene, "shop")
      expect(kept.status).toMatchObject({ phase: "Completed", snapshots: 1 })

      // Deleted snapshots still take their space, so the third snapshot does not fit.
      yield* save("three", 3_000_000)
      const full = yield* Backups.run(scene, "shop", "U")
      expect(full.status).toMatchObject({ phase: "Failed", lastRun: { reason: "DestinationFull" } })
      expect(full.status?.message).toMatch(/^The destination is full\. .*507 Insufficient Storage/)

      // The maintenance frees space at once and does not wait for its interval.
      yield* Backups.until(scene, "shop", "space was freed", ({ lastPruneTime }) => lastPruneTime !== undefined)
      expect((yield* Backups.run(scene, "shop", "W")).status).toMatchObject({
        phase: "Completed",
        consecutiveFailures: 0
      })
      yield* Backups.maintained(scene, "shop")
      expect(yield* Scene.snapshots(scene, repository)).toHaveLength(1)
    }).pipe(quickly)
  )
})
