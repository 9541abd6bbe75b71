/** The test of many Backups that wait for a slot. */
import { expect } from "bun:test"
import { Backup } from "@homeostat/backup/kinds/Backup"
import * as Client from "@homeostat/runtime/client/Client"
import { Effect } from "effect"
import * as PretendedMover from "./PretendedMover.ts"
import * as Virtual from "./Virtual.ts"

/** Declares the test for this number of Backups. */
export const test = (count: number): void =>
  Virtual.test(
    `${count} Backups that wait for a slot write nothing while they wait`,
    (world) =>
      Effect.gen(function* () {
        world.movers((mover) => PretendedMover.succeeds(mover, "1 day"))
        const manager = yield* world.manage({ settings: { maxJobs: 2 } })
        yield* Effect.forEach(
          Array.from({ length: count }, (_, number) => `crowd-${number}`),
          (name) =>
            Virtual.create(name, {
              repository: { path: name, credentialsSecretRef: { name: "shop-backup-credentials" } }
            }),
          { concurrency: 16, discard: true }
        )
        yield* world.pass("2 minutes")
        const { items } = yield* Client.list(Backup, { namespace: Virtual.namespace })
        const waiting = items.filter(({ status }) => status?.message?.includes("HOMEOSTAT_BACKUP_MAX_JOBS"))
        expect(waiting).toHaveLength(count - 2)
        const sent = manager.sent.length
        const before = process.cpuUsage()
        yield* world.pass("10 minutes")
        const { system, user } = process.cpuUsage(before)
        const requests = manager.sent.slice(sent)
        expect(requests.filter(({ method }) => method !== "GET")).toEqual([])
        expect(requests.length).toBeLessThan(100)
        // 20 reconciles of each. The limit only excludes work that grows with the square of the number of Backups.
        process.stdout.write(
          `  CPU: ${Math.round((system + user) / 1000)} ms for ten minutes of ${count - 2} waiting Backups\n`
        )
        expect((system + user) / 1e6).toBeLessThan(60)
      }),
    240_000
  )
