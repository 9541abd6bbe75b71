import { describe, expect, test } from "bun:test"
import type { Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Environment from "./Environment.ts"

describe("A text with variables", () => {
  test.each([
    ["plain", "plain"],
    ["$(NAME)", "you"],
    ["hello $(NAME), $(NAME)", "hello you, you"],
    ["$(EMPTY)|", "|"],
    ["$(OTHER)", "$(OTHER)"],
    ["$(toString)", "$(toString)"],
    ["$$(NAME)", "$(NAME)"],
    ["$$$(NAME)", "$you"],
    ["$NAME $(NAME", "$NAME $(NAME"],
    ["$()", "$()"]
  ])("%p is %p", (text, expanded) => {
    expect(Environment.expand(text, { NAME: "you", EMPTY: "" })).toBe(expanded)
  })
})

describe("A field of a pod", () => {
  const pod: Pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      namespace: "default",
      name: "web",
      uid: "u1",
      resourceVersion: "1",
      creationTimestamp: "2026-01-01T00:00:00Z",
      labels: { "app.kubernetes.io/name": "shop" },
      annotations: { note: "it's" }
    },
    spec: { containers: [], nodeName: "node" },
    status: { podIP: "10.244.0.1" }
  }

  test.each([
    ["metadata.name", "web"],
    ["metadata.namespace", "default"],
    ["metadata.uid", "u1"],
    ["metadata.labels['app.kubernetes.io/name']", "shop"],
    ["metadata.labels['other']", ""],
    ["metadata.annotations['note']", "it's"],
    ["spec.nodeName", "node"],
    ["spec.serviceAccountName", ""],
    ["status.podIP", "10.244.0.1"],
    ["status.hostIP", "127.0.0.1"],
    ["spec.other", undefined]
  ])("%p is %p", (path, value) => {
    expect(Environment.fieldOf(pod, path)).toBe(value)
  })
})

describe("A resource of a container", () => {
  const container = { name: "app", resources: { limits: { cpu: "1500m", memory: "512Mi" }, requests: { cpu: "50m" } } }

  test.each([
    ["limits.memory", undefined, "536870912"],
    ["limits.memory", "1Mi", "512"],
    ["limits.memory", "0", "536870912"],
    ["limits.cpu", undefined, "2"],
    ["limits.cpu", "1m", "1500"],
    ["requests.cpu", "1m", "50"],
    ["requests.memory", undefined, undefined]
  ])("%p in units of %p is %p", (resource, divisor, value) => {
    expect(Environment.resourceOf(container, resource, divisor)).toBe(value)
  })
})
