/** An object or a Status without what is different each time, or cannot be told by us as a kube-apiserver tells it. */
import * as Json from "@homeostat/testkit/server/Json"

const varying = ["resourceVersion", "managedFields", "uid", "creationTimestamp", "deletionTimestamp"]

/** Of an answer. */
export const of = (object: Json.JsonObject): Json.JsonObject => {
  const draft = Json.copy(object)
  if (draft.kind === "Status") return ofStatus(draft)
  const metadata = Json.member(draft, "metadata")
  for (const name of varying) delete metadata[name]
  if (draft.kind === "Service") return ofService(draft)
  if (Json.at(draft, "status", "lastPhaseTransitionTime") !== undefined) {
    Json.member(draft, "status").lastPhaseTransitionTime = "then"
  }
  return draft
}

/** Addresses and ports that were chosen at random. */
const ofService = (draft: Json.DraftObject): Json.JsonObject => {
  const text = JSON.stringify(draft)
    .replaceAll(/"10\.(?!0\.200\.9)\d+\.\d+\.\d+"/g, '"an address"')
    .replaceAll(/"(nodePort|healthCheckNodePort)":3(?!0005)\d{4}/g, '"$1":"a port"')
  return JSON.parse(text) as Json.JsonObject
}

/** A Go diff, or a value printed as its Go type, is not repeated by us. */
const ofStatus = (draft: Json.DraftObject): Json.JsonObject => through(draft, plain)

const plain = (text: string): string =>
  text
    .replaceAll(/10\.(?!9\.8\.7)\d+\.\d+\.\d+/g, "an address")
    .replaceAll(/(may not change fields other than [^\n]*|for bound claims)\n[\s\S]*$/g, "$1")
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "a uid")

/** The value with all its texts changed. */
const through = (draft: Json.DraftObject, change: (text: string) => string): Json.DraftObject => {
  const each = (value: Json.Draft): Json.Draft => {
    if (typeof value === "string") return change(value)
    if (Array.isArray(value)) return value.map(each)
    return typeof value === "object" && value !== null ? through(value, change) : value
  }
  return Object.fromEntries(Object.entries(draft).map(([name, value]) => [name, each(value ?? null)]))
}
