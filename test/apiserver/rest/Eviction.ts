/** `pods/eviction`: deletes a pod if its PodDisruptionBudget allows it. */

import type { ServerState, WriteOptions } from "../admission/ServerState.ts"
import * as Conditions from "../model/Conditions.ts"
import * as Failure from "../model/Failure.ts"
import * as Json from "../model/Json.ts"
import type { Kind } from "../model/Kind.ts"
import * as ObjectMeta from "../model/ObjectMeta.ts"
import { schemaNamed } from "../model/OpenApiDefinitions.ts"
import { timestamp } from "../model/Timestamp.ts"
import * as LabelSelector from "../storage/LabelSelector.ts"
import * as Delete from "./Delete.ts"
import * as Query from "./Query.ts"
import * as Read from "./Read.ts"

/** The kind of the request's body. */
export const named = (): Pick<Kind, "group" | "version" | "kind" | "schema"> => ({
  group: "policy",
  version: "v1",
  kind: "Eviction",
  schema: schemaNamed("io.k8s.api.policy.v1.Eviction")
})

/** The storage key of budgets. */
const budgets = "policy/poddisruptionbudgets"

/** Deletes a pod with the options of an Eviction. Throws a Failure; 429 if the budget does not allow the eviction now. */
export const evict = (
  state: ServerState,
  kind: Kind,
  namespace: string,
  name: string,
  sent: Json.JsonObject,
  given: WriteOptions
): void => {
  const attributes = {
    operation: "CREATE",
    resource: kind,
    kind: named(),
    subresource: "eviction",
    namespace,
    name,
    oldObject: null
  } as const
  const eviction = given.mutate?.({ ...attributes, object: sent }) ?? sent
  if (ObjectMeta.nameOf(eviction) !== name)
    throw Failure.badRequest("name in URL does not match name in Eviction object")
  const deleteOptions = Json.object(eviction.deleteOptions)
  Query.checkDeletion(deleteOptions)
  const options = { ...given, dryRun: given.dryRun || Json.list(deleteOptions.dryRun).length > 0 }
  options.admit?.({ ...attributes, object: eviction })
  const pod = Read.get(state, kind, namespace, name)
  Delete.checkPreconditions(kind, name, pod, Json.object(deleteOptions.preconditions))
  if (!endsAnyway(pod)) spend(state, namespace, pod, options)
  if (!options.dryRun) {
    const draft = Json.copy(pod)
    Conditions.set(draft, evicting, options.now)
    state.store.put(kind.storage, kind.toStorage(draft))
  }
  // The mark has changed the resourceVersion, and the preconditions have been compared already.
  const { preconditions: _, ...rest } = deleteOptions
  // Policies and webhooks have seen the eviction already.
  const { admit: __, mutate: ___, ...unasked } = options
  Delete.remove(state, kind, namespace, name, rest, unasked)
}

const evicting: Conditions.Condition = {
  type: "DisruptionTarget",
  status: "True",
  reason: "EvictionByEvictionAPI",
  message: "Eviction API: evicting",
  lastProbeTime: null
}

/** True if the pod does not run or is terminating. The eviction of such a pod disrupts nothing. */
const endsAnyway = (pod: Json.JsonObject): boolean =>
  ObjectMeta.isDeleting(pod) ||
  ["Succeeded", "Failed", "Pending"].includes(Json.text(Json.at(pod, "status", "phase")) ?? "")

/** Subtracts the disruption from the budget of the pod, if the pod has a budget. */
const spend = (state: ServerState, namespace: string, pod: Json.JsonObject, options: WriteOptions): void => {
  const labels = Json.texts(Json.at(pod, "metadata", "labels"))
  const [budget, ...more] = state.store
    .list(budgets, namespace)
    .filter((one) => LabelSelector.matches(LabelSelector.ofLabelSelector(Json.at(one, "spec", "selector")), labels))
  if (more.length > 0) {
    throw Failure.plain(
      "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
    )
  }
  if (budget === undefined || needsNoBudget(pod, budget)) return
  const refusal = refusalOf(budget)
  if (refusal !== undefined) throw refusal
  if (options.dryRun) return
  const draft = Json.copy(budget)
  const status = Json.member(draft, "status")
  status.disruptionsAllowed = (Json.number(status.disruptionsAllowed) ?? 0) - 1
  Json.member(status, "disruptedPods")[ObjectMeta.nameOf(pod)] = timestamp(options.now)
  state.store.put(budgets, draft)
}

/** True if the pod is not ready, and the budget has enough healthy pods or always allows the eviction of unhealthy pods. */
const needsNoBudget = (pod: Json.JsonObject, budget: Json.JsonObject): boolean => {
  const ready = Json.objects(Json.at(pod, "status", "conditions")).some(
    (one) => one.type === "Ready" && one.status === "True"
  )
  if (ready) return false
  const { currentHealthy, desiredHealthy } = numbersOf(budget)
  return (
    Json.at(budget, "spec", "unhealthyPodEvictionPolicy") === "AlwaysAllow" ||
    (currentHealthy >= desiredHealthy && desiredHealthy > 0)
  )
}

const numbersOf = (budget: Json.JsonObject) => {
  const status = Json.object(budget.status)
  const number = (name: string) => Json.number(status[name]) ?? 0
  return {
    currentHealthy: number("currentHealthy"),
    desiredHealthy: number("desiredHealthy"),
    disruptionsAllowed: number("disruptionsAllowed"),
    observedGeneration: number("observedGeneration")
  }
}

const refusalOf = (budget: Json.JsonObject): Failure.Failure | undefined => {
  const name = ObjectMeta.nameOf(budget)
  const { currentHealthy, desiredHealthy, disruptionsAllowed, observedGeneration } = numbersOf(budget)
  if (observedGeneration < (Json.number(Json.at(budget, "metadata", "generation")) ?? 0)) {
    return tooMany(`The disruption budget ${name} is still being processed by the server.`, 10)
  }
  if (disruptionsAllowed > 0) return undefined
  return tooMany(
    currentHealthy <= desiredHealthy
      ? `The disruption budget ${name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`
      : `The disruption budget ${name} does not allow evicting pods currently`,
    undefined
  )
}

const tooMany = (message: string, retryAfterSeconds: number | undefined): Failure.Failure =>
  new Failure.Failure({
    code: 429,
    reason: "TooManyRequests",
    message: "Cannot evict pod as it would violate the pod's disruption budget.",
    details: {
      causes: [{ reason: "DisruptionBudget", message }],
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds })
    }
  })
