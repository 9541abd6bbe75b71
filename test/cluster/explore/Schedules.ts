/** The schedules of a story: each fault at each point of its run without faults. */
import { PCGRandom } from "effect/Utils"
import {
  type Fault,
  type ForeignWrite,
  type Planned,
  type Point,
  part,
  type RefusedStatus,
  type Schedule
} from "./Fault.ts"
import * as Foreign from "./Foreign.ts"
import type { Reference } from "./Reference.ts"
import * as Wire from "./Wire.ts"

const statuses: ReadonlyArray<RefusedStatus> = [409, 429, 500, 403]

/** Returns the possible faults of a request. */
const faultsOf = (sent: Wire.Sent, roots: ReadonlySet<string>): ReadonlyArray<Fault> => {
  const { asked, status } = sent
  const refused = statuses
    .filter((code) => code !== 409 || (Wire.writes(sent) && asked.verb !== "create"))
    .map((status): Fault => ({ _tag: "Refused", status }))
  if (!Wire.writes(sent)) return refused
  const hows: ReadonlyArray<ForeignWrite> =
    status === 201 && asked.subresource === ""
      ? ["taken"]
      : status === 200
        ? ["other field", "same field", "deleted"]
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

/** Returns all schedules with one fault. */
export const single = ({ roots, steps }: Reference): ReadonlyArray<Schedule> =>
  steps.flatMap(({ events, sent }, step) => [
    ...sent.flatMap((one, at) => {
      const site = Wire.siteOf(one)
      const nth = sent.slice(0, at).filter((earlier) => Wire.siteOf(earlier) === site).length
      const point: Point = { _tag: "Request", at, text: Wire.textOf(one), site, nth }
      return faultsOf(one, roots).map((fault): Schedule => ({ step, faults: [{ fault, point }] }))
    }),
    ...[...events].flatMap(([watch, count]) =>
      Array.from({ length: count }, (_, at) =>
        (["Lag", "Missed"] as const).map(
          (_tag): Schedule => ({ step, faults: [{ fault: { _tag }, point: { _tag: "Event", at, watch } }] })
        )
      ).flat()
    )
  ])

/** Returns the number of points like the second one that remain after the first. */
const leftAfter = ({ steps }: Reference, step: number, first: Point, second: Point): number => {
  const { events, sent } = steps[step] ?? { events: new Map<string, number>(), sent: [] }
  const all = second._tag === "Request" ? sent.length : (events.get(second.watch) ?? 0)
  const isLike =
    first._tag === second._tag &&
    (first._tag === "Request" || second._tag === "Request" || first.watch === second.watch)
  return isLike ? all - first.at : all
}

/** Returns random schedules with two faults, by a seed. */
export const pairs = (
  known: Reference,
  all: ReadonlyArray<Schedule>,
  { count, seed }: { readonly count: number; readonly seed: number }
): ReadonlyArray<Schedule> => {
  const random = new PCGRandom(seed)
  const made = new Map<string, Schedule>()
  for (let tries = 0; made.size < count && tries < 20 * count; tries++) {
    const first = all[random.integer(all.length)]
    const others = all.filter(({ step }) => step === first?.step)
    const second = others[random.integer(others.length)]
    const [one] = first?.faults ?? []
    const [other] = second?.faults ?? []
    if (first === undefined || one === undefined || other === undefined) continue
    // The second point counts from the first fault.
    const left = leftAfter(known, first.step, one.point, other.point)
    const at = random.integer(Math.max(1, left))
    const schedule = { step: first.step, faults: [one, { ...other, point: { ...other.point, at, nth: undefined } }] }
    made.set(JSON.stringify(schedule), schedule)
  }
  return [...made.values()]
}

/** Returns the state after a crash; undefined for schedules without exactly one crash. */
export const stateOf = ({ steps }: Reference, { faults, step }: Schedule): string | undefined => {
  const [one] = faults
  if (faults.length !== 1 || one?.fault._tag !== "Crash") return undefined
  const { fault, point } = one
  const found = steps[step]?.moments.find(({ request, when }) => request === point.at && when === fault.when)
  return found === undefined ? undefined : `${step} ${found.moment.saved.revision}`
}

/** Matches the number in the identifier of a fault. */
const numberIn = /(?:^|\.)[re](\d+)\./

/** Returns the schedule with an identifier: one or two faults, or a step without a fault. Undefined if the story does not have it. */
export const find = (known: Reference, identifier: string): Schedule | undefined => {
  const [first = "", ...parts] = identifier.split("/")
  const step = Number(first)
  if (known.steps[step] === undefined || String(step) !== first) return undefined
  const all = single(known).flatMap((one) => (one.step === step ? one.faults : []))
  const faults = parts.flatMap((wanted, index) => {
    const at = Number(numberIn.exec(wanted)?.[1])
    // The second point counts from the first fault, so it may be at another request.
    const moved = (planned: Planned): Planned => {
      const point = { ...planned.point, at, nth: undefined }
      return { ...planned, point }
    }
    return (index === 0 ? all : all.map(moved)).find((planned) => part(planned) === wanted) ?? []
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
