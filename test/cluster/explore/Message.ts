/** The report of an exploration as text. */
import type { Report, Violation } from "./Explorer.ts"
import * as Fault from "./Fault.ts"
import type { Story } from "./Story.ts"

/** How many violations a message shows in full. */
const mostViolations = 5

const violation = (story: Story, { message, oracle, schedule }: Violation): string =>
  [
    `${story.steps[schedule.step]?.name ?? "start"}${schedule.faults.length === 0 ? ", without a fault" : ""}`,
    ...schedule.faults.map((planned) => `  › ${Fault.describe(planned)}`),
    `  broken: ${oracle}`,
    ...message.split("\n").map((line) => `    ${line}`),
    ...(schedule.faults.length === 0 ? [] : [`  run it alone: HOMEOSTAT_SCHEDULE=${Fault.identifier(schedule)}`])
  ].join("\n")

/** The violations in words. */
export const of = (story: Story, { schedules, violations }: Report): string =>
  [
    `${violations.length} violations in ${schedules} schedules`,
    ...violations.slice(0, mostViolations).map((one) => violation(story, one)),
    ...(violations.length > mostViolations ? [`… and ${violations.length - mostViolations} more`] : [])
  ].join("\n\n")
