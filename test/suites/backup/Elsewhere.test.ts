/** Restores into claims that they create, and Restores from Backups of other namespaces. */
import { expect } from "bun:test"
import { Restore } from "@homeostat/backup/kinds/Restore"
import * as Settings from "@homeostat/backup/Settings"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Job, Namespace, PersistentVolumeClaim, Secret } from "@homeostat/runtime/resource/BuiltIn"
import { Effect } from "effect"
import type { RestoreSpec } from "./Backups.ts"
import * as Claims from "./Claims.ts"
import * as Virtual from "./Virtual.ts"

const template = {
  metadata: { labels: { app: "web" } },
  spec: { storageClassName: "", resources: { requests: { storage: "1Gi" } } }
}

const restore = (namespace: string, spec: RestoreSpec = {}) =>
  Client.create(Restore, {
    metadata: { namespace, name: "back" },
    spec: { backupRef: "shop", targetPVC: "fresh", ...spec }
  })

const status = (namespace: string) =>
  Effect.map(Client.get(Restore, { namespace, name: "back" }), ({ status }) => ({
    phase: status?.phase,
    message: status?.message,
    reason: status?.conditions?.find(({ type }) => type === "Ready")?.reason
  }))

const claim = (namespace: string) => Client.get(PersistentVolumeClaim, { namespace, name: "fresh" })

Virtual.test("A Restore creates its claim, which stays when the Restore is deleted", (world) =>
  Effect.gen(function* () {
    yield* world.manage()
    yield* Virtual.create("shop")
    yield* Virtual.rests("shop")
    yield* Claims.volume(Virtual.namespace, "fresh")
    yield* restore(Virtual.namespace, { volumeClaimTemplate: template })
    yield* world.pass("3 minutes")
    expect(yield* status(Virtual.namespace)).toMatchObject({ phase: "Complete" })
    expect(world.begun().at(-1)?.claims).toEqual(["fresh"])
    yield* Client.delete(Restore, Virtual.key("back"))
    yield* world.pass("3 minutes")
    const { metadata, spec } = yield* claim(Virtual.namespace)
    expect(metadata).toMatchObject({ labels: { app: "web" } })
    expect(metadata.ownerReferences).toBeUndefined()
    expect(metadata.deletionTimestamp).toBeUndefined()
    expect(spec).toMatchObject({ accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } })
  })
)

Virtual.test("A Restore that cannot run creates no claim", (world) =>
  Effect.gen(function* () {
    yield* world.manage()
    yield* Virtual.create("shop")
    yield* Virtual.rests("shop")
    yield* Client.delete(Secret, Virtual.key("shop-backup-credentials"))
    yield* restore(Virtual.namespace, { volumeClaimTemplate: template })
    yield* world.pass("1 minute")
    expect(yield* status(Virtual.namespace)).toMatchObject({ phase: "Pending", reason: "CredentialsMissing" })
    expect((yield* Effect.option(claim(Virtual.namespace)))._tag).toBe("None")
  })
)

Virtual.test("The API server rejects the claim of a Restore, and the status contains the reason", (world) =>
  Effect.gen(function* () {
    yield* world.manage()
    yield* Virtual.create("shop")
    yield* Virtual.rests("shop")
    const spec = { ...template.spec, resources: { requests: { storage: "0" } } }
    yield* restore(Virtual.namespace, { volumeClaimTemplate: { spec } })
    yield* world.pass("1 minute")
    const refused = yield* status(Virtual.namespace)
    expect(refused).toMatchObject({ phase: "Pending", reason: "ClaimRefused" })
    expect(refused.message).toContain("spec.resources")
  })
)

const staging = "staging"
const keys = { RESTIC_PASSWORD: "correct horse", AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b" }

/** Allows Restores of these namespaces to use the Backups of the namespace `shop`. */
const grant = (names: string) =>
  Client.patch(
    Namespace,
    { name: Virtual.namespace },
    Patch.merge({ metadata: { annotations: { "backup.example.com/restore-to-namespaces": names } } })
  )

Virtual.test("A Restore uses a Backup of another namespace only where that namespace allows it", (world) =>
  Effect.gen(function* () {
    yield* Client.create(Namespace, { metadata: { name: staging } })
    yield* Client.delete(Secret, Virtual.key("shop-backup-credentials"))
    yield* Virtual.secret("shop", keys)
    yield* world.manage()
    const own = { image: "registry.example.com/mover:1", serviceAccountName: "mover" }
    yield* Virtual.create("shop", { destination: "s3://bucket", ...own })
    yield* Virtual.rests("shop")
    yield* Claims.bound(staging, "fresh")
    yield* restore(staging, { backupNamespace: Virtual.namespace })
    yield* world.pass("1 minute")
    const message =
      'spec.backupNamespace is not allowed: "shop" (an administrator adds staging to the annotation backup.example.com/restore-to-namespaces of that namespace)'
    expect(yield* status(staging)).toEqual({ phase: "Pending", reason: "RestoreNotAllowed", message })
    // The name of a namespace does not match as a prefix of another name.
    yield* grant("other, staging-2")
    yield* world.pass("1 minute")
    expect(yield* status(staging)).toMatchObject({ reason: "RestoreNotAllowed" })
    yield* grant("other, staging")
    yield* world.pass("1 minute")
    expect(yield* status(staging)).toMatchObject({ reason: "CredentialsMissing" })
    yield* Client.create(Secret, {
      metadata: { namespace: staging, name: "shop-backup-credentials" },
      stringData: keys
    })
    yield* world.pass("3 minutes")
    expect(yield* status(staging)).toMatchObject({ phase: "Complete" })
    const mover = world.begun().at(-1)
    expect(mover?.pod.metadata.namespace).toBe(staging)
    expect(mover?.env).toMatchObject({ BACKUP_HOST: "shop", BACKUP_TAG: "shop/shop", RESTORE_VOLUME: "app" })
    // A Backup chooses neither the program nor the identity of a mover in another namespace.
    expect(mover?.pod.spec?.containers[0]?.image).toBe(Settings.defaults.moverImage)
    expect(mover?.pod.spec?.serviceAccountName ?? "default").toBe("default")
    const [ran] = (yield* Client.list(Job, { namespace: staging })).items
    const [saved] = yield* Virtual.jobs
    const label = "backup.example.com/repository"
    expect(ran?.metadata.labels?.[label]).toBe(saved?.metadata.labels?.[label] ?? "")
  })
)

Virtual.test("The mover of a Restore is the same in another namespace, with any mode and privilege", (world) =>
  Effect.gen(function* () {
    yield* Client.create(Namespace, { metadata: { name: staging } })
    yield* world.manage()
    yield* Client.delete(Secret, Virtual.key("shop-backup-credentials"))
    yield* Virtual.secret("shop", keys)
    yield* Client.create(Secret, {
      metadata: { namespace: staging, name: "shop-backup-credentials" },
      stringData: keys
    })
    yield* grant(staging)
    for (const name of [Virtual.namespace, staging]) {
      const annotations = { "backup.example.com/privileged-movers": "true" }
      yield* Client.patch(Namespace, { name }, Patch.merge({ metadata: { annotations } }))
    }
    yield* Virtual.create("shop", { destination: "s3://bucket" })
    yield* Virtual.rests("shop")
    yield* Claims.bound(Virtual.namespace, "fresh")
    yield* Claims.bound(staging, "fresh")
    for (const mode of ["IntoEmpty", "Overlay", "Mirror"] as const) {
      for (const privileged of [false, true]) {
        const movers: Array<unknown> = []
        for (const namespace of [Virtual.namespace, staging]) {
          yield* restore(namespace, { backupNamespace: Virtual.namespace, volume: "app", mode, privileged })
          yield* world.pass("3 minutes")
          expect(yield* status(namespace)).toMatchObject({ phase: "Complete" })
          const spec = world.begun().at(-1)?.pod.spec
          const container = spec?.containers[0]
          expect(world.begun().at(-1)?.pod.metadata.namespace).toBe(namespace)
          movers.push({
            args: container?.args,
            env: container?.env?.filter(({ name }) => name !== "RESTORE_ID" && name !== "AS_OF"),
            mounts: container?.volumeMounts,
            container: container?.securityContext,
            pod: spec?.securityContext
          })
          yield* Client.delete(Restore, { namespace, name: "back" })
          yield* world.pass("1 minute")
        }
        expect(movers[1]).toEqual(movers[0])
      }
    }
  })
)

Virtual.test("A rejected Restore does not reveal whether a namespace or Backup exists", (world) =>
  Effect.gen(function* () {
    yield* Client.create(Namespace, { metadata: { name: staging } })
    yield* world.manage()
    yield* restore(staging, { backupNamespace: Virtual.namespace, backupRef: "nothing" })
    yield* world.pass("1 minute")
    const known = yield* status(staging)
    yield* Client.delete(Restore, { namespace: staging, name: "back" })
    yield* restore(staging, { backupNamespace: "nowhere", backupRef: "nothing" })
    yield* world.pass("1 minute")
    const unknown = yield* status(staging)
    expect(known.reason).toBe("RestoreNotAllowed")
    expect(unknown.message).toBe(known.message?.replaceAll('"shop"', '"nowhere"') ?? "")
  })
)

Virtual.test("A Backup in a claim is not restored into another namespace", (world) =>
  Effect.gen(function* () {
    yield* Client.create(Namespace, { metadata: { name: staging } })
    yield* grant("*")
    yield* world.manage()
    yield* Virtual.create("shop")
    yield* Virtual.rests("shop")
    yield* Claims.bound(staging, "fresh")
    yield* restore(staging, { backupNamespace: Virtual.namespace })
    yield* world.pass("1 minute")
    expect(yield* status(staging)).toMatchObject({
      reason: "InvalidDestination",
      message:
        "spec.backupNamespace is not allowed for a Backup with the destination pvc://store: only pods of namespace shop can mount that claim"
    })
  })
)
