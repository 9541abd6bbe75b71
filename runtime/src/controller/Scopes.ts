/** The Scopes of attempts. Most of them stay without a finalizer. */
import type * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"

/** The state of Effect's scopes, which their public type lacks. */
interface InnerScope {
  state: { readonly _tag: "Open"; readonly finalizers: { readonly size: number } } | Closed
}

interface Closed {
  readonly _tag: "Closed"
  readonly exit: Exit.Exit<unknown, unknown>
}

/**
 * Closes a scope that has no finalizers, in plain code, and returns whether it had none. A fiber that outlives the attempt may still add
 * finalizers. A closed scope runs them at once.
 */
export const closeUnused = (scope: Scope.CloseableScope, exit: Exit.Exit<unknown, unknown>): boolean => {
  const inner = scope as unknown as InnerScope
  const isUnused = inner.state._tag === "Open" && inner.state.finalizers.size === 0
  if (isUnused) inner.state = { _tag: "Closed", exit }
  return isUnused
}
