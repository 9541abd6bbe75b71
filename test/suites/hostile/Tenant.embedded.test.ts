/** Attacks by a tenant with the permissions of `edit` in a namespace, and their effect on the manager and on other namespaces. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Deployment, Event, HorizontalPodAutoscaler, Job } from "@homeostat/runtime/resource/BuiltIn"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import { createApp } from "../binary/Scene.ts"
import * as Managed from "../Managed.ts"
import * as Victim from "./Victim.ts"

/** A Deployment with no replicas and a size of about `bytes`. */
const deployment = (bytes: number, metadata: object) => ({
  metadata,
  spec: {
    replicas: 0,
    selector: { matchLabels: { a: "b" } },
    template: {
      metadata: { labels: { a: "b" } },
      spec: {
        containers: [
          {
            name: "c",
            image: "registry.test/c:1",
            env: [{ name: "A", value: "x".repeat(bytes) }]
          }
        ]
      }
    }
  }
})

const ownerOf = ({ metadata: { name, uid } }: KubernetesObject) => ({
  apiVersion: "apps.kubedojo.io/v1beta1",
  kind: "WebApp",
  name,
  uid,
  controller: true
})

/** Adds variables to the Deployment of a WebApp that the WebApp does not name. */
const addVariable = (namespace: string, name: string, variable: string) =>
  Client.patch(
    Deployment,
    { namespace, name },
    Patch.strategic({
      spec: { template: { spec: { containers: [{ name: "app", env: [{ name: variable, value: "x" }] }] } } }
    })
  )

describe("A manager whose tenant", () => {
  Victim.attacked("creates many Deployments of a megabyte continues to serve", ({ hostile, survives }) =>
    survives(
      Effect.forEach(
        Array.from({ length: 60 }, (_, n) => n),
        (n) => Client.create(Deployment, deployment(1_280_000, { namespace: hostile, name: `big-${n}` })),
        { discard: true }
      )
    )
  )

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

  Victim.attacked("repeatedly adds variables with huge names continues to serve", ({ hostile, survives }) =>
    Effect.gen(function* () {
      yield* createApp(hostile, "fought")
      yield* Managed.eventually(
        "the Deployment",
        Effect.option(Client.get(Deployment, { namespace: hostile, name: "fought" })),
        ({ _tag }) => _tag === "Some"
      )
      for (const piece of ["a.", "a", "eyJaaaaa-"]) {
        yield* survives(
          Effect.forEach(
            Array.from({ length: 6 }, (_, n) => n),
            (n) =>
              Effect.gen(function* () {
                const variable = `${piece.repeat(300_000 / piece.length)}_${n}`
                yield* addVariable(hostile, "fought", variable)
                yield* Managed.eventually(
                  "the removal of the variable",
                  Client.get(Deployment, { namespace: hostile, name: "fought" }),
                  (found) => !JSON.stringify(found.spec).includes(variable)
                )
              }),
            { discard: true }
          )
        )
      }
    })
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

  Victim.attacked(
    "continuously creates and deletes WebApps with huge specs continues to serve",
    ({ hostile, survives }) =>
      survives(
        Effect.forEach(
          Array.from({ length: 60 }, (_, n) => n),
          (n) =>
            Effect.gen(function* () {
              const name = `app-${n}`
              yield* Client.create(WebApp, {
                metadata: { namespace: hostile, name, annotations: { note: "x".repeat(200_000) } },
                spec: {
                  image: "registry.test/web:1",
                  replicas: 1,
                  env: Array.from({ length: 50 }, (_, at) => ({ name: `V${at}`, value: "y".repeat(4000) }))
                }
              })
              yield* Client.delete(WebApp, { namespace: hostile, name })
            }),
          { discard: true }
        )
      )
  )
})
