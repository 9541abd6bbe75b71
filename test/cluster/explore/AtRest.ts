/** Checks that a restarted manager writes nothing while the cluster is at rest. */

import type * as Store from "@homeostat/apiserver/storage/Store"
import type { Transport } from "@homeostat/runtime/client/Transport"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Eventually from "../Eventually.ts"
import type { VirtualTime } from "../VirtualTime.ts"
import * as Ground from "./Ground.ts"
import { restartMessage } from "./Reference.ts"
import type * as Retries from "./Retries.ts"
import * as Wire from "./Wire.ts"

/** A restarted manager wrote, although the cluster was at rest. */
export class NotAtRest extends Data.TaggedError("NotAtRest")<{
  readonly writes: ReadonlyArray<Wire.Sent>
  /** The last attempts of the written objects. Empty outside of a Harness. */
  readonly attempts: string
}> {
  override get message(): string {
    const written = `${restartMessage(this.writes)} (set atRest: false if the program writes at each start on purpose)`
    return this.attempts === "" ? written : `${written}\n\n${this.attempts}`
  }
}

/** The time that the cluster may take to come to rest, and the time that it must be quiet, in seconds. */
const longest = 60
const quiet = 5

/** The parts of a test. */
export interface Parts<E> {
  readonly time: VirtualTime
  readonly store: Store.Store
  readonly transport: Layer.Layer<Transport>
  /** The program under test. */
  readonly manager: Effect.Effect<unknown, E, Transport | Scope.Scope>
  /** The pending retries of the running program. */
  readonly retries: Retries.Retries
  /** The maximum delay of a watch event, in milliseconds. */
  readonly lag: number
  /** Stops the running program. */
  readonly stop: Effect.Effect<void>
}

/**
 * Waits until the cluster is at rest, restarts the manager, and fails if that changes anything but Events and Leases. Succeeds without a
 * check if the cluster does not come to rest within a minute.
 */
export const check = <E>({
  lag,
  manager,
  retries,
  stop,
  store,
  time,
  transport
}: Parts<E>): Effect.Effect<void, E | NotAtRest> =>
  Effect.gen(function* () {
    let changes = 0
    const unsubscribe = store.subscribe(({ storage }) => {
      if (Ground.matters(storage)) changes++
    })
    let isAtRest = false
    yield* time.pass(lag)
    for (let waited = 0; waited < longest && !isAtRest; waited += quiet) {
      const before = changes
      yield* time.pass(`${quiet} seconds`)
      isAtRest = changes === before && retries.until() === undefined
    }
    unsubscribe()
    if (!isAtRest) return
    yield* stop
    const director = Wire.observing({
      now: () => time.clock.currentTimeMillisUnsafe(),
      revision: () => Effect.sync(() => store.revision)
    })
    director.arm([])
    const owner: Wire.Owner = { name: "restarted manager", dead: false, closed: false, suspend: () => undefined }
    yield* Effect.acquireUseRelease(
      Scope.make(),
      (scope) =>
        Effect.gen(function* () {
          yield* Effect.forkIn(Scope.provide(Effect.provide(manager, director.over(owner, transport)), scope), scope)
          yield* time.pass(`${quiet} seconds`)
        }),
      (scope) => time.during(Scope.close(scope, Exit.void))
    )
    const writes = director.sent.filter(({ changed }) => changed)
    if (writes.length === 0) return
    const describe = yield* Eventually.attempts
    const objects = { items: writes.map(({ asked: { name, namespace } }) => ({ metadata: { name, namespace } })) }
    return yield* new NotAtRest({ writes, attempts: describe(objects, time.clock.currentTimeMillisUnsafe()) })
  })
