/** The requests of dialogues about WebApps. Most dialogues use the WebApp `w`. */
import type { Json, JsonObject } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import type { Dialogue, Step } from "../comparison/Dialogue.ts"
import type { Request } from "../comparison/Server.ts"
import * as WebApps from "./WebApps.ts"

/** The path of a kind in the namespace: `pathOf("configmaps")`, `pathOf("apps/v1/deployments")`. */
export const pathOf = (resource: string): string => {
  const [plural, version = "v1", group] = resource.split("/").reverse()
  return `/${group === undefined ? "api" : `apis/${group}`}/${version}/namespaces/NAMESPACE/${plural}`
}

export const webapps = pathOf(`${WebApps.groupVersion}/webapps`)

export const w = `${webapps}/w`

const contentTypes = {
  apply: "application/apply-patch+yaml",
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json"
} as const

/** Reads `w` or another path. */
export const get = (path = w, more: Partial<Request> = {}): Request => ({ method: "GET", path, ...more })

export const post = (path: string, body: Json): Request => ({ method: "POST", path, body })

export const create = (members: JsonObject = {}, name: string | undefined = "w", query = ""): Request =>
  post(`${webapps}${query}`, WebApps.webapp(name, members))

/** Creates an object from a text, which need not be JSON. */
export const raw = (text: string, contentType?: string, more: Partial<Request> = {}): Request => ({
  method: "POST",
  path: webapps,
  raw: text,
  contentType,
  ...more
})

/** Patches `w` or another path. */
export const patch = (how: keyof typeof contentTypes, body: Json, path = w): Request => ({
  method: "PATCH",
  path,
  body,
  contentType: contentTypes[how]
})

/** Patches `w` with a text, which need not be JSON. */
export const rawPatch = (how: keyof typeof contentTypes, text: string): Request =>
  raw(text, contentTypes[how], { method: "PATCH", path: w })

/** Applies `w` as the field manager `by`. */
export const apply = (by: string, body: JsonObject): Request =>
  patch("apply", WebApps.webapp("w", body), `${w}?fieldManager=${by}`)

/** Deletes `w` or another path with these DeleteOptions. */
export const remove = (options?: JsonObject, path = w): Request => ({
  method: "DELETE",
  path,
  body: options && { kind: "DeleteOptions", apiVersion: "v1", ...options }
})

/** Replaces the object with a changed copy of the live object, or of the response to the step `index`. */
export const put =
  (change: (object: JsonObject) => JsonObject, path = w, index?: number): Step =>
  ({ answers, live }) => ({
    method: "PUT",
    path,
    body: change(J.object(index === undefined ? live : answers[index]?.body))
  })

export const having = (object: JsonObject, metadata: JsonObject): JsonObject => ({
  ...object,
  metadata: { ...J.object(object.metadata), ...metadata }
})

/** A dialogue that compares `w` after each step. */
export const about = (name: string, ...steps: ReadonlyArray<Step>): Dialogue => ({ name, reads: w, steps })
