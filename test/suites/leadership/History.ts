/**
 * The API server's history: each state of a Lease, and each write of a ConfigMap with its writer, in the order of revisions. The
 * revisions show whether the writer held the Lease, without a clock.
 */
import * as Client from "@homeostat/runtime/client/Client"
import { ConfigMap, Lease } from "@homeostat/runtime/resource/BuiltIn"
import type { Any } from "@homeostat/runtime/resource/Resource"
import { Effect, type Scope } from "effect"

/** A state of the Lease. */
export interface Held {
  readonly revision: number
  /** The holder's identity. Empty if the Lease was released. */
  readonly holder: string
  /** The Lease's `renewTime`, in milliseconds since 1970. */
  readonly renewedAt: number
  readonly durationMillis: number
}

/** A write of a ConfigMap. */
export interface Signed {
  readonly revision: number
  readonly writer: string
}

/** The history so far. */
export interface History {
  readonly lease: ReadonlyArray<Held>
  readonly writes: ReadonlyArray<Signed>
}

/** Watches the Leases and ConfigMaps of a namespace until the Scope closes. */
export const follow = (namespace: string): Effect.Effect<History, unknown, Client.Client | Scope.Scope> =>
  Effect.gen(function* () {
    const lease: Array<Held> = []
    const writes: Array<Signed> = []
    const watch = (kind: Any, seen: (object: Lease & ConfigMap, revision: number) => void) =>
      Effect.gen(function* () {
        const { resourceVersion } = yield* Client.page(kind, { namespace, limit: 1 })
        const connection = yield* Client.watch(kind, { namespace, resourceVersion })
        yield* connection.next.pipe(
          Effect.flatMap((events) =>
            Effect.sync(() => {
              for (const event of events) {
                if (event.type !== "ADDED" && event.type !== "MODIFIED") continue
                // The object has the kind of this watch, and `seen` reads only fields of that kind.
                seen(event.object as Lease & ConfigMap, Number(event.object.metadata.resourceVersion))
              }
            })
          ),
          Effect.forever,
          Effect.forkScoped
        )
      })
    yield* watch(Lease, ({ spec }, revision) => {
      lease.push({
        revision,
        holder: spec?.holderIdentity ?? "",
        renewedAt: Date.parse(spec?.renewTime ?? ""),
        durationMillis: (spec?.leaseDurationSeconds ?? 0) * 1000
      })
    })
    yield* watch(ConfigMap, ({ data }, revision) => {
      if (data?.writer !== undefined) writes.push({ revision, writer: data.writer })
    })
    return { lease, writes }
  })

/** Take-overs from a holder that had not released the Lease and whose Lease had not expired, one line each. */
export const overlaps = ({ lease }: History): ReadonlyArray<string> =>
  lease.flatMap((next, index) => {
    const last = lease[index - 1]
    if (last === undefined || last.holder === "" || next.holder === "" || last.holder === next.holder) return []
    const waited = next.renewedAt - last.renewedAt
    return waited >= last.durationMillis ? [] : [`${next.holder} took over from ${last.holder} after ${waited} ms`]
  })

/** Writes by a manager that did not hold the Lease, one line each. */
export const trespasses = ({ lease, writes }: History): ReadonlyArray<string> =>
  writes.flatMap(({ revision, writer }) => {
    const holder = lease.findLast((held) => held.revision < revision)?.holder
    return holder === writer ? [] : [`${writer} wrote revision ${revision} while ${holder || "nobody"} held the Lease`]
  })

/** How often the Lease went to another holder than the last one. */
export const handOvers = ({ lease }: History): number => {
  const holders = lease.map(({ holder }) => holder).filter((holder) => holder !== "")
  return holders.filter((holder, index) => index > 0 && holder !== holders[index - 1]).length
}
