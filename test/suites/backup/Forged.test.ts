/** Jobs of another namespace that name a Backup, or claim to be movers, and what they change: nothing. */
import { expect } from "bun:test"
import { Backup } from "@homeostat/backup/kinds/Backup"
import * as Client from "@homeostat/runtime/client/Client"
import { Job, Namespace } from "@homeostat/runtime/resource/BuiltIn"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import { Effect } from "effect"
import * as PretendedMover from "./PretendedMover.ts"
import * as Virtual from "./Virtual.ts"

const evil = "evil"
const movers = { "app.kubernetes.io/name": "homeostat-mover", "app.kubernetes.io/managed-by": "homeostat" }

/** Makes a Job in another namespace that names a Backup as the owner that controls it, and that the garbage collector cannot remove. */
const forge = (
  { metadata: { name, uid } }: KubernetesObject,
  work: { readonly operation: string; readonly suspend?: boolean },
  labels: { readonly [label: string]: string } = {}
) =>
  Client.create(Job, {
    metadata: {
      namespace: evil,
      name: "forged",
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

Virtual.test("A forged Job in another namespace does not keep a Backup from being deleted", (world) =>
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

Virtual.test("A forged clean-up in another namespace does not stand for the deletion of snapshots", (world) =>
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
