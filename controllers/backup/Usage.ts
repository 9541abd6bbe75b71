/** Which pods use which claims. Pure. Movers don't count: they come and go by our own will, and never write to what they save. */
import type { Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Names from "./Names.ts"

/** What a pod is made from. */
export type PodSpec = NonNullable<Pod["spec"]>

/** A claim among the volumes of a pod. */
export interface Mounted {
  /** The volume's name in the pod, by which containers mount it. */
  readonly volume: string
  readonly claim: string
  /** A generic ephemeral volume: the claim lives as long as its pod. */
  readonly ephemeral: boolean
}

/** The claims among the volumes of a pod of this name. */
export const claimsOf = (pod: string, spec: PodSpec | undefined): ReadonlyArray<Mounted> =>
  (spec?.volumes ?? []).flatMap(({ ephemeral, name, persistentVolumeClaim }): ReadonlyArray<Mounted> => {
    if (persistentVolumeClaim !== undefined) {
      return [{ volume: name, claim: persistentVolumeClaim.claimName, ephemeral: false }]
    }
    return ephemeral === undefined ? [] : [{ volume: name, claim: `${pod}-${name}`, ephemeral: true }]
  })

/** Whether the pod is one of ours. */
export const isMover = ({ metadata }: Pod): boolean =>
  Object.entries(Names.moverLabels).every(([key, value]) => metadata.labels?.[key] === value)

/**
 * Whether the pod holds its volumes, or will: not once it has finished, nor if it was deleted before it had a node. One that is
 * being deleted on a node holds them to its end.
 */
export const isLive = ({ metadata, spec, status }: Pod): boolean =>
  status?.phase !== "Succeeded" &&
  status?.phase !== "Failed" &&
  (metadata.deletionTimestamp === undefined || isNamed(spec?.nodeName))

/** A pod that mounts a claim, as its containers see it. */
export interface User {
  readonly spec: PodSpec | undefined
  /** The volume's name, by which containers mount it. */
  readonly volume: string
}

/** A live pod that uses a claim. */
export interface Use extends User {
  readonly pod: Pod
  /** Undefined: it waits for a node. */
  readonly node: string | undefined
}

/** The live pods, ours left out, that use a claim: by their names. */
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

/** The names of those that use a claim, for a message: at most three. */
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
/** Where a container has a volume. */
export type VolumeMount = NonNullable<PodSpec["containers"][number]["volumeMounts"]>[number]
