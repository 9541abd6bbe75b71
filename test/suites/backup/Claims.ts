/**
 * Volumes for tests. The test creates the volume of each claim, because a real control plane here has no provisioner. The embedded cluster
 * works the same way.
 *
 * A folder of the nodes holds the contents (see `kubelet/PodVolumes`). Two nodes with one folder share it, so that every node can mount
 * every volume, unless the options name a node.
 */
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { PersistentVolumeClaim } from "@homeostat/runtime/resource/BuiltIn"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import * as Resource from "@homeostat/runtime/resource/Resource"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"

/** `v1` PersistentVolume, with the fields that these tests set. */
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

/** The contents of files by their paths in a volume. */
export type Files = { readonly [path: string]: string | Uint8Array }

/** The options of a claim and its volume. */
export interface Options {
  /** Default `["ReadWriteOnce"]`. */
  readonly accessModes?: ReadonlyArray<string> | undefined
  /** Default `Filesystem`. */
  readonly volumeMode?: "Filesystem" | "Block" | undefined
  /** Default: none, so that no provisioner makes a volume for the claim. */
  readonly storageClassName?: string | undefined
  /** The only node that can mount the volume. Default: all nodes. */
  readonly node?: string | undefined
  /** The initial files. Default: none. */
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

/** Creates a claim that stays without a volume. */
export const unbound = (namespace: string, name: string, options: Options = {}) =>
  Client.create(PersistentVolumeClaim, {
    metadata: { namespace, name, ...(options.labels === undefined ? {} : { labels: options.labels }) },
    spec: { ...specOf(options), resources: { requests: { storage } } }
  })

const volumeNameOf = (namespace: string, name: string): string => `${namespace}-${name}`

/** Deletes a claim and its volume. */
export const remove = (namespace: string, name: string) =>
  Effect.andThen(
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
          // The volume names the claim, so that no other claim binds to the volume.
          claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name },
          persistentVolumeReclaimPolicy: "Retain",
          nfs: { server: "volumes.test", path: `/${namespace}/${name}` },
          ...(node === undefined ? {} : { nodeAffinity: affinityTo(node) })
        }
      }),
      () =>
        // On a real control plane, no controller removes the finalizer: its controller protects volumes that are not ours.
        Client.patch(PersistentVolume, volume, Patch.merge({ metadata: { finalizers: null } })).pipe(
          Effect.andThen(Client.delete(PersistentVolume, volume)),
          Effect.ignore
        )
    )
    return volume
  })

/** Creates a claim and its volume, and waits until they are bound. The end of the Scope deletes the volume. */
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
