/** Attacks by a tenant with the permissions of `edit` in a namespace, and their effect on the manager and on other namespaces. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import { Deployment, Event, HorizontalPodAutoscaler, Job } from "@homeostat/runtime/resource/BuiltIn"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import { createApp } from "../binary/Scene.ts"
import { deployment } from "./Tenant.ts"
import * as Victim from "./Victim.ts"

const ownerOf = ({ metadata: { name, uid } }: KubernetesObject) => ({
  apiVersion: "apps.kubedojo.io/v1beta1",
  kind: "WebApp",
  name,
  uid,
  controller: true
})

describe("A manager whose tenant", () => {
  Victim.attacked("creates many huge autoscalers continues to serve", ({ hostile, survives }) =>
    survives(
      Effect.forEach(
        Array.from({ length: 120 }, (_, n) => n),
        (n) =>
          Client.create(HorizontalPodAutoscaler, {
            metadata: { namespace: hostile, name: `big-${n}`, annotations: { note: "x".repeat(250_000) } },
            spec: {
              scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: `big-${n}` },
              maxReplicas: 2,
              metrics: [
                {
                  type: "External",
                  external: { metric: { name: "y".repeat(500_000) }, target: { type: "Value", value: "1" } }
                }
              ]
            }
          }),
        { discard: true }
      )
    )
  )

  Victim.attacked("forges labels, owners and suspended Jobs continues to serve", ({ hostile, honest, survives }) =>
    Effect.gen(function* () {
      const app = yield* Client.get(WebApp, {
        namespace: honest,
        name: (yield* Client.list(WebApp, { namespace: honest })).items[0]?.metadata.name ?? ""
      })
      const before = yield* Client.get(Deployment, { namespace: honest, name: app.metadata.name })
      yield* survives(
        Effect.gen(function* () {
          const ownerReferences = [ownerOf(app)]
          const labels = { "app.kubernetes.io/name": "homeostat-mover", "app.kubernetes.io/managed-by": "homeostat" }
          for (let n = 0; n < 12; n++) {
            yield* Client.create(
              Deployment,
              deployment(1000, { namespace: hostile, name: `forged-${n}`, ownerReferences })
            )
            yield* Client.create(Job, {
              metadata: { namespace: hostile, name: `forged-${n}`, labels },
              spec: {
                suspend: true,
                template: {
                  metadata: { labels },
                  spec: { restartPolicy: "Never", containers: [{ name: "mover", image: "registry.test/x:1" }] }
                }
              }
            })
          }
          yield* createApp(hostile, "forged-0")
        })
      )
      const after = yield* Client.get(Deployment, { namespace: honest, name: app.metadata.name })
      const kept = ({ metadata, spec }: typeof after) => [metadata.generation, metadata.ownerReferences, spec]
      expect(kept(after)).toEqual(kept(before))
      const events = (yield* Client.list(Event, { namespace: honest })).items
      expect(JSON.stringify(events)).not.toContain(hostile)
    })
  )

  Victim.attacked("writes many Events about its WebApp continues to serve", ({ hostile, survives }) =>
    Effect.gen(function* () {
      const app = yield* createApp(hostile, "noisy")
      const regarding = { apiVersion: "apps.kubedojo.io/v1beta1", kind: "WebApp", namespace: hostile, name: "noisy" }
      yield* survives(
        Effect.forEach(
          Array.from({ length: 500 }, (_, n) => n),
          (n) =>
            Client.create(Event, {
              metadata: { namespace: hostile, name: `noisy.${n}` },
              eventTime: "2026-11-23T00:00:00.000000Z",
              regarding: { ...regarding, uid: app.metadata.uid },
              type: "Warning",
              reason: `Reason${n}`,
              action: "Shout",
              note: "x".repeat(1000),
              reportingController: "homeostat",
              reportingInstance: "forged"
            }),
          { concurrency: 8, discard: true }
        )
      )
    })
  )
})
