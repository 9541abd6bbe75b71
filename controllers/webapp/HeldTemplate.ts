/** The pod template that the controller applied last, for a Deployment that keeps it while its successor waits. Pure. */
import type { Deployment } from "@homeostat/runtime/resource/BuiltIn"
import type { Desired } from "@homeostat/runtime/resource/KubernetesObject"

type Template = NonNullable<Deployment["spec"]>["template"]

/**
 * The annotation of a Deployment with the applied pod template, as JSON. The live template would not do: it also has defaults of the API
 * server and fields of other managers, which an apply would take over.
 */
export const annotation = "apps.kubedojo.io/template"

const textOf = ({ spec }: Desired<Deployment>): string => JSON.stringify(spec?.template)

/** The Deployment with its template in the annotation. */
export const keep = (desired: Desired<Deployment>): Desired<Deployment> => ({
  ...desired,
  metadata: { ...desired.metadata, annotations: { ...desired.metadata.annotations, [annotation]: textOf(desired) } }
})

/** Whether the existing Deployment has the desired template. */
export const isCurrent = (desired: Desired<Deployment>, existing: Deployment): boolean =>
  existing.metadata.annotations?.[annotation] === textOf(desired)

/** The template that was applied last. Undefined if the annotation is missing or was edited to something that is not a pod template. */
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
