/** The findings of which the status consists, and the children about which they are. Pure. */
import { Forbidden } from "@homeostat/runtime/client/ApiError"
import * as Refusal from "@homeostat/runtime/client/Refusal"
import * as Lasting from "@homeostat/runtime/controller/Lasting"
import * as Owned from "@homeostat/runtime/controller/Owned"
import { TerminalError } from "@homeostat/runtime/controller/TerminalError"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"

/** The status of a condition and its reason. */
export interface Finding {
  readonly status: "True" | "False" | "Unknown"
  readonly reason: string
  readonly message: string
  /** It cannot continue without a user. */
  readonly stalled?: boolean
}

/** The finding about a child that could not be applied. */
export const problemFinding = (problem: NonNullable<Child<unknown>["problem"]>): Finding => ({
  status: "False",
  ...problem,
  stalled: problem.reason !== "Waiting" && problem.reason !== "Unavailable"
})

/** A child, and why it could not be applied. */
export type Child<A> =
  | { readonly object: A; readonly problem?: undefined }
  | {
      readonly object?: A | undefined
      readonly problem: {
        readonly reason: "NotOwned" | "NotServed" | "TooLarge" | "Forbidden" | "Invalid" | "Unavailable" | "Waiting"
        readonly message: string
      }
    }

/**
 * A child for the status.
 *
 * @param existing the cached child, if the WebApp owns it
 * @param obstacle why the controller cannot own the child, if it is not the child's owner
 */
export const childOf = <A extends KubernetesObject>(
  state: Owned.State<A>,
  existing?: A | undefined,
  obstacle?: string | undefined
): Child<A> => {
  if (state._tag === "Applied") return state
  if (state._tag === "Waiting") {
    const message = `the child waits for ${state.waitsFor.join(" and ")}`
    return { object: state.object, problem: { reason: "Waiting", message } }
  }
  const { error } = state
  if (error instanceof Owned.NotOwned) return { problem: { reason: "NotOwned", message: obstacle ?? error.message } }
  if (error instanceof Owned.NotServed) return { problem: { reason: "NotServed", message: error.message } }
  if (error instanceof Owned.TooLarge)
    return { object: existing, problem: { reason: "TooLarge", message: error.message } }
  if (Refusal.isFailure(error)) {
    const message = Refusal.line(Lasting.opening + error.message)
    return { object: existing, problem: { reason: "Unavailable", message } }
  }
  const message = error instanceof TerminalError ? error.message : Refusal.describe(error)
  const reason = error instanceof Forbidden || Refusal.isDenied(error) ? "Forbidden" : "Invalid"
  return { object: existing, problem: { reason, message } }
}
