/** A restarted manager corrects changes during its absence, and writes nothing else. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Deployment, Service } from "@homeostat/runtime/resource/BuiltIn"
import * as Crd from "@homeostat/runtime/resource/Crd"
import { controllerOf } from "@homeostat/runtime/resource/KubernetesObject"
import { controller } from "@homeostat/webapp"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Rest from "../Rest.ts"
import { isRolledOut } from "../webapp/Scene.ts"
import { on } from "./Chore.ts"
import * as Counted from "./Counted.ts"
import { create, snapshot } from "./Snapshot.ts"

const names = Array.from({ length: 20 }, (_, index) => `app-${index}`)

const isRunning = ({ metadata, status }: WebApp): boolean =>
  status?.phase === "Running" && status.observedGeneration === metadata.generation

const running = (namespace: string, count: number) =>
  Managed.eventually(
    `${count} running WebApps`,
    Effect.map(Client.list(WebApp, { namespace }), ({ items }) => items.filter(isRunning).length),
    (found) => found === count,
    "60 seconds"
  )

describe("A restarted manager", () => {
  on([Crd.of(WebApp)])(
    "corrects changes during its absence, and writes nothing else",
    ({ cluster, namespace }) =>
      Effect.gen(function* () {
        const settings = { namespaces: [namespace] }
        yield* Effect.scoped(
          Effect.gen(function* () {
            const manager = yield* Managed.start(cluster, [controller], settings)
            yield* Effect.forEach(names, (name) => create(namespace, name), { concurrency: 8 })
            yield* running(namespace, 20)
            yield* Managed.eventually("the end of the rollouts", Client.list(Deployment, { namespace }), ({ items }) =>
              items.every(isRolledOut)
            )
            yield* Rest.of(manager)
          })
        )

        const before = yield* snapshot(namespace)
        yield* Effect.scoped(
          Effect.gen(function* () {
            const manager = yield* Counted.start(cluster.admin, [controller], settings)
            yield* Managed.eventually(
              "a reconcile of each",
              Effect.sync(() => new Set(manager.attempts.map(({ key }) => key)).size),
              (keys) => keys === names.length
            )
            yield* Rest.of(manager)
            // One list of each kind, and nothing else.
            expect(manager.requests.filter((request) => !/^GET .*\/[a-z]+s$/.test(request))).toEqual([])
            expect(new Set(manager.requests).size).toBe(manager.requests.length)
            expect(manager.writes).toEqual([])
            expect(manager.warnings).toEqual([])
            expect(manager.attempts.map(({ outcome }) => outcome._tag)).toEqual(names.map(() => "Done"))
          })
        )
        expect(yield* snapshot(namespace)).toEqual(before)

        // Creates and deletes WebApps without a manager, changes the child of one, and deletes the child of another.
        yield* create(namespace, "new")
        yield* Client.delete(WebApp, { namespace, name: "app-0" })
        const drifted = { namespace, name: "app-1" }
        yield* Client.patch(Deployment, drifted, Patch.merge({ spec: { replicas: 0 } }), { fieldManager: "other" })
        yield* Client.delete(Service, { namespace, name: "app-2" })
        yield* Managed.eventually(
          "the removal of the deleted children",
          Effect.map(Client.list(Deployment, { namespace }), ({ items }) => items.length),
          (count) => count === 19
        )

        const manager = yield* Counted.start(cluster.admin, [controller], settings)
        yield* running(namespace, 20)
        const service = yield* Managed.eventually(
          "the lost Service",
          Client.get(Service, { namespace, name: "app-2" }),
          (service) => controllerOf(service)?.name === "app-2"
        )
        expect(service.spec?.ports?.map(({ port }) => port)).toEqual([8080])
        const { spec } = yield* Managed.eventually(
          "the drifted Deployment",
          Client.get(Deployment, drifted),
          ({ spec }) => spec?.replicas === 1
        )
        expect(spec?.replicas).toBe(1)
        // One write for each difference.
        const applied = manager.writes.filter((write) => write.startsWith("apply"))
        expect(applied.toSorted()).toEqual([
          "apply Deployment app-1",
          "apply Deployment new",
          "apply Service app-2",
          "apply Service new"
        ])
        expect(manager.writes.filter((write) => /app-(?![12]\b)/.test(write))).toEqual([])
        expect(manager.warnings).toEqual([])
      }),
    240_000
  )
})
