import { describe, expect } from "bun:test"
import { backup, restore } from "@homeostat/backup"
import { Backup } from "@homeostat/backup/kinds/Backup"
import { Restore } from "@homeostat/backup/kinds/Restore"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Served from "../manager/Served.ts"

/** The time limit of the test, which allows for a busy machine. */
const limit = "100 seconds"

describe("Metrics of Backups", () => {
  Shared.cluster(
    "exist for each Backup until its deletion",
    (cluster) =>
      Effect.gen(function* () {
        yield* cluster.install(Crd.of(Backup), Crd.of(Restore))
        const namespace = yield* cluster.namespace("metrics")
        const served = yield* Served.open
        yield* served.start(cluster.admin, [backup, restore], { namespaces: [namespace] })
        const key = (name: string) => ({ namespace, name })
        const create = (name: string, finalizers: ReadonlyArray<string> = []) =>
          Client.create(Backup, {
            metadata: { ...key(name), finalizers },
            spec: { source: "nothing", schedule: "0 2 * * 1-5", destination: "s3://bucket" }
          })
        const of = (name: string) => `{namespace="${namespace}",name="${name}"}`
        const without = (name: string) => (page: string) => !page.includes(of(name))

        yield* Effect.gen(function* () {
          for (const name of ["goes", "stays"]) yield* create(name)
          // This Restore has the same name as a Backup.
          yield* Client.create(Restore, {
            metadata: key("goes"),
            spec: { backupRef: "goes", targetPVC: "data" }
          })
          yield* create("held", ["suites.homeostat.dev/hold"])
          const page = yield* Managed.eventually(
            "the series of all",
            served.metrics,
            (page) => ["goes", "stays", "held"].every((name) => page.includes(`homeostat_backup_ready${of(name)} 0\n`)),
            limit
          )
          // The source does not exist, but the schedule still requires a run on each weekday.
          expect(page).toContain(`homeostat_backup_expected_interval_seconds${of("stays")} ${3 * 86_400}\n`)
          expect(page).toMatch(
            new RegExp(`^homeostat_backup_next_run_timestamp_seconds${RegExp.escape(of("stays"))} \\d+$`, "m")
          )
          expect(page).toContain(
            `homeostat_backup_run_total{namespace="${namespace}",name="stays",result="failure"} 0\n`
          )
          expect(page).not.toContain(`homeostat_backup_last_success_timestamp_seconds${of("stays")}`)

          for (const name of ["goes", "held"]) yield* Client.delete(Backup, key(name))
          yield* Managed.eventually("no series of the deleted Backup", served.metrics, without("goes"), limit)
          const rest = yield* Managed.eventually(
            "no series of the Backup with a finalizer",
            served.metrics,
            without("held"),
            limit
          )
          expect(rest).not.toMatch(/name="(goes|held)"/)
          expect(rest).toContain(`homeostat_backup_ready${of("stays")} 0\n`)
          yield* Client.patch(Backup, key("held"), Patch.merge({ metadata: { finalizers: null } }))
        }).pipe(Effect.provide(yield* Managed.client(cluster)))
      }),
    { ...Envtest.everything, timeoutMillis: 300_000 }
  )
})
