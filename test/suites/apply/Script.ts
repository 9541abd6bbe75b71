/** Scripts of writes by several managers. Each script writes one object. */
import type { DraftObject, JsonObject } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import type { Dialogue } from "../comparison/Dialogue.ts"
import type { Request } from "../comparison/Server.ts"

/** A kind in one of its versions. */
export interface Kind {
  readonly apiVersion: string
  readonly kind: string
  readonly plural: string
}

export interface Script {
  readonly name: string
  readonly kind: Kind
  readonly steps: ReadonlyArray<Step>
}

/** A write. `by` is the field manager; `put` changes the live object. */
export interface Step {
  readonly by: string
  readonly subresource?: "status" | "scale"
  /** The kind in another version. */
  readonly as?: Kind
  readonly write:
    | { readonly create: JsonObject }
    | { readonly put: (live: DraftObject) => void }
    | { readonly merge: JsonObject }
    | { readonly apply: JsonObject; readonly force?: boolean }
}

export const create = (by: string, body: JsonObject): Step => ({ by, write: { create: body } })
export const put = (by: string, change: (live: DraftObject) => void): Step => ({ by, write: { put: change } })
export const merge = (by: string, patch: JsonObject): Step => ({ by, write: { merge: patch } })
export const apply = (by: string, intent: JsonObject): Step => ({ by, write: { apply: intent } })
export const force = (by: string, intent: JsonObject): Step => ({ by, write: { apply: intent, force: true } })
export const on = (subresource: "status" | "scale", step: Step): Step => ({ ...step, subresource })
export const as = (kind: Kind, step: Step): Step => ({ ...step, as: kind })

export const spec = (fields: JsonObject): JsonObject => ({ spec: fields })
export const status = (fields: JsonObject): JsonObject => ({ status: fields })

/** Scripts of one kind, by the names of their tests. */
export const of = (kind: Kind, scripts: { readonly [name: string]: Script["steps"] }): ReadonlyArray<Script> =>
  Object.entries(scripts).map(([name, steps]) => ({ name, kind, steps }))

const name = "one"

const collectionOf = ({ apiVersion, plural }: Kind): string =>
  `/${apiVersion.includes("/") ? "apis" : "api"}/${apiVersion}/namespaces/NAMESPACE/${plural}`

/** A dialogue with each step in a separate second. */
export const dialogue = ({ kind, name: shows, steps }: Script): Dialogue => ({
  name: shows,
  spaced: true,
  reads: `${collectionOf(kind)}/${name}`,
  steps: steps.map(
    (step) =>
      ({ live }) =>
        request(step, step.as ?? kind, live)
  )
})

const request = ({ by, subresource, write }: Step, kind: Kind, live: JsonObject | undefined): Request => {
  const path = `${collectionOf(kind)}/${name}${subresource === undefined ? "" : `/${subresource}`}?fieldManager=${by}`
  const { apiVersion, kind: named } = subresource === "scale" ? { apiVersion: "autoscaling/v1", kind: "Scale" } : kind
  const whole = (body: JsonObject): JsonObject => ({
    apiVersion,
    kind: named,
    ...body,
    metadata: { name, namespace: "NAMESPACE", ...J.object(body.metadata) }
  })
  if ("create" in write) {
    return { method: "POST", path: `${collectionOf(kind)}?fieldManager=${by}`, body: whole(write.create) }
  }
  if ("put" in write) {
    const body = J.copy(live ?? {})
    write.put(body)
    return { method: "PUT", path, body }
  }
  if ("merge" in write) {
    return { method: "PATCH", path, body: write.merge, contentType: "application/merge-patch+json" }
  }
  return {
    method: "PATCH",
    path: `${path}${write.force === true ? "&force=true" : ""}`,
    body: whole(write.apply),
    contentType: "application/apply-patch+yaml"
  }
}
