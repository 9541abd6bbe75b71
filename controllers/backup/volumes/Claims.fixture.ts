/** Claims, pods and workloads for tests, as a server stores them. */
import type { Deployment, PersistentVolumeClaim, Pod, StatefulSet } from "@homeostat/runtime/resource/BuiltIn"
import type { ObjectMeta } from "@homeostat/runtime/resource/KubernetesObject"
import * as Names from "../kinds/Names.ts"
import type * as Usage from "./Usage.ts"

const metadata = (name: string, others: Partial<ObjectMeta> = {}): ObjectMeta => ({
  name,
  namespace: "shop",
  uid: `uid-of-${name}`,
  resourceVersion: "1",
  creationTimestamp: "2026-01-01T00:00:00Z",
  ...others
})

const deleted = "2026-01-02T00:00:00Z"

/** A bound claim for one node at a time, unless the options say otherwise. */
export const claim = (
  name: string,
  {
    accessModes = ["ReadWriteOnce"],
    phase = "Bound",
    ...options
  }: {
    readonly accessModes?: ReadonlyArray<string>
    readonly phase?: string
    readonly volumeMode?: string
    readonly deleted?: boolean
    /** The pod of the claim. */
    readonly pod?: string
  } = {}
): PersistentVolumeClaim => ({
  metadata: metadata(name, {
    ...(options.deleted === true && { deletionTimestamp: deleted }),
    ...(options.pod !== undefined && {
      ownerReferences: [
        { apiVersion: "v1", kind: "Pod", name: options.pod, uid: `uid-of-${options.pod}`, controller: true }
      ]
    })
  }),
  spec: {
    accessModes,
    volumeName: `pv-${name}`,
    ...(options.volumeMode !== undefined && { volumeMode: options.volumeMode })
  },
  status: { phase }
})

/** The volumes of a pod: claims by volume name, and the names of its ephemeral claims. */
export const podSpec = (
  claims: { readonly [volume: string]: string },
  others: Partial<Usage.PodSpec> = {},
  ephemeral: ReadonlyArray<string> = []
): Usage.PodSpec => ({
  containers: [
    {
      name: "app",
      volumeMounts: [...Object.keys(claims), ...ephemeral].map((name) => ({ name, mountPath: `/${name}` }))
    }
  ],
  volumes: [
    ...Object.entries(claims).map(([name, claimName]) => ({ name, persistentVolumeClaim: { claimName } })),
    ...ephemeral.map((name) => ({ name, ephemeral: {} })),
    { name: "tmp", emptyDir: {} }
  ],
  ...others
})

/** A running pod on a node, unless the options say otherwise. */
export const pod = (
  name: string,
  spec: Usage.PodSpec,
  {
    node = "node-a",
    phase = "Running",
    ...options
  }: {
    /** Empty: not scheduled. */
    readonly node?: string
    readonly phase?: string
    readonly deleted?: boolean
    readonly mover?: boolean
    readonly replicaSet?: string
    readonly statefulSet?: string
  } = {}
): Pod => {
  const [kind, holder] =
    options.replicaSet === undefined ? ["StatefulSet", options.statefulSet] : ["ReplicaSet", options.replicaSet]
  return {
    metadata: metadata(name, {
      labels: {
        ...(options.mover === true && Names.moverLabels),
        ...(options.replicaSet !== undefined && { "pod-template-hash": options.replicaSet.replace(/^.*-/, "") })
      },
      ...(options.deleted === true && { deletionTimestamp: deleted }),
      ...(holder !== undefined && {
        ownerReferences: [{ apiVersion: "apps/v1", kind, name: holder, uid: `uid-of-${holder}`, controller: true }]
      })
    }),
    spec: { ...spec, ...(node !== "" && { nodeName: node }) },
    status: { phase }
  }
}

/** A Deployment with these pods. */
export const deployment = (name: string, spec: Usage.PodSpec): Deployment => ({
  metadata: metadata(name),
  spec: { selector: {}, template: { spec } }
})

/** A StatefulSet with these pods and claim templates. */
export const statefulSet = (
  name: string,
  templates: ReadonlyArray<string>,
  {
    spec = podSpec({}),
    ...options
  }: { readonly spec?: Usage.PodSpec; readonly replicas?: number; readonly start?: number } = {}
): StatefulSet => ({
  metadata: metadata(name),
  spec: {
    selector: {},
    serviceName: name,
    template: { spec },
    volumeClaimTemplates: templates.map((template) => ({ metadata: { name: template } })),
    ...(options.replicas !== undefined && { replicas: options.replicas }),
    ...(options.start !== undefined && { ordinals: { start: options.start } })
  }
})
