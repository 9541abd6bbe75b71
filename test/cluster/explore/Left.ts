/** Finds objects that the program created, and that stay after the deletion of the last reconciled object. */

import * as Json from "@homeostat/apiserver/model/Json"
import type * as Store from "@homeostat/apiserver/storage/Store"
import type { Broken } from "./Broken.ts"
import type * as Picture from "./Picture.ts"
import type { Story } from "./Story.ts"
import * as Wire from "./Wire.ts"

const oracle = "nothing that the program created outlives the reconciled objects"

const prefixed = (place: string, prefix: string): string => `${place} ${prefix}*`

/** Returns the names of the objects that requests created, and the prefixes of generated names. */
const createdBy = (sent: ReadonlyArray<Wire.Sent>): ReadonlySet<string> =>
  new Set(
    sent.flatMap(({ asked, body, status }) => {
      if (status !== 201 || asked.subresource !== "") return []
      const place = `${Wire.storageOf(asked.collection)} ${asked.namespace}`
      const written: Json.Json = JSON.parse(body ?? "null")
      const { generateName, name = asked.name } = Json.texts(Json.at(written, "metadata"))
      return [name === "" && generateName !== undefined ? prefixed(place, generateName) : `${place}/${name}`]
    })
  )

const stored = (saved: Store.Saved, storage: string): ReadonlyArray<Json.JsonObject> => saved.storages[storage] ?? []

/** Whether a state has an object that the program reconciles. */
export const hasRoots = (saved: Store.Saved, { roots }: Pick<Picture.View, "roots">): boolean =>
  [...roots].some((storage) => stored(saved, storage).length > 0)

/** Returns the broken promise of a state without reconciled objects; empty if no object is left. */
export const broken = (
  sent: ReadonlyArray<Wire.Sent>,
  saved: Store.Saved,
  { ignore }: Story,
  view: Picture.View
): ReadonlyArray<Broken> => {
  if (hasRoots(saved, view)) return []
  const created = createdBy(sent)
  const left = [...view.storages].flatMap((storage) =>
    stored(saved, storage).filter((object) => {
      const { generateName = "", name = "", namespace = "" } = Json.texts(object.metadata)
      const place = `${storage} ${namespace}`
      return (
        (created.has(`${place}/${name}`) || created.has(prefixed(place, generateName))) &&
        !stored(view.base, storage).includes(object) &&
        !ignore.includes(Json.text(object.kind) ?? "")
      )
    })
  )
  if (left.length === 0) return []
  const named = left.map(({ kind, metadata }) => {
    const { name = "", namespace } = Json.texts(metadata)
    return { kind: Json.text(kind) ?? "", key: namespace === undefined ? name : `${namespace}/${name}` }
  })
  const message = `${named.map(({ key, kind }) => `${kind} ${key}`).join(", ")} still exists`
  return [{ oracle, message, objects: named.map(({ key }) => key) }]
}
