/** `/scale`: the desired and the current replicas of an object, in the fields that its kind has for them. */

import type { ServerState, WriteOptions } from "../admission/ServerState.ts"
import * as ManagedFields from "../fields/ManagedFields.ts"
import * as ScaleManagers from "../fields/ScaleManagers.ts"
import type { Attributes } from "../model/Attributes.ts"
import * as Failure from "../model/Failure.ts"
import * as FieldError from "../model/FieldError.ts"
import * as Json from "../model/Json.ts"
import { type Kind, type Scale, typeOf } from "../model/Kind.ts"
import * as ObjectMeta from "../model/ObjectMeta.ts"
import * as LabelSelector from "../storage/LabelSelector.ts"
import * as Update from "./Update.ts"

/** The Scale of an object. Throws a Failure (404, 500). */
export const get = (state: ServerState, target: Update.Target): Json.JsonObject => {
  const { current, scale } = found(state, target)
  if (target.kind.custom && Json.at(current, ...scale.specReplicas) === undefined) {
    throw Failure.internal(`the spec replicas field ".${scale.specReplicas.join(".")}" does not exist`)
  }
  return scaleOf(target.kind, scale, current)
}

/** Makes the changed Scale from the live one. Both have the managed fields of a Scale. */
export type Change = (live: Json.JsonObject) => Json.JsonObject

/** Changes the replicas of an object. Does not compare a Scale without a resourceVersion. Throws a Failure. */
export const change = (
  state: ServerState,
  target: Update.Target,
  make: Change,
  options: WriteOptions & { readonly applies?: { readonly force: boolean } }
): Json.JsonObject => {
  const { current, scale } = found(state, target)
  const { kind, name, namespace } = target
  const live = withManagers(beforeChange(kind, scale, current), ScaleManagers.entriesOf(kind, current))
  const write = {
    kind: ScaleManagers.kind(),
    manager: options.manager,
    subresource: "scale",
    resetFields: [],
    now: options.now
  }
  if (options.applies !== undefined && kind.custom && ScaleManagers.entriesOf(kind, current).length === 0) {
    throw ScaleManagers.untracked()
  }
  const made = make(live)
  const next =
    options.applies === undefined
      ? ManagedFields.updated(write, live, ScaleManagers.canonical(made))
      : ManagedFields.applied({ ...write, ...options.applies, default: ScaleManagers.reading(kind) }, live, made)
  const placed = Json.copy(next)
  ObjectMeta.ensureNamespace({ ...kind, namespaced: kind.namespaced }, ObjectMeta.draftOf(placed), namespace)
  ObjectMeta.checkName(placed, name)
  const attributes = {
    operation: "UPDATE",
    resource: kind,
    kind: ScaleManagers.kind(),
    subresource: "scale",
    namespace: kind.namespaced ? namespace : "",
    name,
    oldObject: scaleOf(kind, scale, current)
  } as const
  const changed = options.mutate?.({ ...attributes, object: { ...placed, ...typeOf(attributes.kind) } }) ?? next
  const main = { ...target, subresource: "" }
  Update.checkUid(main, current, changed)
  const replicas = Json.number(Json.at(changed, "spec", "replicas")) ?? 0
  if (kind.custom && replicas === unset) {
    throw Failure.badRequest(`the spec replicas field ".${scale.specReplicas.join(".")}" cannot be empty`)
  }
  if (!kind.custom && replicas < 0) {
    throw Failure.invalid({ group: "autoscaling", kind: "Scale", plural: "" }, name, [
      FieldError.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
    ])
  }
  const draft = Json.copy(withManagers(current, ScaleManagers.entriesAfter(kind, current, changed)))
  setAt(draft, scale.specReplicas, replicas)
  const version = Json.text(Json.at(changed, "metadata", "resourceVersion")) ?? ""
  if (version !== "") ObjectMeta.draftOf(draft).resourceVersion = version
  const { admit, mutate: _, ...others } = options
  const { object } = Update.commit(state, main, current, draft, {
    ...others,
    ...(admit !== undefined && {
      admit: ({ object }: Attributes) => admit({ ...attributes, object: scaleOf(kind, scale, object ?? draft) })
    })
  })
  return scaleOf(kind, scale, object)
}

const found = (
  state: ServerState,
  target: Update.Target
): { readonly current: Json.JsonObject; readonly scale: Scale } => {
  const current = Update.live(state, target)
  if (target.kind.scale === undefined || current === undefined) throw Failure.notFound(target.kind, target.name)
  return { current, scale: target.kind.scale }
}

const scaleOf = (kind: Kind, scale: Scale, object: Json.JsonObject): Json.JsonObject => {
  const metadata = Json.object(object.metadata)
  const replicas = Json.number(Json.at(object, ...scale.specReplicas)) ?? 0
  const selector = scale.selector === undefined ? "" : selectorOf(kind, Json.at(object, ...scale.selector))
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: Object.fromEntries(
      ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"].flatMap((field) =>
        metadata[field] === undefined ? [] : [[field, metadata[field]]]
      )
    ),
    spec: replicas === 0 ? {} : { replicas },
    status: {
      replicas: Json.number(Json.at(object, ...scale.statusReplicas)) ?? 0,
      ...(selector !== "" && { selector })
    }
  }
}

/** The selector as text. Custom kinds have it as text, built-in kinds as a LabelSelector or as a map of labels. */
const selectorOf = (kind: Kind, selector: Json.Json | undefined): string => {
  if (typeof selector === "string") return selector
  if (kind.custom || !Json.isObject(selector)) return ""
  const isSelector = selector.matchLabels !== undefined || selector.matchExpressions !== undefined
  return LabelSelector.format(isSelector ? LabelSelector.ofLabelSelector(selector) : LabelSelector.ofMap(selector))
}

/** The replicas of a custom object without replicas during a change of its Scale. */
const unset = -(2 ** 31)

const beforeChange = (kind: Kind, scale: Scale, current: Json.JsonObject): Json.JsonObject => {
  const live = scaleOf(kind, scale, current)
  const says = !kind.custom || Json.at(current, ...scale.specReplicas) !== undefined
  return says ? live : { ...live, spec: { replicas: unset } }
}

const withManagers = (object: Json.JsonObject, managedFields: ReadonlyArray<Json.Json>): Json.JsonObject => {
  const { managedFields: _, ...metadata } = Json.object(object.metadata)
  return { ...object, metadata: managedFields.length === 0 ? metadata : { ...metadata, managedFields } }
}

const setAt = (draft: Json.DraftObject, path: ReadonlyArray<string>, value: number): void => {
  const parent = path.slice(0, -1).reduce(Json.member, draft)
  const last = path.at(-1)
  if (last !== undefined) parent[last] = value
}
