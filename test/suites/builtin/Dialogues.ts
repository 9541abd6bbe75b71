/** The catalogue of built-in objects, as dialogues: each object is created, and those with steps are then changed by merge patches. */
import { kinds } from "@homeostat/testkit/server/builtin/BuiltInKinds"
import * as J from "@homeostat/testkit/server/Json"
import { apiVersionOf, type Kind } from "@homeostat/testkit/server/Kind"
import type { Suite } from "../comparison/Dialogues.ts"
import { catalogue } from "./Catalogue.ts"

const kindOf = (object: J.JsonObject): Kind => {
  const kind = kinds.find((kind) => kind.kind === object.kind && apiVersionOf(kind) === object.apiVersion)
  if (kind === undefined) throw new Error(`unknown kind in the catalogue: ${object.apiVersion} ${object.kind}`)
  return kind
}

const collectionOf = ({ group, namespaced, plural, version }: Kind): string =>
  `/${group === "" ? "api" : `apis/${group}`}/${version}${namespaced ? "/namespaces/NAMESPACE" : ""}/${plural}`

/** All of it. */
export const builtin: Suite = {
  name: "builtin",
  dialogues: catalogue.map(({ name, object, steps = [] }) => {
    const kind = kindOf(object)
    const collection = collectionOf(kind)
    const path = `${collection}/${J.text(J.at(object, "metadata", "name"))}`
    return {
      name,
      alone: !kind.namespaced,
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
