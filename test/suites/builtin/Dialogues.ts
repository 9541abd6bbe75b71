/** The catalogue of built-in objects, as dialogues: each object is created, and those with steps are then changed by merge patches. */
import { kinds } from "@homeostat/testkit/server/builtin/BuiltInKinds"
import * as J from "@homeostat/testkit/server/Json"
import { apiVersionOf } from "@homeostat/testkit/server/Kind"
import type { Suite } from "../comparison/Dialogues.ts"
import { catalogue } from "./Catalogue.ts"

const collectionOf = (object: J.JsonObject): string => {
  const kind = kinds.find((kind) => kind.kind === object.kind && apiVersionOf(kind) === object.apiVersion)
  if (kind === undefined) throw new Error(`unknown kind in the catalogue: ${object.apiVersion} ${object.kind}`)
  const place = kind.namespaced ? "/namespaces/NAMESPACE" : ""
  return `/${kind.group === "" ? "api" : `apis/${kind.group}`}/${kind.version}${place}/${kind.plural}`
}

/** All of it. */
export const builtin: Suite = {
  name: "builtin",
  dialogues: catalogue.map(({ name, object, steps = [] }) => {
    const collection = collectionOf(object)
    const path = `${collection}/${J.text(J.at(object, "metadata", "name"))}`
    return {
      name,
      steps: [
        { method: "POST", path: collection, body: object },
        ...steps.map(({ change, to }) => ({
          method: "PATCH",
          path: to === undefined ? path : `${path}/${to}`,
          body: change,
          contentType: "application/merge-patch+json"
        }))
      ]
    }
  })
}
