/**
 * Volumes for tests: claims that are bound to a volume which the test makes, the same way on an embedded cluster and on a real
 * one, where nobody makes volumes. What is in them is a folder of the nodes' (see `kubelet/PodVolumes`): two nodes with one folder
 * share it, so that every volume can be mounted everywhere, unless it is said where it is.
 */
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { PersistentVolumeClaim } from "@homeostat/runtime/resource/BuiltIn"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import * as Resource from "@homeostat/runtime/resource/Resource"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"

/** `v1` PersistentVolume, as far as it is made here. */
interface PersistentVolume extends KubernetesObject {
  readonly spec?: { readonly [field: string]: unknown }
}

const PersistentVolume = Resource.make<PersistentVolume>({
  group: "",
  version: "v1",
  kind: "PersistentVolume",
  plural: "persistentvolumes",
  namespaced: false
})

/** Files by their paths in a volume. */
export type Files = { readonly [path: string]: string | Uint8Array }

/** What a claim asks for, and gets. */
export interface Options {
  /** Default `["ReadWriteOnce"]`. */
  readonly accessModes?: ReadonlyArray<string> | undefined
  /** Default `Filesystem`. */
  readonly volumeMode?: "Filesystem" | "Block" | undefined
  /** Default: none, so that nobody makes a volume for it. */
  readonly storageClassName?: string | undefined
  /** The only node on which it can be used; default: all. */
  readonly node?: string | undefined
  /** What is in it from the start; default: nothing. */
  readonly files?: Files | undefined
  readonly labels?: { readonly [name: string]: string } | undefined
}

const storage = "1Gi"

const specOf = ({ accessModes = ["ReadWriteOnce"], storageClassName = "", volumeMode = "Filesystem" }: Options) => ({
  accessModes,
  volumeMode,
  storageClassName
})

/** Writes files below a folder. */
export const write = (folder: string, files: Files): Effect.Effect<void> =>
  Effect.forEach(
    Object.entries(files),
    ([path, contents]) => Effect.promise(() => Bun.write(`${folder}/${path}`, contents)),
    { discard: true }
  )

/** Makes a claim that no volume is bound to, and none will be. */
export const unbound = (namespace: string, name: string, options: Options = {}) =>
  Client.create(PersistentVolumeClaim, {
    metadata: { namespace, name, ...(options.labels === undefined ? {} : { labels: options.labels }) },
    spec: { ...specOf(options), resources: { requests: { storage } } }
  })

const volumeNameOf = (namespace: string, name: string): string => `${namespace}-${name}`

/** Deletes a claim and its volume. */
export const remove = (namespace: string, name: string) =>
  Effect.zipRight(
    Client.delete(PersistentVolumeClaim, { namespace, name }),
    Client.delete(PersistentVolume, { name: volumeNameOf(namespace, name) })
  )

const affinityTo = (node: string) => ({
  required: {
    nodeSelectorTerms: [{ matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [node] }] }]
  }
})

/** Creates a volume for a claim that does not exist yet. The end of the Scope deletes the volume. */
export const volume = (namespace: string, name: string, options: Options = {}) =>
  Effect.gen(function* () {
    const volume = { name: volumeNameOf(namespace, name) }
    const { node } = options
    yield* Effect.acquireRelease(
      Client.create(PersistentVolume, {
        metadata: volume,
        spec: {
          ...specOf(options),
          capacity: { storage },
          // The claim is named, so that no other takes the volume.
          claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name },
          persistentVolumeReclaimPolicy: "Retain",
          nfs: { server: "volumes.test", path: `/${namespace}/${name}` },
          ...(node === undefined ? {} : { nodeAffinity: affinityTo(node) })
        }
      }),
      () =>
        // Nobody takes the finalizer away on a real control plane: its controller protects what is not ours.
        Client.patch(PersistentVolume, volume, Patch.merge({ metadata: { finalizers: null } })).pipe(
          Effect.zipRight(Client.delete(PersistentVolume, volume)),
          Effect.ignore
        )
    )
    return volume
  })

/** Makes a claim and a volume for it, and waits until they are bound. The volume goes with the Scope. */
export const bound = (namespace: string, name: string, options: Options = {}) =>
  Effect.gen(function* () {
    const { name: volumeName } = yield* volume(namespace, name, options)
    yield* Client.create(PersistentVolumeClaim, {
      metadata: { namespace, name, ...(options.labels === undefined ? {} : { labels: options.labels }) },
      spec: { ...specOf(options), volumeName, resources: { requests: { storage } } }
    })
    return yield* Managed.eventually(
      `claim ${name} is bound`,
      Client.get(PersistentVolumeClaim, { namespace, name }),
      ({ status }) => status?.phase === "Bound"
    )
  })
