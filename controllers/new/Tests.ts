/** The generated tests of the controller on the embedded cluster. */
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
import { Effect } from "effect"
import * as TestClock from "effect/testing/TestClock"
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
    expect(status).toMatchObject({ observedGeneration: 1, readyReplicas: 2 })
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
