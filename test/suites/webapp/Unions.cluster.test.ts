/** Other managers set fields of the children that the API server accepts only instead of those of the controller. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Drift from "@homeostat/runtime/controller/Drift"
import {
  ConfigMap,
  Deployment,
  HorizontalPodAutoscaler,
  Ingress,
  NetworkPolicy,
  PodDisruptionBudget,
  Service
} from "@homeostat/runtime/resource/BuiltIn"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import type * as Resource from "@homeostat/runtime/resource/Resource"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Clock, Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as ByHand from "./ByHand.ts"
import * as Scene from "./Scene.ts"

const image = "registry.test/web:1"

type Kind = Resource.Resource<KubernetesObject, never>

const spec = {
  image,
  port: 8080,
  replicas: 2,
  progressDeadlineSeconds: 60,
  autoscaling: { min: 2, max: 4 },
  volumes: [{ name: "tmp", mountPath: "/tmp", emptyDir: {} }],
  env: [{ name: "A", value: "b" }],
  resources: { limits: { memory: "128Mi" } },
  probes: { liveness: { tcp: {} } },
  expose: { host: "a.example.test" },
  networkPolicy: { allowFrom: [{ cidr: "10.0.0.0/8" }] }
} as const

const inContainer = (fields: object) =>
  Patch.strategic({ spec: { template: { spec: { containers: [{ name: "app", ...fields }] } } } })

const inPod = (fields: object) => Patch.strategic({ spec: { template: { spec: fields } } })

/** Each is the change of one `kubectl patch`. */
const changes: ReadonlyArray<{ readonly name: string; readonly kind: Kind; readonly patch: Patch.Patch }> = [
  {
    name: "a minAvailable instead of the maxUnavailable of the budget",
    kind: PodDisruptionBudget,
    patch: Patch.merge({ spec: { maxUnavailable: null, minAvailable: 1 } })
  },
  {
    name: "a hostPath instead of the emptyDir",
    kind: Deployment,
    patch: Patch.json([
      { op: "replace", path: "/spec/template/spec/volumes/0", value: { name: "tmp", hostPath: { path: "/var/x" } } }
    ])
  },
  {
    name: "a variable from a field instead of a value",
    kind: Deployment,
    patch: Patch.json([
      {
        op: "replace",
        path: "/spec/template/spec/containers/0/env/0",
        value: { name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }
      }
    ])
  },
  {
    name: "an HTTP probe instead of the TCP probe",
    kind: Deployment,
    patch: inContainer({
      livenessProbe: { $retainKeys: ["httpGet"], httpGet: { path: "/", port: 80 }, tcpSocket: null }
    })
  },
  {
    name: "a seccomp profile of the node",
    kind: Deployment,
    patch: inPod({ securityContext: { seccompProfile: { type: "Localhost", localhostProfile: "a.json" } } })
  },
  {
    name: "a privileged container",
    kind: Deployment,
    patch: inContainer({ securityContext: { privileged: true, allowPrivilegeEscalation: true } })
  },
  {
    name: "a capability of the administrator",
    kind: Deployment,
    patch: inContainer({
      securityContext: { capabilities: { add: ["CAP_SYS_ADMIN"] }, allowPrivilegeEscalation: true }
    })
  },
  {
    name: "requests above the own limits",
    kind: Deployment,
    patch: inContainer({ resources: { limits: { memory: "1Gi" }, requests: { memory: "512Mi" } } })
  },
  {
    name: "a minReadySeconds above the own deadline",
    kind: Deployment,
    patch: Patch.merge({ spec: { minReadySeconds: 300, progressDeadlineSeconds: 600 } })
  },
  {
    name: "a backend that is no Service",
    kind: Ingress,
    patch: Patch.json([
      {
        op: "replace",
        path: "/spec/rules/0/http/paths/0/backend",
        value: { resource: { apiGroup: "example.com", kind: "Bucket", name: "a" } }
      }
    ])
  },
  {
    name: "another target of the autoscaler",
    kind: HorizontalPodAutoscaler,
    patch: Patch.merge({
      spec: {
        minReplicas: 1,
        metrics: [
          { type: "Resource", resource: { name: "cpu", target: { type: "AverageValue", averageValue: "100m" } } }
        ]
      }
    })
  },
  {
    name: "a peer by its labels",
    kind: NetworkPolicy,
    patch: Patch.json([{ op: "replace", path: "/spec/ingress/0/from/0", value: { podSelector: {} } }])
  },
  {
    name: "a LoadBalancer with source ranges",
    kind: Service,
    patch: Patch.merge({ spec: { type: "LoadBalancer", loadBalancerSourceRanges: ["10.0.0.0/8"] } })
  }
]

const specOf = (object: KubernetesObject): Drift.Json => Drift.json(object).spec ?? null

/** The errors of attempts, without those that the next attempt solves: a status may conflict with that of another attempt. */
const failed = ({ manager }: { readonly manager: Managed.Managed }, from = 0) =>
  manager
    .attempts()
    .slice(from)
    .flatMap(({ outcome }) => (outcome._tag === "Failed" ? [String(outcome.error)] : []))
    .filter((error) => !/^Conflict: PATCH .*\/webapps\//.test(error))

describe.concurrent("a child with another member of a union", () => {
  Scene.managed(
    "is repaired within 2 seconds, and the WebApp does not fail",
    (scene) =>
      Effect.gen(function* () {
        yield* Scene.launch(scene, "shop", spec)
        yield* Scene.settled(scene, "shop")
        // Before, the hand-over of the replicas to the autoscaler may conflict with a status of the Deployment.
        const launched = scene.manager.attempts().length
        for (const { kind, name, patch } of changes) {
          const read = Effect.map(Client.get(kind, scene.key("shop")), specOf)
          const before = yield* read
          const changed = specOf(yield* ByHand.patch(scene, kind, patch))
          expect([name, Drift.equal(changed, before)]).toEqual([name, false])
          const begun = yield* Clock.currentTimeMillis
          yield* Managed.eventually(name, read, (now) => Drift.equal(now, before))
          expect([name, (yield* Clock.currentTimeMillis) - begun < 2000]).toEqual([name, true])
          yield* Scene.settled(scene, "shop")
        }
        expect(failed(scene, launched)).toEqual([])
      }),
    240_000
  )

  Scene.managed("is adopted", (scene) =>
    Effect.gen(function* () {
      const metadata = { namespace: scene.namespace, name: "shop", annotations: { "apps.kubedojo.io/adopt": "true" } }
      const labels = { app: "shop" }
      yield* Client.create(Deployment, {
        metadata,
        spec: {
          selector: { matchLabels: labels },
          template: {
            metadata: { labels },
            spec: {
              volumes: [{ name: "data", hostPath: { path: "/var/x" } }],
              containers: [
                {
                  name: "app",
                  image,
                  env: [{ name: "DB_URL", valueFrom: { configMapKeyRef: { name: "cm", key: "url", optional: true } } }],
                  volumeMounts: [{ name: "data", mountPath: "/data" }]
                }
              ]
            }
          }
        }
      })
      yield* Client.create(Service, {
        metadata,
        spec: {
          type: "LoadBalancer",
          loadBalancerSourceRanges: ["10.0.0.0/8"],
          selector: labels,
          ports: [{ port: 80 }]
        }
      })
      yield* Scene.launch(scene, "shop", {
        image,
        env: [{ name: "DB_URL", value: "postgres://db" }],
        volumes: [{ name: "data", mountPath: "/data", emptyDir: {} }]
      })
      const { spec } = yield* Scene.deployment(scene, "shop")
      expect(spec?.template.spec?.volumes).toEqual([{ name: "data", emptyDir: {} }])
      expect(spec?.template.spec?.containers[0]?.env).toEqual([{ name: "DB_URL", value: "postgres://db" }])
      const service = yield* Scene.service(scene, "shop")
      expect([service.spec?.type, service.spec?.loadBalancerSourceRanges]).toEqual(["ClusterIP", undefined])
      expect(failed(scene)).toEqual([])
    })
  )

  Scene.managed("follows its spec while its template waits", (scene) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, "shop", { image, replicas: 2 })
      // Another manager has the fields of the strategy, too, as after an upgrade.
      const strategy = { type: "RollingUpdate", rollingUpdate: { maxSurge: "25%", maxUnavailable: 0 } }
      yield* Client.apply(
        Deployment,
        { metadata: { namespace: scene.namespace, name: "shop" }, spec: { strategy } as Deployment["spec"] & object },
        { fieldManager: "former", force: true }
      )
      const config = [{ configMap: "later", mountPath: "/c" }]
      yield* ByHand.patch(scene, WebApp, Patch.merge({ spec: { strategy: "Recreate", replicas: 3, config } }))
      const current = Effect.map(Scene.deployment(scene, "shop"), ({ spec }) => [spec?.replicas, spec?.strategy])
      yield* Managed.eventually("the spec", current, (now) => Bun.deepEquals(now, [3, { type: "Recreate" }]))
      yield* Client.create(ConfigMap, { metadata: { namespace: scene.namespace, name: "later" }, data: { a: "b" } })
      yield* Scene.settled(scene, "shop")
      expect(failed(scene)).toEqual([])
    })
  )
})
