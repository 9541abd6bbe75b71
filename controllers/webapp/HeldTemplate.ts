/** The pod template that the controller applied last, for a Deployment that keeps it while its successor waits. */
import * as EventRecorder from "@homeostat/runtime/events/EventRecorder"
import type { Deployment } from "@homeostat/runtime/resource/BuiltIn"
import type { Desired, KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import * as Effect from "effect/Effect"

type Template = NonNullable<Deployment["spec"]>["template"]

/**
 * The annotation of a Deployment with the applied pod template, as JSON. The live template would not do: it also has defaults of the API
 * server and fields of other managers, which an apply would take over.
 *
 * For a template beyond {@link mostBytes}, it has only a hash.
 */
export const annotation = "apps.kubedojo.io/template"

/** The most bytes of a record. All annotations of an object, and of the ReplicaSet with copies of them, have room for 256 KiB. */
export const mostBytes = 192 * 1024

const bytesOf = (text: string): number => new TextEncoder().encode(text).length

const textOf = ({ spec }: Desired<Deployment>): string => {
  const text = JSON.stringify(spec?.template)
  // A character of a string has up to three bytes.
  const isSmall = text.length * 3 <= mostBytes || bytesOf(text) <= mostBytes
  return isSmall ? text : `sha256:${Bun.CryptoHasher.hash("sha256", text, "hex")}`
}

/** The Deployment with its template in the annotation. */
export const keep = (desired: Desired<Deployment>): Desired<Deployment> => ({
  ...desired,
  metadata: { ...desired.metadata, annotations: { ...desired.metadata.annotations, [annotation]: textOf(desired) } }
})

/** Whether the existing Deployment has the desired template. */
export const isCurrent = (desired: Desired<Deployment>, existing: Deployment): boolean =>
  existing.metadata.annotations?.[annotation] === textOf(desired)

/**
 * The template that was applied last. Undefined if the annotation is missing, has only a hash, or was edited to something that is not a pod
 * template.
 */
export const of = ({ metadata }: Deployment): Template | undefined => {
  const text = metadata.annotations?.[annotation]
  return text === undefined ? undefined : parsed(text)
}

const parsed = (text: string): Template | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return isTemplate(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The API server checks the rest. */
const isTemplate = (value: unknown): value is Template => {
  if (typeof value !== "object" || value === null || !("spec" in value)) return false
  const { spec } = value
  return typeof spec === "object" && spec !== null && "containers" in spec && Array.isArray(spec.containers)
}

/**
 * Records an Event about a template that is too large for its record, before it is applied.
 *
 * @param desired the Deployment to apply
 */
export const report = (app: KubernetesObject, desired: Desired<Deployment> | undefined, existing?: Deployment) => {
  const recorded = desired?.metadata.annotations?.[annotation]
  if (recorded?.startsWith("sha256:") !== true || recorded === existing?.metadata.annotations?.[annotation]) {
    return Effect.void
  }
  const size = bytesOf(JSON.stringify(desired?.spec?.template))
  return EventRecorder.record({
    regarding: app,
    type: "Warning",
    reason: "TemplateNotRecorded",
    note: `the pod template has ${size} bytes (its record has room for ${mostBytes}: while the next template waits, the controller also takes over the fields that other managers set in this one)`
  })
}
