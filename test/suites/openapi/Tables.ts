/** Tables as dialogues, which create objects of a kind and read their table. */
import { names } from "@homeostat/apiserver/kinds/Names"
import * as J from "@homeostat/apiserver/model/Json"
import { apiVersionOf } from "@homeostat/apiserver/model/Kind"
import type { Dialogue, Step } from "../comparison/Dialogue.ts"
import type { Sample } from "./Sample.ts"
import { samples } from "./Samples.ts"

const form = (as: string): string => `application/json;as=${as};v=v1;g=meta.k8s.io`

/** Removes the resourceVersion of the list, which depends on the server. */
const withoutListVersion = (_: string, body: J.Json): J.Json =>
  J.isObject(body) && J.at(body, "metadata", "name") === undefined
    ? { ...body, metadata: { ...J.object(body.metadata), resourceVersion: "LIST" } }
    : body

const collectionOf = ({
  apiVersion,
  namespaced,
  plural
}: Pick<Sample, "apiVersion" | "namespaced" | "plural">): string =>
  `/${apiVersion.includes("/") ? "apis" : "api"}/${apiVersion}${namespaced ? "/namespaces/NAMESPACE" : ""}/${plural}`

/** Replaces placeholders in a step by times relative to the step. */
const dated =
  (method: string, path: string, body: J.JsonObject): Step =>
  ({ now }) => ({
    method,
    path,
    body: JSON.parse(
      JSON.stringify(body).replaceAll(/AGO-(\d+)/g, (_, seconds) =>
        new Date(now - seconds * 1000).toISOString().slice(0, 19)
      )
    ),
    ...(method === "PATCH" && { contentType: "application/merge-patch+json" })
  })

/** Creates an object with its status, and deletes it if its name ends with `ending`. */
const created = (sample: Sample): ReadonlyArray<Step> => {
  const path = collectionOf(sample)
  const name = `${J.at(sample.object, "metadata", "name")}`
  return [
    dated("POST", path, sample.object),
    ...(sample.status === undefined ? [] : [dated("PATCH", `${path}/${name}/status`, { status: sample.status })]),
    ...(name.endsWith("ending") ? [{ method: "DELETE", path: `${path}/${name}` }] : [])
  ]
}

/** A dialogue for each listable kind. */
export const tables: ReadonlyArray<Dialogue> = names
  .filter(({ verbs }) => verbs.includes("list"))
  .map((name) => {
    const own = samples.filter(
      ({ apiVersion, plural }) => plural === name.plural && (plural !== "events" || apiVersion === apiVersionOf(name))
    )
    const path = collectionOf({ ...name, apiVersion: apiVersionOf(name) })
    // Other dialogues have cluster-scoped objects.
    const paths = name.namespaced ? [path] : own.map(({ object }) => `${path}/${J.at(object, "metadata", "name")}`)
    const forms = ["Table", `PartialObjectMetadata${name.namespaced ? "List" : ""}`].map(form)
    const read = paths.flatMap((path) => forms.map((accept) => ({ method: "GET", path, accept })))
    return {
      name: `${apiVersionOf(name)} ${name.kind} as a table`,
      compared: name.namespaced ? withoutListVersion : undefined,
      // A definition is established a moment after its creation.
      spaced: name.plural === "customresourcedefinitions",
      steps: [...own.flatMap(created), ...read]
    }
  })
