/** Ends the effect of `kubectl rollout undo` on the Deployment of a WebApp. */
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Deployment } from "@homeostat/runtime/resource/BuiltIn"
import { keyOf, type ManagedFieldsEntry } from "@homeostat/runtime/resource/KubernetesObject"
import * as Resource from "@homeostat/runtime/resource/Resource"
import * as Effect from "effect/Effect"
import { manager } from "./children.ts"
import { templateKey } from "./Rollback.ts"

/**
 * Makes the controller the owner of the fields that `kubectl rollout undo` set in the pod template. The next apply then removes those
 * that the new template does not have. Changes no other field, so that no rollout starts.
 */
export const release = (deployment: Deployment) =>
  Effect.gen(function* () {
    const { metadata } = yield* Client.get(Resource.metadataOnly(Deployment), keyOf(deployment))
    const entries = transferred(metadata.managedFields ?? [])
    if (entries === undefined) return
    yield* Client.patch(
      Deployment,
      keyOf(deployment),
      Patch.json([
        { op: "replace", path: "/metadata/resourceVersion", value: metadata.resourceVersion },
        { op: "replace", path: "/metadata/managedFields", value: entries }
      ])
    ).pipe(Patch.guarded)
  })

/** The set of fields of an entry, as the API server writes it. */
type FieldSet = { readonly [field: string]: unknown }

const isSet = (value: unknown): value is FieldSet => typeof value === "object" && value !== null

const partOf = (set: unknown, field: string): FieldSet | undefined => {
  const part = isSet(set) ? set[field] : undefined
  return isSet(part) ? part : undefined
}

/**
 * The entries with the pod template of the undo in the entry of the controller. Undefined if there is no such field.
 *
 * kubectl has its default name in `rollout undo` only: its other commands that change a template have names of their own. Another
 * client owns the restored annotation.
 */
export const transferred = (
  entries: ReadonlyArray<ManagedFieldsEntry>
): ReadonlyArray<ManagedFieldsEntry> | undefined => {
  const isUndo = ({ fieldsV1, manager: name, operation, subresource }: ManagedFieldsEntry): boolean => {
    if (operation !== "Update" || subresource !== undefined || name === manager) return false
    const annotations = partOf(partOf(fieldsV1, "f:metadata"), "f:annotations")
    return name === "kubectl" || annotations?.[`f:${templateKey}`] !== undefined
  }
  const taken = entries.flatMap((entry) => {
    const template = isUndo(entry) ? partOf(partOf(entry.fieldsV1, "f:spec"), "f:template") : undefined
    return template === undefined ? [] : [template]
  })
  if (taken.length === 0) return undefined
  return entries.flatMap((entry) => {
    const { "f:spec": spec, ...others } = entry.fieldsV1 ?? {}
    const { "f:template": template, ...rest } = isSet(spec) ? spec : {}
    if (entry.manager === manager && entry.operation === "Apply" && entry.subresource === undefined) {
      const whole = taken.reduce(union, isSet(template) ? template : {})
      return [{ ...entry, fieldsV1: { ...others, "f:spec": { ...rest, "f:template": whole } } }]
    }
    if (!isUndo(entry)) return [entry]
    // An empty set would stand for the whole field.
    const fieldsV1 = Object.keys(rest).length === 0 ? others : { ...others, "f:spec": rest }
    return Object.keys(fieldsV1).length === 0 ? [] : [{ ...entry, fieldsV1 }]
  })
}

/** The fields of both sets. */
const union = (one: FieldSet, other: FieldSet): FieldSet => {
  const fields: { [field: string]: unknown } = { ...one }
  for (const [field, value] of Object.entries(other)) {
    const mine = fields[field]
    fields[field] = isSet(mine) && isSet(value) ? union(mine, value) : (mine ?? value)
  }
  return fields
}
