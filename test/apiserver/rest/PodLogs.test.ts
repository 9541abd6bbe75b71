import { describe, expect, test } from "bun:test"
import type { JsonObject } from "../model/Json.ts"
import * as PodLogs from "./PodLogs.ts"

const pod = (...names: ReadonlyArray<string>): JsonObject => ({
  metadata: { name: "p" },
  spec: { initContainers: [{ name: "init" }], containers: names.map((name) => ({ name })) }
})

const asked = (query: string, of = pod("a")) => PodLogs.of(of, new URLSearchParams(query))

describe("A request for a log", () => {
  test("returns all lines of the only container by default", () => {
    expect(asked("")).toEqual({ container: "a", follow: false, tailLines: undefined })
  })

  test("names a container or an init container", () => {
    expect(asked("container=b&follow=true&tailLines=0", pod("a", "b"))).toEqual({
      container: "b",
      follow: true,
      tailLines: 0
    })
    expect(asked("container=init").container).toBe("init")
  })

  test.each([
    [
      "has to name one of several",
      "",
      "a container name must be specified for pod p, choose one of: [a b] or one of the init containers: [init]"
    ],
    ["names one that is there", "container=c", "container c is not valid for pod p"],
    [
      "wants no fewer lines than none",
      "container=a&tailLines=-1",
      'PodLogOptions "p" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0'
    ],
    [
      "is refused where it wants what no kubelet of ours can do",
      "container=a&previous=true",
      "the embedded API server does not support previous of logs"
    ]
  ])("%s", (_, query, message) => {
    expect(() => asked(query, pod("a", "b"))).toThrow(message)
  })
})
