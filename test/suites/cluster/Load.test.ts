/** Many clients and watchers use the embedded server: no event is lost, repeated or out of order. */
import { describe, expect } from "bun:test"
import * as ApiServer from "@homeostat/apiserver/http/ApiServer"
import * as Http from "@homeostat/apiserver/http/Http"
import * as Cluster from "@homeostat/runtime/client/Cluster"
import * as Transport from "@homeostat/runtime/client/Transport"
import * as Memory from "@homeostat/testkit/Memory"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Load from "./Load.ts"

const size: Load.Size = { objects: 420, clients: 16, watchers: 20, changes: true }

const byRevision = (one: Load.Event, other: Load.Event): number => one.revision - other.revision

/** The objects after these events, sorted by name. */
const left = (events: ReadonlyArray<Load.Event>): ReadonlyArray<Load.Event> => {
  const objects = new Map<string, Load.Event>()
  for (const event of events) {
    if (event.type === "DELETED") objects.delete(event.name)
    else objects.set(event.name, { ...event, type: "ADDED" })
  }
  return [...objects.values()].sort((one, other) => (one.name < other.name ? -1 : 1))
}

const judge = ({ answered, seen, written }: Load.Result): void => {
  expect(written.length).toBe(size.objects * 2 + size.objects / 3 + 1)
  expect(written.toSorted(byRevision)).toEqual([...written])
  expect(answered.toSorted(byRevision)).toEqual(written.filter(({ type }) => type !== "DELETED"))
  expect(seen.length).toBe(size.watchers)
  for (const { events, listed, since } of seen) {
    expect(listed).toEqual([...left(written.filter(({ revision }) => revision <= since))])
    expect(events).toEqual(written.filter(({ revision }) => revision > since))
  }
  // Some watches started during the writes.
  expect(seen.filter(({ listed }) => listed.length > 0).length).toBeGreaterThan(0)
}

describe("16 clients and 20 watchers", () => {
  live("in memory: each watcher receives each revision of each object once, in order", () =>
    Effect.gen(function* () {
      const server = yield* ApiServer.make()
      judge(yield* Load.run(server, Memory.make(server), size))
    })
  )

  live("over HTTP: each watcher receives each revision of each object once, in order", () =>
    Effect.gen(function* () {
      const server = yield* ApiServer.make()
      const { url } = yield* Http.serve(server)
      judge(yield* Load.run(server, yield* Transport.make(Cluster.make({ server: url })), size))
    })
  )
})
