/** The owners of an object's fields, in brief: a readable `metadata.managedFields`. */
import type { KubernetesObject, ManagedFieldsEntry } from "../../resource/KubernetesObject.ts"

/** A field manager of an object. */
export interface Writer {
  readonly manager: string
  /** `apply`: by server-side apply; `update`: by any other write. */
  readonly operation: "apply" | "update"
  readonly subresource: string | undefined
  /** When it last changed its fields; RFC 3339. */
  readonly at: string | undefined
  /** Paths, or for many paths their common prefix and their number: `spec.template (9 fields)`. */
  readonly fields: ReadonlyArray<string>
}

/** The largest number of paths that are shown. */
const few = 4

const nameOf = (step: string): string =>
  step.startsWith("f:") ? step.slice(2) : step.startsWith("k:") || step.startsWith("v:") ? `[${keyText(step)}]` : step

/** `{"name":"app"}` as `app`, `{"port":80,"protocol":"TCP"}` as `80,TCP`. */
const keyText = (step: string): string => {
  try {
    const value: unknown = JSON.parse(step.slice(2))
    return typeof value === "object" && value !== null ? Object.values(value).join(",") : String(value)
  } catch {
    return step.slice(2)
  }
}

const join = (path: string, step: string): string =>
  path === "" || step.startsWith("[") ? `${path}${step}` : `${path}.${step}`

const leaves = (set: object, path: string): ReadonlyArray<string> =>
  Object.entries(set).flatMap(([step, below]) => {
    // The entry of an object beside the entries of its fields adds no information.
    if (step === ".") return []
    const here = join(path, nameOf(step))
    const inside = typeof below === "object" && below !== null ? leaves(below, here) : []
    return inside.length === 0 ? [here] : inside
  })

const brief = (paths: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (paths.length <= few) return paths
  const groups = Map.groupBy(paths, (path) => path.split(/[.[]/).slice(0, 2).join("."))
  const shown = Array.from(groups, ([group, some]) =>
    some.length === 1 ? some.join() : `${group} (${some.length} fields)`
  )
  return shown.length <= few ? shown : [...shown.slice(0, few - 1), `${shown.length - few + 1} more`]
}

const writerOf = ({ fieldsV1 = {}, manager = "", operation, subresource, time }: ManagedFieldsEntry): Writer => ({
  manager: manager === "" ? "unknown" : manager,
  operation: operation === "Apply" ? "apply" : "update",
  subresource: subresource === undefined || subresource === "" ? undefined : subresource,
  at: time,
  // A status is usually written as a whole.
  fields: subresource === "status" ? ["status"] : brief(leaves(fieldsV1, ""))
})

/** The field managers of an object, the latest first. */
export const writersOf = (object: KubernetesObject): ReadonlyArray<Writer> =>
  (object.metadata.managedFields ?? []).map(writerOf).sort((a, b) => (b.at ?? "").localeCompare(a.at ?? ""))

/** The manager of a field, such as `metadata.annotations.example.com/x`, if the server knows it. */
export const managerOf = (object: KubernetesObject | undefined, path: string): string | undefined =>
  object?.metadata.managedFields?.find(({ fieldsV1 = {} }) => leaves(fieldsV1, "").includes(path))?.manager

/** The field manager that added a finalizer, if the server knows it. */
export const setterOf = (object: KubernetesObject | undefined, finalizer: string): string | undefined =>
  managerOf(object, `metadata.finalizers[${finalizer}]`)
