/**
 * Status: what a controller tells about the object it reconciles.
 *
 * {@link update} sends a merge patch of what changed to the status subresource, and nothing when nothing did. Conditions of
 * others stay; where there are any, the patch carries the resourceVersion it was made from, because a merge patch replaces
 * the list whole. Fields stay that the kind does not declare: a newer version has them, and may work side by side with this
 * one. Fields that an older CRD prunes are learnt from the answer: one warning, and no write again for them alone.
 *
 * Whose a condition is can't be seen, so those of kstatus (Ready, Reconciling, Stalled) are taken for the controller's own,
 * and every other that it leaves out for somebody else's. A condition of its own that no longer holds is set to False.
 *
 * Needs the rights to get the reconciled kind, and to patch its status subresource.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Cache from "../cache/Cache.ts"
import type { ApiError } from "../client/ApiError.ts"
import * as Client from "../client/Client.ts"
import * as Patch from "../client/Patch.ts"
import * as Condition from "../resource/Condition.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import { type KubernetesObject, keyOf } from "../resource/KubernetesObject.ts"
import type * as Resource from "../resource/Resource.ts"
import type { InvalidObject } from "../resource/Resource.ts"
import type { StructuralSchema } from "../resource/StructuralSchema.ts"
import * as Attribute from "../telemetry/Attribute.ts"
import * as Recording from "../telemetry/Recording.ts"
import * as SpanName from "../telemetry/SpanName.ts"
import * as Drift from "./Drift.ts"
import * as HotLoopDetector from "./HotLoopDetector.ts"
import { Reconciliation } from "./Reconciliation.ts"

/** The reason of the conditions by which the runtime reports an object that does not match its schema. */
export const invalidReason = "InvalidSpec"

/** A write of a status, or none. */
type Writing = Effect.Effect<void, ApiError | InvalidObject, Reconciliation | Client.Client | Cache.Cache>

/**
 * Makes the status be `desired`, which is all of it but for conditions of others and for fields that the kind does not declare.
 * Those stay at every depth, in the entries of a map too; lists, and parts in which the kind keeps unknown fields, are replaced
 * whole. An object that is gone by now is no failure: there is nobody left to tell.
 */
export const update = <S extends object>(object: KubernetesObject & { readonly status?: S }, desired: S): Writing =>
  Effect.gen(function* () {
    const { resource, memory } = yield* Reconciliation
    const { uid } = object.metadata
    // The cache shows our own writes at once, so a second update within one reconcile is compared with the first.
    const current = yield* latest(object)
    const status = statusOf(current)
    const foreign = foreignConditions(status, Drift.json(desired))
    const wanted = { ...Drift.json(desired), ...mergedConditions(Drift.json(desired), foreign) }

    const ours = (object: KubernetesObject): Fields => declared(statusSchemaOf(resource), statusOf(object), wanted)
    const patch = Drift.mergePatch(ours(current), wanted)
    if (patch === undefined || memory.accepted(uid, "status", left(patch))) return
    const metadata = foreign.length === 0 ? {} : { metadata: { resourceVersion: current.metadata.resourceVersion } }
    const answer = yield* Recording.step(SpanName.status, (span) => {
      span?.attribute(Attribute.statusFields, fieldsOf(patch))
      const write = Client.status.patch(resource, keyOf(object), Patch.merge({ ...metadata, status: patch }), {
        // A server that refuses the whole status for one field that its CRD lacks would leave people with none of it.
        fieldValidation: "Ignore",
        before: current.metadata.resourceVersion
      })
      return HotLoopDetector.restating(current, resource, { path: "status", of: ours, wanted }, write)
    })

    const stored = statusOf(answer)
    memory.accept(uid, "status", left(Drift.mergePatch(ours(answer), wanted)))
    const dropped = Drift.missing(wanted, stored).flatMap(({ path, have }) => (have === undefined ? [path] : []))
    const warning = `The API server drops ${dropped.map((path) => `status.${path}`).join(", ")} of a ${resource.kind}: its CRD is older than this program, apply the newer one`
    if (dropped.length > 0 && memory.isNews(warning)) yield* Effect.logWarning(warning)
  }).pipe(Effect.catchTag("NotFound", () => Effect.void))

/**
 * Tells of an object what keeps the runtime from working on it: `Ready` false and `Stalled` true. The rest of its status stays
 * as it is. A kind whose status has no conditions is told nothing.
 */
export const stall = (
  kind: Resource.Any,
  object: KubernetesObject,
  facts: { readonly reason: string; readonly message: string },
  now: string
): Writing =>
  Effect.flatMap(latest(object), (current) => {
    if (declares(kind, "conditions") === false) return Effect.void
    const status = statusOf(current)
    const observed = { observedGeneration: object.metadata.generation ?? 0 }
    const before = conditionsOf(status).filter(({ type }) => type === Condition.Ready || type === Condition.Stalled)
    const told = { reason: facts.reason, message: facts.message.slice(0, 32_768), ...observed }
    const drafts = [Condition.false(Condition.Ready, told), Condition.true(Condition.Stalled, told)]
    return update(object, {
      ...status,
      ...((declares(kind, "observedGeneration") ?? status.observedGeneration !== undefined) ? observed : {}),
      conditions: Condition.set(before, drafts, now)
    })
  })

/** Whether the status of a kind has such a field; of a kind that is declared elsewhere this is not known. */
export const declares = (kind: Resource.Any, field: string): boolean | undefined =>
  CustomResource.isCustomResource(kind) ? statusSchemaOf(kind)?.properties?.[field] !== undefined : undefined

const statusSchemaOf = (kind: Resource.Any): StructuralSchema | undefined =>
  CustomResource.isCustomResource(kind) ? kind.definition.schema.properties?.status : undefined

/**
 * Takes conditions of kstatus out: those that the runtime has told and that hold no more, unless the controller has spoken since
 * or the object is gone, as after its clean-up.
 */
export const retract = (object: KubernetesObject, isOver: (condition: Condition.Condition) => boolean): Writing =>
  Effect.flatMap(cached(object), (found) => {
    if (Option.isNone(found)) return Effect.void
    const current = found.value
    const status = statusOf(current)
    const conditions = conditionsOf(status)
    const kept = conditions.filter((condition) => !kstatus.includes(condition.type) || !isOver(condition))
    // Those of others are left out: `update` keeps them, and guards the list for their sake.
    const ours = kept.filter(({ type }) => kstatus.includes(type))
    return kept.length === conditions.length ? Effect.void : update(object, { ...status, conditions: ours })
  })

/** The conditions that an object carries. */
export const conditions = (object: KubernetesObject): ReadonlyArray<Condition.Condition> =>
  conditionsOf(statusOf(object))

/** Reports an object that does not match its schema, naming the fields. */
export const reportInvalid = (
  kind: Resource.Any,
  object: KubernetesObject,
  error: InvalidObject,
  now: string
): Writing => stall(kind, object, { reason: invalidReason, message: error.message }, now)

/** The object as the cache has it by now, with our own writes in it; none if it is gone. */
const cached = (
  object: KubernetesObject
): Effect.Effect<Option.Option<KubernetesObject>, InvalidObject, Reconciliation | Cache.Cache> =>
  Effect.gen(function* () {
    const { resource } = yield* Reconciliation
    const found = yield* Cache.get(resource, keyOf(object))
    return Option.filter(found, ({ metadata }) => metadata.uid === object.metadata.uid)
  })

/** The same, or else the object as it was. */
const latest = (
  object: KubernetesObject
): Effect.Effect<KubernetesObject, InvalidObject, Reconciliation | Cache.Cache> =>
  Effect.map(
    cached(object),
    Option.getOrElse(() => object)
  )

type Fields = { readonly [key: string]: Drift.Json | undefined }

const statusOf = (object: object): Fields => {
  const { status } = Drift.json(object)
  return typeof status === "object" && status !== null ? Drift.json(status) : {}
}

const conditionsOf = (status: Fields): ReadonlyArray<Condition.Condition> =>
  // A schema says what a condition is; a status written by somebody else is believed as far as it has types.
  Array.isArray(status.conditions) ? (status.conditions as ReadonlyArray<Condition.Condition>) : []

/** Those of kstatus are there only while they hold: one that is not desired is to go. */
const kstatus = [Condition.Ready, Condition.Reconciling, Condition.Stalled]

const foreignConditions = (status: Fields, desired: Fields): ReadonlyArray<Condition.Condition> => {
  const ours = new Set([...kstatus, ...conditionsOf(desired).map(({ type }) => type)])
  return conditionsOf(status).filter(({ type }) => !ours.has(type))
}

const mergedConditions = (desired: Fields, foreign: ReadonlyArray<Condition.Condition>): Fields =>
  desired.conditions === undefined && foreign.length === 0
    ? {}
    : { conditions: [...conditionsOf(desired), ...foreign].map((condition): Drift.Json => ({ ...condition })) }

/**
 * The part of a status that is ours to say: what the schema names, and what is wanted. Every entry of a map is ours, by whatever
 * name; within an entry the same holds. Lists are taken whole, for a merge patch replaces them whole, and so are parts of which
 * the schema says nothing.
 */
const declared = (schema: StructuralSchema | undefined, stored: Fields, wanted: Fields): Fields => {
  const { additionalProperties: values, properties = {} } = schema ?? {}
  const isUnsaid = schema?.properties === undefined && values === undefined
  if (isUnsaid || schema?.["x-kubernetes-preserve-unknown-fields"] === true) return stored
  return Object.fromEntries(
    Object.entries(stored).flatMap(([name, value]) => {
      const property = Object.hasOwn(properties, name) ? properties[name] : values
      const want = wanted[name]
      if (property === undefined && want === undefined) return []
      return [[name, isFields(value) && isFields(want) ? declared(property, value, want) : value] as const]
    })
  )
}

const isFields = (value: Drift.Json | undefined): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The fields of the status that a patch changes, each by its path. */
const fieldsOf = (patch: Drift.Json): ReadonlyArray<string> =>
  typeof patch === "object" && patch !== null ? Object.keys(patch).map((field) => `status.${field}`) : ["status"]

/** What is left to write, as the memory keeps it. */
const left = (patch: Drift.Json | undefined): ReadonlyArray<Drift.Difference> =>
  patch === undefined ? [] : [{ path: "status", want: patch, have: undefined }]
