/** A WebApp whose autoscaler adds pods that do not become ready, on the embedded cluster, in virtual time. */
import { expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Manager from "@homeostat/runtime/manager/Manager"
import { Deployment, Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Condition from "@homeostat/runtime/resource/Condition"
import * as Crd from "@homeostat/runtime/resource/Crd"
import { eventually } from "@homeostat/testkit/Eventually"
import * as Harness from "@homeostat/testkit/Harness"
import { controller } from "@homeostat/webapp"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as ByHand from "./ByHand.ts"

const key = { namespace: "default", name: "shop" }
const scene = { namespace: key.namespace, key: () => key }

/** The names of the pods that become ready; all while it is undefined. */
let able: ReadonlySet<string> | undefined
const test = Harness.make({
  crds: [Crd.of(WebApp)],
  manager: Manager.launch([controller]),
  kubelet: {
    pods: ({ metadata }) => (able?.has(metadata.name) === false ? { failingProbes: ["readiness"] } : undefined)
  }
})

const app = Client.get(WebApp, key)
const reported = Effect.map(app, ({ status }) => {
  const { reason, message } = Condition.find(status?.conditions, "DeploymentReady") ?? {}
  return `${status?.phase} ${reason}: ${message}`
})

test("A scale-out whose pods do not become ready is Degraded after the progress deadline, and names the probe", () =>
  Effect.gen(function* () {
    able = undefined
    const autoscaling = { min: 2, max: 9 }
    const spec = { image: "registry.test/web:1", replicas: 2, port: 80, progressDeadlineSeconds: 60, autoscaling }
    yield* Client.create(WebApp, { metadata: key, spec })
    yield* eventually("it runs", app, ({ status }) => status?.phase === "Running")
    yield* TestClock.adjust("2 minutes")
    const { items } = yield* Client.list(Pod, { namespace: key.namespace })
    able = new Set(items.map(({ metadata }) => metadata.name))
    yield* ByHand.scale(scene, Deployment, 3)
    yield* TestClock.adjust("50 seconds")
    expect(yield* reported).toBe("Running ScalingOut: 2/3 ready")
    yield* TestClock.adjust("20 seconds")
    expect(yield* reported).toBe(
      "Degraded ContainerNotReady: 2/3 ready: the container runs, but nothing accepts connections on port 80 (check spec.port and spec.probes.readiness)"
    )
    able = undefined
    yield* TestClock.adjust("1 minute")
    expect(yield* reported).toBe("Running AllReplicasReady: 3/3 ready")
  }))
