import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Cluster from "../client/Cluster.fixture.ts"
import { ConfigMap } from "../resource/BuiltIn.ts"
import * as Owned from "./Owned.ts"
import * as Result from "./Result.ts"
import * as Status from "./Status.ts"
import { counted, pass, run, settle, Widget, widget, withWorld } from "./World.fixture.ts"

const hold = "example.com/hold"
const ours = "example.com/ours"

const readyIn = (server: Cluster.Cluster) =>
  (server.get(Widget, "a")?.status?.conditions ?? []).flatMap(({ message, reason, status, type }) =>
    type === "Ready" ? [`${status} ${reason}: ${message}`] : []
  )

const finalizers = (server: Cluster.Cluster, kind: typeof Widget | typeof ConfigMap, names: ReadonlyArray<string>) =>
  server.change(kind, "a", { metadata: { finalizers: [...names] } })

const writesOf = (server: Cluster.Cluster) => Cluster.lines(server.writes()).filter((line) => !line.includes("/events"))

/** A reconcile with a child and a status, and a clean-up of this result. */
const options = (cleanup: Result.Result = Result.done) => ({
  ...counted((_, owner) =>
    Effect.gen(function* () {
      yield* Owned.apply(owner, ConfigMap, { metadata: { name: owner.metadata.name }, data: {} })
      yield* Status.ready(owner, { reason: "Available", message: "It is there" })
      return Result.done
    })
  ),
  owns: [ConfigMap],
  finalizer: { name: ours, cleanup: () => Effect.succeed(cleanup) }
})

describe("An object that is being deleted", () => {
  effect(
    "shows after ten seconds for which finalizers it waits, once",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        yield* run(options())
        finalizers(server, Widget, [ours, hold])
        server.remove(Widget, "a")
        yield* settle
        yield* pass("9 seconds")
        expect(readyIn(server)).toEqual(["True Available: It is there"])
        yield* pass("1 second")
        expect(readyIn(server)).toEqual([`False Deleting: Its deletion waits for ${hold}`])
        const writes = writesOf(server).length
        yield* pass("1 hour")
        expect(writesOf(server)).toHaveLength(writes)
      })
    )
  )

  effect(
    "shows the children whose deletion waits",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        yield* run(options())
        finalizers(server, Widget, ["foregroundDeletion"])
        finalizers(server, ConfigMap, [hold, "foregroundDeletion"])
        server.remove(Widget, "a")
        server.remove(ConfigMap, "a")
        yield* settle
        yield* pass("10 seconds")
        expect(readyIn(server)).toEqual([
          `False Deleting: Its deletion waits for foregroundDeletion, behind ConfigMap a (${hold})`
        ])
        finalizers(server, ConfigMap, [])
        yield* settle
        expect(readyIn(server)).toEqual(["False Deleting: Its deletion waits for foregroundDeletion"])
      })
    )
  )

  effect(
    "shows that its own clean-up waits, and names three of many finalizers",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        yield* run(options(Result.requeueAfter("30 seconds")))
        finalizers(server, Widget, [ours, ...Array.from({ length: 40 }, (_, at) => `example.com/${at}`)])
        server.remove(Widget, "a")
        yield* settle
        yield* pass("30 seconds")
        expect(readyIn(server)).toEqual([
          `False Deleting: Its deletion waits for ${ours}, example.com/0, example.com/1 and 38 others`
        ])
      })
    )
  )

  effect(
    "is gone without another write or timer if nothing else holds it",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        yield* run(options())
        const before = writesOf(server).length
        server.remove(Widget, "a")
        yield* settle
        expect(server.get(Widget, "a")).toBeUndefined()
        expect(writesOf(server)).toHaveLength(before + 1)
        expect(attempts.at(-1)?.next._tag).not.toBe("Run")
      })
    )
  )
})
