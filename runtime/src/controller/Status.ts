/**
 * Status: what a controller tells about the object it reconciles.
 *
 * {@link update} sends a merge patch of what changed to the status subresource, and nothing when nothing did. Conditions of
 * others stay; where there are any, the patch carries the resourceVersion it was made from, because a merge patch replaces
 * the list whole. Fields that an older CRD prunes are learnt from the answer: one warning, and no write again for them alone.
 *
 * Whose a condition is can't be seen, so those of kstatus (Ready, Reconciling, Stalled) are taken for the controller's own,
 * and every other that it leaves out for somebody else's. A condition of its own that no longer holds is set to False.
 *
 * Needs the right to patch the status subresource of the reconciled kind.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Cache from "../cache/Cache.ts"
import type { ApiError } from "../client/ApiError.ts"
import * as Client from "../client/Client.ts"
import * as Patch from "../client/Patch.ts"
import * as Condition from "../resource/Condition.ts"
import { type KubernetesObject, keyOf } from "../resource/KubernetesObject.ts"
import type { InvalidObject } from "../resource/Resource.ts"
import * as Drift from "./Drift.ts"
import { Reconciliation } from "./Reconciliation.ts"

/** The reason of the conditions by which the runtime reports an object that does not match its schema. */
export const invalidReason = "InvalidSpec"

/**
 * Makes the status be `desired`, which is all of it but for conditions of others. An object that is gone by now is no
 * failure: there is nobody left to tell.
 */
export const update = <S extends object>(
  object: KubernetesObject & { readonly status?: S },
  desired: S
): Effect.Effect<void, ApiError | InvalidObject, Reconciliation | Client.Client | Cache.Cache> =>
  Effect.gen(function* () {
    const { resource, memory } = yield* Reconciliation
    const { uid } = object.metadata
    // The cache shows our own writes at once, so a second update within one reconcile is compared with the first.
    const latest = Option.filter(yield* Cache.get(resource, keyOf(object)), ({ metadata }) => metadata.uid === uid)
    const current = Option.getOrElse(latest, () => object)
    const status = statusOf(current)
    const foreign = foreignConditions(status, Drift.json(desired))
    const wanted = { ...Drift.json(desired), ...mergedConditions(Drift.json(desired), foreign) }

    const patch = Drift.mergePatch(status, wanted)
    if (patch === undefined || memory.accepted(uid, "status", left(patch))) return
    const metadata = foreign.length === 0 ? {} : { metadata: { resourceVersion: current.metadata.resourceVersion } }
    const answer = yield* Client.status.patch(resource, keyOf(object), Patch.merge({ ...metadata, status: patch }))

    const stored = statusOf(answer)
    memory.accept(uid, "status", left(Drift.mergePatch(stored, wanted)))
    const dropped = Drift.missing(wanted, stored).flatMap(({ path, have }) => (have === undefined ? [path] : []))
    const warning = `The API server drops ${dropped.map((path) => `status.${path}`).join(", ")} of a ${resource.kind}: its CRD is older than this program, apply the newer one`
    if (dropped.length > 0 && memory.isNews(warning)) yield* Effect.logWarning(warning)
  }).pipe(Effect.catchTag("NotFound", () => Effect.void))

/** Reports an object that does not match its schema: `Ready` false and `Stalled` true, naming the fields. */
export const reportInvalid = (
  object: KubernetesObject,
  error: InvalidObject,
  now: string
): Effect.Effect<void, ApiError | InvalidObject, Reconciliation | Client.Client | Cache.Cache> =>
  Effect.suspend(() => {
    const generation =
      object.metadata.generation === undefined ? {} : { observedGeneration: object.metadata.generation }
    const before = conditionsOf(statusOf(object)).filter(
      ({ type }) => type === Condition.Ready || type === Condition.Stalled
    )
    const facts = { reason: invalidReason, message: error.message.slice(0, 32_768), ...generation }
    const drafts = [Condition.false(Condition.Ready, facts), Condition.true(Condition.Stalled, facts)]
    return update(object, {
      ...statusOf(object),
      ...generation,
      conditions: Condition.set(before, drafts, now)
    })
  })

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

/** What is left to write, as the memory keeps it. */
const left = (patch: Drift.Json | undefined): ReadonlyArray<Drift.Difference> =>
  patch === undefined ? [] : [{ path: "status", want: patch, have: undefined }]
