import { describe, expect, test } from "bun:test"
import * as Write from "./Write.ts"

const place = (kind: string, apiVersion = "apps/v1") => ({ target: { apiVersion, kind, namespace: "a", name: "b" } })
const patch = { method: "PATCH", headers: { "content-type": "application/merge-patch+json" }, body: "{}" } as const

const state = (spec: object, status: object = {}, metadata: object = {}) => ({ metadata, spec, status })
const image = (image: string) => ({ template: { spec: { containers: [{ name: "app", image }] } } })

describe("A new pod template", () => {
  const rolls: ReadonlyArray<
    readonly [what: string, kind: string, spec: object, status: object, pods: number | undefined]
  > = [
    ["of a Deployment replaces its replicas", "Deployment", { replicas: 3 }, {}, 3],
    ["of a Deployment without replicas replaces one pod", "Deployment", {}, {}, 1],
    ["of a StatefulSet replaces its replicas", "StatefulSet", { replicas: 2 }, {}, 2],
    ["of a DaemonSet replaces a pod on each node", "DaemonSet", {}, { desiredNumberScheduled: 5 }, 5],
    ["of a Deployment without pods replaces none", "Deployment", { replicas: 0 }, {}, undefined],
    ["of a paused Deployment replaces none", "Deployment", { paused: true, replicas: 3 }, {}, undefined],
    [
      "of a StatefulSet that waits for deletions replaces none",
      "StatefulSet",
      { updateStrategy: { type: "OnDelete" } },
      {},
      undefined
    ],
    ["of a ReplicaSet replaces none", "ReplicaSet", { replicas: 3 }, {}, undefined]
  ]
  for (const [what, kind, spec, status, pods] of rolls) {
    test(what, () => {
      const [before, after] = ["a:1", "a:2"].map((text) => state({ ...spec, ...image(text) }, status))
      const write = Write.of(patch, place(kind), before, after)
      expect(write?.fields).toEqual([{ path: "spec.template.spec.containers[app].image", from: "a:1", to: "a:2" }])
      expect(write?.rollout).toEqual(pods === undefined ? undefined : { pods })
    })
  }

  test("is the only change that causes a rollout, and only of built-in workloads", () => {
    expect(
      Write.of(patch, place("Deployment"), state({ replicas: 1 }), state({ replicas: 2 }))?.rollout
    ).toBeUndefined()
    const [before, after] = [state(image("a:1")), state(image("a:2"))]
    expect(Write.of(patch, place("Deployment", "example.com/v1"), before, after)?.rollout).toBeUndefined()
  })
})

describe("Write.of", () => {
  const there = state({ a: 1 })
  test("returns undefined if the object is unchanged", () => {
    expect(Write.of(patch, place("Job"), there, state({ a: 1 }))).toBeUndefined()
    expect(Write.of(patch, place("Job"), undefined, undefined)).toBeUndefined()
  })

  test("returns a creation with the fields of the request, without the defaults of the server", () => {
    const create = {
      method: "POST",
      headers: {},
      body: JSON.stringify({ metadata: { name: "b" }, spec: { a: 1 } })
    } as const
    expect(Write.of(create, place("Job"), undefined, state({ a: 1, byDefault: 2 }))).toMatchObject({
      action: "create",
      verb: "create",
      fields: [{ path: "spec.a", to: 1 }]
    })
  })

  test("returns a deletion for its request, and again when the last finalizer is removed", () => {
    const ending = state({ a: 1 }, {}, { deletionTimestamp: "now", finalizers: ["x"] })
    const remove = { method: "DELETE", headers: {}, body: "{}" } as const
    expect(Write.of(remove, place("Job"), there, undefined)).toMatchObject({
      action: "delete",
      verb: "delete",
      fields: []
    })
    expect(Write.of(remove, place("Job"), there, ending)).toMatchObject({ action: "delete", verb: "delete" })
    expect(Write.of(patch, place("Job"), ending, undefined)).toMatchObject({ action: "delete", verb: "patch" })
    const less = state({ a: 1 }, {}, { deletionTimestamp: "now", finalizers: [] })
    expect(Write.of(patch, place("Job"), ending, less)?.action).toBe("change")
  })
})

test("returns the verb of the client", () => {
  const types = ["application/apply-patch+yaml", "application/json-patch+json"]
  expect(types.map((type) => Write.verbOf({ method: "PATCH", headers: { "content-type": type } }))).toEqual([
    "apply",
    "patch"
  ])
  expect((["POST", "PUT", "DELETE"] as const).map((method) => Write.verbOf({ method, headers: {} }))).toEqual([
    "create",
    "update",
    "delete"
  ])
})
