/** Restores and maintenance that must not touch a repository, in virtual time. */
import { expect } from "bun:test"
import { Restore } from "@homeostat/backup/kinds/Restore"
import * as Client from "@homeostat/runtime/client/Client"
import { Effect } from "effect"
import type { RestoreSpec } from "./Backups.ts"
import * as Claims from "./Claims.ts"
import * as PretendedMover from "./PretendedMover.ts"
import * as Virtual from "./Virtual.ts"

const restore = (spec: Partial<RestoreSpec> & { readonly targetPVC: string }) =>
  Client.create(Restore, { metadata: Virtual.key("back"), spec: { backupRef: "shop", ...spec } })

const status = Effect.map(Client.get(Restore, Virtual.key("back")), ({ status }) => status)

Virtual.test("A Restore expects the repository that the Backup knows", (world) =>
  Effect.gen(function* () {
    yield* world.manage()
    yield* Virtual.create("shop")
    yield* Virtual.rests("shop")
    yield* Claims.bound(Virtual.namespace, "fresh")
    yield* restore({ targetPVC: "fresh" })
    yield* world.pass("3 minutes")
    const mover = world.begun().find(({ operations }) => operations.includes("restore"))
    expect(mover?.env.REPOSITORY_ID).toBe(PretendedMover.repository)
  })
)

for (const mode of ["IntoEmpty", "Overlay", "Mirror"] as const) {
  Virtual.test(`A Restore with mode ${mode} does not write to the claim that holds a repository`, (world) =>
    Effect.gen(function* () {
      yield* world.manage()
      yield* Claims.bound(Virtual.namespace, "vault")
      yield* Virtual.create("shop")
      yield* Virtual.create("other", { destination: "pvc://vault" })
      yield* Virtual.rests("shop")
      yield* Virtual.rests("other")
      const before = world.begun().length
      yield* restore({ targetPVC: "vault", mode })
      yield* world.pass("3 minutes")
      expect(yield* status).toMatchObject({
        phase: "Pending",
        message:
          "PersistentVolumeClaim vault holds the repository of Backup other (create a Restore with another spec.targetPVC)"
      })
      expect(world.begun()).toHaveLength(before)
    })
  )
}

Virtual.test("Damage that one Backup finds holds the deletions of another Backup in the same repository", (world) =>
  Effect.gen(function* () {
    yield* world.manage()
    let isDamaged = true
    world.movers(({ operations, tag }) =>
      operations.includes("check") && tag.endsWith("/one") && isDamaged
        ? PretendedMover.ends(48, { reason: "RepositoryDamaged", message: "pack 1234: not found" })
        : undefined
    )
    const shared = {
      repository: { path: "shared", credentialsSecretRef: { name: "shop-backup-credentials" } },
      retention: { keepLast: 3 }
    }
    yield* Virtual.create("one", { ...shared, schedule: "0 * * * *", checkInterval: "1h" })
    yield* Virtual.rests("one")
    yield* world.pass("3 hours")
    expect(Virtual.condition(yield* Virtual.get("one"), "RepositoryHealthy")?.reason).toBe("RepositoryDamaged")
    yield* Virtual.create("two", { ...shared, schedule: "0 * * * *" })
    yield* world.pass("3 hours")
    const deletions = () =>
      world.begun().filter(({ operations, tag }) => operations.includes("forget") && tag.endsWith("/two"))
    expect(deletions()).toEqual([])
    expect(Virtual.condition(yield* Virtual.get("two"), "RetentionApplied")).toMatchObject({
      status: "False",
      reason: "RepositoryDamaged",
      message: "Backup one found damage in the shared repository: no snapshot is deleted until its check succeeds."
    })
    isDamaged = false
    yield* Virtual.annotate("one", "run", "repaired")
    yield* world.pass("2 hours")
    expect(deletions().length).toBeGreaterThan(0)
    expect(Virtual.condition(yield* Virtual.get("two"), "RetentionApplied")?.status).toBe("True")
  })
)
