/** Children of a controller that other managers write, too. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Owned from "@homeostat/runtime/controller/Owned"
import * as Result from "@homeostat/runtime/controller/Result"
import { ConfigMap, Deployment } from "@homeostat/runtime/resource/BuiltIn"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import { Chore, create, type Place, placed, touch } from "./Chore.ts"

const key = ({ namespace }: Place) => ({ namespace, name: "sweep" })

/** Writes that bypass the cache of the manager. */
const others = Effect.map(
  Client.Client,
  (client) =>
    <A, E>(effect: Effect.Effect<A, E, Client.Client>): Effect.Effect<A, E> =>
      Effect.provideService(effect, Client.Client, client)
)

/** Applies a child, and returns `applied` or the tag of the error. */
const applied = (chore: Chore) =>
  Owned.apply(chore, ConfigMap, { metadata: { name: chore.metadata.name }, data: { ours: "1" } }).pipe(
    Effect.as("applied"),
    Effect.catch(({ _tag }) => Effect.succeed(_tag))
  )

describe.concurrent("A child", () => {
  placed("that another manager creates at the same time gets no write", (place) =>
    Effect.gen(function* () {
      const asOthers = yield* others
      const outcomes: Array<string> = []
      const controller = Controller.make("chores", {
        for: Chore,
        owns: [ConfigMap],
        reconcile: (chore) =>
          Effect.gen(function* () {
            if (outcomes.length === 0) {
              const precious = { metadata: key(place), data: { precious: "of another manager" } }
              yield* asOthers(Client.create(ConfigMap, precious, { fieldManager: "other" }))
            }
            outcomes.push(yield* applied(chore))
            return Result.done
          })
      })
      yield* Managed.start(place.cluster, [controller], { namespaces: [place.namespace] })
      yield* create(place, "sweep")
      const attempts = (count: number) =>
        Managed.eventually(
          `attempt ${count}`,
          Effect.sync(() => outcomes),
          ({ length }) => length >= count
        )
      yield* attempts(1)
      yield* touch(key(place), "again")
      yield* attempts(2)
      expect(new Set(outcomes)).toEqual(new Set(["NotOwned"]))
      const { data, metadata } = yield* Client.get(ConfigMap, key(place))
      expect(data).toEqual({ precious: "of another manager" })
      expect(metadata.ownerReferences).toBeUndefined()
      expect(metadata.managedFields?.map(({ manager }) => manager)).toEqual(["other"])
    })
  )

  placed(
    "keeps its generation if the server drops values, and is corrected when values or the order of items change",
    (place) =>
      Effect.gen(function* () {
        const container = {
          name: "app",
          image: "registry.test/web:1",
          args: [],
          env: [
            { name: "A", value: "1" },
            { name: "B", value: "$(A)" },
            { name: "C", value: "" }
          ],
          resources: { limits: { cpu: "1000m" } }
        }
        const labels = { app: "sweep", flag: "" }
        let runs = 0
        const controller = Controller.make("chores", {
          for: Chore,
          owns: [Deployment],
          reconcile: (chore) =>
            Effect.gen(function* () {
              yield* Owned.apply(chore, Deployment, {
                metadata: { name: chore.metadata.name, labels },
                spec: {
                  replicas: 0,
                  selector: { matchLabels: { app: "sweep" } },
                  template: { metadata: { labels }, spec: { containers: [container] } }
                }
              })
              runs++
              return Result.done
            })
        })
        const start = Managed.start(place.cluster, [controller], { namespaces: [place.namespace] })
        const live = Client.get(Deployment, key(place))
        const reconciled = Effect.suspend(() => {
          const before = runs
          return Effect.andThen(
            touch(key(place), String(before)),
            Managed.eventually(
              "another attempt",
              Effect.sync(() => runs),
              (now) => now > before
            )
          )
        })
        yield* create(place, "sweep")
        const first = yield* Effect.scoped(
          Effect.gen(function* () {
            yield* start
            yield* Managed.eventually(
              "an attempt",
              Effect.sync(() => runs),
              (now) => now > 0
            )
            const made = yield* live
            for (let time = 0; time < 3; time++) yield* reconciled
            expect((yield* live).metadata.generation).toBe(made.metadata.generation)
            return made
          })
        )
        yield* start
        for (let time = 0; time < 3; time++) yield* reconciled
        expect((yield* live).metadata.generation).toBe(first.metadata.generation)

        yield* Client.patch(
          Deployment,
          key(place),
          Patch.json([
            { op: "remove", path: "/metadata/labels/flag" },
            { op: "add", path: "/spec/template/spec/containers/0/args", value: ["--debug"] },
            { op: "replace", path: "/spec/template/spec/containers/0/env", value: container.env.toReversed() }
          ]),
          { fieldManager: "other" }
        )
        const [app] =
          (yield* Managed.eventually(
            "the correction",
            live,
            ({ metadata, spec }) =>
              metadata.labels?.flag === "" && spec?.template.spec?.containers[0]?.args === undefined
          )).spec?.template.spec?.containers ?? []
        expect(app?.env?.map(({ name }) => name)).toEqual(["A", "B", "C"])
      })
  )

  placed("that is a copy of another child is not adopted, and an orphan is", (place) =>
    Effect.gen(function* () {
      const { namespace } = place
      const outcomes: Array<string> = []
      const controller = Controller.make("chores", {
        for: Chore,
        owns: [ConfigMap],
        reconcile: (chore) =>
          Effect.gen(function* () {
            outcomes.push(`${chore.metadata.name} ${yield* applied(chore)}`)
            return Result.done
          })
      })
      yield* Managed.start(place.cluster, [controller], { namespaces: [namespace] })
      const reconciled = (outcome: string) =>
        Managed.eventually(
          outcome,
          Effect.sync(() => outcomes),
          (all) => all.includes(outcome)
        )
      yield* create(place, "sweep")
      yield* reconciled("sweep applied")
      const { data = {}, metadata } = yield* Client.get(ConfigMap, key(place))
      const { annotations = {} } = metadata
      yield* Client.create(
        ConfigMap,
        { metadata: { namespace, name: "copy", annotations }, data },
        { fieldManager: "kubectl" }
      )
      yield* create(place, "copy")
      yield* reconciled("copy NotOwned")

      yield* Client.delete(Chore, key(place), { propagation: "Orphan" })
      const holders = Effect.map(Client.get(ConfigMap, key(place)), ({ metadata }) => metadata.ownerReferences ?? [])
      yield* Managed.eventually("the orphan", holders, ({ length }) => length === 0)
      // The garbage collector removes the owner after it has released the dependents.
      const owners = Effect.map(Client.list(Chore, { namespace }), ({ items }) =>
        items.map(({ metadata }) => metadata.name)
      )
      yield* Managed.eventually("the end of the owner", owners, (names) => !names.includes("sweep"))
      const { metadata: owner } = yield* create(place, "sweep")
      yield* Managed.eventually("the adoption", holders, ([holder]) => holder?.uid === owner.uid)
    })
  )

  placed("is created by an apply with a resourceVersion, which fails where an object exists", (place) =>
    Effect.gen(function* () {
      const apply = (data: { readonly [key: string]: string }, force: boolean) =>
        Client.apply(ConfigMap, { metadata: { ...key(place), resourceVersion: "1" }, data }, { force })
      const made = yield* apply({ a: "1" }, false)
      expect(made.data).toEqual({ a: "1" })
      for (const force of [false, true]) {
        expect((yield* Effect.flip(apply({ a: "1" }, force)))._tag).toBe("Conflict")
        expect((yield* Effect.flip(apply({ b: "2" }, force)))._tag).toBe("Conflict")
      }
      expect(yield* Client.get(ConfigMap, key(place))).toEqual(made)
    })
  )
})
