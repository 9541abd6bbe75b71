/** Tables of patches of one object. */
import type { Json, JsonObject } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import type { Dialogue } from "../comparison/Dialogue.ts"

const contentTypes = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json"
} as const

/** Patches of the same object, each a dry run. */
export interface Table {
  readonly name: string
  /** The path of the object's collection. */
  readonly collection: string
  readonly object: JsonObject
  readonly type: keyof typeof contentTypes
  readonly patches: ReadonlyArray<Json>
}

/** Tables of one object and one type of patches, by the names of their tests. */
export const of = (
  { collection, object }: Pick<Table, "collection" | "object">,
  type: Table["type"],
  tables: { readonly [name: string]: ReadonlyArray<Json> }
): ReadonlyArray<Table> =>
  Object.entries(tables).map(([name, patches]) => ({ name, collection, object, type, patches }))

/** Creates the object, sends all patches as dry runs, and reads the object, which has not changed. */
export const dialogue = ({ collection, name, object, patches, type }: Table): Dialogue => {
  const path = `${collection}/${J.text(J.at(object, "metadata", "name"))}`
  return {
    name,
    steps: [
      { method: "POST", path: collection, body: object },
      ...patches.map((body) => ({
        method: "PATCH",
        path: `${path}?dryRun=All`,
        body,
        contentType: contentTypes[type]
      })),
      { method: "GET", path }
    ]
  }
}
