/**
 * The pod template that the Deployment gets: that of the spec, the last good one, or that of `kubectl rollout undo`.
 *
 * The records live in the cluster, so that a lost status or a new manager changes nothing:
 *
 * - The last good template is a ControllerRevision. A template is good after its rollout was complete.
 * - An annotation of the ControllerRevision names the template that failed. The controller first writes that record, and restores the
 *   last good template only after it has read the record.
 * - A label and an annotation of the Deployment have the hash of its template. `kubectl rollout undo` restores the annotations of an
 *   older ReplicaSet with its template, and no labels. Then the two differ.
 */
import * as Drift from "@homeostat/runtime/controller/Drift"
import * as Equivalence from "@homeostat/runtime/controller/Equivalence"
import * as Intent from "@homeostat/runtime/controller/Intent"
import * as EventRecorder from "@homeostat/runtime/events/EventRecorder"
import type { ControllerRevision, Deployment, Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Condition from "@homeostat/runtime/resource/Condition"
import { controllerOf, type Desired } from "@homeostat/runtime/resource/KubernetesObject"
import * as Time from "@homeostat/runtime/resource/Time"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Deadline from "./Deadline.ts"
import * as Delivery from "./Delivery.ts"
import type { Finding } from "./Finding.ts"
import { LastGood } from "./LastGood.ts"
import type { WebApp } from "./WebApp.ts"

type Template = NonNullable<Deployment["spec"]>["template"]

/** The label and the annotation of the Deployment with the hash of its pod template. */
export const templateKey = "apps.kubedojo.io/template-hash"

/** The annotation of the Deployment with the time of a missed deadline that its status had before the template changed. */
export const missedAnnotation = "apps.kubedojo.io/missed-before"

/** The annotation of the ControllerRevision with the failed rollout, in JSON. */
export const failedAnnotation = "apps.kubedojo.io/failed"

/** The type of the condition: the pods do not run the spec, because an older template is restored. */
export const conditionType = "RolledBack"

const Failed = Schema.fromJsonString(
  Schema.Struct({ template: Schema.String, generation: Schema.Number, image: Schema.String, cause: Schema.String })
)
const Data = Schema.Struct({ ...LastGood.fields, template: Schema.Unknown })

/** A good template, as its ControllerRevision has it. */
interface Good {
  readonly object: ControllerRevision
  readonly id: string
  readonly template: Template
  readonly lastGood: typeof LastGood.Type
  readonly failed?: typeof Failed.Type | undefined
}

/** The observation on which the template depends. */
export interface Observed {
  readonly existing: Deployment | undefined
  /** The ControllerRevisions of the WebApp; empty without `rollback: Auto`. */
  readonly revisions: ReadonlyArray<ControllerRevision>
  /** The template of the spec, or that which the Deployment keeps. */
  readonly template: Template
  /** Whether the Deployment keeps its template, because that of the spec cannot be applied yet; false by default. */
  readonly isHeld?: boolean | undefined
  /** The labels of all children. */
  readonly labels: { readonly [key: string]: string }
  /** The name of the container with the image. */
  readonly container: string
  /** The cached pods of the Deployment. */
  readonly pods: ReadonlyArray<Pod>
  /** Why the newest pods do not start, if known. */
  readonly troubleOf: (container: string) => string | undefined
  /** Milliseconds since 1970. */
  readonly now: number
}

/** Why the Deployment does not have the template of the spec. */
export interface RolledBack {
  readonly reason: "ProgressDeadlineExceeded" | "RolloutUndone"
  readonly message: string
}

/** The template of the Deployment, and its records. */
export interface Choice {
  readonly template: Template
  readonly labels: { readonly [key: string]: string }
  readonly annotations: { readonly [key: string]: string }
  /** The ControllerRevision with the last good template; undefined without a last good template. */
  readonly revision?: Desired<ControllerRevision> | undefined
  readonly lastGood?: typeof LastGood.Type | undefined
  /** Undefined if the Deployment gets the template of the spec. */
  readonly rolledBack?: RolledBack | undefined
  /** Whether the Deployment keeps its template, because that of the spec cannot be applied yet. */
  readonly isHeld: boolean
  /** The Deployment still has fields of a template that `kubectl rollout undo` restored, and gets another one. */
  readonly endsUndo: boolean
}

/** The template for the Deployment of a WebApp. Pure. */
export const choose = (app: WebApp, observed: Observed): Choice => {
  const { isHeld = false, template } = observed
  const isOwn = observed.existing !== undefined && controllerOf(observed.existing)?.uid === app.metadata.uid
  const existing = isOwn ? observed.existing : undefined
  const { labels = {}, annotations = {} } = existing?.metadata ?? {}
  const shown = labels[templateKey]
  const hash = Intent.digest(template, shown)
  const last = isAuto(app) ? lastOf(app, observed) : undefined
  const failed = last?.failed?.template === idOf(hash) ? last.failed : undefined
  const aim =
    last === undefined || failed === undefined
      ? { hash, template }
      : { hash: last.id, template: selected(last.template, observed.existing) }
  const id = idOf(aim.hash)
  // The template of the spec may still be the failed one.
  const record = isHeld ? last?.failed : failed

  const isShown = shown !== undefined && idOf(shown) === id
  const isWritten = annotations[templateKey] === id
  const isUndone = existing !== undefined && isShown && !isWritten && !has(existing, aim.template)
  if (existing !== undefined && shown !== undefined && (isUndone || (isHeld && isReplaced(existing)))) {
    return {
      template: live(existing, aim.template),
      labels: { [templateKey]: shown },
      annotations: picked(annotations, [templateKey]),
      ...kept(app, observed, last, record),
      isHeld,
      rolledBack: { reason: "RolloutUndone", message: undone(existing, observed.container) },
      endsUndo: false
    }
  }
  const isApplied = isShown && isWritten
  const missed = existing === undefined ? undefined : missedAt(existing)
  const records: { [key: string]: string } = { [templateKey]: id }
  // The record stays until the next template. Each change of an annotation is a new generation, and its status is old at first.
  if (isShown) Object.assign(records, picked(annotations, [missedAnnotation]))
  if (isAuto(app)) Object.assign(records, beginning(observed, isShown ? annotations : undefined, missed))
  const { lastGood, revision } =
    failed !== undefined || existing === undefined || !isApplied || (isHeld && last?.id === id)
      ? kept(app, observed, last, record)
      : judged(app, observed, { existing, last, id })
  return {
    template: aim.template,
    labels: { [templateKey]: aim.hash },
    annotations: records,
    lastGood,
    revision,
    rolledBack: last !== undefined && record !== undefined && last.id === id ? restored(record, last) : undefined,
    isHeld,
    endsUndo: existing !== undefined && isReplaced(existing)
  }
}

/** The live template of a Deployment, with its records, while another one waits. It may have fields of other managers. Pure. */
export const hold = (app: WebApp, observed: Observed, existing: Deployment): Choice => {
  const { labels = {}, annotations = {} } = existing.metadata
  const last = isAuto(app) ? lastOf(app, observed) : undefined
  return {
    template: live(existing, observed.template),
    labels: picked(labels, [templateKey]),
    annotations: picked(annotations, [templateKey, missedAnnotation, Deadline.startedAnnotation]),
    ...kept(app, observed, last, last?.failed),
    ...(isReplaced(existing)
      ? { rolledBack: { reason: "RolloutUndone", message: undone(existing, observed.container) } }
      : last?.failed !== undefined && annotations[templateKey] === last.id
        ? { rolledBack: restored(last.failed, last) }
        : {}),
    isHeld: true,
    endsUndo: false
  }
}

/**
 * The annotations about the beginning of a rollout.
 *
 * @param annotations those of the Deployment, if it has the template already
 * @param missed the time of the missed deadline of the template before
 */
const beginning = (
  { now }: Observed,
  annotations: { readonly [key: string]: string } | undefined,
  missed: string | undefined
): { readonly [key: string]: string } =>
  annotations === undefined
    ? {
        [Deadline.startedAnnotation]: Time.micros(now),
        ...(missed === undefined ? {} : { [missedAnnotation]: missed })
      }
    : picked(annotations, [Deadline.startedAnnotation])

/** Whether the controller restores templates. The controller of a `Delivery` does that by itself. */
const isAuto = (app: WebApp): boolean => app.spec.rollback === "Auto" && Delivery.of(app) === undefined

/** Whether another client replaced the template together with the annotations, as `kubectl rollout undo` does. */
export const isReplaced = ({ metadata: { annotations, labels } }: Deployment): boolean => {
  const shown = labels?.[templateKey]
  return shown !== undefined && annotations?.[templateKey] !== idOf(shown)
}

/** The part of a hash that does not depend on the order of keys. */
const idOf = (hash: string): string => hash.slice(0, 16)

const picked = (map: { readonly [key: string]: string }, keys: ReadonlyArray<string>) => {
  const result: { [key: string]: string } = {}
  for (const key in map) if (keys.includes(key)) result[key] = map[key] ?? ""
  return result
}

/** The newest good template for this container. */
const lastOf = ({ metadata }: WebApp, { container, revisions }: Observed): Good | undefined =>
  revisions
    .flatMap((object): ReadonlyArray<Good> => {
      const data = Option.getOrUndefined(Schema.decodeUnknownOption(Data)(object.data))
      const template = data?.template as Template | undefined
      const hasContainer = template?.spec?.containers?.some(({ name }) => name === container) === true
      if (data === undefined || template === undefined || !hasContainer) return []
      const { generation, image, time } = data
      const id = object.metadata.name.slice(metadata.name.length + 1)
      const failed = Schema.decodeUnknownOption(Failed)(object.metadata.annotations?.[failedAnnotation])
      return [{ object, id, template, lastGood: { generation, image, time }, failed: Option.getOrUndefined(failed) }]
    })
    .toSorted((a, b) => a.object.revision - b.object.revision)
    .at(-1)

/** A stored template with the labels that the selector of the Deployment needs. */
const selected = (template: Template, existing: Deployment | undefined): Template => ({
  ...template,
  metadata: {
    ...template.metadata,
    labels: { ...template.metadata?.labels, ...existing?.spec?.selector.matchLabels }
  }
})

/** Whether the Deployment has all fields of a template. */
const has = ({ spec }: Deployment, template: Template): boolean =>
  Drift.missing(Drift.json(template), spec?.template && Drift.json(spec.template)).every(
    (each) => Equivalence.isStored(each) || (each.have === undefined && Drift.isEmpty(each.want))
  )

/** The template as it is. */
const live = ({ spec }: Deployment, otherwise: Template): Template => {
  if (spec === undefined) return otherwise
  const { creationTimestamp, ...metadata } = spec.template.metadata ?? {}
  return { ...spec.template, metadata }
}

/** The last good template as before, with its record of a failed rollout. */
const kept = (
  app: WebApp,
  { labels }: Observed,
  last?: Good | undefined,
  failed?: typeof Failed.Type | undefined
): Pick<Choice, "lastGood" | "revision"> =>
  last === undefined
    ? {}
    : {
        lastGood: last.lastGood,
        revision: revisionOf(app, {
          id: last.id,
          labels,
          revision: last.object.revision,
          // The API server refuses to change them.
          data: last.object.data,
          failed
        })
      }

/** The records after the rollout of the spec's template: it is good, it has failed, or it goes on. */
const judged = (
  app: WebApp,
  observed: Observed,
  { existing, id, last }: { readonly existing: Deployment; readonly id: string; readonly last: Good | undefined }
): Pick<Choice, "lastGood" | "revision"> => {
  const { container, labels, now, pods, template, troubleOf } = observed
  const isOurs = isAuto(app) && last?.id !== id && has(existing, template)
  if (!isOurs) return kept(app, observed, last)
  const { generation = 0 } = app.metadata
  const { image } = app.spec
  if (isComplete(existing)) {
    const data = { generation, image, time: Time.seconds(now), template }
    const revision = (last?.object.revision ?? 0) + 1
    // The status reports it when it is stored.
    return { lastGood: last?.lastGood, revision: revisionOf(app, { id, labels, revision, data }) }
  }
  const missed = missedAt(existing)
  const isNew = missed !== undefined && missed !== existing.metadata.annotations?.[missedAnnotation]
  const isOverdue = (Deadline.ofTemplate(existing, pods) ?? Number.POSITIVE_INFINITY) <= now
  // A user who pauses a rollout looks into it.
  if (!(isNew || isOverdue) || existing.spec?.paused === true) return kept(app, observed, last)
  const cause =
    troubleOf(container) ?? reported(existing, isNew ? "Progressing" : "ReplicaFailure")?.message ?? "no progress"
  return kept(app, observed, last, { template: id, generation, image, cause })
}

const revisionOf = (
  app: WebApp,
  content: {
    readonly id: string
    readonly labels: Observed["labels"]
    readonly revision: number
    readonly data: unknown
    readonly failed?: typeof Failed.Type | undefined
  }
): Desired<ControllerRevision> => ({
  metadata: {
    name: `${app.metadata.name}-${content.id}`,
    labels: content.labels,
    annotations: content.failed === undefined ? {} : { [failedAnnotation]: Schema.encodeSync(Failed)(content.failed) }
  },
  revision: content.revision,
  data: content.data
})

const reported = ({ status }: Deployment, type: "Progressing" | "ReplicaFailure") =>
  status?.conditions?.find((condition) => condition.type === type)

const isObserved = ({ metadata, status }: Deployment): boolean =>
  (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0)

/** The time of the missed deadline of the present generation. */
const missedAt = (deployment: Deployment): string | undefined => {
  const { lastUpdateTime, reason, status } = reported(deployment, "Progressing") ?? {}
  const isMissed = status === "False" && reason === "ProgressDeadlineExceeded" && isObserved(deployment)
  return isMissed ? (lastUpdateTime ?? "") : undefined
}

/** Whether all pods run the template and are available. A Deployment without pods proves nothing. */
const isComplete = (deployment: Deployment): boolean => {
  const { replicas: wanted = 1 } = deployment.spec ?? {}
  const { availableReplicas = 0, replicas = 0, updatedReplicas = 0 } = deployment.status ?? {}
  const counts = [updatedReplicas, replicas, availableReplicas]
  return wanted > 0 && isObserved(deployment) && counts.every((count) => count === wanted)
}

const restored = ({ cause, generation, image }: typeof Failed.Type, { lastGood }: Good): RolledBack => ({
  reason: "ProgressDeadlineExceeded",
  message: `generation ${generation} (${image}) missed its progress deadline: ${cause}; the controller restored generation ${lastGood.generation} (${lastGood.image}) (change the pod template in spec to try again)`
})

const undone = ({ spec }: Deployment, container: string): string => {
  const { image } = spec?.template.spec?.containers.find(({ name }) => name === container) ?? {}
  return `kubectl rollout undo replaced the pod template of the spec: the Deployment runs ${image ?? "another template"} (change the pod template in spec, or undo again)`
}

/** States of a rollout that say nothing about the cause. */
const usual = new Set(["AllReplicasReady", "ScalingOut", "ScaledToZero", "RolloutInProgress", "ReplicasNotReady"])

/** The finding about a Deployment that does not run the spec: a failed rollout is not a success, although the old pods serve. */
export const finding = <F extends Finding>(found: F, rolledBack: RolledBack | undefined): Finding => {
  if (rolledBack === undefined) return found
  const { message } = rolledBack
  const stalled = { status: "False", stalled: true } as const
  if (!usual.has(found.reason)) return { ...stalled, reason: found.reason, message: `${found.message}; ${message}` }
  const [ready = ""] = found.status === "Unknown" ? [] : found.message.split(": ")
  return { ...stalled, reason: conditionType, message: ready === "" ? message : `${ready}: ${message}` }
}

/** The condition RolledBack: absent until the first rollback, and False after it. */
export const condition = (
  app: WebApp,
  { isHeld, rolledBack }: Partial<Pick<Choice, "isHeld" | "rolledBack">> = {}
): Condition.Draft | undefined => {
  if (rolledBack !== undefined) return Condition.true(conditionType, rolledBack)
  if (Condition.find(app.status?.conditions, conditionType) === undefined) return undefined
  return Condition.false(
    conditionType,
    isHeld === true
      ? {
          reason: "TemplateKept",
          message: "the Deployment keeps its pod template until that of the spec can be applied"
        }
      : { reason: "SpecApplied", message: "the Deployment has the pod template of the spec" }
  )
}

/** Records an Event about a rollback that the status does not report yet. */
export const report = (app: WebApp, { rolledBack }: Choice) => {
  const before = Condition.find(app.status?.conditions, conditionType)
  const isTold = before?.status === "True" && before.message === rolledBack?.message
  if (rolledBack === undefined || isTold) return Effect.void
  const { message: note, reason } = rolledBack
  return EventRecorder.record(
    reason === "RolloutUndone"
      ? { regarding: app, type: "Normal", reason, note }
      : { regarding: app, type: "Warning", reason: conditionType, note }
  )
}
