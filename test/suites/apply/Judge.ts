/**
 * Plays a script of writes on a real kube-apiserver, and asks `ManagedFields` what each would come to, from the same live object
 * and the same body. What the two say is compared after each step: the object, who owns what, or the refusal.
 */
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as ManagedFields from "@homeostat/testkit/server/apply/ManagedFields"
import * as Scale from "@homeostat/testkit/server/apply/Scale"
import * as Failure from "@homeostat/testkit/server/Failure"
import type { DraftObject, Json, JsonObject } from "@homeostat/testkit/server/Json"
import * as J from "@homeostat/testkit/server/Json"
import { apiVersionOf, type Kind } from "@homeostat/testkit/server/Kind"
import * as MergePatch from "@homeostat/testkit/server/patch/MergePatch"
import { Effect } from "effect"

/** A kind that is written to. */
export interface Subject {
  readonly kind: ManagedFields.Owned & Pick<Kind, "plural" | "scale">
  readonly kindIn?: (apiVersion: string) => Kind | undefined
  readonly resetFields: ReadonlyArray<ReadonlyArray<string>>
  readonly statusResetFields: ReadonlyArray<ReadonlyArray<string>>
  /** What becomes of a body that is read. `answer`: what the server has made of it, where that is not known here. */
  readonly default: (draft: DraftObject, answer: JsonObject) => void
  /** What the server sets when it prepares an object, and nobody owns. */
  readonly prepared: ReadonlyArray<ReadonlyArray<string>>
}

/** A write of a script. */
export interface Step {
  readonly by: string
  readonly subresource?: "status" | "scale"
  /** Another version of the kind. */
  readonly as?: Subject
  readonly write:
    | { readonly create: JsonObject }
    | { readonly put: (live: DraftObject) => void }
    | { readonly merge: JsonObject }
    | { readonly apply: JsonObject; readonly force?: boolean }
}

/** A step of which the two make different things. */
export interface Difference {
  readonly step: string
  readonly real: Json
  readonly ours: Json
}

/** Plays the script. Gives the steps of which the server makes something else than we do. */
export const play = (
  cluster: ControlPlane,
  subject: Subject,
  namespace: string,
  name: string,
  steps: ReadonlyArray<Step>
): Effect.Effect<ReadonlyArray<Difference>> =>
  Effect.gen(function* () {
    const differences: Array<Difference> = []
    for (const [index, step] of steps.entries()) {
      const as = step.as ?? subject
      const place: Place = { subject: as, namespace, name }
      const live = yield* get(cluster, place)
      const body = bodyOf(place, step, live)
      // Times have seconds: each step gets one of its own.
      yield* Effect.sleep("1100 millis")
      const answer = yield* send(cluster, place, step, body)
      const after = yield* get(cluster, place)
      // Refused for what it says, which is not judged here.
      if (answer.code === 422) continue
      const real = outcomeOf(place, step, live, answer.kind === "Status" ? answer : (after ?? answer))
      const ours = outcomeOf(place, step, live, foreseen(place, step, live, body, answer))
      if (!J.equal(real, ours))
        differences.push({ step: `${index}: ${JSON.stringify(step.write)} by ${step.by}`, real, ours })
    }
    return differences
  })

interface Place {
  readonly subject: Subject
  readonly namespace: string
  readonly name: string
}

const pathOf = ({ name, namespace, subject: { kind } }: Place, step?: Step): string => {
  const root = kind.group === "" ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`
  const collection = `${root}/namespaces/${namespace}/${kind.plural}`
  if (step !== undefined && "create" in step.write) return collection
  return `${collection}/${name}${step?.subresource === undefined ? "" : `/${step.subresource}`}`
}

const get = (cluster: ControlPlane, place: Place): Effect.Effect<JsonObject | undefined> =>
  cluster.request("GET", pathOf(place)).pipe(
    Effect.map(({ body, status }) => (status === 404 ? undefined : J.object(JSON.parse(body) as Json))),
    Effect.orDie
  )

const namesOf = ({ name, namespace, subject: { kind } }: Place) => ({
  apiVersion: apiVersionOf(kind),
  kind: kind.kind,
  metadata: { name, namespace }
})

const bodyOf = (place: Place, step: Step, live: JsonObject | undefined): JsonObject => {
  const { write } = step
  if ("merge" in write) return write.merge
  if ("put" in write) {
    const draft = J.copy(live ?? {})
    write.put(draft)
    return draft
  }
  const said = "create" in write ? write.create : write.apply
  const names =
    step.subresource === "scale" ? { ...namesOf(place), apiVersion: "autoscaling/v1", kind: "Scale" } : namesOf(place)
  return { ...names, ...said, metadata: { ...names.metadata, ...J.object(said.metadata) } }
}

const send = (cluster: ControlPlane, place: Place, step: Step, body: JsonObject): Effect.Effect<JsonObject> => {
  const { write } = step
  const [method, contentType] =
    "create" in write
      ? ["POST", "application/json"]
      : "put" in write
        ? ["PUT", "application/json"]
        : ["PATCH", "merge" in write ? "application/merge-patch+json" : "application/apply-patch+yaml"]
  const force = "apply" in write && write.force === true ? "&force=true" : ""
  return cluster
    .request(method ?? "", `${pathOf(place, step)}?fieldManager=${step.by}${force}`, { body, contentType })
    .pipe(
      Effect.map((answer) => J.object(JSON.parse(answer.body) as Json)),
      Effect.orDie
    )
}

/** What we make of a step: an object, or the Status of a refusal. */
const foreseen = (
  place: Place,
  step: Step,
  live: JsonObject | undefined,
  body: JsonObject,
  answer: JsonObject
): JsonObject => {
  try {
    return step.subresource === "scale"
      ? scaled(place, step, live ?? {}, body)
      : written(place, step, live, body, answer)
  } catch (error) {
    if (error instanceof Failure.Failure) return Failure.status(error)
    throw error
  }
}

const writeOf = ({ subject }: Place, step: Step) => ({
  kind: subject.kind,
  manager: step.by,
  subresource: step.subresource,
  resetFields: step.subresource === "status" ? subject.statusResetFields : subject.resetFields,
  now: Date.now(),
  ...(subject.kindIn !== undefined && { kindIn: subject.kindIn })
})

const written = (
  place: Place,
  step: Step,
  live: JsonObject | undefined,
  body: JsonObject,
  answer: JsonObject
): JsonObject => {
  const { write } = step
  const { subject } = place
  const read = (value: JsonObject): JsonObject => {
    const draft = J.copy(value)
    subject.default(draft, answer)
    // An empty list is a message, which the canonical form has not.
    const entries = J.at(value, "metadata", "managedFields")
    if (J.isList(entries) && entries.length === 0) J.member(draft, "metadata").managedFields = []
    return draft
  }
  if ("create" in write) return ManagedFields.updated(writeOf(place, step), undefined, read(body))
  if ("apply" in write) {
    const applied = ManagedFields.applied(
      { ...writeOf(place, step), force: write.force === true, default: (draft) => subject.default(draft, answer) },
      live,
      body
    )
    return live === undefined ? applied : ManagedFields.settled(live, applied)
  }
  const next = "put" in write ? body : J.object(MergePatch.mergePatch(live ?? {}, body))
  const updated = ManagedFields.updated(writeOf(place, step), live, read(next))
  return live === undefined ? updated : ManagedFields.settled(live, updated)
}

const scaled = (place: Place, step: Step, live: JsonObject, body: JsonObject): JsonObject => {
  const { kind } = place.subject
  const [outer = "", inner = ""] = kind.scale?.specReplicas ?? []
  const replicas = J.at(live, outer, inner) ?? 0
  const metadata = J.object(live.metadata)
  const scale: JsonObject = {
    apiVersion: "autoscaling/v1",
    kind: "Scale",
    metadata: {
      name: metadata.name,
      namespace: metadata.namespace,
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
      creationTimestamp: metadata.creationTimestamp,
      managedFields: Scale.entriesOf(kind, live)
    },
    spec: replicas === 0 ? {} : { replicas },
    status: { replicas: 0 }
  }
  const write = { ...writeOf(place, step), kind: Scale.kind(), resetFields: [] }
  const next =
    "apply" in step.write
      ? ManagedFields.applied({ ...write, force: step.write.force === true, default: Scale.reading(kind) }, scale, body)
      : ManagedFields.updated(write, scale, Scale.canonical(J.object(MergePatch.mergePatch(scale, body))))
  const wanted = J.at(next, "spec", "replicas") ?? 0
  const changed = J.copy(live)
  J.member(changed, outer)[inner] = J.copy(wanted)
  J.member(changed, "metadata").managedFields = Scale.entriesAfter(kind, live, next).map((entry) => J.copy(entry))
  return changed
}

/** What is compared: what does not depend on when and where the test ran. */
const outcomeOf = (place: Place, step: Step, live: JsonObject | undefined, result: JsonObject): Json => {
  if (result.kind === "Status") {
    const { code, details, message, reason } = result
    const causes = J.objects(J.at(details, "causes"))
    // The managers of a conflict, and the mistakes of a body, come in the order of a Go map.
    const sorted = [...causes].sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1))
    return {
      code: code ?? null,
      reason: reason ?? "",
      message: (J.text(message) ?? "").split("\n").sort(),
      causes: sorted.map((cause) => J.copy(cause))
    }
  }
  const draft = J.copy(result)
  const metadata = J.member(draft, "metadata")
  const managers = managersOf(place.subject.kind, live, result)
  for (const field of ["managedFields", "uid", "resourceVersion", "creationTimestamp", "generation"])
    delete metadata[field]
  for (const path of place.subject.prepared) forget(draft, path)
  // Each way of writing keeps the other's part, which is not this room's business.
  if (step.subresource === "status") return { status: draft.status ?? null, managers }
  if (place.subject.resetFields.length > 0) delete draft.status
  return { object: draft, managers }
}

const forget = (draft: DraftObject, path: ReadonlyArray<string>): void => {
  const [name = "", ...rest] = path
  if (rest.length === 0) delete draft[name]
  else if (draft[name] !== undefined) forget(J.member(draft, name), rest)
}

const managersOf = (
  { custom }: ManagedFields.Owned,
  live: JsonObject | undefined,
  result: JsonObject
): ReadonlyArray<Json> => {
  const before = J.objects(J.at(live, "metadata", "managedFields"))
  return J.objects(J.at(result, "metadata", "managedFields")).map(({ time, ...entry }) => ({
    ...J.copy(entry),
    time:
      time === undefined ? "none" : before.some((one) => sameManager(one, entry) && one.time === time) ? "old" : "new",
    // As text: the order of the steps is compared as well. (Of custom objects a kube-apiserver sorts it by text once more.)
    fieldsV1: custom ? (entry.fieldsV1 ?? null) : JSON.stringify(entry.fieldsV1)
  }))
}

const sameManager = (one: JsonObject, other: JsonObject): boolean =>
  ["manager", "operation", "subresource"].every((field) => one[field] === other[field])
