import { expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Manager from "@homeostat/runtime/manager/Manager"
import * as Crd from "@homeostat/runtime/resource/Crd"
import { eventually } from "@homeostat/testkit/Eventually"
import * as Harness from "@homeostat/testkit/Harness"
import { effect } from "@homeostat/testkit/Test"
import { controller } from "@homeostat/webapp"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as Counted from "./Counted.ts"

const count = 5

effect(`A manager sends nothing for 15 minutes while ${count} running WebApps do not change`, () =>
  Effect.gen(function* () {
    const requests: Array<string> = []
    const counted = { requests, exchanges: [], watches: [], pending: 0 }
    const manager = Effect.provide(Manager.launch([controller]), Counted.counting(counted))
    yield* Harness.run({ crds: [Crd.of(WebApp)], manager }, ({ server }) =>
      Effect.gen(function* () {
        for (let index = 0; index < count; index++) {
          const metadata = { namespace: "default", name: `app-${index}` }
          yield* Client.create(WebApp, { metadata, spec: { image: "registry.test/web:1", replicas: 1 } })
        }
        yield* eventually("all running WebApps", Client.list(WebApp, { namespace: "default" }), ({ items }) =>
          items.every(({ status }) => status?.phase === "Running")
        )
        // The manager sends Events a few seconds late.
        yield* TestClock.adjust("1 minute")
        const before = { requests: requests.length, revision: server.store.revision }
        expect(before.requests).toBeGreaterThanOrEqual(3 * count)
        yield* TestClock.adjust("15 minutes")
        // The cluster does not serve HTTPRoute, for which the manager looks every 30 to 45 seconds.
        expect(requests.slice(before.requests).filter((request) => !request.endsWith("/httproutes"))).toEqual([])
        expect(server.store.revision).toBe(before.revision)
      })
    )
  })
)
