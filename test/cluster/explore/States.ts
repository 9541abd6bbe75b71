/**
 * Explores the specs of a kind: the state after S1 and then S2 must be that of a new object with S2, and the state after S1, S2 and S1 that
 * of S1.
 */

import type * as Json from "@homeostat/apiserver/model/Json"
import * as Client from "@homeostat/runtime/client/Client"
import type { Any as CustomResource } from "@homeostat/runtime/resource/CustomResource"
import type { ObjectKey } from "@homeostat/runtime/resource/KubernetesObject"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Picture from "./Picture.ts"
import * as Specs from "./Specs.ts"
import type { Story } from "./Story.ts"
import * as World from "./World.ts"

/** A sequence of specs whose end differs from that of a new object. */
export interface PathViolation {
  readonly specs: ReadonlyArray<Json.JsonObject>
  readonly message: string
}

/** The result of an exploration. */
export interface StatesReport {
  readonly violations: ReadonlyArray<PathViolation>
  /** The number of sequences that ran to their end. */
  readonly sequences: number
  /** The number of specs that the API server rejected. */
  readonly rejected: number
  /** The paths of the fields that the specs had. */
  readonly fields: ReadonlySet<string>
}

/** How many simpler sequences the search tries. */
const mostTries = 30

/** The condition Ready of an object that is not ready, in a picture. */
const notReady = /"status":"(False|Unknown)","type":"Ready"/

interface Problem {
  readonly message: string
}

type End = Picture.Picture | Problem | "rejected"

const isProblem = (end: End): end is Problem => typeof end === "object" && "message" in end

/** An end that breaks another promise than that of the same state. */
const problem = (message: string): Problem => ({ message })

/** The end of an object that gets these specs one after the other. */
const end = (
  story: Story,
  kind: CustomResource,
  key: ObjectKey,
  base: World.Moment,
  specs: ReadonlyArray<Json.JsonObject>
): Effect.Effect<End> =>
  World.run(story, { from: base, seed: 7 }, (world) =>
    Effect.gen(function* () {
      world.director.arm([])
      yield* world.start
      yield* world.settle()
      for (const [index, spec] of specs.entries()) {
        const write =
          index === 0
            ? Client.create(kind, { metadata: key, spec } as never)
            : Effect.flatMap(Client.get(kind, key), (current) => Client.replace(kind, { ...current, spec } as never))
        const isAccepted = yield* Effect.isSuccess(Effect.provide(write, world.cluster.client))
        if (!isAccepted) return "rejected" as const
        if (!(yield* world.settle())) return problem("the cluster does not come to rest")
      }
      const [first] = world.seen
      if (first !== undefined) return problem(first.message)
      const storages = new Set(world.director.sent.map(({ asked }) => World.storageOf(asked.collection)))
      const root = World.storageOf(World.collectionOf(kind))
      return Picture.of(world.moment().saved, {
        base: base.saved,
        roots: new Set([root]),
        storages: new Set([...storages, root])
      })
    })
  )

const fieldsOf = (value: Json.Json | undefined, path: string, fields: Set<string>): void => {
  if (Array.isArray(value)) for (const item of value) fieldsOf(item, `${path}[]`, fields)
  else if (typeof value === "object" && value !== null) {
    for (const [name, inner] of Object.entries(value)) fieldsOf(inner, path === "" ? name : `${path}.${name}`, fields)
  } else if (value !== undefined) fields.add(path)
}

/** Explores sequences of two specs each. */
export const explore = (
  story: Story,
  kind: CustomResource,
  key: ObjectKey,
  { runs, seed }: { readonly runs: number; readonly seed: number }
): Effect.Effect<StatesReport> =>
  Effect.gen(function* () {
    const base = yield* World.run(story, { seed }, (world) =>
      Effect.map(Effect.zipRight(world.start, world.settle()), world.moment)
    )
    const play = (specs: ReadonlyArray<Json.JsonObject>) => end(story, kind, key, base, specs)
    /** The difference of a sequence from its last spec alone; undefined without one, `rejected` if a spec is invalid. */
    const compare = (specs: ReadonlyArray<Json.JsonObject>): Effect.Effect<string | undefined> =>
      Effect.gen(function* () {
        const last = specs.at(-1) ?? {}
        const fresh = yield* play([last])
        if (fresh === "rejected") return "rejected"
        if (isProblem(fresh)) return fresh.message
        const actual = yield* play(specs)
        if (actual === "rejected") return "rejected"
        if (isProblem(actual)) return actual.message
        // While a roll-out can't end, old pods serve on, so the status depends on the path.
        const isHealthy = ![...fresh.values()].some((text) => notReady.test(text))
        const differences = Picture.differences(fresh, actual, story.ignore).filter(
          ({ path }) => isHealthy || !path.startsWith("status")
        )
        return differences.length === 0 ? undefined : Picture.show(differences)
      })
    const simplest = (specs: ReadonlyArray<Json.JsonObject>, message: string): Effect.Effect<PathViolation> =>
      Effect.gen(function* () {
        let found = { specs, message }
        let tries = 0
        const candidates = () =>
          found.specs.flatMap((spec, index) => Specs.simpler(spec).map((simpler) => found.specs.with(index, simpler)))
        for (let queue = candidates(); queue.length > 0 && tries < mostTries; ) {
          const [next, ...others] = queue
          tries++
          const difference = next === undefined ? undefined : yield* compare(next)
          if (next !== undefined && difference !== undefined && difference !== "rejected") {
            found = { specs: next, message: difference }
            queue = candidates()
          } else queue = others
        }
        return found
      })

    const fields = new Set<string>()
    const violations: Array<PathViolation> = []
    let sequences = 0
    let rejected = 0
    const accepted: Array<Json.JsonObject> = []
    for (const spec of FastCheck.sample(Specs.of(kind), { numRuns: 8 * runs, seed })) {
      if (accepted.length >= 2 * runs) break
      if ((yield* play([spec])) === "rejected") rejected++
      else accepted.push(spec)
    }
    for (let index = 0; index + 1 < accepted.length; index += 2) {
      const [one, other] = [accepted[index] ?? {}, accepted[index + 1] ?? {}]
      for (const spec of [one, other]) fieldsOf(spec, "", fields)
      for (const specs of [
        [one, other],
        [one, other, one]
      ]) {
        const difference = yield* compare(specs)
        if (difference === "rejected") continue
        sequences++
        if (difference !== undefined) violations.push(yield* simplest(specs, difference))
      }
    }
    return { violations, sequences, rejected, fields }
  })
