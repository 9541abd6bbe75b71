/**
 * The story of a scene: the successive conditions of each object, and the remaining objects with their Events, without times, versions,
 * names of pods and hashes of templates.
 */
import type { Json, JsonObject } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import { Effect } from "effect"
import * as Comparable from "../comparison/Comparable.ts"
import type { SceneFailed } from "./Cluster.ts"
import type { Scene } from "./Scene.ts"

export type Story = {
  /** The conditions by object and type, as a sequence of `True Reason: message`. */
  readonly conditions: { readonly [object: string]: { readonly [type: string]: ReadonlyArray<string> } }
  /** The remaining objects by plural, with the count of those that differ only in their names. */
  readonly objects: { readonly [plural: string]: ReadonlyArray<readonly [count: number, object: Json]> }
}

/** The kinds whose conditions a story contains. */
const followed = ["deployments", "replicasets", "jobs"]

const plurals = [
  ...followed,
  "statefulsets",
  "daemonsets",
  "controllerrevisions",
  "cronjobs",
  "pods",
  "services",
  "endpoints",
  "endpointslices",
  "poddisruptionbudgets",
  "persistentvolumeclaims",
  "events"
]

/** The requests of a scene, and its story since a resourceVersion. */
export const played = (
  scene: Scene,
  asked: ReadonlyArray<Json>,
  since: string,
  now: number
): Effect.Effect<Played, SceneFailed> =>
  Effect.gen(function* () {
    const [pods = [], ...histories] = yield* Effect.forEach(
      ["pods", ...followed],
      (plural) => scene.history(plural, since),
      { concurrency: "unbounded" }
    )
    const lists = yield* Effect.forEach(plurals, (plural) =>
      Effect.map(scene.get(plural), ({ items }) => [plural, J.objects(items).flatMap(steady)] as const)
    )
    const history = histories.flat()
    const names = aliases([...history, ...pods, ...lists.flatMap(([, all]) => all)])
    const named = names.reduce<string>(
      (text, [generated, alias]) => text.replaceAll(generated, alias),
      JSON.stringify({ asked, conditions: conditionsOf(history), objects: Object.fromEntries(lists) })
    )
    const value = Comparable.make(scene.namespace, now).value(JSON.parse(named) as Json)
    const comparable = JSON.stringify(Comparable.withoutTimes(value)).replaceAll(/"version-\d+"/g, '"VERSION"')
    const { asked: wanted, conditions, objects }: Found = JSON.parse(comparable)
    const counts = plurals.map((plural) => [plural, counted((objects[plural] ?? []).map(unordered))] as const)
    return { asked: wanted, story: { conditions, objects: Object.fromEntries(counts) } }
  })

export interface Played {
  readonly asked: ReadonlyArray<Json>
  readonly story: Story
}

interface Found {
  readonly asked: ReadonlyArray<Json>
  readonly conditions: Story["conditions"]
  readonly objects: { readonly [plural: string]: ReadonlyArray<JsonObject> }
}

const conditionsOf = (history: ReadonlyArray<JsonObject>): Story["conditions"] => {
  const conditions: { [object: string]: { [type: string]: Array<string> } } = {}
  for (const one of history) {
    const about = `${J.text(one.kind)} ${nameOf(one)}`
    const types = conditions[about] ?? {}
    conditions[about] = types
    // The conditions of a deleted object depend on the speed of its deletion.
    if (J.at(one, "metadata", "deletionTimestamp") !== undefined) continue
    for (const { message, reason, status, type } of J.objects(J.at(one, "status", "conditions"))) {
      const seen = types[`${type}`] ?? []
      types[`${type}`] = seen
      const now = `${status} ${reason}: ${message}`
      if (seen.at(-1) !== now) seen.push(now)
    }
  }
  return conditions
}

/** The fields of Events that depend on the speed of the controllers. */
const steady = (one: JsonObject): ReadonlyArray<JsonObject> => {
  const { kind } = J.object(one.involvedObject)
  // The scheduler may try a pod between the creation and the binding of its claim.
  if (/unbound immediate PersistentVolumeClaims. not found$/.test(J.text(one.message) ?? "")) return []
  // Only the real Job controller waits a second for more changes before it retries.
  if (one.reason === "FailedCreate" && kind === "Job") return [{ ...one, count: "SOME" }]
  // Their counts depend on the time that the scene takes.
  if (one.reason === "JobAlreadyActive" || one.reason === "UnexpectedJob") return [{ ...one, count: "SOME" }]
  return [one]
}

const nameOf = (one: JsonObject): string => J.text(J.at(one, "metadata", "name")) ?? ""

/** The aliases of the generated values in a story. */
const aliases = (
  found: ReadonlyArray<JsonObject>
): ReadonlyArray<readonly [generated: string | RegExp, alias: string]> => {
  const hashes = new Map<string, string>()
  const names = new Map<string, string>()
  const uids = new Map<string, string>()
  const minutes = new Set<string>()
  for (const { involvedObject, metadata } of found) {
    const { generateName, labels, name, ownerReferences, uid } = J.object(metadata)
    const of = J.object(labels)
    const hash = J.text(
      of["pod-template-hash"] ?? of["controller-revision-hash"] ?? of["controller.kubernetes.io/hash"]
    )
      ?.split("-")
      .at(-1)
    if (hash !== undefined && !hashes.has(hash)) hashes.set(hash, `#${hashes.size + 1}`)
    if (typeof generateName === "string") names.set(`${name}`, `${generateName}*`)
    // A CronJob puts the minute of the run into the name of its Job.
    const minute = J.objects(ownerReferences).some(({ kind }) => kind === "CronJob") && /-(\d{8})$/.exec(`${name}`)
    if (minute) minutes.add(minute[1] ?? "")
    uids.set(`${uid}`, involvedObject === undefined ? `uid of ${names.get(`${name}`) ?? name}` : "uid of an Event")
  }
  return [
    ...uids,
    ...names,
    ...hashes,
    ...[...minutes].map((minute) => [minute, "MINUTE"] as const),
    // The name of an Event contains its time, and the scheduler reports the name of its machine.
    [/(?<=\.)[0-9a-f]{16}(?=")/g, "TIME"],
    [/(?<="reportingInstance":"default-scheduler-)[^"]*/g, "MACHINE"]
  ]
}

/** The object with its managed fields in a stable order. */
const unordered = (one: JsonObject): JsonObject => {
  const metadata = J.object(one.metadata)
  return { ...one, metadata: { ...metadata, managedFields: J.objects(metadata.managedFields).toSorted(byText) } }
}

const counted = (all: ReadonlyArray<Json>): ReadonlyArray<readonly [number, Json]> => {
  const counts = new Map<string, number>()
  for (const one of all.toSorted(byText)) counts.set(JSON.stringify(one), (counts.get(JSON.stringify(one)) ?? 0) + 1)
  return [...counts].map(([text, count]) => [count, JSON.parse(text) as Json])
}

const byText = (one: Json, other: Json): number => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1)
