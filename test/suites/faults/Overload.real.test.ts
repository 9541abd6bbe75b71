/** A manager with an overloaded API server, and with one that closes connections by GOAWAY. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import type { Exchange } from "../runtime/Counted.ts"
import * as Granted from "./Granted.ts"
import { converged, create, metric, plane, real, sent } from "./Wired.ts"

/** The milliseconds between each 429 and the retry of the same request. */
const waits = (exchanges: ReadonlyArray<Exchange>): ReadonlyArray<number> =>
  exchanges.flatMap(({ at, request, status }, index) => {
    // All Events are posted to one path, so the retry of an Event cannot be identified.
    const again =
      status === 429 && !request.startsWith("POST")
        ? exchanges.slice(index + 1).find((next) => next.request === request)
        : undefined
    return again === undefined ? [] : [again.at - at]
  })

describe("A manager that gets TooManyRequests", () => {
  real(
    "waits for Retry-After, sends few additional requests, and converges",
    (place) =>
      Effect.gen(function* () {
        const { manager, namespace } = place
        const count = 40
        const [before, requested] = [sent(place), manager.exchanges.length]
        yield* create(place, "app", count)
        yield* converged(place, "60 seconds")
        const exchanges = manager.exchanges.slice(requested)
        const refused = exchanges.filter(({ status }) => status === 429)
        expect(refused.length).toBeGreaterThan(0)
        expect(metric(place, "rest_client_requests_total", { code: "429" })).toBeGreaterThanOrEqual(refused.length)
        // The server asks for a delay of one second. Both times are measured at the client, so the limit leaves 50 ms.
        const waited = waits(exchanges)
        // The count of concurrent requests depends on the machine.
        expect(waited.length).toBeGreaterThan(count / 4)
        expect(waited.filter((wait) => wait < 950)).toEqual([])
        // A WebApp needs two children and one or two status writes. Each 429 adds one request.
        expect(sent(place) - before - refused.length).toBeLessThan(count * 6)
        expect(refused.length).toBeLessThan(count * 10)
        expect((yield* Client.list(WebApp, { namespace })).items.length).toBe(count)
      }),
    {
      apiServerFlags: [
        "--max-requests-inflight=1",
        "--max-mutating-requests-inflight=1",
        "--enable-priority-and-fairness=false"
      ],
      controllers: false,
      apps: 0,
      user: (cluster, namespace) => Effect.map(Granted.user(cluster, namespace), ({ user }) => user),
      timeoutMillis: 180_000
    }
  )
})

describe("A manager whose connection is closed by GOAWAY now and then", () => {
  real(
    "continues on new connections without failures, lost changes or repeated writes",
    (place) =>
      Effect.gen(function* () {
        const { manager, proxy } = place
        const count = 120
        const [before, { connections }] = [sent(place), proxy.counted()]
        yield* create(place, "more", count)
        yield* converged(place, "60 seconds")
        expect(proxy.counted().connections).toBeGreaterThan(connections)
        expect(manager.warnings).toEqual([])
        expect(manager.attempts.filter(({ outcome }) => outcome._tag !== "Done")).toEqual([])
        expect(manager.writes.filter((write) => write === "apply Deployment more-7")).toHaveLength(1)
        expect(metric(place, "homeostat_watch_relists_total")).toBe(0)
        expect(sent(place) - before).toBeLessThan(count * 6)
      }),
    { apiServerFlags: ["--goaway-chance=0.02"], ...plane, timeoutMillis: 180_000 }
  )
})
