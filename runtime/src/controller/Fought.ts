/**
 * The condition Ready of an object in a fight. Another manager puts back what the controller writes, so the object does not keep the state
 * of its spec, whatever the controller has seen last.
 */
import * as Condition from "../resource/Condition.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as ObjectState from "../resource/ObjectState.ts"
import type * as Drift from "./Drift.ts"
import type { Fight } from "./HotLoop.ts"

/** The reason of Ready, which is that of the Event, too. */
export const reason = "FieldFight"

/** Whether a condition says more than the fight: the reconcile cannot go on, or fails for a while. */
const isWorse = ({ message = "", status, type }: Partial<Condition.Condition>): boolean =>
  (type === Condition.Stalled && status === "True") ||
  (type === Condition.Ready && message.startsWith(ObjectState.lasting))

const kstatus: ReadonlyArray<string> = [Condition.Ready, Condition.Reconciling]

/** The status to write, in which Ready shows the fight. That of a deleted object stays. */
export const over = (
  status: Drift.Fields,
  conditions: ReadonlyArray<Condition.Condition>,
  { fight, object }: { readonly fight: Fight | undefined; readonly object: KubernetesObject }
): Drift.Fields => {
  if (fight === undefined || object.metadata.deletionTimestamp !== undefined) return status
  if (conditions.some(isWorse)) return status
  const others = conditions.filter(({ type }) => !kstatus.includes(type))
  const ready = Condition.false(Condition.Ready, { reason, message: fight.note })
  return { ...status, conditions: [{ ...ready }, ...others.map((each) => ({ ...each }))] }
}
