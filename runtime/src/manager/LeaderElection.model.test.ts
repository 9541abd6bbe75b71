/**
 * Elections under random faults: replicas that are disconnected, slow, killed, stopped and started, clocks that jump, and a server that
 * rejects requests. A leadership must not begin while the former leader could still send a write. After all faults, one replica leads.
 */
import { describe, expect, test } from "bun:test"
import * as Faults from "@homeostat/testkit/Faults"
import * as Seed from "@homeostat/testkit/Seed.fixture"
import { live } from "@homeostat/testkit/Test"
import * as VirtualTime from "@homeostat/testkit/VirtualTime"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as References from "effect/References"
import * as Cluster from "../client/Cluster.fixture.ts"
import { Lease } from "../resource/BuiltIn.ts"
import * as Replica from "./Replica.fixture.ts"

const conditions: ReadonlyArray<Replica.Condition> = ["up", "up", "refused", "silent", "deaf", 200, 3000, 8000]

const faults = [
  [{ verb: "update" }, Faults.answer(500)],
  [{ verb: "update" }, Faults.conflict],
  [{ verb: "get" }, Faults.unavailable],
  [{ verb: "watch" }, Faults.answer(403)],
  [{ verb: undefined }, Faults.lost]
] as const

/** One schedule of this many steps, and its violations. */
const play = (steps: number, pass: VirtualTime.VirtualTime["pass"]) =>
  Effect.gen(function* () {
    const server = yield* Cluster.make()
    const replicas: Array<Replica.Replica> = []
    const violations: Array<string> = []
    const history: Array<string> = []
    let terms = 0
    let names = 0
    const note = (line: string) =>
      Effect.map(Clock.Clock, (clock) => void history.push(`${clock.currentTimeMillisUnsafe()} ${line}`))

    const add = Effect.gen(function* () {
      const name = `r${++names}`
      const others = () => replicas.filter((other) => other.name !== name && other.mayWrite())
      const began = () => {
        terms++
        history.push(`${name} leads`)
        for (const other of others()) violations.push(`${name} begins while ${other.name} may write`)
      }
      const drainMillis = yield* Random.nextIntBetween(0, 4000, { halfOpen: true })
      replicas.push(yield* Replica.start(server, name, { began, drainMillis }))
    })
    const pick = <A>(from: ReadonlyArray<A>) =>
      Effect.map(Random.nextIntBetween(0, from.length, { halfOpen: true }), (index) => from[index] as A)
    const remove = (replica: Replica.Replica) => Effect.sync(() => replicas.splice(replicas.indexOf(replica), 1))

    yield* Effect.replicateEffect(add, 3)
    for (let step = 0; step < steps; step++) {
      const replica = yield* pick(replicas)
      const dice = yield* Random.nextIntBetween(0, 100, { halfOpen: true })
      if (dice < 45) {
        replica.line.condition = yield* pick(conditions)
        yield* note(`${replica.name} is ${replica.line.condition}`)
      } else if (dice < 55) {
        yield* note(`${replica.name} is stopped`)
        yield* replica.stop
        yield* add
        // The replica is observed until it has ended.
        yield* pass(5000)
        yield* replica.kill
        yield* remove(replica)
      } else if (dice < 63) {
        yield* note(`${replica.name} is killed`)
        yield* replica.kill
        yield* remove(replica)
        yield* add
      } else if (dice < 70) {
        replica.skew = yield* Random.nextIntBetween(-7_200_000, 7_200_000, { halfOpen: true })
      } else if (dice < 85) {
        const [what, fault] = yield* pick(faults)
        server.faults.on({ ...what, kind: Lease }, fault, {
          times: yield* Random.nextIntBetween(1, 6, { halfOpen: true })
        })
        yield* note(`${what.verb ?? "every request"} fails: ${JSON.stringify(fault)}`)
      } else if (dice < 90 && Replica.holder(server) !== undefined) {
        server.change(Lease, "homeostat", { metadata: { labels: { touched: String(step) } } })
      }
      yield* pass(yield* Random.nextIntBetween(0, 7000, { halfOpen: true }))
    }
    for (const replica of replicas) replica.line.condition = "up"
    yield* pass(60_000)
    return { violations, history, terms, leaders: replicas.filter((replica) => replica.leads()).length }
  }).pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "None"))

/** The number of schedules; `SCHEDULES=1000 bun test …` runs more. */
const schedules = Number(process.env.SCHEDULES ?? 25)

describe("For any history of replicas, connections, clocks and the server,", () => {
  let all = 0
  for (let schedule = 1; schedule <= schedules; schedule++) {
    live(
      `at most one replica may write, and one leads at the end (schedule ${schedule})`,
      () =>
        Effect.gen(function* () {
          const { pass, within } = VirtualTime.make()
          const { history, leaders, terms, violations } = yield* play(40, pass).pipe(
            within,
            Random.withSeed(Seed.current() + schedule)
          )
          expect({ violations, leaders, history: violations.length > 0 || leaders !== 1 ? history : [] }).toEqual({
            violations: [],
            leaders: 1,
            history: []
          })
          all += terms
        }),
      30_000
    )
  }

  // One schedule may happen to keep its leader.
  test("the schedules change the leader", () => expect(all).toBeGreaterThan(2 * schedules))
})
