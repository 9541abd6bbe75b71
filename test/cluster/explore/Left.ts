/** Finds objects that stay after the deletion of the last reconciled object, and reconciled objects whose deletion does not end. */

import * as Json from "@homeostat/apiserver/model/Json"
import type * as Store from "@homeostat/apiserver/storage/Store"
import type { Broken } from "./Broken.ts"
import type * as Picture from "./Picture.ts"
import type { Story } from "./Story.ts"
import * as Wire from "./Wire.ts"

const oracle = "nothing that the program created outlives the reconciled objects"
const deletion = "a deletion ends"

const prefixed = (place: string, prefix: string): string => `${place} ${prefix}*`

/** Returns the names of the objects that requests created, and the prefixes of generated names. */
const namesOf = (sent: ReadonlyArray<Wire.Sent>): ReadonlySet<string> =>
  new Set(
    sent.flatMap(({ asked, body, status }) => {
      if (status !== 201 || asked.subresource !== "") return []
      const place = `${Wire.storageOf(asked.collection)} ${asked.namespace}`
      const written: Json.Json = JSON.parse(body ?? "null")
      const { generateName, name = asked.name } = Json.texts(Json.at(written, "metadata"))
      return [name === "" && generateName !== undefined ? prefixed(place, generateName) : `${place}/${name}`]
    })
  )

/** Whether the program created an object of a storage. */
export type IsOwn = (storage: string, object: Json.JsonObject) => boolean

/** Returns whether these requests created an object. */
export const createdBy = (sent: ReadonlyArray<Wire.Sent>): IsOwn => {
  const names = namesOf(sent)
  return (storage, { metadata }) => {
    const { generateName = "", name = "", namespace = "" } = Json.texts(metadata)
    const place = `${storage} ${namespace}`
    return names.has(`${place}/${name}`) || names.has(prefixed(place, generateName))
  }
}

const stored = (saved: Store.Saved, storage: string): ReadonlyArray<Json.JsonObject> => saved.storages[storage] ?? []

/** Whether a state has an object that the program reconciles. */
export const hasRoots = (saved: Store.Saved, { roots }: Pick<Picture.View, "roots">): boolean =>
  [...roots].some((storage) => stored(saved, storage).length > 0)

/** Returns the broken promise of a state without reconciled objects; empty if no object is left. */
export const broken = (
  isOwn: IsOwn,
  saved: Store.Saved,
  { ignore }: Story,
  view: Picture.View
): ReadonlyArray<Broken> => {
  if (hasRoots(saved, view)) return []
  const left = [...view.storages].flatMap((storage) =>
    stored(saved, storage).filter(
      (object) =>
        isOwn(storage, object) &&
        !stored(view.base, storage).includes(object) &&
        !ignore.includes(Json.text(object.kind) ?? "")
    )
  )
  return left.length === 0 ? [] : [existing(oracle, left)]
}

const existing = (oracle: string, objects: ReadonlyArray<Json.JsonObject>): Broken => {
  const named = objects.map(({ kind, metadata }) => {
    const { name = "", namespace } = Json.texts(metadata)
    return { kind: Json.text(kind) ?? "", key: namespace === undefined ? name : `${namespace}/${name}` }
  })
  const message = `still exists: ${named.map(({ key, kind }) => `${kind} ${key}`).join(", ")}`
  return { oracle, message, objects: named.map(({ key }) => key) }
}

/** Returns the broken promise of deleted objects that a finalizer of the program keeps; empty without such an object. */
export const undeleted = (
  saved: Store.Saved,
  { controllers }: Story,
  { roots }: Picture.View
): ReadonlyArray<Broken> => {
  const own = new Set(controllers.flatMap(({ finalizers }) => finalizers))
  const kept = [...roots].flatMap((storage) =>
    stored(saved, storage).filter(
      ({ metadata }) =>
        Json.at(metadata, "deletionTimestamp") !== undefined &&
        Json.list(Json.at(metadata, "finalizers")).some((name) => typeof name === "string" && own.has(name))
    )
  )
  return kept.length === 0 ? [] : [existing(deletion, kept)]
}
