import { describe, expect, test } from "bun:test"
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import * as NodeResources from "./NodeResources.ts"

const container = (cpu: string, more: JsonObject = {}): JsonObject => ({ resources: { requests: { cpu } }, ...more })

const pod = (spec: JsonObject, metadata: JsonObject = {}): JsonObject => ({ metadata, spec })

const node: JsonObject = { status: { allocatable: { cpu: "4", memory: "1Gi", pods: "2", "example.com/card": "1" } } }

const millis = (spec: JsonObject) => Number(NodeResources.requestsOf(pod(spec)).get("cpu") ?? 0n) / 1e6

describe("The requests of a pod", () => {
  test.each([
    ["the sum of its containers", { containers: [container("1"), container("500m")] }, 1500],
    ["those of the largest init container", { initContainers: [container("2")], containers: [container("1")] }, 2000],
    [
      "those of its containers and sidecars",
      { initContainers: [container("2", { restartPolicy: "Always" })], containers: [container("1")] },
      3000
    ],
    [
      "those of an init container and the sidecars before it",
      { initContainers: [container("1", { restartPolicy: "Always" }), container("3")], containers: [container("1")] },
      4000
    ],
    ["with its overhead", { containers: [container("1")], overhead: { cpu: "250m" } }, 1250],
    ["its own", { containers: [container("1")], resources: { requests: { cpu: "3" } } }, 3000]
  ])("are %s", (_, spec, expected) => {
    expect(millis(spec)).toBe(expected)
  })
})

describe("A pod lacks on a node", () => {
  const bound = (cpu: string, phase = "Running") => ({
    ...pod({ nodeName: "n", containers: [container(cpu)] }),
    status: { phase }
  })
  const lack = (wanted: JsonObject, ...others: ReadonlyArray<JsonObject>) =>
    NodeResources.lack(wanted, node, NodeResources.usage(others).get("n"))

  test("nothing", () => {
    expect(lack(pod({ containers: [container("4")] }))).toBeUndefined()
    expect(lack(pod({ containers: [container("4")] }), bound("4", "Succeeded"))).toBeUndefined()
  })

  test("what other pods use", () => {
    expect(lack(pod({ containers: [container("3")] }), bound("2"))).toEqual({
      reasons: ["Insufficient cpu"],
      isHopeless: false
    })
  })

  test("what the node does not have", () => {
    const requests = { cpu: "5", memory: "2Gi", "example.com/card": "2", "example.com/none": "1" }
    expect(lack(pod({ containers: [{ resources: { requests } }] }))).toEqual({
      reasons: [
        "Insufficient cpu",
        "Insufficient memory",
        "Insufficient example.com/card",
        "Insufficient example.com/none"
      ],
      isHopeless: true
    })
  })

  test("a place among the pods", () => {
    expect(lack(pod({ containers: [{}] }), bound("1"), bound("1"))).toEqual({
      reasons: ["Too many pods"],
      isHopeless: false
    })
  })
})
