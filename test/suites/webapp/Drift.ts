/** What tests of a WebApp have in common in which somebody changes a child of it: what is put right, and what is left alone. */
import { expect } from "bun:test"
import type * as Client from "@homeostat/runtime/client/Client"
import type { Deployment, Service } from "@homeostat/runtime/resource/BuiltIn"
import { Effect, type Scope } from "effect"
import * as Managed from "../Managed.ts"
import * as Scene from "./Scene.ts"

/** What the WebApp says. */
export const spec = { image: "registry.test/web:1", replicas: 2, port: 8080, env: [{ name: "MODE", value: "shop" }] }

/** What the intent says of the children. Read-only facts such as defaults and cluster IPs are not in it. */
const intended = (deployment: Deployment, service: Service) => ({
  owners: [deployment, service].map(({ metadata }) => metadata.ownerReferences),
  labels: [deployment, service].map(({ metadata }) => [
    metadata.labels?.app,
    metadata.labels?.["app.kubernetes.io/managed-by"]
  ]),
  replicas: deployment.spec?.replicas,
  image: Scene.containerOf(deployment)?.image,
  env: Scene.containerOf(deployment)?.env,
  containerPorts: Scene.containerOf(deployment)?.ports,
  service: { type: service.spec?.type, selector: service.spec?.selector, ports: service.spec?.ports }
})

/** What its children say of that. */
export const children = (scene: Scene.Scene) =>
  Effect.zipWith(Scene.deployment(scene, "shop"), Scene.service(scene, "shop"), intended)

const tally = (scene: Scene.Scene) =>
  Effect.map(
    Scene.events(scene, "shop"),
    (events) => new Map(events.map(({ count, note, reason }) => [`${reason} ${note}`, count]))
  )

/** What was told since. The same told again counts up an Event, seconds later. */
const news = (scene: Scene.Scene, before: ReadonlyMap<string, number>) =>
  Effect.map(Scene.events(scene, "shop"), (events) =>
    events
      .map((event) => ({ ...event, count: event.count - (before.get(`${event.reason} ${event.note}`) ?? 0) }))
      .filter(({ count }) => count > 0)
  )

/** Somebody does something to a child. */
export type Change = (scene: Scene.Scene) => Effect.Effect<unknown, unknown, Client.Client>

/** A change that is put right. */
export interface Repaired {
  readonly by: Change
  /** What is told of the repair, */
  readonly reason: "DeploymentCreated" | "DeploymentUpdated" | "ServiceCreated" | "ServiceUpdated"
  /** and what that names, as its reader wants to know it. */
  readonly names: string
}

/** A change that is left alone. */
export interface Left {
  readonly by: Change
  /** Where it can be seen afterwards. */
  readonly shows: (scene: Scene.Scene) => Effect.Effect<unknown, unknown, Client.Client>
  readonly as: unknown
}

/** It is put right, told once, and then nobody writes any more. */
export const isRepaired = (
  scene: Scene.Scene & { readonly manager: Managed.Managed },
  { by, names, reason }: Repaired
): Effect.Effect<void, unknown, Client.Client | Scope.Scope> =>
  Effect.gen(function* () {
    yield* Scene.launch(scene, "shop", spec)
    yield* Scene.settled(scene, "shop")
    const before = yield* children(scene)
    const toldBefore = yield* tally(scene)
    const attemptsBefore = scene.manager.attempts().length
    const recordedBefore = scene.manager.recorded().length

    yield* by(scene)
    yield* Managed.eventually("the repair", news(scene, toldBefore), ({ length }) => length > 0)
    yield* Scene.settled(scene, "shop")

    expect(yield* children(scene)).toEqual(before)
    expect(yield* news(scene, toldBefore)).toEqual([
      { type: "Normal", reason, note: expect.stringContaining(names), count: 1 }
    ])
    expect(scene.manager.recorded().slice(recordedBefore)).toHaveLength(1)
    const outcomes = scene.manager
      .attempts()
      .slice(attemptsBefore)
      .map(({ outcome }) => outcome._tag)
    expect(outcomes.at(-1)).toBe("Done")
    // The removal of strangers may meet a status written meanwhile, and is then tried again: on a busy machine, some times.
    expect(outcomes.filter((outcome) => outcome !== "Done").length).toBeLessThan(10)
  })

const isRolledOut = ({ metadata, spec, status }: Deployment): boolean =>
  status?.observedGeneration === metadata.generation &&
  status?.updatedReplicas === spec?.replicas &&
  status?.availableReplicas === spec?.replicas

/** It is there to stay, and nothing is told of it. */
export const isLeft = (
  scene: Scene.Scene,
  { as, by, shows }: Left
): Effect.Effect<void, unknown, Client.Client | Scope.Scope> =>
  Effect.gen(function* () {
    yield* Scene.launch(scene, "shop", spec)
    yield* Scene.settled(scene, "shop")
    const before = yield* children(scene)
    const toldBefore = yield* tally(scene)

    yield* by(scene)
    yield* Managed.eventually("the Deployment is rolled out", Scene.deployment(scene, "shop"), isRolledOut)
    yield* Scene.settled(scene, "shop")

    // A pod of before may take a moment more to be gone.
    yield* Managed.eventually("that it is there", shows(scene), (seen) => Bun.deepEquals(seen, as))
    expect(yield* children(scene)).toEqual(before)
    expect(yield* news(scene, toldBefore)).toEqual([])
  })
