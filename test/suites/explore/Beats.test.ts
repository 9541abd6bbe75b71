/** The ten minutes at rest, and correct controllers that they must not report. */
import { expect } from "bun:test"
import * as Cache from "@homeostat/runtime/cache/Cache"
import * as Client from "@homeostat/runtime/client/Client"
import * as Access from "@homeostat/runtime/controller/Access"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Status from "@homeostat/runtime/controller/Status"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import { keyOf } from "@homeostat/runtime/resource/KubernetesObject"
import * as Explore from "@homeostat/testkit/Explore"
import { live } from "@homeostat/testkit/Test"
import { Clock, Effect } from "effect"
import { errors } from "./Errors.ts"
import { create, owner, type Program, storyOf, Volume } from "./Mutant.ts"

const heartbeat = errors.find(({ name }) => name === "writes the time into the status each minute")
if (heartbeat === undefined) throw new Error("mutant not found")

/** Returns the messages about the ten minutes at rest. */
const found = (program: Program, ignore: ReadonlyArray<string> = []) =>
  Effect.map(
    Explore.run({ ...storyOf(program, { ...heartbeat, steps: [create()] }), ignore, lasting: false }, { faults: [] }),
    ({ violations }) => violations.map(({ message }) => message).filter((message) => message.includes("ten minutes"))
  )

/** Creates an object each minute, deletes the one before, and writes the time into the status. */
const scheduled: Program = () => [
  Controller.make("volumes", {
    for: Volume,
    owns: [ConfigMap],
    access: [Access.create(ConfigMap), Access.delete(ConfigMap)],
    reconcile: (volume) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const due = Date.parse(volume.status?.seenAt ?? "1970-01-01T00:00:00Z") + 60_000
        if (now < due) return Result.requeueAfter(due - now)
        for (const run of (yield* Cache.byOwner(ConfigMap, volume)).items) yield* Client.delete(ConfigMap, keyOf(run))
        const { namespace = "" } = volume.metadata
        yield* Client.create(ConfigMap, {
          metadata: { namespace, generateName: "run-", ownerReferences: [owner(volume)] }
        })
        yield* Status.update(volume, { seenAt: new Date(now).toISOString() })
        return Result.requeueAfter(60_000)
      })
  })
]

live(
  "the message names the request and the field",
  () =>
    Effect.gen(function* () {
      expect(yield* found(heartbeat.mutant)).toEqual([
        "10 times in ten minutes: PATCH explore.example.org/v1/volumes/default/v/status, which changed only Volume: status.seenAt"
      ])
    }),
  60_000
)

live(
  "a field of the option ignore may change at rest",
  () => Effect.map(found(heartbeat.mutant, ["Volume: status.seenAt"]), (messages) => expect(messages).toEqual([])),
  60_000
)

live(
  "a program that creates objects by a schedule may write the time",
  () => Effect.map(found(scheduled), (messages) => expect(messages).toEqual([])),
  60_000
)
