/** Managers whose objects are as wanted: they write nothing, and another reconcile sends nothing. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Deployment, Event, Service } from "@homeostat/runtime/resource/BuiltIn"
import { type KubernetesObject, keyString } from "@homeostat/runtime/resource/KubernetesObject"
import type * as Resource from "@homeostat/runtime/resource/Resource"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import * as Shared from "@homeostat/testkit/Shared"
import { controller } from "@homeostat/webapp"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Binary from "../binary/Binary.ts"
import * as Endpoint from "../binary/Endpoint.ts"
import { definitions } from "../binary/Scene.ts"
import * as LeapClock from "../LeapClock.ts"
import * as Managed from "../Managed.ts"
import * as Rest from "../Rest.ts"
import { isRolledOut } from "../webapp/Scene.ts"
import * as Counted from "./Counted.ts"

const count = 50

const create = (namespace: string, index: number) =>
  Client.create(WebApp, {
    metadata: { namespace, name: `app-${index}` },
    spec: { image: "registry.test/web:1", replicas: 1 }
  })

const versionsOf = <A extends KubernetesObject>(
  kind: Resource.Resource<A, never>,
  namespace: string,
  counts: (object: A) => boolean = () => true
) =>
  Effect.map(Client.list(kind, { namespace }), ({ items }) =>
    items
      .filter(counts)
      .map(({ metadata }) => `${kind.kind} ${metadata.name} ${metadata.resourceVersion}`)
      .sort()
  )

/**
 * Every object that a manager could write, with its resourceVersion: a write that changes anything shows. kube-controller-manager
 * sends its Events about Deployments late.
 */
const snapshot = (namespace: string) =>
  Effect.map(
    Effect.all([
      versionsOf(WebApp, namespace),
      versionsOf(Deployment, namespace),
      versionsOf(Service, namespace),
      versionsOf(Event, namespace, ({ regarding }) => regarding?.kind === "WebApp")
    ]),
    (lists) => lists.flat()
  )

describe("With fifty WebApps that run as they should", () => {
  Shared.cluster(
    "a manager sends nothing for a minute, the binary beside it writes nothing, and a reconcile with nothing to do sends nothing",
    (cluster) =>
      Effect.gen(function* () {
        yield* cluster.install(...definitions)
        const namespace = yield* cluster.namespace("idle")
        const { clock, leap } = LeapClock.make()
        const manager = yield* Counted.start(cluster.admin, [controller], { namespaces: [namespace] }).pipe(
          Effect.withClock(clock)
        )
        yield* Counted.started(manager)
        yield* Effect.forEach(
          Array.from({ length: count }, (_, index) => index),
          (index) => create(namespace, index),
          { concurrency: 8 }
        )
        yield* Managed.eventually(
          "that all of them run",
          Effect.map(
            Client.list(WebApp, { namespace }),
            ({ items }) => items.filter(({ status }) => status?.phase === "Running").length
          ),
          (running) => running === count,
          "120 seconds"
        )
        yield* Managed.eventually("that the rollouts are over", Client.list(Deployment, { namespace }), ({ items }) =>
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
          yield* program.written(new RegExp(`Controller ${name} starts`))
        const metric = (name: string) => Endpoint.metric(program, name)
        yield* Managed.eventually(
          "that the binary has looked at all of them",
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
        for (let seconds = 0; seconds < 60; seconds += 10) yield* leap("10 seconds")
        yield* Rest.of(manager)
        expect(manager.requests.slice(requests)).toEqual([])
        expect(manager.writes.slice(writes)).toEqual([])
        expect(manager.attempts.length).toBe(attempts)
        expect(yield* snapshot(namespace)).toEqual(before)

        // Something that changes nothing happens to one of them: it is looked at, and that is all.
        const key = { namespace, name: "app-7" }
        yield* Client.patch(WebApp, key, Patch.merge({ metadata: { labels: { touched: "yes" } } }))
        yield* Managed.eventually(
          "a reconcile",
          Effect.sync(() => manager.attempts.slice(attempts)),
          ({ length }) => length > 0
        )
        yield* Rest.of(manager)
        const looked = manager.attempts.slice(attempts)
        expect(looked.map(({ key, outcome }) => `${key} ${outcome._tag}`)).toEqual([`${keyString(key)} Done`])
        expect(manager.requests.slice(requests)).toEqual([])
        expect(manager.warnings).toEqual([])

        yield* program.signal("SIGTERM")
        const end = yield* program.ended("10 seconds")
        expect(end.code).toBe(0)
        expect(end.stderr).not.toMatch(/"level":"(warn|error)"/)
      }).pipe((test) => Effect.flatMap(Managed.client(cluster), (client) => Effect.provide(test, client))),
    { ...Envtest.everything, timeoutMillis: 300_000 }
  )
})
