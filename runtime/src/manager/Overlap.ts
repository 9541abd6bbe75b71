/**
 * Finds managers that share objects with this one, although each has a Lease of its own: both lead, and both write. A Lease has the scope
 * of its holder, so a leader lists the Leases of its namespace at the start and every ten minutes.
 *
 * Two managers with different label selectors may share objects or not. They are not reported, because two selectors divide the objects
 * during an upgrade in stages.
 *
 * Needs the permission to list `leases` in the namespace of the Lease. Without it, the log says so once, and nothing else changes.
 */
import * as Effect from "effect/Effect"
import * as Client from "../client/Client.ts"
import * as Permission from "../client/Permission.ts"
import { Lease } from "../resource/BuiltIn.ts"
import * as Text from "../resource/Text.ts"
import * as LeaseRecord from "./LeaseRecord.ts"
import * as LeaseScope from "./LeaseScope.ts"

/** How often the leader looks. */
const period = "10 minutes"

/** A Lease that was renewed before that, in ms, has no manager. Clocks of machines may differ by that. */
const fresh = 5 * 60_000

/** The overlapping managers that a line names. */
const shown = 3

/** The most Leases that are read: a namespace may have those of many programs. */
const mostLeases = 500

/** The managers of other Leases that share objects with the scope, by the name of their Lease. */
export const of = (
  leases: ReadonlyArray<Lease>,
  own: { readonly name: string; readonly scope: LeaseScope.LeaseScope },
  now: number
): ReadonlyArray<string> =>
  leases.flatMap((lease) => {
    const { name } = lease.metadata
    const theirs = LeaseRecord.scopeOf(lease)
    const holder = lease.spec?.holderIdentity ?? ""
    if (name === own.name || theirs === undefined || holder === "") return []
    if (now - Date.parse(lease.spec?.renewTime ?? "") > fresh) return []
    const one = own.scope.selector
    const isDivided = one !== undefined && theirs.selector !== undefined && one !== theirs.selector
    if (isDivided || LeaseScope.overlap(own.scope, theirs) === "none" || theirs.controllers.length === 0) return []
    return [
      `${name}, held by ${Text.printable(Text.clip(holder, 128))}, for ${Text.clip(LeaseScope.describe(theirs), 256)}`
    ]
  })

/** The overlap in one line; undefined without one. */
const lineOf = (others: ReadonlyArray<string>): string | undefined => {
  if (others.length === 0) return undefined
  const more = others.length > shown ? ` and ${others.length - shown} more` : ""
  return `another manager shares objects with this one and writes them too: Lease ${others.slice(0, shown).join("; Lease ")}${more} (give each manager other controllers, namespaces or labels, or stop one)`
}

/** Looks while this manager leads. `found` receives the number of other managers, and the line about them. */
export const watch = (
  own: { readonly namespace: string; readonly name: string; readonly scope: LeaseScope.LeaseScope },
  found: (count: number, line: string | undefined) => void
): Effect.Effect<never, never, Client.Client> =>
  Effect.gen(function* () {
    let before: string | undefined
    let refused: string | undefined
    while (true) {
      const listed = yield* Effect.result(Client.list(Lease, { namespace: own.namespace, limit: mostLeases }))
      const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
      if (listed._tag === "Failure") {
        const reason = Permission.reasonOf(listed.failure)
        if (reason !== refused) {
          yield* Effect.logInfo(`Cannot look for managers that share objects with this one: ${reason}`)
        }
        refused = reason
      } else {
        refused = undefined
        const others = of(listed.success.items, own, now)
        const line = lineOf(others)
        found(others.length, line)
        if (line !== undefined && line !== before) yield* Effect.logError(line)
        if (line === undefined && before !== undefined) {
          yield* Effect.logInfo("No other manager shares objects with this one any longer")
        }
        before = line
      }
      yield* Effect.sleep(period)
    }
  }).pipe(Effect.ensuring(Effect.sync(() => found(0, undefined))))
