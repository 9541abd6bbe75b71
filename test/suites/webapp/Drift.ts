/** The checks for changes of a WebApp's children: the controller either reverts a change or ignores it. */
import { expect } from "bun:test"
import type * as Client from "@homeostat/runtime/client/Client"
import type { Deployment, Service } from "@homeostat/runtime/resource/BuiltIn"
import { Effect, type Scope } from "effect"
import * as Managed from "../Managed.ts"
import * as Scene from "./Scene.ts"

/** The spec of the WebApp. */
export const spec = { image: "registry.test/web:1", replicas: 2, port: 8080, env: [{ name: "MODE", value: "shop" }] }

/** Returns the fields of the children that the intent sets. Defaulted fields and cluster IPs are not among them. */
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

/** Returns the intended fields of the current children. */
export const children = (scene: Scene.Scene) =>
  Effect.zipWith(Scene.deployment(scene, "shop"), Scene.service(scene, "shop"), intended)

const tally = (scene: Scene.Scene) =>
  Effect.map(
    Scene.events(scene, "shop"),
    (events) => new Map(events.map(({ count, note, reason }) => [`${reason} ${note}`, count]))
  )

/** Returns the new Events. A repeated Event increments its count some seconds later. */
const news = (scene: Scene.Scene, before: ReadonlyMap<string, number>) =>
  Effect.map(Scene.events(scene, "shop"), (events) =>
    events
      .map((event) => ({ ...event, count: event.count - (before.get(`${event.reason} ${event.note}`) ?? 0) }))
      .filter(({ count }) => count > 0)
  )

/** A change of a child by another client. */
export type Change = (scene: Scene.Scene) => Effect.Effect<unknown, unknown, Client.Client>

/** A change that the controller reverts. */
export interface Repaired {
  readonly by: Change
  /** The reason of the Event. */
  readonly reason: "DeploymentCreated" | "DeploymentUpdated" | "ServiceCreated" | "ServiceUpdated"
  /** The text that the note of the Event contains. */
  readonly names: string
}

/** A change that the controller ignores. */
export interface Left {
  readonly by: Change
  /** Reads the change. */
  readonly shows: (scene: Scene.Scene) => Effect.Effect<unknown, unknown, Client.Client>
  readonly as: unknown
}

/** Expects that the controller reverts the change, reports one Event, and then writes nothing more. */
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
    // The removal of unknown objects may conflict with a new status and is then retried, several times on a busy machine.
    expect(outcomes.filter((outcome) => outcome !== "Done").length).toBeLessThan(10)
  })

const isRolledOut = ({ metadata, spec, status }: Deployment): boolean =>
  status?.observedGeneration === metadata.generation &&
  status?.updatedReplicas === spec?.replicas &&
  status?.availableReplicas === spec?.replicas

/** Expects that the change stays, and that the controller reports no Event. */
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

    // The old pods may need a moment to terminate.
    yield* Managed.eventually("that it is there", shows(scene), (seen) => Bun.deepEquals(seen, as))
    expect(yield* children(scene)).toEqual(before)
    expect(yield* news(scene, toldBefore)).toEqual([])
  })
