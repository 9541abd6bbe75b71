import { describe, expect } from "bun:test"
import { at, type JsonObject } from "@homeostat/apiserver/model/Json"
import { nameOf } from "@homeostat/apiserver/model/ObjectMeta"
import { Effect } from "effect"
import { effect } from "../Test.ts"
import * as Running from "./Running.fixture.ts"

const labels = { app: "s" }
const template = { metadata: { labels }, spec: { containers: [{ name: "c", image: "i:1" }] } }
const selector = { matchLabels: labels }

const workloads: { readonly [kind: string]: JsonObject } = {
  Deployment: { selector, template, replicas: 4 },
  ReplicaSet: { selector, template, replicas: 4 },
  StatefulSet: { selector, template, replicas: 4, serviceName: "s", podManagementPolicy: "Parallel" }
}

/** The spec of a budget, and its status for four pods that are all ready, by pkg/controller/disruption of Kubernetes. */
const budgets: ReadonlyArray<readonly [spec: JsonObject, status: JsonObject]> = [
  [{ maxUnavailable: 1 }, { expectedPods: 4, desiredHealthy: 3, disruptionsAllowed: 1 }],
  [{ maxUnavailable: "50%" }, { expectedPods: 4, desiredHealthy: 2, disruptionsAllowed: 2 }],
  [{ minAvailable: "75%" }, { expectedPods: 4, desiredHealthy: 3, disruptionsAllowed: 1 }],
  [{ minAvailable: 2 }, { expectedPods: 4, desiredHealthy: 2, disruptionsAllowed: 2 }]
]

describe("A PodDisruptionBudget", () => {
  for (const [kind, spec] of Object.entries(workloads)) {
    for (const [limit, status] of budgets) {
      effect(`of a ${kind} with ${JSON.stringify(limit)} expects its replicas`, () =>
        Effect.gen(function* () {
          const metadata = { name: "s", namespace: Running.namespace }
          const running = yield* Running.start()
          running.make({ apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata, spec: { selector, ...limit } })
          running.make({ apiVersion: "apps/v1", kind, metadata, spec })
          yield* running.idle
          const ready = { type: "Ready", status: "True", lastTransitionTime: "2026-11-21T10:00:00Z" }
          for (const pod of running.store.list("/pods")) {
            running.merge("v1", "Pod", nameOf(pod), { status: { phase: "Running", conditions: [ready] } }, "status")
          }
          yield* running.idle
          const budget = running.find("policy/v1", "PodDisruptionBudget", "s")
          expect(at(budget ?? {}, "status")).toMatchObject({ ...status, currentHealthy: 4 })
        })
      )
    }
  }
})
