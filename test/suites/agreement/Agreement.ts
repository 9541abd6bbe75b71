/**
 * Sequences of writes at random on a real kube-apiserver and on the embedded one: after each step both have to have said the
 * same, and to hold the same object, with who manages which field of it.
 *
 * A seed stands for one sequence. One on which the two differ is shrunk, on a fresh object at each attempt, to the shortest that
 * still shows a difference.
 */
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as ApiServer from "@homeostat/testkit/server/ApiServer"
import type { Json, JsonObject } from "@homeostat/testkit/server/Json"
import * as J from "@homeostat/testkit/server/Json"
import { Clock, Data, Effect, Runtime } from "effect"
import * as FastCheck from "effect/FastCheck"
import * as Comparable from "../comparison/Comparable.ts"
import * as Server from "../comparison/Server.ts"
import * as BuiltIns from "./BuiltIns.ts"
import * as Parcel from "./Parcel.ts"
import * as Step from "./Step.ts"
import * as Subject from "./Subject.ts"

/** A sequence of writes of one object. */
export interface Sequence {
  /** The name of its kind. */
  readonly kind: string
  readonly steps: ReadonlyArray<Step.Step>
}

/** After which step the two were different, and what each said and held. */
export interface Difference {
  readonly step: number
  readonly real: Said
  readonly embedded: Said
}

/** What a server has said and holds. */
export interface Said {
  readonly comparable: Json
  /** The message of a refusal as it was. */
  readonly message: string | undefined
}

/** A seed on which the two differ, and the shortest sequence that still shows it. */
export interface Disagreement extends Difference {
  readonly seed: number
  readonly sequence: Sequence
}

/** Two servers side by side, with a namespace that is on both. */
export interface Pair {
  readonly namespace: string
  readonly real: Server.Server
  readonly embedded: Server.Server
}

/** The two are not ready to be compared. */
export class NotReady extends Data.TaggedError("NotReady")<{ readonly message: string }> {}

const subjects = [Parcel.parcel, BuiltIns.deployment, BuiltIns.service, BuiltIns.configMap, BuiltIns.job]

/** The subject with this kind. */
export const subjectOf = (kind: string): Subject.Subject =>
  subjects.find((subject) => subject.kind === kind) ?? Parcel.parcel

/** Puts an embedded server beside a real one. */
export const pair = (cluster: ControlPlane) =>
  Effect.gen(function* () {
    yield* cluster.install(Parcel.definition)
    const namespace = yield* cluster.namespace("agreement")
    const server = yield* ApiServer.make()
    const embedded = Server.embedded(server)
    const now = yield* Clock.currentTimeMillis
    for (const [path, object] of [
      ["/api/v1/namespaces", { metadata: { name: namespace } }],
      ["/apis/apiextensions.k8s.io/v1/customresourcedefinitions", Parcel.definition]
    ] as const) {
      const answer = yield* embedded({ method: "POST", path, body: object, contentType: "application/json" }, now)
      if (answer.status !== 201) return yield* new NotReady({ message: JSON.stringify(answer.body) })
    }
    return { namespace, real: Server.real(cluster.admin), embedded } satisfies Pair
  })

/** A second ended while a real server wrote an object: at which time is not known. */
class Straddled extends Data.TaggedError("Straddled") {}

/** The sequences. */
export const sequences: FastCheck.Arbitrary<Sequence> = FastCheck.oneof(
  { weight: 2, arbitrary: sequenceOf(Parcel.parcel) },
  ...subjects.slice(1).map((subject) => ({ weight: 1, arbitrary: sequenceOf(subject) }))
)

function sequenceOf(subject: Subject.Subject): FastCheck.Arbitrary<Sequence> {
  return FastCheck.tuple(
    Step.making(subject),
    FastCheck.array(Step.any(subject), { minLength: 1, maxLength: 10, size: "max" })
  ).map(([first, rest]) => ({ kind: subject.kind, steps: [first, ...rest] }))
}

/** Tries the sequence of a seed. */
export const check = (pair: Pair, seed: number): Effect.Effect<Disagreement | undefined> =>
  Effect.gen(function* () {
    const run = Runtime.runPromise(yield* Effect.runtime<never>())
    let found: Difference | undefined
    const property = FastCheck.asyncProperty(sequences, async (sequence) => {
      const difference = await run(play(pair, sequence))
      if (difference !== undefined) found = difference
      return difference === undefined
    })
    const details = yield* Effect.promise(() => FastCheck.check(property, { seed, numRuns: 1 }))
    if (!details.failed) return undefined
    // Neither agreement nor disagreement: the comparison itself is broken, or the embedded server is.
    const cause = details.errorInstance
    if (found === undefined) return yield* Effect.die(new Error(`seed ${seed}: ${String(cause)}`, { cause }))
    const [sequence = { kind: "", steps: [] }] = details.counterexample ?? []
    return { seed, sequence, ...found }
  })

/** Tries the sequences of so many seeds, from one on, a few at a time. `report` hears of each. */
export const campaign = (
  pair: Pair,
  from: number,
  count: number,
  report: (found: Disagreement | undefined) => void = () => {}
): Effect.Effect<ReadonlyArray<Disagreement>> =>
  Effect.forEach(
    Array.from({ length: count }, (_, index) => from + index),
    (seed) => Effect.tap(check(pair, seed), (found) => Effect.sync(() => report(found))),
    { concurrency: 4 }
  ).pipe(Effect.map((all) => all.filter((found) => found !== undefined)))

let objects = 0

/** Takes the steps on both, on an object of that name that was not there before, until the two differ. */
export const play = (pair: Pair, { kind, steps }: Sequence): Effect.Effect<Difference | undefined> =>
  Effect.suspend(() => {
    const subject = subjectOf(kind)
    const name = `o${++objects}`
    return Effect.ensuring(
      Effect.gen(function* () {
        const began = yield* Clock.currentTimeMillis
        const real = side(pair, subject, name, pair.real, began)
        const embedded = side(pair, subject, name, pair.embedded, began)
        for (const [index, step] of steps.entries()) {
          const there = yield* real.take(step, yield* Clock.currentTimeMillis)
          const here = yield* embedded.take(step, there.at)
          if (!J.equal(there.comparable, besides(here.comparable, there.comparable)))
            return { step: index, real: there, embedded: here }
        }
        return undefined
      }),
      Effect.forEach([pair.real, pair.embedded], (server) =>
        remove(server, Subject.path(subject, pair.namespace, name))
      )
    )
  }).pipe(Effect.catchTag("Straddled", () => play(pair, { kind, steps })))

/**
 * What the embedded one has said, to be compared with the real one. That one does not answer where it panics over a request:
 * then the embedded one has to have refused it, and both to hold the same as before.
 */
const besides = (embedded: Json, real: Json): Json => {
  if (!J.isObject(real) || real.status !== Server.silent || (J.number(J.at(embedded, "status")) ?? 0) < 400)
    return embedded
  return { ...real, live: J.at(embedded, "live") ?? null }
}

/** An object on one of the two, from step to step. */
const side = ({ namespace }: Pair, subject: Subject.Subject, name: string, server: Server.Server, began: number) => {
  const comparer = Comparable.make(namespace, began)
  const path = Subject.path(subject, namespace, name)
  let live: JsonObject | undefined
  let first: string | undefined
  const take = (step: Step.Step, now: number) =>
    Effect.gen(function* () {
      const answer = yield* server(Step.request(step, { subject, namespace, name, live, first }), now)
      const read = yield* server({ method: "GET", path }, now)
      live = read.status === 200 ? J.object(read.body) : undefined
      first ??= J.text(J.at(live, "metadata", "resourceVersion"))
      // What was not written has no time.
      const at = answer.at ?? (answer.status >= 300 ? now : undefined)
      if (at === undefined) return yield* new Straddled()
      const comparable = comparer.answer(answer, live)
      return { comparable, message: J.text(J.at(answer.body, "message")), at }
    })
  return { take }
}

/** Takes an object away, as Services have addresses of which there are not many. */
const remove = (server: Server.Server, path: string): Effect.Effect<void> =>
  Effect.ignore(
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const removed = yield* server({ method: "DELETE", path }, now)
      if (removed.status === 404) return
      const body = { metadata: { finalizers: null } }
      yield* server({ method: "PATCH", path, body, contentType: "application/merge-patch+json" }, now)
    })
  )

/** A disagreement to be read: the seed, the steps, and where the two differ. */
export const explain = ({ embedded, real, seed, sequence, step }: Disagreement): string =>
  [
    `seed ${seed}: after step ${step} of ${sequence.kind}`,
    ...sequence.steps.map((step) => `  ${JSON.stringify(step)}`),
    ...shown(real.message ?? "no refusal", embedded.message ?? "no refusal"),
    ...different("", real.comparable, embedded.comparable)
  ].join("\n")

const different = (path: string, real: Json | undefined, embedded: Json | undefined): ReadonlyArray<string> => {
  if (J.equal(real, embedded)) return []
  if (J.isObject(real) && J.isObject(embedded) && real.kind === embedded.kind) {
    const names = new Set([...Object.keys(real), ...Object.keys(embedded)])
    return [...names].flatMap((name) => different(`${path}.${name}`, real[name], embedded[name]))
  }
  return [`  ${path}`, ...shown(JSON.stringify(real) ?? "nothing", JSON.stringify(embedded) ?? "nothing")]
}

/** Two texts from a little before where they begin to differ. */
const shown = (real: string, embedded: string): ReadonlyArray<string> => {
  const same = [...real].findIndex((character, index) => character !== embedded[index])
  const from = same < 200 ? 0 : same - 100
  return [`    real:     ${real.slice(from, from + 400)}`, `    embedded: ${embedded.slice(from, from + 400)}`]
}
