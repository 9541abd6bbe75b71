/**
 * Random sequences of writes on a real kube-apiserver and on the embedded server: both must answer the same after each step, and hold
 * the same object with the same managed fields. A seed stands for one sequence. The comparison shrinks a sequence on which the servers
 * differ, in new namespaces.
 */

import type { Json } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import { Effect } from "effect"
import * as FastCheck from "fast-check"
import type * as Dialogue from "../comparison/Dialogue.ts"
import * as Dialogues from "../comparison/Dialogues.ts"
import * as Embedded from "../comparison/Embedded.ts"
import * as Server from "../comparison/Server.ts"
import * as BuiltIns from "./BuiltIns.ts"
import * as Parcel from "./Parcel.ts"
import * as Step from "./Step.ts"
import * as Subject from "./Subject.ts"

export interface Sequence {
  /** The name of its kind. */
  readonly kind: string
  readonly steps: ReadonlyArray<Step.Step>
}

/** The step after which the two servers differed, and their answers. */
export interface Difference {
  readonly step: number
  readonly real: Json
  readonly embedded: Json
}

/** A seed on which the servers differ, and the shortest sequence that shows the difference. */
export interface Disagreement extends Difference {
  readonly seed: number
  readonly sequence: Sequence
}

/** Two servers. The namespace is on the real one. */
export interface Pair {
  readonly namespace: string
  readonly real: Server.Server
  readonly embedded: Server.Server
}

const subjects = [Parcel.parcel, BuiltIns.deployment, BuiltIns.service, BuiltIns.configMap, BuiltIns.job]

export const pair = (cluster: ControlPlane) =>
  Effect.gen(function* () {
    yield* cluster.install(Parcel.definition)
    const namespace = yield* cluster.namespace("agreement")
    const embedded = yield* Embedded.make({ definitions: [Parcel.definition] })
    return { namespace, real: Server.real(cluster.admin), embedded } satisfies Pair
  })

/** A random body may have several values of a wrong type. A kube-apiserver reports only one of them, depending on its Go types. */
const unreadable = /json: cannot unmarshal .*/s

/** The sequence of an object as a dialogue. */
export const dialogue = ({ kind, steps }: Sequence, name: string, object = "one"): Dialogue.Dialogue => {
  const subject = subjects.find((subject) => subject.kind === kind) ?? Parcel.parcel
  return {
    name,
    reads: Subject.path(subject, "NAMESPACE", object),
    steps: steps.map(
      (step) =>
        ({ first, live, namespace }) =>
          Step.request(step, { subject, namespace, name: object, live, first })
    )
  }
}

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

export const check = (pair: Pair, seed: number): Effect.Effect<Disagreement | undefined> =>
  Effect.gen(function* () {
    const run = Effect.runPromiseWith(yield* Effect.context<never>())
    let found: Difference | undefined
    const property = FastCheck.asyncProperty(sequences, async (sequence) => {
      const difference = await run(play(pair, sequence))
      if (difference !== undefined) found = difference
      return difference === undefined
    })
    const details = yield* Effect.promise(() => FastCheck.check(property, { seed, numRuns: 1 }))
    if (!details.failed) return undefined
    // Either the comparison failed, or the embedded server failed.
    const cause = details.errorInstance
    if (found === undefined) return yield* Effect.die(new Error(`seed ${seed}: ${String(cause)}`, { cause }))
    const [sequence = { kind: "", steps: [] }] = details.counterexample ?? []
    return { seed, sequence, ...found }
  })

/** Tries `count` seeds, starting with `from`, and calls `report` after each. */
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

/** Takes the steps on a new object, first on the real server, then on the embedded one at the same seconds. */
export const play = (pair: Pair, sequence: Sequence): Effect.Effect<Difference | undefined> =>
  Effect.gen(function* () {
    const object = `o${++objects}`
    const both = { ...dialogue(sequence, object, object), unlike: unreadable }
    const real = Dialogues.entry(yield* Dialogues.real(pair.real, both, pair.namespace))
    const namespace = `${pair.namespace}-${object}`
    const seconds = Dialogues.secondsOf(real)
    const embedded = Dialogues.entry(yield* Embedded.replay(pair.embedded, both, namespace, seconds))
    const theirs = Dialogues.answersOf(real).map(ordered)
    const ours = Dialogues.answersOf(embedded).map((answer, step) => ordered(Embedded.besides(answer, theirs[step])))
    const step = theirs.findIndex((answer, step) => !J.equal(answer, ours[step]))
    return step < 0 ? undefined : { step, real: theirs[step] ?? null, embedded: ours[step] ?? null }
  }).pipe(Effect.orDie)

/** An answer with sorted warnings about unknown fields. After a JSON patch, kube-apiserver sends them in the random order of a Go map. */
const ordered = (answer: Json): Json => {
  if (!J.isObject(answer) || !Array.isArray(answer.warnings)) return answer
  const isUnknown = (warning: Json) => typeof warning === "string" && warning.includes("unknown field")
  return answer.warnings.every(isUnknown) ? { ...answer, warnings: answer.warnings.toSorted() } : answer
}

/** The seed, the steps and the differences as text. */
export const explain = ({ embedded, real, seed, sequence, step }: Disagreement): string =>
  [
    `seed ${seed}: after step ${step} of ${sequence.kind}`,
    ...sequence.steps.map((step) => `  ${JSON.stringify(step)}`),
    ...different("", real, embedded)
  ].join("\n")

const different = (path: string, real: Json | undefined, embedded: Json | undefined): ReadonlyArray<string> => {
  if (J.equal(real, embedded)) return []
  if (J.isObject(real) && J.isObject(embedded) && real.kind === embedded.kind) {
    const names = new Set([...Object.keys(real), ...Object.keys(embedded)])
    return [...names].flatMap((name) => different(`${path}.${name}`, real[name], embedded[name]))
  }
  return [`  ${path}`, ...shown(JSON.stringify(real) ?? "nothing", JSON.stringify(embedded) ?? "nothing")]
}

/** The parts of two texts around their first difference. */
const shown = (real: string, embedded: string): ReadonlyArray<string> => {
  const same = [...real].findIndex((character, index) => character !== embedded[index])
  const from = same < 200 ? 0 : same - 100
  return [`    real:     ${real.slice(from, from + 400)}`, `    embedded: ${embedded.slice(from, from + 400)}`]
}
