/** The prerequisites of a Backup: its status while one is missing, and its start once the object exists. */
import { describe, expect } from "bun:test"
import { Backup } from "@homeostat/backup/kinds/Backup"
import * as MoverJob from "@homeostat/backup/run/MoverJob"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Deployment, Job, PersistentVolumeClaim, Pod } from "@homeostat/runtime/resource/BuiltIn"
import { Duration, Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Backups from "./Backups.ts"
import * as Pretended from "./Pretended.ts"
import * as Scene from "./Scene.ts"

const labels = { app: "web" }

/** Creates a Deployment without pods whose template mounts these claims. */
const deployment = ({ namespace }: Scene.Scene, name: string, claims: ReadonlyArray<string>) =>
  Client.create(Deployment, {
    metadata: { namespace, name },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [{ name: "app", image: "registry.test/app:1" }],
          volumes: claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } }))
        }
      }
    }
  })

const noJobs = (scene: Scene.Scene) => Effect.map(Scene.jobs(scene), (jobs) => expect(jobs).toEqual([]))

/** The placement rules of a Backup's last Job, and the node on which its pod ran. */
const placeOf = (scene: Scene.Scene, name: string) =>
  Effect.gen(function* () {
    const { lastRun } = (yield* Backups.completed(scene, name)).status ?? {}
    const job = yield* Client.get(Job, scene.key(lastRun?.job ?? ""))
    const { affinity, tolerations } = job.spec?.template.spec ?? {}
    const [pod] = yield* Scene.podsOf(scene, job.metadata.name)
    return { affinity, tolerations, node: pod?.spec?.nodeName }
  })

const pinned = (node: string) => ({
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: [node] }] }]
    }
  }
})

describe("A Backup", () => {
  Pretended.test("whose Job the API server rejects reports that, and runs when that is fixed", (scene) =>
    Effect.gen(function* () {
      yield* Effect.all([Scene.claim(scene, "app"), Scene.claim(scene, "store")])
      yield* Scene.credentials(scene, "shop-backup-credentials")
      yield* scene.manage()
      yield* Backups.create(scene, "shop", { resources: { requests: { cpu: "2" }, limits: { cpu: "1" } } })
      const refused = yield* Pretended.obstacle(scene, "shop", "JobRefused")
      expect(refused).toStartWith("The API server refuses the mover's Job: ")
      expect(refused).toContain("must be less than or equal to cpu limit")
      yield* noJobs(scene)
      const mended = Patch.merge({ spec: { resources: { requests: { cpu: "1" } } } })
      yield* Client.patch(Backup, scene.key("shop"), mended)
      yield* Backups.completed(scene, "shop")
    })
  )

  Pretended.test(
    "without its Secret is pending, reports the keys, and creates no Job until all of them exist",
    (scene) =>
      Effect.gen(function* () {
        yield* Effect.all([Scene.claim(scene, "app"), Scene.claim(scene, "store")])
        const manager = yield* scene.manage()
        yield* Backups.create(scene, "shop")
        const secret = "shop-backup-credentials"
        const missing = yield* Pretended.obstacle(scene, "shop", "CredentialsMissing")
        expect(missing).toBe(`Secret not found: ${secret} (create it with RESTIC_PASSWORD)`)
        expect((yield* Backups.get(scene, "shop")).status).toMatchObject({ phase: "Pending", message: missing })
        yield* noJobs(scene)

        yield* Scene.credentials(scene, secret, { AWS_ACCESS_KEY_ID: "key" })
        yield* Pretended.obstacle(
          scene,
          "shop",
          "CredentialsMissing",
          `keys missing or empty in Secret ${secret}: RESTIC_PASSWORD (add`
        )
        yield* Pretended.keys(scene, secret, { RESTIC_PASSWORD: "" })
        const attempts = manager.attempts().length
        yield* Managed.eventually("looks", Effect.sync(manager.attempts), ({ length }) => length > attempts + 2)
        yield* noJobs(scene)
        expect((yield* Backups.get(scene, "shop")).status).toMatchObject({ phase: "Pending" })

        yield* Pretended.keys(scene, secret, { RESTIC_PASSWORD: "correct horse" })
        yield* Backups.completed(scene, "shop")
        // The manager records Events after the status.
        const events = yield* Managed.eventually(
          "all Events",
          Backups.events(scene, "shop"),
          ({ length }) => length >= 5
        )
        expect(events).toEqual([
          "CredentialsMissing",
          "CredentialsMissing",
          "BackupScheduled",
          "BackupStarted",
          "BackupCompleted"
        ])
      })
  )

  Pretended.test("to a bucket reports all missing keys of its Secret at once", (scene) =>
    Effect.gen(function* () {
      yield* Scene.claim(scene, "app")
      yield* Scene.credentials(scene, "other", { AWS_ACCESS_KEY_ID: "key" })
      yield* scene.manage()
      const repository = { credentialsSecretRef: { name: "other" }, caSecretRef: { name: "ca" } }
      yield* Backups.create(scene, "shop", { destination: "s3://bucket", repository })
      const message = yield* Pretended.obstacle(scene, "shop", "CredentialsMissing")
      expect(message).toContain("keys missing or empty in Secret other: RESTIC_PASSWORD and AWS_SECRET_ACCESS_KEY (add")
      expect(message).toContain("Secret of spec.repository.caSecretRef not found: ca (create it with ca.crt)")
      yield* noJobs(scene)
      // As `echo value | base64` makes them.
      yield* Pretended.keys(scene, "other", { RESTIC_PASSWORD: "correct\n", AWS_SECRET_ACCESS_KEY: "secret value\n" })
      yield* Scene.credentials(scene, "ca", { "ca.crt": "-----BEGIN CERTIFICATE-----\n" })
      const invalid = yield* Pretended.obstacle(scene, "shop", "CredentialsInvalid")
      expect(invalid).toBe(
        "control character in key AWS_SECRET_ACCESS_KEY of Secret other (remove it, for example the line break at the end)"
      )
      yield* noJobs(scene)
    })
  )

  Pretended.test("of a Deployment saves each of its volumes, and waits for a Deployment without volumes", (scene) =>
    Effect.gen(function* () {
      yield* Pretended.shop(scene)
      yield* Scene.claim(scene, "logs")
      yield* deployment(scene, "web", ["app", "logs"])
      yield* deployment(scene, "plain", [])
      yield* Scene.credentials(scene, "plain-backup-credentials")
      yield* scene.manage()
      yield* Backups.create(scene, "shop", { source: "web" })
      yield* Backups.create(scene, "plain", { source: "deployment/plain" })
      const { status } = yield* Backups.completed(scene, "shop")
      expect(status?.lastRun?.snapshots?.map(({ pvc }) => pvc)).toEqual(["app", "logs"])
      expect(status).toMatchObject({ message: "2 volumes saved" })
      const message = yield* Pretended.obstacle(scene, "plain", "SourceHasNoVolumes")
      expect(message).toContain("no volumes: Deployment plain uses no PersistentVolumeClaim")
    })
  )

  Pretended.test(
    "waits for a source that is missing, ambiguous or not bound, and runs when the source is ready",
    (scene) =>
      Effect.gen(function* () {
        yield* Pretended.shop(scene)
        for (const name of ["late", "both", "bare"]) yield* Scene.credentials(scene, `${name}-backup-credentials`)
        yield* scene.manage()
        yield* deployment(scene, "app", ["app"])
        yield* Scene.unboundClaim(scene, "bare")
        yield* Backups.create(scene, "late", { source: "new" })
        yield* Backups.create(scene, "both", { source: "app" })
        yield* Backups.create(scene, "bare", { source: "bare" })
        expect(yield* Pretended.obstacle(scene, "late", "SourceNotFound")).toContain(
          "PersistentVolumeClaim, Deployment or StatefulSet not found: new (create it"
        )
        expect(yield* Pretended.obstacle(scene, "both", "SourceAmbiguous")).toContain(
          "recreate the Backup with pvc/app or deployment/app"
        )
        yield* Pretended.obstacle(scene, "bare", "VolumeNotBound")
        yield* noJobs(scene)

        yield* Scene.claim(scene, "new")
        yield* Client.delete(Deployment, scene.key("app"))
        for (const name of ["late", "both"]) yield* Backups.completed(scene, name)
      })
  )

  Pretended.test("of a volume in use on a node runs there, with the tolerations of the pod that uses it", (scene) =>
    Effect.gen(function* () {
      yield* Pretended.shop(scene)
      for (const name of ["idle", "wide"]) {
        yield* Scene.claim(scene, name, name === "wide" ? { accessModes: ["ReadWriteMany"] } : {})
        yield* Scene.credentials(scene, `${name}-backup-credentials`)
      }
      const other = `${scene.namespace}-b`
      yield* scene.addNode(other)
      const tolerations = [{ key: "dedicated", operator: "Equal", value: "shop", effect: "NoSchedule" }]
      yield* Pretended.user(scene, "web-app", { claim: "app", node: other, tolerations })
      yield* Pretended.user(scene, "web-wide", { claim: "wide", node: other, tolerations })
      yield* scene.manage()
      for (const [name, source] of [
        ["shop", "app"],
        ["idle", "idle"],
        ["wide", "wide"]
      ] as const) {
        // Each Backup has a separate repository, so that no Backup waits for another.
        yield* Backups.create(scene, name, { source, destination: `pvc://store/${name}` })
      }
      const place = yield* placeOf(scene, "shop")
      expect(place).toMatchObject({ affinity: pinned(other), node: other })
      expect(place.tolerations).toContainEqual(tolerations[0])
      expect((yield* placeOf(scene, "idle")).affinity).toBeUndefined()
      expect((yield* placeOf(scene, "idle")).tolerations).toBeUndefined()
      expect((yield* placeOf(scene, "wide")).affinity).toBeUndefined()
    })
  )

  Pretended.test("of a block volume or a ReadWriteOncePod volume in use is rejected with the reason", (scene) =>
    Effect.gen(function* () {
      yield* Scene.claim(scene, "store")
      yield* Scene.claim(scene, "disk", { volumeMode: "Block" })
      yield* Scene.claim(scene, "own", { accessModes: ["ReadWriteOncePod"] })
      for (const name of ["disk", "own"]) yield* Scene.credentials(scene, `${name}-backup-credentials`)
      yield* Pretended.user(scene, "web", { claim: "own", node: scene.namespace })
      yield* scene.manage()
      for (const name of ["disk", "own"]) yield* Backups.create(scene, name, { source: name })
      expect(yield* Pretended.obstacle(scene, "disk", "UnsupportedVolumeMode")).toContain(
        "PersistentVolumeClaim disk has volumeMode Block (must be Filesystem"
      )
      expect(yield* Pretended.obstacle(scene, "own", "VolumeInUse")).toContain(
        "PersistentVolumeClaim own has access mode ReadWriteOncePod and is in use by pod web"
      )
      yield* noJobs(scene)
      yield* Client.delete(Pod, scene.key("web"))
      yield* Backups.completed(scene, "own")
    })
  )

  Pretended.test(
    "whose Job name is taken reports the owner, does not change it, and runs when the name is free",
    (scene) =>
      Effect.gen(function* () {
        yield* Pretended.shop(scene)
        const { namespace } = scene
        // The name of the first run that this token requests.
        const name = MoverJob.nameOf("shop", `m${MoverJob.shortHash("\n\nnow")}`)
        yield* Client.create(Job, {
          metadata: { namespace, name },
          spec: {
            suspend: true,
            template: {
              spec: { restartPolicy: "Never", containers: [{ name: "other", image: "registry.test/other:1" }] }
            }
          }
        })
        const manager = yield* scene.manage()
        yield* Backups.create(scene, "shop", { startPolicy: "OnSchedule" })
        yield* Backups.until(
          scene,
          "shop",
          "it is ready",
          (_, backup) => Backups.condition(backup, "Ready") !== undefined
        )
        yield* Pretended.annotate(scene, "shop", "now")
        expect(yield* Pretended.obstacle(scene, "shop", "NameConflict")).toBe(
          `Job ${name} already exists and does not belong to Backup shop: delete the Job, or rename the Backup`
        )
        const attempts = manager.attempts().length
        yield* Managed.eventually("looks", Effect.sync(manager.attempts), ({ length }) => length > attempts + 2)
        expect((yield* Scene.jobs(scene)).map(({ metadata }) => [metadata.name, metadata.ownerReferences])).toEqual([
          [name, undefined]
        ])
        yield* Client.delete(Job, { namespace, name }, { propagation: "Background" })
        expect((yield* Backups.completed(scene, "shop")).status?.lastRun).toMatchObject({
          job: name,
          trigger: "manual"
        })
        // The second BackupScheduled repeats the Event and increases its count.
        expect(manager.recorded().map(({ reason }) => reason)).toEqual([
          "BackupScheduled",
          "NameConflict",
          "BackupScheduled",
          "BackupStarted",
          "BackupCompleted"
        ])
      })
  )

  const nowhere = "registry.test/nowhere:1"

  Pretended.test(
    "whose image cannot be pulled reports that, fails after the start timeout, and leaves no Job",
    (scene) =>
      Effect.gen(function* () {
        yield* Pretended.shop(scene)
        yield* scene.manage()
        yield* Backups.create(scene, "shop", { image: nowhere })
        const running = yield* Backups.until(scene, "shop", "it reports the image", ({ message, phase }) =>
          Boolean(phase === "Running" && message?.startsWith(`The image ${nowhere} cannot be pulled: `))
        )
        expect(Backups.condition(running, "Ready")).toMatchObject({ status: "True" })
        const failed = yield* Backups.until(scene, "shop", "it has failed", ({ phase }) => phase === "Failed")
        expect(failed.status?.lastRun).toMatchObject({ reason: "ImagePullFailed", trigger: "start" })
        expect(failed.status?.message).toContain(nowhere)
        expect(Backups.condition(failed, "LastRunSucceeded")).toMatchObject({
          status: "False",
          reason: "ImagePullFailed"
        })
        yield* Managed.eventually("its Job is gone", Scene.jobs(scene), ({ length }) => length === 0)
        yield* Managed.eventually(
          "its pods are gone",
          Client.list(Pod, { namespace: scene.namespace }),
          ({ items }) => items.length === 0
        )
        yield* Backups.eventsAre(scene, "shop", ["BackupScheduled", "BackupStarted", "BackupFailed"])
      }),
    { node: { unpullable: [nowhere] }, settings: { startTimeout: Duration.seconds(4) } }
  )

  Pretended.test("whose claim is deleted reports that at the next run, and keeps the result of the last run", (scene) =>
    Effect.gen(function* () {
      yield* Pretended.shop(scene)
      yield* scene.manage()
      yield* Backups.create(scene, "shop", { schedule: "0 2 * * *" })
      yield* Backups.completed(scene, "shop")
      for (const job of yield* Scene.jobs(scene)) {
        yield* Client.delete(Job, scene.key(job.metadata.name), { propagation: "Foreground" })
      }
      yield* Client.delete(PersistentVolumeClaim, scene.key("app"))
      yield* Pretended.annotate(scene, "shop", "again")
      yield* Pretended.obstacle(scene, "shop", "SourceNotFound")
      // The status still shows the result of the last run.
      expect((yield* Backups.get(scene, "shop")).status).toMatchObject({ phase: "Completed" })
    })
  )
})
