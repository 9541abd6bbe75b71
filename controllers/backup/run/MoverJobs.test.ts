/** The requests that the controllers send about Jobs of movers, on the embedded cluster. */
import { describe, expect } from "bun:test"
import * as Cache from "@homeostat/runtime/cache/Cache"
import * as Client from "@homeostat/runtime/client/Client"
import * as Transport from "@homeostat/runtime/client/Transport"
import { Job, Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Harness from "@homeostat/testkit/Harness"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import * as JobProgress from "./JobProgress.ts"
import * as MoverJobs from "./MoverJobs.ts"

const test = Harness.make({
  manager: Effect.void,
  kubelet: { pods: () => ({ ends: { after: "1 minute", exitCode: 42, message: "wrong password" } }) }
})

const key = (name: string) => ({ namespace: "default", name })

const create = (name: string) =>
  Client.create(Job, {
    metadata: key(name),
    spec: {
      backoffLimit: 0,
      template: { spec: { restartPolicy: "Never", containers: [{ name: "mover", image: "mover:1" }] } }
    }
  })

describe("A new Job with the name of a deleted one", () => {
  for (const [what, remove] of [
    ["ends", MoverJobs.end],
    ["discards", MoverJobs.discard]
  ] as const) {
    test(`survives when a manager with a stale cache ${what} the deleted one`, () =>
      Effect.gen(function* () {
        const earlier = yield* create("shop-1")
        yield* Client.delete(Job, key("shop-1"), { propagation: "Background" })
        const { metadata } = yield* create("shop-1")
        const outcome = yield* Effect.result(remove(earlier))
        const { items } = yield* Client.list(Job)
        expect(items.map(({ metadata }) => [metadata.uid, metadata.deletionTimestamp])).toEqual([
          [metadata.uid, undefined]
        ])
        expect(outcome).toMatchObject({ _tag: "Failure", failure: { _tag: "Conflict" } })
      }))
  }
})

test("MoverJobs.progress reads only the pods of the given Job", ({ transport }) =>
  Effect.gen(function* () {
    const { metadata } = yield* create("shop-1")
    yield* create("shop-2")
    yield* TestClock.adjust("2 minutes")
    const over = yield* Client.get(Job, key("shop-1"))
    expect(JobProgress.isOver(over)).toBe(true)
    expect((yield* Client.list(Pod)).items).toHaveLength(2)

    const sent: Array<string> = []
    const recorded = Layer.effect(
      Transport.Transport,
      Effect.map(Transport.Transport, (next) => ({
        ...next,
        send: (request) =>
          Effect.andThen(
            Effect.sync(() => void sent.push(request.path)),
            next.send(request)
          )
      }))
    ).pipe(Layer.provide(transport))
    const progress = yield* MoverJobs.progress(over).pipe(
      Effect.provide(Layer.provideMerge(Cache.layer(), Layer.provide(Client.layer(), recorded)))
    )
    expect(progress).toMatchObject({ _tag: "Ended", ending: { _tag: "Exited", exitCode: 42, text: "wrong password" } })
    expect(sent.map((path) => decodeURIComponent(path))).toEqual([
      expect.stringMatching(
        new RegExp(
          `^/api/v1/namespaces/default/pods\\?(.*&)?labelSelector=batch.kubernetes.io/controller-uid=${metadata.uid}(&|$)`
        )
      )
    ])
  }))
