/**
 * The status of the reconciled object.
 *
 * {@link update} sends a merge patch of the changed fields to the status subresource, and nothing if no field changed. Conditions of
 * other managers stay: a merge patch replaces the whole list, so a patch with conditions carries the resourceVersion of its base.
 * Server-side apply costs the API server as much and needs no guard. But the server answers 500 for a status with one field that an
 * older CRD lacks.
 *
 * Fields that the kind does not declare stay, because a newer version of the program may run side by side. Fields that an older CRD prunes
 * are known from the answer: the log has one warning, and the controller does not write them again.
 *
 * The conditions Ready, Reconciling and Stalled belong to the controller, and it removes them if the desired status omits them. Other
 * omitted conditions belong to other managers and stay. Set your own condition to False when it no longer holds.
 *
 * {@link ready}, {@link reconciling} and {@link stalled} write the conditions of kstatus, and {@link progress} those of `Owned.progress`.
 *
 * `update` needs the permissions to get the reconciled kind and to patch its status subresource.
 */

import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Record from "effect/Record"
import * as Cache from "../cache/Cache.ts"
import { type ApiError, NotFound } from "../client/ApiError.ts"
import * as Client from "../client/Client.ts"
import { Exchanges, type Ledger } from "../client/Exchange.ts"
import * as Patch from "../client/Patch.ts"
import * as Condition from "../resource/Condition.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import { type KubernetesObject, keyOf, keyString } from "../resource/KubernetesObject.ts"
import type * as Resource from "../resource/Resource.ts"
import type { InvalidObject } from "../resource/Resource.ts"
import type { StructuralSchema } from "../resource/StructuralSchema.ts"
import * as Time from "../resource/Time.ts"
import * as Attribute from "../telemetry/Attribute.ts"
import * as Recording from "../telemetry/Recording.ts"
import * as SpanName from "../telemetry/SpanName.ts"
import * as Drift from "./Drift.ts"
import * as Fought from "./Fought.ts"
import type { WrittenField } from "./HotLoop.ts"
import * as OneCluster from "./OneCluster.ts"
import * as Ownership from "./Ownership.ts"
import * as Progress from "./Progress.ts"
import { Reconciliation } from "./Reconciliation.ts"
import * as Rival from "./Rival.ts"

export type { Facts, Progress } from "./Progress.ts"

/** The errors of a status write. */
export type Failure = ApiError | Ownership.OwnerGone | InvalidObject

/** A write of a status. */
type Writing = Effect.Effect<void, Failure, Reconciliation | Client.Client | Cache.Cache>

/** A desired status: its conditions may be drafts, and {@link update} adds the time and the generation. */
export type Desired<S> = {
  readonly [Field in keyof S]: S[Field] extends ReadonlyArray<Condition.Condition> | undefined
    ? ReadonlyArray<Condition.Draft | Condition.Condition>
    : S[Field]
}

/** The options of {@link update}. */
export interface Options {
  /**
   * The types of conditions that this controller removes when `desired` lacks them, besides those of kstatus. Conditions of other types
   * belong to other managers and stay.
   */
  readonly conditionTypes?: ReadonlyArray<string> | undefined
}

/**
 * Sets the status to `desired`. Conditions of other managers stay, and so do fields that the kind does not declare, at every depth.
 * Lists, and parts in which the kind keeps unknown fields, are replaced.
 *
 * A condition without `lastTransitionTime` keeps that of the condition before it while its status is the same, and otherwise gets the
 * current time. Its `observedGeneration` defaults to the generation of the object. `update` cuts a message to 32,768 characters, because
 * the API server refuses a longer one.
 *
 * Fails with `OwnerGone` if the object was deleted: the attempt ends, and no attempt follows until the cache has the deletion. If a new
 * object has its name by then, it does not keep the fields. Fails with `NotFound` if the CRD has no status subresource. Fails with
 * `Conflict` if a patch with conditions meets an object that has changed since the cached version.
 *
 * @example
 * ```ts
 * const ready = Condition.true("Ready", { reason: "Available", message: "The site answers" })
 * yield* Status.update(site, { conditions: [ready] })
 * ```
 */
export const update = <S extends object>(
  object: KubernetesObject & { readonly status?: S },
  desired: Desired<NoInfer<S>>,
  options?: Options
): Writing => set(object, desired, options)

/**
 * The same for a status without a type.
 *
 * @internal
 */
export const set = (object: KubernetesObject, desired: object, { conditionTypes = [] }: Options = {}): Writing =>
  Effect.withFiber((fiber) => {
    const services = fiber.context as Context.Context<Reconciliation | Cache.Cache>
    const reconciliation = Context.get(services, Reconciliation)
    const { resource, memory } = reconciliation
    const own = shortened(concealed(Drift.json(desired), Context.get(fiber.context, Exchanges)))
    const isReport = conditionsOf(own).some(({ type }) => kstatus.includes(type))
    const isFought = reconciliation.fight !== undefined && declares(resource, "conditions") === true
    const intent = isFought ? Fought.over(own, conditionsOf(own), reconciliation) : own
    return Effect.flatMap(Context.get(services, Cache.Cache).get(resource, keyOf(object), fiber), (found) => {
      // The cache shows own writes at once, so a second update in one reconcile is compared with the first.
      const current = Option.getOrElse(same(found, object), () => object)
      const now = () => fiber.getRef(Clock.Clock).currentTimeMillisUnsafe()
      const before = statusOf(current)
      const dated = { ...intent, ...datedConditions(intent, before, object.metadata.generation, now) }
      const wanted = { ...dated, ...mergedConditions(dated, foreignConditions(before, dated, conditionTypes)) }
      const ours = (object: KubernetesObject): Drift.Fields =>
        declared(statusSchemaOf(resource), statusOf(object), wanted)
      const patch = Drift.mergePatch(ours(current), wanted)
      const isSame = patch === undefined || memory.accepted(object.metadata.uid, "status", left(patch))
      if (isReport) reconciliation.hasConditions = isSame
      if (isSame) return Effect.void
      const refused = OneCluster.refused(fiber.context, "the status of", resource, object.metadata)
      const written = refused ?? write(object, current, { wanted, ours, patch })
      // A refused status reports nothing, so that the runtime reports the refusal.
      if (!isReport) return written
      return Effect.map(written, () => {
        reconciliation.hasConditions = true
      })
    })
  })

/** A status whose conditions do not quote Secrets of the reconcile. */
const concealed = (status: Drift.Fields, ledger: Ledger | undefined): Drift.Fields => {
  const { conditions } = status
  if (ledger?.hasSecrets() !== true || !isList(conditions)) return status
  const shown = conditions.map((each) =>
    Drift.isRecord(each) && typeof each.message === "string" ? { ...each, message: ledger.hide(each.message) } : each
  )
  return { ...status, conditions: shown }
}

const isList = (value: Drift.Json | undefined): value is ReadonlyArray<Drift.Json> => Array.isArray(value)

/** A status with conditions. */
interface Conditional {
  readonly conditions?: ReadonlyArray<Condition.Condition>
}

/** The other fields of a status, and conditions of other types than those of kstatus. */
type Others<S> = Omit<Desired<S>, "conditions" | "observedGeneration"> & {
  readonly conditions?: ReadonlyArray<Condition.Draft>
}

/** The other fields as a parameter, optional if the status requires none, and the options of {@link update}. */
type Rest<S> = {} extends Others<S> ? [others?: Others<S>, options?: Options] : [others: Others<S>, options?: Options]

/**
 * Sets the status to that of an object in this progress: the conditions of kstatus, `observedGeneration` if the kind declares it, and
 * `others`. As {@link update} otherwise.
 *
 * @param others the other fields of the status, and other conditions. Those of kstatus follow from the progress
 *
 * @example
 * ```ts
 * const page = Owned.child(BuiltIn.ConfigMap, { metadata: { name: "shop-page" } })
 * const children = yield* Owned.all(site, [page])
 * yield* Status.progress(site, Owned.progress(children), { url: `https://${site.spec.host}` })
 * ```
 */
export const progress = <S extends Conditional>(
  object: KubernetesObject & { readonly status?: S },
  progress: Progress.Progress,
  ...[others, options]: Rest<NoInfer<S>>
): Writing =>
  Effect.flatMap(Reconciliation, ({ resource }) => {
    const { generation = 0 } = object.metadata
    const observed = declares(resource, "observedGeneration") === true ? { observedGeneration: generation } : {}
    // The author may pass the status that the object has.
    const other = (others?.conditions ?? []).filter(({ type }) => !kstatus.includes(type))
    const conditions = [...Progress.conditionsOf(progress), ...other]
    return set(object, { ...others, ...observed, conditions }, options)
  })

/**
 * The object has reached its spec: Ready is True.
 *
 * @example
 * ```ts
 * yield* Status.ready(site, { reason: "Available", message: "The site answers" })
 * ```
 */
export const ready = <S extends Conditional>(
  object: KubernetesObject & { readonly status?: S },
  facts: Progress.Facts,
  ...others: Rest<NoInfer<S>>
): Writing => progress(object, { ...facts, state: Condition.Ready }, ...others)

/**
 * The controller still works towards the spec: Ready is False, and Reconciling is True.
 *
 * @example
 * ```ts
 * yield* Status.reconciling(site, { reason: "Rollout", message: "1 of 3 replicas are available" })
 * ```
 */
export const reconciling = <S extends Conditional>(
  object: KubernetesObject & { readonly status?: S },
  facts: Progress.Facts,
  ...others: Rest<NoInfer<S>>
): Writing => progress(object, { ...facts, state: Condition.Reconciling }, ...others)

/**
 * The controller cannot reach the spec until a user acts: Ready is False, and Stalled is True. Afterwards return `Result.done`, or fail
 * with the error.
 *
 * @example
 * ```ts
 * yield* Status.stalled(site, { reason: "HostTaken", message: `${site.spec.host} belongs to another site (choose another host)` })
 * ```
 */
export const stalled = <S extends Conditional>(
  object: KubernetesObject & { readonly status?: S },
  facts: Progress.Facts,
  ...others: Rest<NoInfer<S>>
): Writing => progress(object, { ...facts, state: Condition.Stalled }, ...others)

/** Sends the changes, and takes from the answer how the server stores them. */
const write = (
  object: KubernetesObject,
  current: KubernetesObject,
  {
    ours,
    patch,
    wanted
  }: {
    readonly wanted: Drift.Fields
    readonly ours: (object: KubernetesObject) => Drift.Fields
    readonly patch: Drift.Json
  }
): Writing =>
  Effect.gen(function* () {
    const { changed, memory, resource } = yield* Reconciliation
    const seen = yield* Rival.look(resource, current)
    // A merge patch replaces the whole list, including a condition that another controller has just added.
    const guard = Drift.isRecord(patch) && patch.conditions !== undefined
    const metadata = guard ? { metadata: { resourceVersion: current.metadata.resourceVersion } } : {}
    const answer = yield* Recording.step(SpanName.status, (span) => {
      span?.attribute(Attribute.statusFields, fieldsOf(patch))
      return Client.status.patch(resource, keyOf(object), Patch.merge({ ...metadata, status: patch }), {
        // With strict validation, one field that the CRD lacks would fail the whole status.
        fieldValidation: "Ignore",
        before: current.metadata.resourceVersion
      })
    }).pipe(Effect.catchTag("NotFound", (error) => unwritten(object, error)))
    if (answer.metadata.uid !== object.metadata.uid) yield* takenBack(object, patch)

    if (answer.metadata.resourceVersion !== current.metadata.resourceVersion) {
      const place = `${resource.kind} ${keyString(object.metadata)}`
      changed({ place, seen, written: () => changesOf(ours(current), wanted, ours(answer)) })
    }
    const stored = statusOf(answer)
    // The answer shows how the server stores the sent fields. Any other difference is a change by another manager.
    memory.accept(object.metadata.uid, "status", left(Drift.common(Drift.mergePatch(ours(answer), wanted), patch)))
    const dropped = Drift.missing(patch, stored).flatMap(({ path, want, have }) =>
      have === undefined && want !== null ? [path] : []
    )
    const warning = `The API server drops ${dropped.map((path) => `status.${path}`).join(", ")} of a ${resource.kind}: its CRD is older than this program, apply the newer one`
    if (dropped.length > 0 && memory.isNews(warning)) yield* Effect.logWarning(warning)
  })

/** Removes the fields of the old object from the status of a new one with its name. The server compares no UID in a patch of a status. */
const takenBack = (object: KubernetesObject, patch: Drift.Json) =>
  Effect.gen(function* () {
    const { resource } = yield* Reconciliation
    const status = Drift.isRecord(patch) ? Record.map(patch, () => null) : {}
    yield* Client.status
      .patch(resource, keyOf(object), Patch.merge({ status }), { fieldValidation: "Ignore" })
      .pipe(Effect.catchTag("NotFound", () => Effect.void))
    yield* Ownership.live(object)
  })

/** The fields that a write changed, with their values, without those that the server stores with another value. */
const changesOf = (before: Drift.Fields, wanted: Drift.Fields, after: Drift.Fields): ReadonlyArray<WrittenField> => {
  const unmet = new Set(Drift.missing(wanted, after, "status").map(({ path }) => path))
  const gone = Drift.missing(before, wanted, "status").filter(({ have }) => have === undefined)
  return [
    ...Drift.missing(wanted, before, "status").map(
      ({ path, want }): WrittenField => [path, JSON.stringify(want) ?? ""]
    ),
    ...gone.map(({ path }): WrittenField => [path, ""])
  ].filter(([path]) => !unmet.has(path))
}

/** The error of a 404: API servers give one answer for a missing object and for a missing subresource. */
const unwritten = (object: KubernetesObject, error: NotFound) =>
  Effect.gen(function* () {
    const { resource } = yield* Reconciliation
    yield* Ownership.live(object)
    const message = `${error.request.method} ${error.request.path}: the ${resource.kind} exists, but version ${resource.version} of its CRD has no status subresource (add subresources.status to the CRD)`
    return yield* new NotFound({ ...error, message })
  })

/**
 * Whether the status of a kind declares such a field; undefined if the program has no schema of the kind.
 *
 * @internal
 */
export const declares = (kind: Resource.Any, field: string): boolean | undefined =>
  CustomResource.isCustomResource(kind) ? statusSchemaOf(kind)?.properties?.[field] !== undefined : undefined

const statusSchemaOf = (kind: Resource.Any): StructuralSchema | undefined =>
  CustomResource.isCustomResource(kind) ? kind.definition.schema.properties?.status : undefined

/**
 * The conditions that an object carries.
 *
 * @example
 * ```ts
 * const pod = yield* Client.list(BuiltIn.Pod)
 * const ready = pod.items.filter((pod) => Condition.isTrue(Status.conditions(pod), "Ready"))
 * ```
 */
export const conditions = (object: KubernetesObject): ReadonlyArray<Condition.Condition> =>
  conditionsOf(statusOf(object))

/**
 * The cached object with own writes; `None` if it is gone.
 *
 * @internal
 */
export const cached = (
  object: KubernetesObject
): Effect.Effect<Option.Option<KubernetesObject>, ApiError | InvalidObject, Reconciliation | Cache.Cache> =>
  Effect.flatMap(Reconciliation, ({ resource }) =>
    Effect.map(Cache.get(resource, keyOf(object)), (found) => same(found, object))
  )

const same = (found: Option.Option<KubernetesObject>, { metadata: { uid } }: KubernetesObject) =>
  Option.filter(found, ({ metadata }) => metadata.uid === uid)

/**
 * The status of an object; empty if it has none.
 *
 * @internal
 */
export const statusOf = (object: object): Drift.Fields => {
  const { status } = Drift.json(object)
  return Drift.isRecord(status) ? status : {}
}

const conditionsOf = ({ conditions }: Drift.Fields): ReadonlyArray<Condition.Condition> => {
  if (!Array.isArray(conditions)) return []
  // Another manager may have written the status, and the schema of another program may allow other entries.
  const entries: ReadonlyArray<Drift.Json> = conditions
  return entries.every(isCondition) ? entries : entries.filter(isCondition)
}

const isCondition = (entry: Drift.Json): entry is Condition.Condition =>
  Drift.isRecord(entry) && typeof entry.type === "string"

/** The conditions to write. Conditions of kstatus exist only while they are desired. */
export const kstatus: ReadonlyArray<string> = [Condition.Ready, Condition.Reconciling, Condition.Stalled]

/** With messages that the API server accepts, and that a terminal can show. They may have texts of users. */
const shortened = (desired: Drift.Fields): Drift.Fields => {
  const conditions = conditionsOf(desired)
  const plain = conditions.map(withPlainMessage)
  return plain.every((each, at) => each === conditions[at]) ? desired : { ...desired, conditions: plain }
}

/** The same condition if its message has that form. An entry of another type than the schema may lack the message. */
const withPlainMessage = (condition: Partial<Condition.Condition>): Drift.Json => {
  const message = condition.message === undefined ? undefined : Condition.plain(condition.message)
  return message === condition.message ? condition : { ...condition, message }
}

const isDated = ({ lastTransitionTime }: Partial<Condition.Condition>): boolean => lastTransitionTime !== undefined

/** The conditions with their times. A draft takes its time from the condition before it. */
const datedConditions = (
  desired: Drift.Fields,
  before: Drift.Fields,
  generation: number | undefined,
  now: () => number
): Drift.Fields => {
  const entries = conditionsOf(desired)
  if (entries.every(isDated)) return {}
  const former = conditionsOf(before)
  const observed = generation === undefined ? {} : { observedGeneration: generation }
  const time = Time.seconds(now())
  const dated = entries.map((entry) =>
    isDated(entry) ? entry : Condition.dated({ ...observed, ...entry }, Condition.find(former, entry.type), time)
  )
  return { conditions: dated.map(Drift.json) }
}

const foreignConditions = (
  status: Drift.Fields,
  desired: Drift.Fields,
  types: ReadonlyArray<string>
): ReadonlyArray<Condition.Condition> => {
  const ours = conditionsOf(desired)
  return conditionsOf(status).filter(
    ({ type }) => !kstatus.includes(type) && !types.includes(type) && Condition.find(ours, type) === undefined
  )
}

const mergedConditions = (desired: Drift.Fields, foreign: ReadonlyArray<Condition.Condition>): Drift.Fields =>
  desired.conditions === undefined && foreign.length === 0
    ? {}
    : { conditions: [...conditionsOf(desired), ...foreign].map(Drift.json) }

/**
 * The part of a status that the controller owns: the fields of the schema and the desired fields. All entries of a map belong to the
 * controller. Lists, and parts without a schema, are taken as a whole, because a merge patch replaces lists.
 */
const declared = (schema: StructuralSchema | undefined, stored: Drift.Fields, wanted: Drift.Fields): Drift.Fields => {
  const { additionalProperties: values, properties = {} } = schema ?? {}
  const isUnsaid = schema?.properties === undefined && values === undefined
  if (isUnsaid || schema?.["x-kubernetes-preserve-unknown-fields"] === true) return stored
  // Without a prototype: users choose the keys of maps, and `__proto__` must be an ordinary key.
  const fields: { [name: string]: Drift.Json | undefined } = Object.create(null)
  for (const name in stored) {
    const value = stored[name]
    const property = Object.hasOwn(properties, name) ? properties[name] : values
    const want = wanted[name]
    if (property === undefined && want === undefined) continue
    fields[name] = Drift.isRecord(value) && Drift.isRecord(want) ? declared(property, value, want) : value
  }
  return fields
}

/** The fields of the status that a patch changes, by path. */
const fieldsOf = (patch: Drift.Json): ReadonlyArray<string> =>
  Drift.isRecord(patch) ? Object.keys(patch).map((field) => `status.${field}`) : ["status"]

/** The remaining differences, as the memory keeps them. */
const left = (patch: Drift.Json | undefined): ReadonlyArray<Drift.Difference> =>
  patch === undefined ? [] : [{ path: "status", want: patch, have: undefined }]
