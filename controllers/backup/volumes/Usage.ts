/**
 * The pods that use claims. Pure. Movers do not count, because the controller starts and ends them, and they never write to saved
 * volumes.
 */
import type { Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Names from "../kinds/Names.ts"

/** The spec of a pod. */
export type PodSpec = NonNullable<Pod["spec"]>

/** A claim among the volumes of a pod. */
export interface Mounted {
  /** The volume's name in the pod, which containers mount. */
  readonly volume: string
  readonly claim: string
  /** A generic ephemeral volume: the claim is deleted with its pod. */
  readonly ephemeral: boolean
}

/** The claims among the volumes of a pod with this name. */
export const claimsOf = (pod: string, spec: PodSpec | undefined): ReadonlyArray<Mounted> =>
  (spec?.volumes ?? []).flatMap(({ ephemeral, name, persistentVolumeClaim }): ReadonlyArray<Mounted> => {
    if (persistentVolumeClaim !== undefined) {
      return [{ volume: name, claim: persistentVolumeClaim.claimName, ephemeral: false }]
    }
    return ephemeral === undefined ? [] : [{ volume: name, claim: `${pod}-${name}`, ephemeral: true }]
  })

/** Whether the pod is a mover. */
export const isMover = ({ metadata }: Pod): boolean =>
  Object.entries(Names.moverLabels).every(([key, value]) => metadata.labels?.[key] === value)

/**
 * Whether the pod holds its volumes, or will. False for a finished pod, and for one that was deleted before it had a node. A pod that
 * is being deleted on a node holds them until its end.
 */
export const isLive = ({ metadata, spec, status }: Pod): boolean =>
  status?.phase !== "Succeeded" &&
  status?.phase !== "Failed" &&
  (metadata.deletionTimestamp === undefined || isNamed(spec?.nodeName))

/** A pod that mounts a claim, with the view of its containers. */
export interface User {
  readonly spec: PodSpec | undefined
  /** The volume's name, which containers mount. */
  readonly volume: string
}

/** A live pod that uses a claim. */
export interface Use extends User {
  readonly pod: Pod
  /** Undefined: not scheduled. */
  readonly node: string | undefined
}

/** The live pods that use a claim, without movers, sorted by name. */
export const of = (claim: string, pods: ReadonlyArray<Pod>): ReadonlyArray<Use> =>
  pods
    .filter((pod) => isLive(pod) && !isMover(pod))
    .flatMap((pod) =>
      claimsOf(pod.metadata.name, pod.spec)
        .filter((mounted) => mounted.claim === claim)
        .map(({ volume }) => ({
          pod,
          spec: pod.spec,
          volume,
          node: isNamed(pod.spec?.nodeName) ? pod.spec?.nodeName : undefined
        }))
    )
    .sort((a, b) => (a.pod.metadata.name < b.pod.metadata.name ? -1 : 1))

/** The names of the pods that use a claim, for a message: at most three. */
export const names = (uses: ReadonlyArray<Use>): string => {
  const all = [...new Set(uses.map(({ pod }) => pod.metadata.name))]
  const shown = all.slice(0, 3).join(", ")
  return `pod${all.length === 1 ? "" : "s"} ${shown}${all.length > 3 ? ` and ${all.length - 3} more` : ""}`
}

const isNamed = (name: string | undefined): boolean => name !== undefined && name !== ""

/** A variable of a container. */
export type EnvVar = NonNullable<PodSpec["containers"][number]["env"]>[number]
/** A volume of a pod. */
export type Volume = NonNullable<PodSpec["volumes"]>[number]
/** A mount of a container. */
export type VolumeMount = NonNullable<PodSpec["containers"][number]["volumeMounts"]>[number]
