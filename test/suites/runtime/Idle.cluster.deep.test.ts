/** Idle managers write nothing, and another reconcile sends nothing. */

import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Deployment } from "@homeostat/runtime/resource/BuiltIn"
import { keyString } from "@homeostat/runtime/resource/KubernetesObject"
import * as VirtualTime from "@homeostat/testkit/VirtualTime"
import { controller } from "@homeostat/webapp"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Clock, Effect } from "effect"
import * as Binary from "../binary/Binary.ts"
import * as Endpoint from "../binary/Endpoint.ts"
import { definitions } from "../binary/Scene.ts"
import * as Managed from "../Managed.ts"
import * as Rest from "../Rest.ts"
import { isRolledOut } from "../webapp/Scene.ts"
import { on } from "./Chore.ts"
import * as Counted from "./Counted.ts"
import { create, snapshot } from "./Snapshot.ts"

const count = 50

describe("With fifty running WebApps", () => {
  on(definitions)(
    "a manager sends nothing for a minute, the binary beside it writes nothing, and a reconcile with nothing to do sends nothing",
    ({ cluster, namespace }) =>
      Effect.gen(function* () {
        const { clock, leap } = VirtualTime.leaping()
        const manager = yield* Counted.start(cluster.admin, [controller], { namespaces: [namespace] }).pipe(
          Effect.provideService(Clock.Clock, clock)
        )
        yield* Counted.started(manager)
        yield* Effect.forEach(
          Array.from({ length: count }, (_, index) => index),
          (index) => create(namespace, `app-${index}`),
          { concurrency: 8 }
        )
        yield* Managed.eventually(
          "all running WebApps",
          Effect.map(
            Client.list(WebApp, { namespace }),
            ({ items }) => items.filter(({ status }) => status?.phase === "Running").length
          ),
          (running) => running === count,
          "120 seconds"
        )
        yield* Managed.eventually("the end of the rollouts", Client.list(Deployment, { namespace }), ({ items }) =>
          items.every(isRolledOut)
        )
        yield* Rest.of(manager)

        const before = yield* snapshot(namespace)
        expect(before.length).toBeGreaterThanOrEqual(3 * count)
        const program = yield* Binary.start(
          ["run", "--kubeconfig", cluster.admin.kubeconfigPath, "--namespace", namespace],
          Binary.probed(cluster.directory)
        )
        const [requests, writes, attempts] = [manager.requests.length, manager.writes.length, manager.attempts.length]
        for (const name of ["webapp", "backup", "restore"])
          yield* program.written(new RegExp(`Starting controller ${name}`))
        const metric = (name: string) => Endpoint.metric(program, name)
        yield* Managed.eventually(
          "a reconcile of each by the binary",
          Effect.all({
            done: metric("controller_runtime_reconcile_total"),
            left: Effect.zipWith(
              metric("workqueue_depth"),
              metric("controller_runtime_active_workers"),
              (a, b) => a + b
            )
          }),
          ({ done, left }) => done >= count && left === 0
        )
        for (let seconds = 0; seconds < 60; seconds += 10) {
          yield* leap("10 seconds")
          // Several leaps before the answer to a request would exceed its deadline.
          yield* Managed.eventually("the answers", Effect.sync(manager.pending), (pending) => pending === 0)
        }
        yield* Rest.of(manager)
        // The cluster does not serve HTTPRoute, for which the manager looks every 30 to 45 seconds.
        const sent = () => manager.requests.slice(requests).filter((request) => !request.endsWith("/httproutes"))
        expect(sent()).toEqual([])
        expect(manager.writes.slice(writes)).toEqual([])
        expect(manager.attempts.length).toBe(attempts)
        expect(yield* snapshot(namespace)).toEqual(before)

        // An event without a change causes a reconcile and nothing else.
        const key = { namespace, name: "app-7" }
        yield* Client.patch(WebApp, key, Patch.merge({ metadata: { labels: { touched: "yes" } } }))
        yield* Managed.eventually(
          "a reconcile",
          Effect.sync(() => manager.attempts.slice(attempts)),
          ({ length }) => length > 0
        )
        yield* Rest.of(manager)
        const reconciles = manager.attempts.slice(attempts)
        expect(reconciles.map(({ key, outcome }) => `${key} ${outcome._tag}`)).toEqual([`${keyString(key)} Done`])
        expect(sent()).toEqual([])
        expect(manager.warnings).toEqual([])

        yield* program.signal("SIGTERM")
        const end = yield* program.ended("10 seconds")
        expect(end.code).toBe(0)
        expect(end.stderr).not.toMatch(/"level":"(warn|error)"/)
      }),
    300_000
  )
})
