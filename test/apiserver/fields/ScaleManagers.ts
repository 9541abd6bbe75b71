/**
 * The managers of the `/scale` subresource. A Scale stores no managers: its managers are those that own the replicas of the
 * object. A write to the Scale converts the managers to those of a Scale, runs `ManagedFields`, and converts the managers
 * back.
 */
import * as Failure from "../model/Failure.ts"
import type { DraftObject, Json, JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import { apiVersionOf, type Kind } from "../model/Kind.ts"
import { schemaNamed } from "../model/OpenApiDefinitions.ts"
import * as FieldSet from "./FieldSet.ts"
import type { Owned } from "./ManagedFields.ts"
import * as Managers from "./Managers.ts"
import * as PathElement from "./PathElement.ts"

/** The kind Scale, for a `Write` to `/scale`. */
export const kind = (): Owned => ({
  group: "autoscaling",
  version: "v1",
  kind: "Scale",
  custom: false,
  schema: schemaNamed("io.k8s.api.autoscaling.v1.Scale"),
  zero: { metadata: {}, spec: {}, status: { replicas: 0 } }
})

/** The properties of a kind with a `/scale` subresource that determine the managers of the Scale. */
export type Scaled = Pick<Kind, "group" | "version" | "scale">

/** Encodes a Scale as Go does: zero replicas are omitted, and then no manager owns them. */
export const canonical = (scale: JsonObject): JsonObject => {
  const { replicas, ...spec } = J.object(scale.spec)
  return {
    ...scale,
    spec: replicas === undefined || replicas === null || replicas === 0 ? spec : { ...spec, replicas }
  }
}

/**
 * The `default` of an apply to a Scale. For a custom kind, kube-apiserver treats the Scale as a custom object and fails to
 * decode the merged Scale. Such an apply succeeds only if it changes nothing.
 */
export const reading =
  ({ custom }: Pick<Kind, "custom">) =>
  (draft: DraftObject): void => {
    if (!custom) {
      draft.spec = J.copy(J.object(canonical(draft).spec))
      return
    }
    const { name, namespace } = J.object(draft.metadata)
    throw Failure.plain(
      `failed to convert new object (${J.text(namespace) ?? ""}/${J.text(name) ?? ""}; autoscaling/v1, Kind=Scale) to proper version: ` +
        "request to convert CR to an invalid group/version: autoscaling/v1"
    )
  }

/**
 * The error of an apply to the Scale of a custom object whose replicas have no owner. kube-apiserver fails to create the
 * manager `before-first-apply` for it.
 */
export const untracked = (): Failure.Failure =>
  Failure.plain(
    "failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, Kind=Scale) to proper version: " +
      "request to convert CR to an invalid group/version: autoscaling/v1"
  )

/** Returns the managers of a Scale: those that own the replicas of the object, as owners of `spec.replicas`. */
export const entriesOf = (scaled: Scaled, object: JsonObject): ReadonlyArray<Json> => {
  const replicas = replicasOf(scaled)
  const owners = [...Managers.stored(object)].filter(([, { fields }]) => FieldSet.has(fields, replicas))
  return Managers.encode(
    new Map(owners.map(([key, owner]) => [key, { ...owner, apiVersion: "autoscaling/v1", fields: inScale }]))
  )
}

/** Returns the managers of the object after a write to its Scale, given the Scale with its new managers. */
export const entriesAfter = (scaled: Scaled, object: JsonObject, scale: JsonObject): ReadonlyArray<Json> => {
  const replicas = replicasOf(scaled)
  const before = Managers.stored(object)
  const scalers = new Map(Managers.stored(scale))
  const after = new Map<string, Managers.Manager>()
  for (const [key, manager] of before) {
    if (!FieldSet.has(manager.fields, replicas) || scalers.delete(key)) {
      after.set(key, manager)
      continue
    }
    const fields = FieldSet.difference(manager.fields, FieldSet.ofNames([replicasNames(scaled)]))
    if (!FieldSet.isEmpty(fields)) after.set(key, { ...manager, fields })
  }
  for (const [key, manager] of scalers) {
    if (!FieldSet.has(manager.fields, replicasInScale)) continue
    const fields = FieldSet.ofNames([replicasNames(scaled)])
    // kube-apiserver looks up the time under the manager's key in the Scale. Only the key of a manager that applies matches,
    // because the key contains no version.
    after.set(key, { ...manager, apiVersion: apiVersionOf(scaled), fields, time: before.get(key)?.time })
  }
  return Managers.encode(after)
}

const replicasNames = ({ scale }: Scaled): ReadonlyArray<string> => scale?.specReplicas ?? []

const replicasOf = (scaled: Scaled): FieldSet.Path => replicasNames(scaled).map(PathElement.ofField)

const inScale = FieldSet.ofNames([["spec", "replicas"]])
const replicasInScale: FieldSet.Path = ["spec", "replicas"].map(PathElement.ofField)
