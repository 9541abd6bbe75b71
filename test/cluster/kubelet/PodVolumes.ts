/**
 * The volumes of a pod as folders of this machine, and the root folder of a container with its mounts.
 *
 * A PersistentVolumeClaim is a folder by namespace and name that outlives the pod. All other volumes belong to the pod and are removed
 * with it. A mount is a symbolic link. The kubelet does not enforce read-only mounts or the size limit of an emptyDir, and files belong to
 * the user of the tests.
 */
import * as NodePath from "node:path"
import type { Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Entries from "./Entries.ts"
import { type Container, fieldOf } from "./Environment.ts"
import * as Token from "./Token.ts"

type Volume = NonNullable<NonNullable<Pod["spec"]>["volumes"]>[number]
type Item = { readonly key: string; readonly path: string; readonly mode?: number }

/** The folders of a kubelet. */
export interface Places {
  /** Returns the folder of a PersistentVolumeClaim. */
  readonly claim: (namespace: string, name: string) => string
  /** Returns the folder of a pod, which is removed with the pod. */
  readonly pod: (uid: string) => string
}

/** Returns the folders of a kubelet below `directory`. */
export const places = (directory: string): Places => ({
  claim: (namespace, name) => NodePath.join(directory, "claims", namespace, name),
  pod: (uid) => NodePath.join(directory, "pods", uid)
})

/** Joins a path from an object to a folder. A `..` in the path cannot leave the folder. */
export const inside = (folder: string, path: string): string => NodePath.join(folder, NodePath.join("/", path))

const write = (folder: string, files: ReadonlyMap<string, Uint8Array>, mode = 0o644) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    yield* fs.makeDirectory(folder, { recursive: true })
    for (const [name, bytes] of files) {
      const path = inside(folder, name)
      yield* fs.makeDirectory(NodePath.dirname(path), { recursive: true })
      yield* fs.remove(path, { force: true })
      yield* fs.writeFile(path, bytes, { mode })
    }
  })

/** Selects the entries of `items` under their paths; undefined `items` select all entries. */
const chosen = (
  entries: ReadonlyMap<string, Uint8Array>,
  items: ReadonlyArray<Item> | undefined,
  optional: boolean | undefined
) => {
  if (items === undefined) return Effect.succeed(entries)
  const lacking = items.find(({ key }) => !entries.has(key))
  if (lacking !== undefined && optional !== true) {
    return Effect.fail(new Entries.Missing({ message: `references non-existent key: ${lacking.key}` }))
  }
  return Effect.succeed(
    new Map(
      items.flatMap(({ key, path }): ReadonlyArray<[string, Uint8Array]> => {
        const value = entries.get(key)
        return value === undefined ? [] : [[path, value]]
      })
    )
  )
}

const downward = (
  pod: Pod,
  items: ReadonlyArray<{ readonly path: string; readonly fieldRef?: { readonly fieldPath: string } }>
) =>
  new Map(
    items.map(({ fieldRef, path }): [string, Uint8Array] => [
      path,
      new TextEncoder().encode(fieldRef === undefined ? "" : (fieldOf(pod, fieldRef.fieldPath) ?? ""))
    ])
  )

const fill = (pod: Pod, volume: Volume, folder: string) => {
  const namespace = pod.metadata.namespace ?? "default"
  const fromSecret = (name: string, items: ReadonlyArray<Item> | undefined, optional: boolean | undefined) =>
    Effect.flatMap(Entries.secret(namespace, name, optional), (entries) => chosen(entries, items, optional))
  const fromConfigMap = (name: string, items: ReadonlyArray<Item> | undefined, optional: boolean | undefined) =>
    Effect.flatMap(Entries.configMap(namespace, name, optional), (entries) => chosen(entries, items, optional))
  return Effect.gen(function* () {
    const { configMap, downwardAPI, projected, secret } = volume
    if (secret !== undefined) {
      return yield* write(
        folder,
        yield* fromSecret(secret.secretName ?? "", secret.items, secret.optional),
        secret.defaultMode
      )
    }
    if (configMap !== undefined) {
      const files = yield* fromConfigMap(configMap.name ?? "", configMap.items, configMap.optional)
      return yield* write(folder, files, configMap.defaultMode)
    }
    if (downwardAPI !== undefined) return yield* write(folder, downward(pod, downwardAPI.items ?? []))
    for (const source of projected?.sources ?? []) {
      if (source.secret !== undefined) {
        yield* write(folder, yield* fromSecret(source.secret.name ?? "", source.secret.items, source.secret.optional))
      }
      if (source.configMap !== undefined) {
        const { items, name, optional } = source.configMap
        yield* write(folder, yield* fromConfigMap(name ?? "", items, optional))
      }
      if (source.serviceAccountToken !== undefined) {
        const { path } = source.serviceAccountToken
        yield* write(folder, new Map([[path, yield* Token.of(pod, source.serviceAccountToken)]]))
      }
      if (source.downwardAPI !== undefined) yield* write(folder, downward(pod, source.downwardAPI.items ?? []))
    }
    return yield* write(folder, new Map())
  })
}

const folderOf = (places: Places, pod: Pod, volume: Volume): string =>
  volume.hostPath?.path ??
  (volume.persistentVolumeClaim === undefined
    ? NodePath.join(places.pod(pod.metadata.uid), "volumes", volume.name)
    : places.claim(pod.metadata.namespace ?? "default", volume.persistentVolumeClaim.claimName))

/** Creates and fills the volumes of a pod. Fails while one of them cannot be filled. */
export const prepare = (places: Places, pod: Pod) =>
  Effect.forEach(
    pod.spec?.volumes ?? [],
    (volume) =>
      Effect.mapError(fill(pod, volume, folderOf(places, pod, volume)), ({ message }) => ({
        message: `MountVolume.SetUp failed for volume ${JSON.stringify(volume.name)} : ${message}`
      })),
    { discard: true }
  )

/** Creates the root folder of a container with its volumes mounted. Returns the path of the root folder. */
export const mount = (places: Places, pod: Pod, container: Container) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const root = NodePath.join(places.pod(pod.metadata.uid), "containers", container.name)
    yield* fs.makeDirectory(NodePath.join(root, "tmp"), { recursive: true })
    for (const { mountPath, name, subPath } of container.volumeMounts ?? []) {
      const volume = pod.spec?.volumes?.find((one) => one.name === name)
      if (volume === undefined) continue
      const source = inside(folderOf(places, pod, volume), subPath ?? "")
      const target = inside(root, mountPath)
      if (!(yield* fs.exists(source))) yield* fs.makeDirectory(source, { recursive: true })
      yield* fs.makeDirectory(NodePath.dirname(target), { recursive: true })
      yield* fs.remove(target, { recursive: true, force: true })
      yield* fs.symlink(source, target)
    }
    const terminationLog = inside(root, container.terminationMessagePath ?? "/dev/termination-log")
    yield* fs.makeDirectory(NodePath.dirname(terminationLog), { recursive: true })
    yield* fs.writeFileString(terminationLog, "")
    return { root, terminationLog }
  })
