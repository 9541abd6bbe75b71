/** The WebApp controller on the embedded cluster, in virtual time. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Manager from "@homeostat/runtime/manager/Manager"
import { Deployment, HorizontalPodAutoscaler } from "@homeostat/runtime/resource/BuiltIn"
import * as Crd from "@homeostat/runtime/resource/Crd"
import { eventually } from "@homeostat/testkit/Eventually"
import * as Harness from "@homeostat/testkit/Harness"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import { controller } from "./controller.ts"
import { WebApp } from "./WebApp.ts"

const test = Harness.make({ crds: [Crd.of(WebApp)], manager: Manager.launch([controller]) })

const key = { namespace: "default", name: "shop" }

const replicas = Effect.map(Client.get(Deployment, key), ({ spec }) => spec?.replicas)

describe("the Deployment of a WebApp whose replicas change from 2 to 3", () => {
  for (const [apiVersion, kind, expected] of [
    ["apps.kubedojo.io/v1beta1", "WebApp", 3],
    ["apps/v1", "StatefulSet", 3],
    ["apps/v1", "Deployment", 2]
  ] as const) {
    test(`has ${expected} where an autoscaler scales a ${kind} of its name`, () =>
      Effect.gen(function* () {
        yield* Client.create(HorizontalPodAutoscaler, {
          metadata: key,
          spec: { scaleTargetRef: { apiVersion, kind, name: key.name }, minReplicas: 1, maxReplicas: 10 }
        })
        yield* Client.create(WebApp, { metadata: key, spec: { image: "registry.test/web:1", replicas: 2, port: 8080 } })
        yield* eventually("its Deployment is there", replicas, () => true)
        yield* Client.patch(Deployment, key, Patch.merge({ spec: { replicas: 2 } }), { fieldManager: "autoscaler" })
        yield* Client.patch(WebApp, key, Patch.merge({ spec: { replicas: 3 } }))
        yield* TestClock.adjust("5 seconds")
        expect(yield* replicas).toBe(expected)
      }))
  }
})
