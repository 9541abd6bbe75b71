/** Managers that hand over leadership many times, after each way in which a leader can stop. */
import * as Client from "@homeostat/runtime/client/Client"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import { Clock, Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as History from "./History.ts"
import * as Replica from "./Replica.ts"

/**
 * The ways in which the leader stops: in order (`stopped`), permanently without a release (`lost`), or temporarily (`cut off`).
 */
export const ways = ["stopped", "stopped", "stopped", "lost", "stopped", "stopped", "stopped", "cut off"] as const

/**
 * Makes two managers hand over leadership `times` times. Returns the history of the API server, and the replicas that still believed to
 * lead when another one led. Also returns the durations of the orderly hand-overs in ms. It omits the two after each cut-off, because
 * that replica still waits for lost responses.
 */
export const run = (network: Replica.Network, namespace: string, times: number) =>
  Effect.gen(function* () {
    for (const name of ["one", "two", "three"]) {
      yield* Client.create(ConfigMap, { metadata: { namespace, name, labels: Replica.labels } })
    }
    const history = yield* History.follow(namespace)
    let names = 0
    const start = Effect.suspend(() => Replica.start(network, namespace, `r${++names}`, { election: Replica.quick }))
    const replicas = [yield* start, yield* start]
    /**
     * Waits until a candidate leads and writes. On a slow machine that candidate may lose the Lease, and then another one does.
     */
    const atWork = (candidates: ReadonlyArray<Replica.Replica>) =>
      Managed.eventually(
        `one of ${candidates.map(({ name }) => name).join(", ")} leads and writes`,
        Effect.sync(() => {
          const writer = history.writes.at(-1)?.writer
          return candidates.find(({ name, state }) => name === writer && state().leading)
        }),
        (replica) => replica !== undefined
      ).pipe(Effect.flatMap(Effect.fromNullishOr))
    const orderly: Array<number> = []
    const believers: Array<string> = []

    for (let n = 0; n < times; n++) {
      const leader = yield* atWork(replicas)
      const others = replicas.filter((replica) => replica !== leader)
      const way = ways[n % ways.length]
      const began = yield* Clock.currentTimeMillis
      if (way === "stopped") yield* Effect.forkScoped(leader.stop)
      else leader.line.condition = Math.floor(n / ways.length) % 2 === 0 ? "silent" : "refused"
      yield* atWork(others)
      if (leader.state().leading) believers.push(leader.name)
      const isClear = [1, 2].every((back) => ways[(n - back) % ways.length] !== "cut off")
      if (way === "stopped" && isClear) orderly.push((yield* Clock.currentTimeMillis) - began)
      if (way === "cut off") leader.line.condition = "up"
      else replicas.splice(replicas.indexOf(leader), 1, yield* start)
    }
    yield* atWork(replicas)
    return { history, orderly, believers }
  })
