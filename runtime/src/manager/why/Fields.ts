/** Who set which fields of an object, in brief: `metadata.managedFields` as people read it. */
import type { KubernetesObject, ManagedFieldsEntry } from "../../resource/KubernetesObject.ts"

/** One who writes an object. */
export interface Writer {
  readonly manager: string
  /** `apply`: by server-side apply; `update`: in any other way. */
  readonly operation: "apply" | "update"
  readonly subresource: string | undefined
  /** When it last changed what it owns; RFC 3339. */
  readonly at: string | undefined
  /** Paths, or where there are many, what they have in common and how many they are: `spec.template (9 fields)`. */
  readonly fields: ReadonlyArray<string>
}

/** Paths that are told one by one; and how many are told at all. */
const few = 4

const nameOf = (step: string): string =>
  step.startsWith("f:") ? step.slice(2) : step.startsWith("k:") || step.startsWith("v:") ? `[${told(step)}]` : step

/** `{"name":"app"}` as `app`, `{"port":80,"protocol":"TCP"}` as `80,TCP`. */
const told = (step: string): string => {
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
    // What is owned itself, beside what is in it, says nothing new.
    if (step === ".") return []
    const here = join(path, nameOf(step))
    const inside = typeof below === "object" && below !== null ? leaves(below, here) : []
    return inside.length === 0 ? [here] : inside
  })

const brief = (paths: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (paths.length <= few) return paths
  const groups = Map.groupBy(paths, (path) => path.split(/[.[]/).slice(0, 2).join("."))
  const told = Array.from(groups, ([group, some]) =>
    some.length === 1 ? some.join() : `${group} (${some.length} fields)`
  )
  return told.length <= few ? told : [...told.slice(0, few - 1), `${told.length - few + 1} more`]
}

const writerOf = ({ fieldsV1 = {}, manager = "", operation, subresource, time }: ManagedFieldsEntry): Writer => ({
  manager: manager === "" ? "unknown" : manager,
  operation: operation === "Apply" ? "apply" : "update",
  subresource: subresource === undefined || subresource === "" ? undefined : subresource,
  at: time,
  // Of a status everybody expects that it is written as a whole.
  fields: subresource === "status" ? ["status"] : brief(leaves(fieldsV1, ""))
})

/** Who writes an object, who did last first. */
export const writersOf = (object: KubernetesObject): ReadonlyArray<Writer> =>
  (object.metadata.managedFields ?? []).map(writerOf).sort((a, b) => (b.at ?? "").localeCompare(a.at ?? ""))

/** Who put a finalizer in, as far as the server knows. */
export const setterOf = (object: KubernetesObject | undefined, finalizer: string): string | undefined =>
  object?.metadata.managedFields?.find(({ fieldsV1 = {} }) =>
    leaves(fieldsV1, "").includes(`metadata.finalizers[${finalizer}]`)
  )?.manager
