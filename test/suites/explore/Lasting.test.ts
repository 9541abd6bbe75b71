/** The run of a story with one process for all steps, and correct controllers that it must not report. */
import { describe, expect } from "bun:test"
import * as Cache from "@homeostat/runtime/cache/Cache"
import * as Client from "@homeostat/runtime/client/Client"
import * as Access from "@homeostat/runtime/controller/Access"
import * as Owned from "@homeostat/runtime/controller/Owned"
import { ConfigMap, Secret } from "@homeostat/runtime/resource/BuiltIn"
import { keyOf } from "@homeostat/runtime/resource/KubernetesObject"
import * as Explore from "@homeostat/testkit/Explore"
import { live } from "@homeostat/testkit/Test"
import { Effect, Option } from "effect"
import { memories } from "./Memories.ts"
import {
  apply,
  change,
  controller,
  create,
  isOwned,
  key,
  owner,
  type Program,
  plain,
  remove,
  resize,
  storyOf,
  Volume
} from "./Mutant.ts"

const limitMillis = 60_000

/** Returns the promises that a program breaks, each with its step. */
const brokenBy = (program: Program, steps: ReadonlyArray<Explore.StoryOptions["steps"][number]>, options = {}) =>
  Effect.map(Explore.run(storyOf(program, { ...correct, steps }), { faults: [], ...options }), ({ violations }) =>
    violations.map(({ message, oracle, schedule }) => ({ step: schedule.step, oracle, message }))
  )

const correct = { name: "", oracle: "lasting", fault: "none", mutant: plain, twin: plain } as const

const once = memories.find(({ name }) => name.startsWith("creates its child only once"))
if (once === undefined) throw new Error("mutant not found")

/** Creates a child with a generated name for each size, and deletes those of other sizes. */
const runs: Program = () => [
  controller(
    (volume) =>
      Effect.gen(function* () {
        const { items } = yield* Client.list(ConfigMap, { namespace: key.namespace })
        const own = items.filter((child) => isOwned(child, volume))
        const size = String(volume.spec.size)
        if (!own.some(({ data }) => data?.size === size)) {
          const metadata = { namespace: key.namespace, generateName: "v-", ownerReferences: [owner(volume)] }
          yield* Client.create(ConfigMap, { metadata, data: { size } })
        }
        for (const child of own) if (child.data?.size !== size) yield* Client.delete(ConfigMap, keyOf(child))
      }),
    [Access.create(ConfigMap), Access.list(ConfigMap), Access.delete(ConfigMap)]
  )
]

const login = { namespace: key.namespace, name: "login" }

/** Fails until a Secret exists that it does not watch. */
const waiting: Program = () => [
  controller((volume) => Effect.andThen(Client.get(Secret, login), apply(volume, "data")), [Access.get(Secret)])
]

const third = change("resize again", { size: 7 })

/** Has a defect in the first attempt with a third size. */
const defect: Program = () => {
  const sizes = new Set<number>()
  let isThrown = false
  return [
    controller((volume) => {
      sizes.add(volume.spec.size)
      if (sizes.size < 3 || isThrown) return apply(volume, "data")
      isThrown = true
      return Effect.die(new Error("three sizes"))
    })
  ]
}

describe("One process for all steps", () => {
  live(
    "creates and deletes the same generated names as new processes",
    () => Effect.map(brokenBy(runs, [create(), resize, third, remove]), (broken) => expect(broken).toEqual([])),
    limitMillis
  )

  live(
    "comes to rest after a long back-off",
    () =>
      Effect.gen(function* () {
        const secret = Explore.step("Secret created", Client.create(Secret, { metadata: login }))
        expect(yield* brokenBy(waiting, [create(), resize, secret])).toEqual([])
      }),
    limitMillis
  )

  live(
    "stops at the step of a defect",
    () =>
      Effect.gen(function* () {
        const broken = yield* brokenBy(defect, [create(), resize, third, change("note", { note: "x" }), remove])
        expect(broken).toMatchObject([{ step: 2, oracle: "no defect" }])
      }),
    limitMillis
  )

  live(
    "does not run with lasting: false",
    () =>
      Effect.gen(function* () {
        const story = storyOf(once.mutant, once)
        const found = yield* Explore.run({ ...story, lasting: false }, { faults: [] })
        expect(found.violations).toEqual([])
      }),
    limitMillis
  )

  live(
    "shows its requests beside those of a new process",
    () =>
      Effect.gen(function* () {
        const { trace, violations } = yield* Explore.run(storyOf(once.mutant, once), { only: "1" })
        expect(violations).toHaveLength(1)
        const [before = "", after = ""] = trace.join("\n").split("with one process for all steps:\n")
        expect(before).toContain("PATCH configmaps/default/v-data → 201")
        expect(after).not.toContain("PATCH configmaps/default/v-data")
      }),
    limitMillis
  )

  live(
    "does not fail the run of another schedule",
    () =>
      Effect.gen(function* () {
        const { schedules, violations } = yield* Explore.run(storyOf(once.mutant, once), { only: "0/r0.lost" })
        expect({ schedules, violations }).toEqual({ schedules: 1, violations: [] })
      }),
    limitMillis
  )
})

/** Copies a ConfigMap of a user into its child. */
const copying: Program = () => [
  controller((volume) =>
    Effect.flatMap(Cache.get(ConfigMap, { namespace: key.namespace, name: "users" }), (found) =>
      apply(volume, "data", { v: Option.match(found, { onNone: () => "", onSome: ({ data }) => data?.v ?? "" }) })
    )
  )
]

live(
  "the specs of an end include the objects of users that the program reads",
  () =>
    Effect.gen(function* () {
      const users = Explore.step(
        "ConfigMap created",
        Client.create(ConfigMap, { metadata: { namespace: key.namespace, name: "users" }, data: { v: "1" } })
      )
      const story = storyOf(copying, { ...correct, steps: [users, create(), resize], fromSpecs: true })
      const { violations } = yield* Explore.run(story, { faults: [] })
      expect(violations).toEqual([])
    }),
  limitMillis
)

live(
  "each crash is at its own write if several objects write at the same time",
  () =>
    Effect.gen(function* () {
      const make = (name: string) =>
        Client.create(Volume, { metadata: { namespace: key.namespace, name }, spec: { size: 1 } })
      const two: Program = () => [
        controller((volume) =>
          Effect.andThen(
            Owned.apply(volume, ConfigMap, { metadata: { name: `${volume.metadata.name}-one` } }),
            Owned.apply(volume, ConfigMap, { metadata: { name: `${volume.metadata.name}-two` } })
          )
        )
      ]
      const steps = [Explore.step("create two", Effect.andThen(make("a"), make("b")))]
      expect(yield* brokenBy(two, steps, { faults: ["Crash"] })).toEqual([])
    }),
  limitMillis
)
