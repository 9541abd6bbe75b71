/** The generated tests: of the controller on the embedded cluster, and of its status. */
import type { Names } from "./Names.ts"

/** The tests on the embedded cluster. */
export const controller = ({
  kind,
  one
}: Names): string => `/** The ${kind} controller on the embedded cluster, in virtual time. */
import { expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Deployment } from "@homeostat/runtime/resource/BuiltIn"
import * as Condition from "@homeostat/runtime/resource/Condition"
import { eventually } from "@homeostat/testkit/Eventually"
import * as Harness from "@homeostat/testkit/Harness"
import { Effect, TestClock } from "effect"
import { controller } from "./controller.ts"
import { ${kind} } from "./${kind}.ts"

/** The manager has exactly the permissions of the generated roles. */
const test = Harness.of([controller])

const key = { namespace: "default", name: "sample" }

const created = Effect.gen(function* () {
  yield* Client.create(${kind}, { metadata: key, spec: { image: "nginx:1.27", replicas: 2 } })
  const isReady = ({ status }: ${kind}) => Condition.isTrue(status?.conditions, Condition.Ready)
  return yield* eventually("it is ready", Client.get(${kind}, key), isReady)
})

test("${one} gets a Deployment with its image and replicas, and becomes ready", () =>
  Effect.gen(function* () {
    const { status } = yield* created
    expect(status?.readyReplicas).toBe(2)
    const { spec } = yield* Client.get(Deployment, key)
    expect(spec?.replicas).toBe(2)
    expect(spec?.template.spec?.containers[0]?.image).toBe("nginx:1.27")
  }))

test("the controller reverts a manual scale of the Deployment", () =>
  Effect.gen(function* () {
    yield* created
    yield* Client.patch(Deployment, key, Patch.merge({ spec: { replicas: 0 } }))
    yield* eventually("it has its replicas", Client.get(Deployment, key), ({ spec }) => spec?.replicas === 2)
  }))

test("the controller recreates a deleted Deployment, and deleting the ${kind} deletes its Deployment", () =>
  Effect.gen(function* () {
    yield* created
    const { metadata } = yield* Client.get(Deployment, key)
    yield* Client.delete(Deployment, key)
    yield* eventually("there is another", Client.get(Deployment, key), (other) => other.metadata.uid !== metadata.uid)
    yield* Client.delete(${kind}, key)
    const { items } = yield* eventually("it is gone", Client.list(Deployment), (list) => list.items.length === 0)
    expect(items).toEqual([])
  }))

test("an irrelevant change causes no write", ({ server }) =>
  Effect.gen(function* () {
    yield* created
    yield* TestClock.adjust("1 minute")
    const { revision } = server.store
    yield* Client.patch(${kind}, key, Patch.merge({ metadata: { annotations: { "example.com/note": "hello" } } }))
    yield* TestClock.adjust("1 minute")
    expect(server.store.revision).toBe(revision + 1)
    expect((yield* Client.get(${kind}, key)).status?.conditions?.map(({ type }) => type)).toEqual(["Ready"])
  }))

test("the API server rejects an invalid ${kind} and names the field", () =>
  Effect.gen(function* () {
    const refused = yield* Effect.flip(Client.create(${kind}, { metadata: key, spec: { image: "nginx", replicas: 51 } }))
    expect(refused.message).toContain("spec.replicas")
  }))
`

/** The tests of the status. */
export const status = ({ kind, one }: Names): string => `/** The status of ${one}. */
import { describe, expect, test } from "bun:test"
import type { Deployment } from "@homeostat/runtime/resource/BuiltIn"
import { observe } from "./status.ts"
import type { ${kind}, ${kind}Status } from "./${kind}.ts"

const now = "2026-11-20T09:00:00Z"

const object = (status?: ${kind}Status): ${kind} => ({
  metadata: { name: "sample", namespace: "default", uid: "u", resourceVersion: "1", creationTimestamp: now, generation: 3 },
  spec: { image: "nginx:1.27", replicas: 2 },
  ...(status === undefined ? {} : { status })
})

const deployment = (status: Deployment["status"]): Deployment => ({
  metadata: { name: "sample", namespace: "default", uid: "d", resourceVersion: "1", creationTimestamp: now, generation: 2 },
  ...(status === undefined ? {} : { status })
})

const all = { observedGeneration: 2, replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2 }

const conditionsOf = (status: ${kind}Status) =>
  Object.fromEntries((status.conditions ?? []).map(({ status, type }) => [type, status]))

describe("${one.replace(/^a/, "A")}", () => {
  test("is ready when all pods run the current spec, with the observed generation", () => {
    const status = observe(object(), deployment(all), now)
    expect(conditionsOf(status)).toEqual({ Ready: "True" })
    expect(status).toMatchObject({ observedGeneration: 3, readyReplicas: 2 })
  })

  for (const [why, status] of [
    ["the Deployment has no status yet", undefined],
    ["the Deployment has observed an older spec", { ...all, observedGeneration: 1 }],
    ["a pod is not available", { ...all, availableReplicas: 1 }],
    ["a pod of the older spec still exists", { ...all, replicas: 3 }]
  ] as const) {
    test(\`is reconciling while \${why}\`, () => {
      expect(conditionsOf(observe(object(), deployment(status), now))).toEqual({ Ready: "False", Reconciling: "True" })
    })
  }

  test("keeps the transition time of an unchanged condition", () => {
    const first = observe(object(), deployment(all), now)
    expect(observe(object(first), deployment(all), "2026-11-20T10:00:00Z")).toEqual(first)
  })
})
`
