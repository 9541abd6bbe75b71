/** The progress of a reconciled object, in the terms of kstatus. */
import * as Condition from "../resource/Condition.ts"

/** Why an object has its state. */
export interface Facts {
  /** In one CamelCase word, for programs. */
  readonly reason: string
  /** In words, for people. */
  readonly message: string
}

/** The progress of a reconciled object. */
export interface Progress extends Facts {
  /** `Ready`: it has reached its spec. `Reconciling`: the controller works on that. `Stalled`: it cannot continue without a user. */
  readonly state: "Ready" | "Reconciling" | "Stalled"
}

/** The conditions of kstatus: Reconciling and Stalled exist only while they are True. */
export const conditionsOf = ({ message, reason, state }: Progress): ReadonlyArray<Condition.Draft> => {
  const facts = { reason, message }
  if (state === Condition.Ready) return [Condition.true(Condition.Ready, facts)]
  return [Condition.false(Condition.Ready, facts), Condition.true(state, facts)]
}
