/** The writes of a plan. */
import type { Request } from "../client/Request.ts"
import * as Drift from "../controller/Drift.ts"
import * as Fields from "./Fields.ts"

/** An object, as messages name it. */
export interface ObjectName {
  readonly kind: string
  /** Absent for a kind without namespaces. */
  readonly namespace?: string | undefined
  readonly name: string
}

/** The effect of a write on its object. A deletion of an object with finalizers counts as `delete`, and its end is another write. */
export type Action = "create" | "change" | "delete"

/** The request of a write. */
export type Verb = "create" | "update" | "patch" | "apply" | "delete"

/** A write that the program would send. */
export interface Write {
  /** The controller; absent for a write outside of a reconcile. */
  readonly controller?: string | undefined
  /** The reconciled object; absent for a write outside of a reconcile. */
  readonly object?: ObjectName | undefined
  /** The written object. */
  readonly target: ObjectName & { readonly apiVersion: string }
  /** Such as `status`; absent for the object itself. */
  readonly subresource?: string | undefined
  readonly action: Action
  readonly verb: Verb
  /** The changed fields. A new object has the fields that the program states, and a deleted object has none. */
  readonly fields: ReadonlyArray<Fields.Field>
  /** The number of pods that the change replaces; absent if the change replaces none. */
  readonly rollout?: { readonly pods: number } | undefined
}

const member = (value: Drift.Json | undefined, ...path: ReadonlyArray<string>): Drift.Json | undefined =>
  path.reduce<Drift.Json | undefined>((inner, key) => (Drift.isRecord(inner) ? inner[key] : undefined), value)

const isDeleting = (object: Drift.Json): boolean => member(object, "metadata", "deletionTimestamp") !== undefined

/** The verb of a request that writes. */
export const verbOf = ({ headers, method }: Pick<Request, "method" | "headers">): Verb => {
  switch (method) {
    case "POST":
      return "create"
    case "PUT":
      return "update"
    case "DELETE":
      return "delete"
    default:
      return headers["content-type"]?.startsWith("application/apply-patch") === true ? "apply" : "patch"
  }
}

/** The number of pods that a new pod template replaces; undefined if the change starts no rollout. */
const rolloutOf = (
  { apiVersion, kind }: Write["target"],
  after: Drift.Json,
  fields: ReadonlyArray<Fields.Field>
): Write["rollout"] => {
  if (apiVersion !== "apps/v1" || !fields.some(({ path }) => path.startsWith("spec.template."))) return undefined
  const isManual =
    member(after, "spec", "paused") === true || member(after, "spec", "updateStrategy", "type") === "OnDelete"
  const pods =
    kind === "DaemonSet"
      ? member(after, "status", "desiredNumberScheduled")
      : kind === "Deployment" || kind === "StatefulSet"
        ? (member(after, "spec", "replicas") ?? 1)
        : undefined
  return isManual || typeof pods !== "number" || pods === 0 ? undefined : { pods }
}

const parse = (body: string | undefined): object => {
  try {
    const value: unknown = JSON.parse(body ?? "{}")
    return typeof value === "object" && value !== null ? value : {}
  } catch {
    return {}
  }
}

/** The write of a request, from the states of its object; undefined if the object is unchanged. */
export const of = (
  request: Pick<Request, "method" | "headers" | "body">,
  place: Pick<Write, "target" | "subresource">,
  before: object | undefined,
  after: object | undefined
): Pick<Write, "target" | "subresource" | "action" | "verb" | "fields" | "rollout"> | undefined => {
  const verb = verbOf(request)
  const { kind } = place.target
  if (before === undefined) {
    if (after === undefined) return undefined
    return { ...place, action: "create", verb, fields: Fields.of(kind, verb === "patch" ? after : parse(request.body)) }
  }
  const isGone = after === undefined || (isDeleting(Drift.json(after)) && !isDeleting(Drift.json(before)))
  if (isGone) return { ...place, action: "delete", verb, fields: [] }
  const fields = Fields.between(kind, before, after)
  if (fields.length === 0) return undefined
  const rollout = rolloutOf(place.target, Drift.json(after), fields)
  return { ...place, action: "change", verb, fields, ...(rollout !== undefined && { rollout }) }
}
