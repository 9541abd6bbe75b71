/**
 * The requests of kubectl commands for a WebApp named `shop` and its children. The requests and field managers are those of kubectl, but
 * kubectl does not run.
 */
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Drift from "@homeostat/runtime/controller/Drift"
import { Deployment, ReplicaSet, ResourceQuota } from "@homeostat/runtime/resource/BuiltIn"
import { controllerOf, type KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import type * as Resource from "@homeostat/runtime/resource/Resource"
import { defaultContainer as container } from "@homeostat/webapp/children"
import { Effect } from "effect"
import type { Scene } from "./Scene.ts"

type Kind = Resource.Resource<KubernetesObject, never>

type Place = Pick<Scene, "namespace" | "key">

const change = ({ key }: Place, kind: Kind, patch: Patch.Patch, command: string) =>
  Client.patch(kind, key("shop"), patch, { fieldManager: `kubectl-${command}` })

/** `kubectl scale` */
export const scale = ({ key }: Place, kind: Kind, replicas: number) =>
  Client.scale.patch(kind, key("shop"), Patch.merge({ spec: { replicas } }), { fieldManager: "kubectl" })

/** `kubectl label`; `null` removes a label. */
export const label = (scene: Scene, kind: Kind, labels: { readonly [key: string]: string | null }) =>
  change(scene, kind, Patch.merge({ metadata: { labels } }), "label")

/** `kubectl annotate` */
export const annotate = (scene: Scene, kind: Kind, annotations: { readonly [key: string]: string }) =>
  change(scene, kind, Patch.merge({ metadata: { annotations } }), "annotate")

/** `kubectl patch` */
export const patch = (scene: Scene, kind: Kind, patch: Patch.Patch) => change(scene, kind, patch, "patch")

/** `kubectl create quota none --hard=pods=0`: no new pods can be created. */
export const forbidPods = ({ namespace }: Scene) =>
  Client.create(ResourceQuota, { metadata: { namespace, name: "none" }, spec: { hard: { pods: "0" } } })

/** `kubectl delete quota none` */
export const allowPods = ({ key }: Scene) => Client.delete(ResourceQuota, key("none"))

/** `kubectl delete --wait=false`. */
export const remove = ({ key }: Scene, kind: Kind) => Client.delete(kind, key("shop"), { propagation: "Background" })

/** `kubectl set image` and `kubectl set env`: sets fields of the container. */
export const set = (scene: Scene, fields: object) =>
  change(
    scene,
    Deployment,
    Patch.strategic({
      spec: {
        template: {
          spec: { "$setElementOrder/containers": [{ name: container }], containers: [{ name: container, ...fields }] }
        }
      }
    }),
    "set"
  )

/** `kubectl rollout`: each command sets other fields of the spec. */
export const rollout = (scene: Scene, spec: object) => change(scene, Deployment, Patch.strategic({ spec }), "rollout")

const revision = "deployment.kubernetes.io/revision"
const revisionOf = ({ metadata }: ReplicaSet): number => Number(metadata.annotations?.[revision] ?? 0)

/** The annotations that `kubectl rollout undo` takes from the Deployment. */
const skipped = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  revision,
  "deployment.kubernetes.io/revision-history",
  "deployment.kubernetes.io/desired-replicas",
  "deployment.kubernetes.io/max-replicas",
  "deprecated.deployment.rollback.to"
])

/** `kubectl rollout undo`: the template and the annotations of the last ReplicaSet before the present one. */
export const undo = (scene: Place) =>
  Effect.gen(function* () {
    const { metadata } = yield* Client.get(Deployment, scene.key("shop"))
    const { items } = yield* Client.list(ReplicaSet, { namespace: scene.namespace })
    const owned = items.filter((set) => controllerOf(set)?.uid === metadata.uid)
    const former = owned.toSorted((a, b) => revisionOf(a) - revisionOf(b)).at(-2)
    if (former === undefined) return yield* Effect.die(new Error("no rollout history found"))
    const { "pod-template-hash": _, ...labels } = former.spec?.template?.metadata?.labels ?? {}
    const template = { ...former.spec?.template, metadata: { ...former.spec?.template?.metadata, labels } }
    const annotations = [
      ...Object.entries(metadata.annotations ?? {}).filter(([key]) => skipped.has(key)),
      ...Object.entries(former.metadata.annotations ?? {}).filter(([key]) => !skipped.has(key))
    ]
    return yield* Client.patch(
      Deployment,
      scene.key("shop"),
      Patch.json([
        { op: "replace", path: "/spec/template", value: Drift.json(template) },
        { op: "replace", path: "/metadata/annotations", value: Object.fromEntries(annotations) }
      ]),
      { fieldManager: "kubectl" }
    )
  })
