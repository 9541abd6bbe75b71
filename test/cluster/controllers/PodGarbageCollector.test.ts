import { describe, expect } from "bun:test"
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import { nameOf } from "@homeostat/apiserver/model/ObjectMeta"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { effect } from "../Test.ts"
import * as Running from "./Running.fixture.ts"

const pod = (name: string, spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: Running.namespace, ...metadata },
  spec: { containers: [{ name: "c", image: "i" }], ...spec }
})

const pods = (running: Running.Running) => running.store.list("/pods").map(nameOf)

describe("The garbage collector of pods", () => {
  effect("deletes the pods of a node that has been missing for 40 seconds", () =>
    Effect.gen(function* () {
      const running = yield* Running.start()
      for (const name of ["gone", "there"]) {
        running.make({ apiVersion: "v1", kind: "Node", metadata: { name } })
        running.make(pod(name, { nodeName: name }))
      }
      running.remove("v1", "Node", "gone")
      yield* running.idle
      yield* TestClock.adjust("39 seconds")
      yield* running.idle
      expect(pods(running)).toEqual(["gone", "there"])
      yield* TestClock.adjust("1 second")
      yield* running.idle
      expect(pods(running)).toEqual(["there"])
    })
  )

  effect("keeps the pods of a node that returns", () =>
    Effect.gen(function* () {
      const running = yield* Running.start()
      running.make(pod("a", { nodeName: "n" }))
      yield* running.idle
      running.make({ apiVersion: "v1", kind: "Node", metadata: { name: "n" } })
      yield* TestClock.adjust("1 minute")
      yield* running.idle
      expect(pods(running)).toEqual(["a"])
    })
  )

  effect("marks a pod as failed that is deleted before it is scheduled", () =>
    Effect.gen(function* () {
      const running = yield* Running.start()
      running.make(pod("a", {}, { finalizers: ["test/held"] }))
      yield* running.idle
      running.remove("v1", "Pod", "a")
      yield* running.idle
      expect(running.find("v1", "Pod", "a")?.status).toMatchObject({ phase: "Failed" })
    })
  )
})
