/** What people change by hand in the children of a WebApp: ours is put right, once and quietly; theirs is left alone. */
import { describe, expect } from "bun:test"
import type { Deployment, Service } from "@homeostat/runtime/resource/BuiltIn"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Scene from "./Scene.ts"

const spec = { image: "registry.test/web:1", replicas: 2, port: 8080, env: [{ name: "MODE", value: "shop" }] }

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

const children = (scene: Scene.Scene) =>
  Effect.zipWith(Scene.deployment(scene, "shop"), Scene.service(scene, "shop"), intended)

/** One change by hand: a sentence, the kubectl command, and what is told of its repair. */
interface Case {
  readonly change: string
  readonly command: ReadonlyArray<string>
  readonly reason: "DeploymentCreated" | "DeploymentUpdated" | "ServiceCreated" | "ServiceUpdated"
  /** What the event names, as a repair's reader wants to know it. */
  readonly names: string
}

const jsonPatch = (object: string, ...operations: ReadonlyArray<object>) => [
  "patch",
  object,
  "--type=json",
  `--patch=${JSON.stringify(operations)}`
]
const container = "/spec/template/spec/containers/0"

const repaired: ReadonlyArray<Case> = [
  {
    change: "a scaled Deployment",
    command: ["scale", "deployment/shop", "--replicas=5"],
    reason: "DeploymentUpdated",
    names: "spec.replicas"
  },
  {
    change: "another image",
    command: ["set", "image", "deployment/shop", "app=registry.test/other:1"],
    reason: "DeploymentUpdated",
    names: "spec.template.spec.containers[app].image"
  },
  {
    change: "a variable added with kubectl set env",
    command: ["set", "env", "deployment/shop", "DEBUG=1"],
    reason: "DeploymentUpdated",
    names: "spec.template.spec.containers[app].env[DEBUG]"
  },
  {
    change: "a variable's value",
    command: ["set", "env", "deployment/shop", "MODE=other"],
    reason: "DeploymentUpdated",
    names: "spec.template.spec.containers[app].env[MODE].value"
  },
  {
    change: "a variable removed with kubectl set env",
    command: ["set", "env", "deployment/shop", "MODE-"],
    reason: "DeploymentUpdated",
    names: "spec.template.spec.containers[app].env"
  },
  {
    change: "another container port",
    command: jsonPatch("deployment/shop", { op: "replace", path: `${container}/ports/0/containerPort`, value: 9090 }),
    reason: "DeploymentUpdated",
    names: "spec.template.spec.containers[app].ports[8080]"
  },
  {
    change: "an added container port with a name",
    command: jsonPatch("deployment/shop", {
      op: "add",
      path: `${container}/ports/-`,
      value: { name: "debug", containerPort: 9229, protocol: "TCP" }
    }),
    reason: "DeploymentUpdated",
    names: "spec.template.spec.containers[app].ports[debug]"
  },
  {
    change: "a label of ours taken off",
    command: ["label", "deployment/shop", "app.kubernetes.io/managed-by-"],
    reason: "DeploymentUpdated",
    names: "metadata.labels.app.kubernetes.io/managed-by"
  },
  {
    change: "a deleted Deployment",
    command: ["delete", "deployment/shop", "--wait=false"],
    reason: "DeploymentCreated",
    names: "Created Deployment shop"
  },
  {
    change: "another Service port",
    command: jsonPatch("service/shop", { op: "replace", path: "/spec/ports/0/port", value: 80 }),
    reason: "ServiceUpdated",
    names: "spec.ports[8080]"
  },
  {
    change: "another target port",
    command: jsonPatch("service/shop", { op: "replace", path: "/spec/ports/0/targetPort", value: 80 }),
    reason: "ServiceUpdated",
    names: "spec.ports[8080].targetPort"
  },
  {
    change: "a key added to the Service's selector",
    command: ["patch", "service/shop", "--type=merge", '--patch={"spec":{"selector":{"track":"canary"}}}'],
    reason: "ServiceUpdated",
    names: "spec.selector.track"
  },
  {
    change: "another type of Service",
    command: ["patch", "service/shop", "--type=merge", '--patch={"spec":{"type":"NodePort"}}'],
    reason: "ServiceUpdated",
    names: "spec.type"
  },
  {
    change: "a deleted Service",
    command: ["delete", "service/shop", "--wait=false"],
    reason: "ServiceCreated",
    names: "Created Service shop"
  }
]

/** What is left alone: the command, and how the object shows it afterwards. */
const left: ReadonlyArray<{
  readonly change: string
  readonly command: ReadonlyArray<string>
  readonly shows: ReadonlyArray<string>
  readonly as: RegExp
}> = [
  {
    change: "a sidecar container",
    command: jsonPatch("deployment/shop", {
      op: "add",
      path: "/spec/template/spec/containers/-",
      value: { name: "proxy", image: "registry.test/proxy:1", ports: [{ containerPort: 15_001 }] }
    }),
    shows: ["pods", "--output=jsonpath={.items[*].spec.containers[*].name}"],
    as: /^app proxy app proxy$/
  },
  {
    change: "a label of somebody else",
    command: ["label", "deployment/shop", "team=checkout"],
    shows: ["deployment/shop", "--output=jsonpath={.metadata.labels.team}"],
    as: /^checkout$/
  },
  {
    change: "an annotation of somebody else",
    command: ["annotate", "deployment/shop", "example.test/note=kept"],
    shows: ["deployment/shop", "--output=jsonpath={.metadata.annotations.example\\.test/note}"],
    as: /^kept$/
  },
  {
    change: "a restart with kubectl rollout restart",
    command: ["rollout", "restart", "deployment/shop"],
    shows: ["pods", "--output=jsonpath={.items[*].metadata.annotations.kubectl\\.kubernetes\\.io/restartedAt}"],
    as: /^\S+Z \S+Z$/
  }
]

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

describe.concurrent("by hand", () => {
  for (const { change, command, names, reason } of repaired) {
    Scene.managed(`${change} is put right, told once, and then nobody writes any more`, (scene) =>
      Effect.gen(function* () {
        yield* Scene.launch(scene, "shop", spec)
        yield* Scene.settled(scene, "shop")
        const before = yield* children(scene)
        const toldBefore = yield* tally(scene)
        const attemptsBefore = scene.manager.attempts().length
        const recordedBefore = scene.manager.recorded().length

        yield* scene.kubectl(command)
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
    )
  }

  Scene.managed("a port put right can be changed in the spec afterwards, and nothing of either is left", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", spec)
      const byHand = [{ op: "replace", path: "/spec/ports/0/port", value: 80 }]
      yield* scene.kubectl(jsonPatch("service/shop", ...byHand))
      const port = Effect.map(Scene.service(scene, "shop"), ({ spec }) => spec?.ports?.map(({ port }) => port))
      yield* Managed.eventually("the repair", port, (ports) => Bun.deepEquals(ports, [8080]))

      yield* scene.kubectl(["patch", "wa/shop", "--type=merge", '--patch={"spec":{"port":9090}}'])
      yield* Scene.settled(scene, "shop")
      expect(yield* children(scene)).toMatchObject({
        containerPorts: [{ containerPort: 9090, protocol: "TCP" }],
        service: { ports: [{ port: 9090, targetPort: 9090, protocol: "TCP" }] }
      })
    })
  )

  for (const { as, change, command, shows } of left) {
    Scene.managed(`${change} is left alone`, (scene) =>
      Effect.gen(function* () {
        yield* Scene.launch(scene, "shop", spec)
        yield* Scene.settled(scene, "shop")
        const before = yield* children(scene)
        const toldBefore = yield* tally(scene)

        yield* scene.kubectl(command)
        yield* scene.kubectl(["rollout", "status", "deployment/shop", "--timeout=60s"])
        yield* Scene.settled(scene, "shop")

        // A pod of before may take a moment more to be gone.
        yield* Managed.eventually("that it is there", scene.kubectl(["get", ...shows]), (text) => as.test(text))
        expect(yield* children(scene)).toEqual(before)
        expect(yield* news(scene, toldBefore)).toEqual([])
      })
    )
  }
})
