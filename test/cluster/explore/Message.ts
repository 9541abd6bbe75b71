/** The report of an exploration as text. */
import type { Report } from "./Explorer.ts"
import * as Fault from "./Fault.ts"
import type { Violation } from "./Reference.ts"
import type { StatesReport } from "./States.ts"
import type { Story } from "./Story.ts"

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`

/** How many lines of a trace a message shows. */
const mostLines = 16

/** How many violations a message shows in full. */
const mostViolations = 5

const violation = (story: Story, { message, oracle, schedule, trace = [] }: Violation): string =>
  [
    `${story.steps[schedule.step]?.name ?? "start"}${schedule.faults.length === 0 ? ", without a fault" : ""}`,
    ...schedule.faults.map((planned) => `  › ${Fault.describe(planned)}`),
    `  broken: ${oracle}`,
    ...message.split("\n").map((line) => `    ${line}`),
    ...trace.slice(0, mostLines).map((line) => `  | ${line}`),
    ...(trace.length > mostLines ? [`  | … ${trace.length - mostLines} more lines`] : []),
    ...(schedule.faults.length === 0 ? [] : [`  run it alone: HOMEOSTAT_SCHEDULE=${Fault.identifier(schedule)}`])
  ].join("\n")

/** The violations in words. */
export const of = (story: Story, { schedules, violations }: Report): string =>
  [
    `${count(violations.length, "violation")} in ${count(schedules, "schedule")}`,
    ...violations.slice(0, mostViolations).map((one) => violation(story, one)),
    ...(violations.length > mostViolations ? [`… and ${violations.length - mostViolations} more`] : [])
  ].join("\n\n")

/** The violations of an exploration of specs. */
export const ofStates = ({ sequences, violations }: StatesReport): string =>
  [
    `${count(violations.length, "violation")} in ${count(sequences, "sequence")} of specs`,
    ...violations
      .slice(0, mostViolations)
      .map(({ message, specs }) =>
        [
          "the end of a sequence of specs is not that of a new object with the last one",
          ...specs.map((spec, index) => `  spec ${index + 1}: ${JSON.stringify(spec)}`),
          ...message.split("\n").map((line) => `    ${line}`)
        ].join("\n")
      )
  ].join("\n\n")
