import { describe, expect, test } from "bun:test"
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import type { Record } from "./BuiltInController.ts"
import * as Recorder from "./Recorder.ts"

const about: JsonObject = { apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace: "n", uid: "u" } }

const recordOf = (message: string): Record => ({ verb: "record", about, type: "Normal", reason: "Reported", message })

const minute = 60_000

describe("An Event of the controller manager", () => {
  test("is created the first time, and then counted", () => {
    const recorder = Recorder.make()
    const first = recorder.written(recordOf("a"), "c", false, 0)
    expect(first).toMatchObject({ verb: "create", event: { count: 1, message: "a", source: { component: "c" } } })
    expect(recorder.written(recordOf("a"), "c", false, minute)).toMatchObject({
      verb: "patch",
      patch: { count: 2, lastTimestamp: "1970-01-01T00:01:00Z", message: "a" }
    })
  })

  test("is combined with similar ones from the tenth within ten minutes on", () => {
    const recorder = Recorder.make()
    const messages = Array.from({ length: 12 }, (_, index) =>
      recorder.written(recordOf(`${index}`), "c", false, 0)
    ).map((written) => (written?.verb === "create" ? written.event.message : written?.patch.message))
    expect(messages.slice(8)).toEqual([
      "8",
      ...["9", "10", "11"].map((one) => `(combined from similar events): ${one}`)
    ])
    expect(recorder.written(recordOf("12"), "c", false, 11 * minute)).toMatchObject({ event: { message: "12" } })
  })

  test("is dropped if an object has too many, and recorded again later", () => {
    const recorder = Recorder.make()
    const written = () => recorder.written(recordOf("a"), "c", false, 0)
    expect(Array.from({ length: 26 }, written).map((one) => one !== undefined)).toEqual([
      ...Array.from({ length: 25 }, () => true),
      false
    ])
    expect(recorder.written(recordOf("a"), "c", false, 5 * minute)).toMatchObject({ patch: { count: 27 } })
  })
})

test("A repeated Event of the scheduler becomes a series", () => {
  const recorder = Recorder.make()
  expect(recorder.written(recordOf("a"), "s", true, 0)).toMatchObject({
    event: { apiVersion: "events.k8s.io/v1", note: "a", eventTime: "1970-01-01T00:00:00.000000Z" }
  })
  expect(recorder.written(recordOf("a"), "s", true, 1)).toMatchObject({ patch: { series: { count: 2 } } })
  expect(recorder.written(recordOf("a"), "s", true, 2)).toBeUndefined()
})

test("Events of one moment have different names", () => {
  const recorder = Recorder.make()
  const names = ["a", "b"].map((message) => {
    const written = recorder.written(recordOf(message), "c", false, 0)
    return written?.verb === "create" ? written.event.metadata : undefined
  })
  expect(names).toEqual([
    { name: "p.0", namespace: "n" },
    { name: "p.1", namespace: "n" }
  ])
})
