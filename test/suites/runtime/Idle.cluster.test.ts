/** A cluster that is as its objects want: no manager writes anything, and another reconcile asks the server nothing. */
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
import { Effect, Schedule } from "effect"
import * as Binary from "../binary/Binary.ts"
import * as Running from "../binary/Running.ts"
import { definitions } from "../binary/Scene.ts"
import * as Managed from "../Managed.ts"
import * as Counted from "./Counted.ts"

const count = 200

const create = (namespace: string, index: number) =>
  Client.create(WebApp, {
    metadata: { namespace, name: `app-${index}` },
    spec: { image: "registry.test/web:1", replicas: 1 }
  })

const versionsOf = <A extends KubernetesObject>(kind: Resource.Resource<A, never>, namespace: string) =>
  Effect.map(Client.list(kind, { namespace }), ({ items }) =>
    items.map(({ metadata }) => `${kind.kind} ${metadata.name} ${metadata.resourceVersion}`).sort()
  )

/** Every object that a manager could write, with its resourceVersion: a write that changes anything shows. */
const snapshot = (namespace: string) =>
  Effect.map(
    Effect.forEach([WebApp, Deployment, Service, Event], (kind: Resource.Resource<KubernetesObject, never>) =>
      versionsOf(kind, namespace)
    ),
    (lists) => lists.flat()
  )

describe("With two hundred WebApps that run as they should", () => {
  Shared.cluster(
    "a manager and the binary beside it write nothing and ask nothing for ten seconds, and a reconcile with nothing to do asks nothing either",
    (cluster) =>
      Effect.gen(function* () {
        yield* cluster.install(...definitions)
        const namespace = yield* cluster.namespace("idle")
        const manager = yield* Counted.start(cluster.admin, [controller], { namespaces: [namespace] })
        yield* Counted.started(manager)
        const begun = performance.now()
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
        process.stdout.write(`  ${count} WebApps run after ${Math.round(performance.now() - begun)} ms\n`)
        yield* Managed.stays("the objects", snapshot(namespace)).pipe(Effect.retry(Schedule.recurUpTo("60 seconds")))

        const program = yield* Binary.start(
          ["run", "--kubeconfig", cluster.admin.kubeconfigPath, "--namespace", namespace],
          Binary.bare(cluster.directory)
        )
        const before = yield* snapshot(namespace)
        expect(before.length).toBeGreaterThanOrEqual(3 * count)
        const [requests, writes, attempts] = [manager.requests.length, manager.writes.length, manager.attempts.length]
        for (const name of ["webapp", "backup", "restore"])
          yield* program.written(new RegExp(`Controller ${name} starts`))
        yield* Effect.sleep("10 seconds")
        expect(manager.requests.slice(requests)).toEqual([])
        expect(manager.writes.slice(writes)).toEqual([])
        expect(manager.attempts.length).toBe(attempts)
        expect(yield* snapshot(namespace)).toEqual(before)
        const resident = yield* Running.residentMiB(program.pid)
        process.stdout.write(`  the binary holds ${Math.round(resident)} MiB with ${count} idle WebApps\n`)
        expect(resident).toBeLessThan(250)

        // Something that changes nothing happens to one of them: it is looked at, and that is all.
        const key = { namespace, name: "app-7" }
        yield* Client.patch(WebApp, key, Patch.merge({ metadata: { labels: { touched: "yes" } } }))
        yield* Managed.eventually(
          "a reconcile",
          Effect.sync(() => manager.attempts.slice(attempts)),
          ({ length }) => length > 0
        )
        yield* Effect.sleep("1 seconds")
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
