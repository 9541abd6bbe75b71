/**
 * Explores the specs of a kind. The state after S1 and then S2 must equal that of a new object with S2. The state after S1, S2 and S1 must
 * equal that of a new object with S1.
 */

import type * as Json from "@homeostat/apiserver/model/Json"
import * as Client from "@homeostat/runtime/client/Client"
import type { Any as CustomResource } from "@homeostat/runtime/resource/CustomResource"
import { keyString, type ObjectKey } from "@homeostat/runtime/resource/KubernetesObject"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Evidence, Witness } from "./Evidence.ts"
import * as Picture from "./Picture.ts"
import * as Refused from "./Refused.ts"
import * as Specs from "./Specs.ts"
import type { Story } from "./Story.ts"
import * as Trace from "./Trace.ts"
import * as World from "./World.ts"

/** A sequence of specs whose end differs from that of a new object. */
export interface PathViolation extends Evidence {
  readonly specs: ReadonlyArray<Json.JsonObject>
  readonly message: string
}

/** The result of an exploration. */
export interface StatesReport {
  /** The violations, one for each set of fields that differ. */
  readonly violations: ReadonlyArray<PathViolation>
  /** The number of specs that a new object got in the exploration. */
  readonly specs: number
  /** The number of sequences that ran to their end; 0 if the spec is immutable. */
  readonly sequences: number
  /** The number of specs that the API server rejected. */
  readonly rejected: number
  /** The paths of the fields with different values in the specs. */
  readonly fields: ReadonlySet<string>
}

/** Selects the specs. */
export interface Options {
  /** The number of pairs of specs. */
  readonly runs: number
  readonly seed: number
  readonly seeds: Specs.Seeds
  /** The time that passes after each spec. */
  readonly passes: Duration.Input
}

/** The maximum number of simpler sequences that the search tries. */
const mostTries = 40

/** The number of generated specs for each needed one, because the API server may reject most of them. */
const candidates = 16

/** Matches the condition Ready of an object that is not ready, in a picture. */
const notReady = /"status":"(False|Unknown)","type":"Ready"/

/** An end: a picture, or the message of another broken promise. */
type End = "rejected" | { readonly result: Picture.Picture | string; readonly witness: Witness }

/** A broken promise of a sequence. */
interface Difference {
  readonly specs: ReadonlyArray<Json.JsonObject>
  readonly message: string
  /** The broken promise without values. */
  readonly subject: string
  readonly witness: Witness
}

/** Returns the end of an object that gets these specs one after the other. */
const end = (
  story: Story,
  kind: CustomResource,
  key: ObjectKey,
  base: World.Moment,
  specs: ReadonlyArray<Json.JsonObject>,
  passes: Duration.Input
): Effect.Effect<End> =>
  World.run(story, { from: base, seed: 7 }, (world) =>
    Effect.gen(function* () {
      world.director.arm([])
      yield* world.start
      yield* world.settle()
      const witness: Witness = (objects) => Trace.of(world, base.at)(objects)
      for (const [index, spec] of specs.entries()) {
        const write =
          index === 0
            ? Client.create(kind, { metadata: key, spec } as never)
            : Effect.flatMap(Client.get(kind, key), (current) => Client.replace(kind, { ...current, spec } as never))
        const isAccepted = yield* Effect.isSuccess(Effect.provide(write, world.client))
        if (!isAccepted) return "rejected"
        yield* world.time.pass(passes)
        if (!(yield* world.settle(passes))) return { result: "the cluster does not come to rest", witness }
      }
      const { saved } = yield* world.moment
      const [first] = [...world.seen, ...Refused.unreported(world.attempts, saved)]
      if (first !== undefined) return { result: first.message, witness }
      const storages = new Set(world.director.sent.map(({ asked }) => World.storageOf(asked.collection)))
      const root = World.storageOf(World.collectionOf(kind))
      const roots = new Set([root])
      const result = Picture.of((yield* world.moment).saved, {
        base: base.saved,
        roots,
        storages: new Set([...storages, root])
      })
      return { result, witness }
    })
  )

/** Collects the values of each field of the specs, by path. */
const valuesOf = (value: Json.Json | undefined, path: string, found: Map<string, Set<string>>): void => {
  if (Array.isArray(value)) for (const item of value) valuesOf(item, `${path}[]`, found)
  else if (typeof value === "object" && value !== null) {
    for (const [name, inner] of Object.entries(value)) valuesOf(inner, path === "" ? name : `${path}.${name}`, found)
  } else if (value !== undefined) found.set(path, (found.get(path) ?? new Set()).add(JSON.stringify(value)))
}

/** Returns the fields with different values in the specs. */
const varied = (specs: ReadonlyArray<Json.JsonObject>): ReadonlySet<string> => {
  const all = new Map<string, Set<string>>()
  const counts = new Map<string, number>()
  for (const spec of specs) {
    const own = new Map<string, Set<string>>()
    valuesOf(spec, "", own)
    for (const path of own.keys()) counts.set(path, (counts.get(path) ?? 0) + 1)
    valuesOf(spec, "", all)
  }
  return new Set(
    [...all].flatMap(([path, values]) => (values.size > 1 || counts.get(path) !== specs.length ? [path] : []))
  )
}

/** Returns the generated specs that the API server accepts for a new object, and the number of rejected ones. */
const accepted = (
  story: Story,
  kind: CustomResource,
  key: ObjectKey,
  base: World.Moment,
  { runs, seed, seeds }: Options
) =>
  World.run(story, { from: base, seed }, ({ client }) =>
    Effect.gen(function* () {
      const found: Array<Specs.Generated> = []
      let rejected = 0
      for (const one of Specs.sample(kind, { count: candidates * 2 * runs, seed, seeds })) {
        if (found.length >= 2 * runs) break
        const create = Client.create(kind, { metadata: key, spec: one.spec } as never, { dryRun: true })
        if (yield* Effect.isSuccess(Effect.provide(create, client))) found.push(one)
        else rejected++
      }
      return { found, rejected }
    })
  )

/** The two sequences of a pair. */
const paths = [
  (one: Specs.Generated, other: Specs.Generated) => [one.spec, other.spec],
  (one: Specs.Generated, other: Specs.Generated) => [one.spec, other.spec, one.spec]
]

/** Explores sequences of two specs each. */
export const explore = (
  story: Story,
  kind: CustomResource,
  key: ObjectKey,
  options: Options
): Effect.Effect<StatesReport> =>
  Effect.gen(function* () {
    const { passes, seed } = options
    const base = yield* World.run(story, { seed }, (world) =>
      Effect.andThen(Effect.andThen(world.start, world.settle()), world.moment)
    )
    const fresh = new Map<string, End>()
    const play = (specs: ReadonlyArray<Json.JsonObject>) => end(story, kind, key, base, specs, passes)
    const playNew = (spec: Json.JsonObject) =>
      Effect.gen(function* () {
        const text = JSON.stringify(spec)
        const known = fresh.get(text) ?? (yield* play([spec]))
        fresh.set(text, known)
        return known
      })
    /**
     * Returns the difference between a sequence and its last spec alone. Undefined without a difference; `rejected` if a spec is invalid.
     */
    const compare = (specs: ReadonlyArray<Json.JsonObject>): Effect.Effect<Difference | "rejected" | undefined> =>
      Effect.gen(function* () {
        const last = specs.at(-1) ?? {}
        const expected = yield* playNew(last)
        if (expected === "rejected") return expected
        const { result, witness } = expected
        if (typeof result === "string") return { specs: [last], message: result, subject: result, witness }
        const actual = yield* play(specs)
        if (actual === "rejected") return actual
        if (typeof actual.result === "string") {
          return { specs, message: actual.result, subject: actual.result, witness: actual.witness }
        }
        // While a rollout cannot finish, old pods keep running, so the status depends on the path.
        const isHealthy = ![...result.values()].some((text) => notReady.test(text))
        const differences = Picture.differences(result, actual.result, story.ignore).filter(
          ({ path }) => isHealthy || !path.startsWith("status")
        )
        return differences.length === 0
          ? undefined
          : {
              specs,
              message: Picture.show(differences),
              subject: differences.map(({ object, path }) => `${object} ${path}`).join(),
              witness: actual.witness
            }
      })
    /** Returns the simplest sequence that FastCheck finds. */
    const simplest = (
      path: (typeof paths)[number],
      pair: readonly [Specs.Generated, Specs.Generated],
      first: Difference
    ) =>
      Effect.gen(function* () {
        let found = { pair, difference: first }
        let tries = 0
        const next = function* (): Iterable<readonly [Specs.Generated, Specs.Generated]> {
          const [one, other] = found.pair
          for (const simpler of one.simpler) yield [simpler, other]
          for (const simpler of other.simpler) yield [one, simpler]
        }
        for (let isSimpler = true; isSimpler; ) {
          isSimpler = false
          for (const pair of next()) {
            if (tries++ >= mostTries) break
            const difference = yield* compare(path(...pair))
            if (difference === undefined || difference === "rejected") continue
            found = { pair, difference }
            isSimpler = true
            break
          }
        }
        const { message, specs, witness } = found.difference
        return { specs, message, ...witness([keyString(key)]) }
      })

    const violations: Array<PathViolation> = []
    const subjects = new Set<string>()
    let sequences = 0
    const { found, rejected } = yield* accepted(story, kind, key, base, options)
    for (let index = 0; index + 1 < found.length; index += 2) {
      const [one, other] = found.slice(index, index + 2)
      if (one === undefined || other === undefined) break
      for (const path of paths) {
        const difference = yield* compare(path(one, other))
        if (difference === "rejected") continue
        if (difference === undefined || difference.specs.length > 1) sequences++
        if (difference === undefined || subjects.has(difference.subject)) continue
        subjects.add(difference.subject)
        violations.push(yield* simplest(path, [one, other], difference))
      }
    }
    return { violations, specs: fresh.size, sequences, rejected, fields: varied(found.map(({ spec }) => spec)) }
  })
