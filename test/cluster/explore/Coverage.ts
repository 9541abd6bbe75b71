/** The coverage of an exploration, as Markdown. */
import type { Report } from "./Explorer.ts"
import type { Fault } from "./Fault.ts"
import type { StatesReport } from "./States.ts"

const columns: ReadonlyArray<readonly [Fault["_tag"], string]> = [
  ["Crash", "crash"],
  ["LostAnswer", "lost answer"],
  ["Refused", "refused"],
  ["Outage", "outage"],
  ["ForeignWrite", "other client"],
  ["SecondLeader", "second leader"],
  ["Lag", "late"],
  ["Missed", "missed"]
]

/** Returns the table of an exploration: the number of schedules for each kind of request, for each watch, and for each fault. */
export const table = ({ tried }: Report): string => {
  const titles = ["", ...columns.map(([, title]) => title)]
  const rows = [...tried]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([site, counts]) => [`\`${site}\``, ...columns.map(([tag]) => String(counts.get(tag) ?? ""))])
  const widths = titles.map((_, index) => Math.max(4, ...[titles, ...rows].map((cells) => (cells[index] ?? "").length)))
  const row = (cells: ReadonlyArray<string>): string => {
    const padded = cells.map((cell, index) =>
      index === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[index] ?? 0)
    )
    return `| ${padded.join(" | ")} |`
  }
  const rule = widths.map((width, index) => (index === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`))
  return [row(titles), row(rule), ...rows.map(row)].join("\n")
}

/** Returns a sentence with the numbers of an exploration. */
export const summary = ({ pruned, schedules, tried, unreached, violations }: Report): string =>
  [
    `${schedules} schedules at ${tried.size} places, ${violations.length} violations.`,
    `${pruned} more would repeat a known state.`,
    ...(unreached.length === 0 ? [] : [`In ${unreached.length}, the event of the fault did not come.`])
  ].join(" ")

/** Returns the numbers of an exploration of specs, and the fields that varied. */
export const fields = ({ fields, rejected, sequences, specs, violations }: StatesReport): string =>
  [
    `${specs} specs and ${sequences} sequences of two or three of them, ${violations.length} violations.`,
    `The API server rejected ${rejected} other specs.`,
    `Fields of the spec varied: ${[...fields]
      .sort()
      .map((field) => `\`${field}\``)
      .join(", ")}.`
  ].join(" ")
