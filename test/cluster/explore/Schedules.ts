/** The schedules of a story: each fault at each point of its run without faults. */
import * as Pcg from "@homeostat/apiserver/model/Pcg"
import * as Effect from "effect/Effect"
import {
  type Fault,
  type ForeignWrite,
  identifier,
  type Planned,
  type Point,
  part,
  type RefusedStatus,
  type Schedule
} from "./Fault.ts"
import * as Foreign from "./Foreign.ts"
import type { Reference } from "./Reference.ts"
import * as Wire from "./Wire.ts"

const statuses: ReadonlyArray<RefusedStatus> = [409, 422, 429, 500, 403]

/** Whether the API server may answer a request with a status: nothing denies a read, and a creation has no conflict. */
const isPossible = (code: RefusedStatus, sent: Wire.Sent): boolean =>
  code === 409 ? Wire.writes(sent) && sent.asked.verb !== "create" : code !== 422 || Wire.writes(sent)

const outage: Fault = { _tag: "Outage" }

/** Returns the possible faults of a request, apart from an outage. */
const faultsOf = (sent: Wire.Sent, roots: ReadonlySet<string>): ReadonlyArray<Fault> => {
  const { asked, status } = sent
  const refused = statuses
    .filter((code) => isPossible(code, sent))
    .map((status): Fault => ({ _tag: "Refused", status }))
  if (!Wire.writes(sent)) return refused
  const hows: ReadonlyArray<ForeignWrite> =
    status === 201 && asked.subresource === ""
      ? ["taken"]
      : status === 200
        ? ["other field", "same field", "sibling", "deleted"]
        : []
  const foreign = hows
    .filter((how) => Foreign.isPossible(how, sent, roots))
    .map((how): Fault => ({ _tag: "ForeignWrite", how }))
  return [
    { _tag: "Crash", when: "before" },
    { _tag: "Crash", when: "after" },
    { _tag: "LostAnswer" },
    ...refused,
    ...foreign,
    { _tag: "SecondLeader" }
  ]
}

/** The requests and the numbers of watch events of a run, or of a part of it. */
export type Course = Pick<Reference["steps"][number], "events" | "sent">

/** Returns each fault at each point of a course. An outage is only at the first write: an attempt that fails there starts again. */
const faultsIn = ({ events, sent }: Course, roots: ReadonlySet<string>): ReadonlyArray<Planned> => [
  ...sent.flatMap((one, at) => {
    const site = Wire.siteOf(one)
    const nth = sent.slice(0, at).filter((earlier) => Wire.siteOf(earlier) === site).length
    const point: Point = { _tag: "Request", at, text: Wire.textOf(one), site, nth }
    const isFirstWrite = at === sent.findIndex(Wire.writes)
    const faults: ReadonlyArray<Fault> = [...faultsOf(one, roots), ...(isFirstWrite ? [outage] : [])]
    return faults.map((fault): Planned => ({ fault, point }))
  }),
  ...[...events].flatMap(([watch, count]) =>
    Array.from({ length: count }, (_, at) =>
      (["Lag", "Missed"] as const).map((_tag): Planned => ({ fault: { _tag }, point: { _tag: "Event", at, watch } }))
    ).flat()
  )
]

/** Returns all schedules with one fault. */
export const single = ({ roots, steps }: Reference): ReadonlyArray<Schedule> =>
  steps.flatMap((course, step) =>
    course.faults ? faultsIn(course, roots).map((planned): Schedule => ({ step, faults: [planned] })) : []
  )

/**
 * Returns random schedules with two faults, by a seed. The second fault is at a point that the run with only the first fault reaches after
 * that fault.
 *
 * @param all the schedules with one fault
 * @param after returns the course after the fault of a schedule
 */
export const pairs = <E>(
  all: ReadonlyArray<Schedule>,
  after: (schedule: Schedule) => Effect.Effect<Course, E>,
  {
    count,
    isTried,
    roots,
    seed
  }: {
    readonly count: number
    readonly isTried: (fault: Fault) => boolean
    readonly roots: ReadonlySet<string>
    readonly seed: number
  }
): Effect.Effect<ReadonlyArray<Schedule>, E> =>
  Effect.gen(function* () {
    const random = Pcg.make(seed)
    const made = new Map<string, Schedule>()
    const seconds = new Map<Schedule, ReadonlyArray<Planned>>()
    for (let tries = 0; made.size < count && tries < 20 * count; tries++) {
      const first = all[random.integer(all.length)]
      if (first === undefined) break
      const others = seconds.get(first) ?? faultsIn(yield* after(first), roots).filter(({ fault }) => isTried(fault))
      seconds.set(first, others)
      const second = others[random.integer(others.length)]
      if (second === undefined) continue
      const schedule = { step: first.step, faults: [...first.faults, second] }
      made.set(identifier(schedule), schedule)
    }
    return [...made.values()]
  })

/** Returns the state after a crash; undefined for schedules without exactly one crash. */
export const stateOf = ({ steps }: Reference, { faults, step }: Schedule): string | undefined => {
  const [one] = faults
  if (faults.length !== 1 || one?.fault._tag !== "Crash") return undefined
  const { fault, point } = one
  const found = steps[step]?.moments.find(({ request, when }) => request === point.at && when === fault.when)
  return found === undefined ? undefined : `${step} ${found.moment.saved.revision} ${found.moment.at}`
}

/** Matches the number in the identifier of a fault. */
const numberIn = /(?:^|\.)[re](\d+)\./

/** Returns the schedule with an identifier: one or two faults, or a step without a fault. Undefined if the story does not have it. */
export const find = (known: Reference, wanted: string): Schedule | undefined => {
  const [first = "", ...parts] = wanted.split("/")
  const step = Number(first)
  if (known.steps[step] === undefined || String(step) !== first) return undefined
  const all = single(known)
  const own = all.flatMap((one) => (one.step === step ? one.faults : []))
  const every = all.flatMap(({ faults }) => faults)
  const faults = parts.flatMap((name, index) => {
    const at = Number(numberIn.exec(name)?.[1])
    // The second point counts from the first fault, so it may be at a request that the step alone does not make.
    const moved = (planned: Planned): Planned => {
      const point = { ...planned.point, at, nth: undefined }
      return { ...planned, point }
    }
    return (index === 0 ? own : [...own, ...every].map(moved)).find((planned) => part(planned) === name) ?? []
  })
  return faults.length === parts.length ? { step, faults } : undefined
}

/** The maximum number of schedules with the second fault only. */
const mostAlone = 3

/** Returns schedules with one fault of a schedule each: the first fault, and the other faults at points that look the same. */
export const alone = (known: Reference, { faults: [first, ...others], step }: Schedule): ReadonlyArray<Schedule> => {
  const all = single(known).filter((one) => one.step === step)
  const isLike = (planned: Planned) => (one: Schedule) =>
    one.faults.some(
      ({ fault, point }) =>
        JSON.stringify(fault) === JSON.stringify(planned.fault) &&
        (point._tag === "Request"
          ? planned.point._tag === "Request" && point.text === planned.point.text
          : planned.point._tag === "Event" && point.watch === planned.point.watch)
    )
  return [
    ...(first === undefined ? [] : [{ step, faults: [first] }]),
    ...others.flatMap((planned) => all.filter(isLike(planned)).slice(0, mostAlone))
  ]
}
