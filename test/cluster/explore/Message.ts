/** The report of an exploration as text. */
import type { Report } from "./Explorer.ts"
import * as Fault from "./Fault.ts"
import type { StatesReport } from "./States.ts"
import type { Story } from "./Story.ts"
import type { Violation } from "./Violations.ts"

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`

/** The numbers of first and last lines of a trace that a message shows. */
const firstLines = 10
const lastLines = 8

/** The maximum number of violations that a message shows in full. */
const mostViolations = 5

/** The maximum number of other schedules with the same violation in a message. */
const mostOthers = 3

/** Removes the middle of the lines. */
const ends = (lines: ReadonlyArray<string>): ReadonlyArray<string> => {
  const left = lines.length - firstLines - lastLines
  return left <= 1 ? lines : [...lines.slice(0, firstLines), `… ${left} more lines`, ...lines.slice(-lastLines)]
}

const part = (prefix: string, text: string): ReadonlyArray<string> =>
  text === "" ? [] : text.split("\n").map((line) => `${prefix}${line}`)

/** Violations of the same promise with the same message, from several schedules. */
type Group = readonly [Violation, ...ReadonlyArray<Violation>]

/** Groups the violations, each group with its simplest schedule first. */
const groupsOf = (violations: ReadonlyArray<Violation>): ReadonlyArray<Group> => {
  const groups = new Map<string, Group>()
  for (const one of violations) {
    const key = `${one.oracle}\n${one.message}`
    const [first, ...others] = groups.get(key) ?? []
    if (first === undefined) groups.set(key, [one])
    else if (one.schedule.faults.length < first.schedule.faults.length) groups.set(key, [one, first, ...others])
    else groups.set(key, [first, ...others, one])
  }
  return [...groups.values()]
}

const violation = (story: Story, [first, ...others]: Group, command: (schedule: string) => string): string => {
  const { message, oracle, schedule, times, trace, why } = first
  const names = others.slice(0, mostOthers).map((other) => Fault.identifier(other.schedule))
  return [
    `${story.steps[schedule.step]?.name ?? "start"}${schedule.faults.length === 0 ? ", without a fault" : ""}`,
    ...schedule.faults.map((planned, index) => `  › ${Fault.describe(planned, index === 0)}`),
    `  broken${times === 1 ? "" : ` ${times} times`}: ${oracle}`,
    ...part("    ", message),
    ...ends(trace).map((line) => `  | ${line}`),
    ...part("  ", why),
    ...(others.length === 0
      ? []
      : [
          `  the same with ${count(others.length, "other schedule")}: ${names.join(", ")}${others.length > mostOthers ? ", …" : ""}`
        ]),
    `  run it alone: ${command(Fault.identifier(schedule))}`,
    "  on a real kube-apiserver: the same command with HOMEOSTAT_SERVER=real"
  ].join("\n")
}

/** Returns the text of the violations. `command` returns the command that runs one schedule. */
export const of = (
  story: Story,
  { schedules, violations }: Pick<Report, "schedules" | "violations">,
  command = (schedule: string): string => `HOMEOSTAT_SCHEDULE=${schedule}`
): string => {
  const groups = groupsOf(violations)
  return [
    `${count(violations.length, "violation")} in ${count(schedules, "schedule")}`,
    ...groups.slice(0, mostViolations).map((group) => violation(story, group, command)),
    ...(groups.length > mostViolations ? [`… and ${groups.length - mostViolations} more`] : [])
  ].join("\n\n")
}

/** Returns the text of the violations of an exploration of specs. */
export const ofStates = ({ sequences, specs, violations }: StatesReport): string =>
  [
    `${count(violations.length, "violation")} in ${count(specs, "spec")} and ${count(sequences, "sequence")} of specs`,
    ...violations
      .slice(0, mostViolations)
      .map(({ message, specs, trace, why }) =>
        [
          specs.length === 1
            ? "a new object with this spec breaks a promise"
            : "the end of a sequence of specs is not that of a new object with the last one",
          ...specs.map((spec, index) => `  spec ${index + 1}: ${JSON.stringify(spec)}`),
          ...part("    ", message),
          ...ends(trace).map((line) => `  | ${line}`),
          ...part("  ", why)
        ].join("\n")
      ),
    ...(violations.length > mostViolations ? [`… and ${violations.length - mostViolations} more`] : [])
  ].join("\n\n")
