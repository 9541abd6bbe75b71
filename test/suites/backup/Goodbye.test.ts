/** Deletion of Backups: the objects that go with a Backup, the objects that stay, and the causes that block the deletion. */
import { describe, expect } from "bun:test"
import { Backup } from "@homeostat/backup/kinds/Backup"
import * as Client from "@homeostat/runtime/client/Client"
import { eventually } from "@homeostat/testkit/Eventually"
import { Effect } from "effect"
import * as PretendedMover from "./PretendedMover.ts"
import * as Virtual from "./Virtual.ts"

const remove = (name: string) => Client.delete(Backup, Virtual.key(name))

const backups = Effect.map(Client.list(Backup, { namespace: Virtual.namespace }), ({ items }) =>
  items.map(({ metadata }) => metadata.name)
)

const isGone = (name: string) => eventually(`${name} is gone`, backups, (names) => !names.includes(name), "5 minutes")

describe("A Backup that is deleted", () => {
  Virtual.test("stops its mover and is removed when the mover is gone, and the snapshots stay", (world) =>
    Effect.gen(function* () {
      yield* world.manage()
      world.movers((mover) => ({
        ...PretendedMover.succeeds(mover, "1 hour"),
        stopped: PretendedMover.stopped("30 seconds")
      }))
      yield* Virtual.create("shop")
      yield* Virtual.runs("shop")
      yield* world.pass("1 minute")
      yield* remove("shop")
      yield* world.pass("20 seconds")
      expect([yield* backups, (yield* Virtual.pods).length]).toEqual([["shop"], 1])
      yield* isGone("shop")
      expect([yield* Virtual.jobs, yield* Virtual.pods]).toEqual([[], []])
      expect(world.begun().map(({ operations }) => operations.join(" "))).toEqual(["preflight backup"])
    })
  )
})
