/** Valid and invalid built-in objects as dialogues, which create and change them. */
import { kinds } from "@homeostat/apiserver/kinds/BuiltInKinds"
import * as J from "@homeostat/apiserver/model/Json"
import { apiVersionOf, type Kind } from "@homeostat/apiserver/model/Kind"
import type { Suite } from "../comparison/Dialogues.ts"
import { config } from "./catalogue/Config.ts"
import { containers } from "./catalogue/Containers.ts"
import type { Entries } from "./catalogue/Entry.ts"
import { jobs } from "./catalogue/Jobs.ts"
import { others } from "./catalogue/Others.ts"
import { pods } from "./catalogue/Pods.ts"
import { services } from "./catalogue/Services.ts"
import { workloads } from "./catalogue/Workloads.ts"

const kindOf = (object: J.JsonObject): Kind => {
  const kind = kinds.find((kind) => kind.kind === object.kind && apiVersionOf(kind) === object.apiVersion)
  if (kind === undefined) throw new Error(`unknown kind: ${object.apiVersion} ${object.kind}`)
  return kind
}

const collectionOf = ({ group, namespaced, plural, version }: Kind): string =>
  `/${group === "" ? "api" : `apis/${group}`}/${version}${namespaced ? "/namespaces/NAMESPACE" : ""}/${plural}`

const catalogue: Entries = { ...pods, ...containers, ...workloads, ...jobs, ...services, ...config, ...others }

export const builtin: Suite = {
  name: "builtin",
  dialogues: Object.entries(catalogue).map(([name, entry]) => {
    const [object, ...steps] = J.isObject(entry) ? [entry] : entry
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
