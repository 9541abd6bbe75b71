/** Jobs of another namespace that name a Backup or pretend to be movers: these Jobs change nothing. */
import { expect } from "bun:test"
import { Backup } from "@homeostat/backup/kinds/Backup"
import * as Client from "@homeostat/runtime/client/Client"
import { Job, Namespace, Secret } from "@homeostat/runtime/resource/BuiltIn"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import { Effect } from "effect"
import * as Claims from "./Claims.ts"
import * as PretendedMover from "./PretendedMover.ts"
import * as Virtual from "./Virtual.ts"

const evil = "evil"
const movers = { "app.kubernetes.io/name": "homeostat-mover", "app.kubernetes.io/managed-by": "homeostat" }

/** Creates a Job in another namespace that names a Backup as its controller. The garbage collector cannot remove that Job. */
const forge = (
  { metadata: { name, uid } }: KubernetesObject,
  work: { readonly operation: string; readonly suspend?: boolean },
  labels: { readonly [label: string]: string } = {},
  job = "forged"
) =>
  Client.create(Job, {
    metadata: {
      namespace: evil,
      name: job,
      labels: { ...movers, ...labels },
      finalizers: ["evil.example/stay"],
      ownerReferences: [{ apiVersion: "backup.example.com/v1", kind: "Backup", name, uid, controller: true }]
    },
    spec: {
      suspend: work.suspend ?? false,
      backoffLimit: 0,
      template: {
        metadata: { labels: movers },
        spec: {
          restartPolicy: "Never",
          containers: [{ name: "mover", image: "x", args: [work.operation], env: [{ name: "BACKUP_TAG", value: "x" }] }]
        }
      }
    }
  })

Virtual.test("A forged Job in another namespace does not prevent the removal of a Backup", (world) =>
  Effect.gen(function* () {
    yield* Client.create(Namespace, { metadata: { name: evil } })
    yield* world.manage()
    yield* Virtual.create("shop")
    yield* forge(yield* Virtual.rests("shop"), { operation: "preflight", suspend: true })
    yield* world.pass("10 seconds")
    yield* Client.delete(Backup, Virtual.key("shop"))
    yield* world.pass("10 minutes")
    expect((yield* Effect.option(Virtual.get("shop")))._tag).toBe("None")
  })
)

Virtual.test("A forged clean-up in another namespace does not count as the deletion of snapshots", (world) =>
  Effect.gen(function* () {
    yield* Client.create(Namespace, { metadata: { name: evil } })
    yield* world.manage()
    yield* Virtual.create("shop", { deletionPolicy: "Delete" })
    yield* forge(yield* Virtual.rests("shop"), { operation: "delete" }, { "backup.example.com/trigger": "delete" })
    yield* world.pass("3 minutes")
    yield* Client.delete(Backup, Virtual.key("shop"))
    yield* world.pass("10 minutes")
    expect((yield* Effect.option(Virtual.get("shop")))._tag).toBe("None")
    const deletions = world
      .begun()
      .filter(({ tag, operations }) => tag === "shop/shop" && operations.includes("delete"))
    expect(deletions).toHaveLength(1)
  })
)

Virtual.test("The result of a forged Job in another namespace does not appear in the status of a Backup", (world) =>
  Effect.gen(function* () {
    yield* Client.create(Namespace, { metadata: { name: evil } })
    yield* world.manage()
    world.movers(() => PretendedMover.ends(42, { reason: "WrongPassword", message: "wrong password" }))
    yield* Virtual.create("shop", { schedule: "0 3 * * *", backoffLimit: 0 })
    const failed = yield* Virtual.rests("shop")
    world.movers((mover) => PretendedMover.succeeds(mover, "1 second"))
    yield* forge(failed, { operation: "preflight" })
    yield* world.pass("3 minutes")
    expect((yield* Virtual.status("shop"))?.lastRun).toEqual(failed.status?.lastRun)
    expect((yield* Virtual.status("shop"))?.lastBackupTime).toBe(failed.status?.lastBackupTime)
  })
)

/** Creates the namespace of another tenant with a Backup, whose spec may name any repository. */
const tenant = (spec: Parameters<typeof Virtual.create>[1] = {}) =>
  Effect.gen(function* () {
    yield* Client.create(Namespace, { metadata: { name: evil } })
    yield* Claims.bound(evil, "app")
    yield* Client.create(Secret, {
      metadata: { namespace: evil, name: "any-backup-credentials" },
      stringData: { RESTIC_PASSWORD: "guess" }
    })
    return yield* Client.create(Backup, {
      metadata: { namespace: evil, name: "any" },
      spec: { source: "app", destination: "rest+https://host", ...spec }
    })
  })

Virtual.test("Forged Jobs of a tenant block other namespaces for at most an hour", (world) =>
  Effect.gen(function* () {
    const backup = yield* tenant({ suspend: true })
    yield* world.manage({ settings: { maxJobs: 2 } })
    world.movers((mover) => (mover.tag === "x" ? PretendedMover.succeeds(mover, "30 days") : undefined))
    for (const name of ["one", "two", "three"]) {
      yield* forge(
        backup,
        { operation: "preflight" },
        { "backup.example.com/owner": backup.metadata.uid, "backup.example.com/use": "backup" },
        name
      )
    }
    yield* world.pass("1 minute")
    yield* Virtual.create("shop")
    yield* world.pass("50 minutes")
    const waiting = yield* Virtual.status("shop")
    expect(waiting?.message).toBe("A run is due and waits: as many movers run as HOMEOSTAT_BACKUP_MAX_JOBS allows, 2")
    yield* world.pass("20 minutes")
    expect((yield* Virtual.status("shop"))?.lastRun?.reason).toBe("Succeeded")
  })
)

Virtual.test("A mover of another namespace blocks a repository for at most an hour", (world) =>
  Effect.gen(function* () {
    const repository = { path: "shop/shop", credentialsSecretRef: { name: "any-backup-credentials" } }
    yield* tenant({ repository })
    world.movers((mover) => (mover.tag.startsWith(evil) ? PretendedMover.succeeds(mover, "30 days") : undefined))
    yield* world.manage()
    yield* world.pass("1 minute")
    yield* Virtual.create("shop", { destination: "rest+https://host" })
    yield* world.pass("50 minutes")
    const waiting = yield* Virtual.status("shop")
    expect(waiting?.message).toBe("A run is due and waits: a mover of another namespace works on the repository")
    yield* world.pass("20 minutes")
    expect((yield* Virtual.status("shop"))?.lastRun?.reason).toBe("Succeeded")
  })
)
