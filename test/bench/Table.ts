/** Renders the results as a Markdown table: medians, ranges, and the ratio of the first manager to the second. Pure. */
import type { Outcome } from "./Campaign.ts"
import type { Result } from "./Driver.ts"
import type { Measure } from "./Scenario.ts"

/** The names of the managers. A ratio is the first divided by the second; the others have no ratio. */
export type Names = readonly [string, string, ...ReadonlyArray<string>]

/** A number of Homeostat alone, for which less is better. */
export type Limited = Pick<Measure, "field" | "label" | "limit">

/** Renders the results as a Markdown table. */
export const render = (outcomes: ReadonlyArray<Outcome>, managers: Names): string => {
  const [a, b, ...others] = managers
  const more = others.map((other) => ` ${other} |`).join("")
  const lines = [
    `| scenario | number | ${a} | ${b} | ratio |${more} runs |`,
    `|---|---|---|---|---|${"---|".repeat(others.length)}---|`,
    ...outcomes.flatMap((outcome) => rows(outcome, managers))
  ]
  const alone = outcomes.filter(({ scenario }) => scenario.driverAlone === true).flatMap(aloneRows)
  const noisy = outcomes.reduce((sum, outcome) => sum + outcome.noisy, 0)
  const failures = outcomes.flatMap((outcome) => outcome.failures)
  const above = excessesOf(outcomes, a)
  return [
    ...lines,
    ...(alone.length === 0 ? [] : ["", "| the driver alone | number | | runs |", "|---|---|---|---|", ...alone]),
    "",
    `Median (min–max) of the runs; ratio ${a} / ${b} of the medians (min–max of the pairs). ↑: more is better, else less.`,
    `Above the limit: ${above.length}. Runs thrown away because of other load: ${noisy}. Failed: ${failures.length}.`,
    ...[...above, ...failures].map((line) => `- ${line}`),
    ""
  ].join("\n")
}

/** Returns a line for each number of a manager that is above its limit. */
export const excessesOf = (outcomes: ReadonlyArray<Outcome>, manager: string): ReadonlyArray<string> =>
  outcomes.flatMap(({ kept, scenario }) => excesses(scenario.title, scenario.measures, kept.get(manager) ?? []))

const rows = ({ scenario, kept }: Outcome, [a, b, ...others]: Names): ReadonlyArray<string> => {
  if (scenario.driverAlone === true) return []
  const first = kept.get(a) ?? []
  const second = kept.get(b) ?? []
  const rest = others.map((other) => kept.get(other) ?? [])
  return scenario.measures.map((measure, index) => {
    const title = index === 0 ? scenario.title : ""
    const runs = index === 0 ? [first, second, ...rest].map(({ length }) => length).join(", ") : ""
    const more = rest.map((results) => ` ${spread(values(results, measure))} |`).join("")
    return `| ${title} | ${name(measure)} | ${spread(values(first, measure))} | ${spread(values(second, measure))} | ${ratio(first, second, measure)} |${more} ${runs} |`
  })
}

const aloneRows = ({ scenario, kept }: Outcome): ReadonlyArray<string> => {
  const results = Array.from(kept.values()).flat()
  return scenario.measures.map(
    (measure, index) =>
      `| ${index === 0 ? scenario.title : ""} | ${name(measure)} | ${spread(values(results, measure))} | ${index === 0 ? results.length : ""} |`
  )
}

const name = ({ label, moreIsBetter }: Measure): string => (moreIsBetter === true ? `${label} ↑` : label)

/** The values of one field in the results. */
export const values = (results: ReadonlyArray<Result>, { field }: Pick<Measure, "field">): ReadonlyArray<number> =>
  results.flatMap((result) => {
    const value = result[field]
    return typeof value === "number" ? [value] : []
  })

/** The median; the mean of the two middle values for an even count, and undefined without values. */
export const median = (numbers: ReadonlyArray<number>): number | undefined => {
  const sorted = numbers.toSorted((x, y) => x - y)
  const low = sorted[Math.floor((sorted.length - 1) / 2)]
  const high = sorted[Math.floor(sorted.length / 2)]
  return low === undefined || high === undefined ? undefined : (low + high) / 2
}

/** Returns a line for each number of a scenario whose median is above its limit. */
export const excesses = (
  title: string,
  measures: ReadonlyArray<Limited>,
  results: ReadonlyArray<Result>
): ReadonlyArray<string> =>
  measures.flatMap(({ limit = Number.POSITIVE_INFINITY, ...measure }) => {
    const middle = median(values(results, measure))
    return middle !== undefined && middle > limit
      ? [`${title}, ${measure.label}: ${text(middle)} (at most ${limit})`]
      : []
  })

/** The median and the range, or a dash without values. */
export const spread = (numbers: ReadonlyArray<number>): string => {
  const middle = median(numbers)
  if (middle === undefined) return "–"
  return numbers.length === 1 ? text(middle) : `${text(middle)} ${range(numbers)}`
}

/** The ratio of the medians, and the range of the ratios of neighbouring runs. Noise in both runs leaves their ratio unchanged. */
const ratio = (first: ReadonlyArray<Result>, second: ReadonlyArray<Result>, measure: Measure): string => {
  const a = median(values(first, measure))
  const b = median(values(second, measure))
  if (a === undefined || b === undefined || b === 0) return "–"
  const pairs = first.flatMap((one) => {
    const other = second.find(({ round }) => round === one.round)
    const [x, y] = [values([one], measure)[0], values(other === undefined ? [] : [other], measure)[0]]
    return x === undefined || y === undefined || y === 0 ? [] : [x / y]
  })
  const digits = (value: number): string => value.toFixed(2)
  return `**${digits(a / b)}**${pairs.length < 2 ? "" : ` ${range(pairs, digits)}`}`
}

const range = (numbers: ReadonlyArray<number>, show = text): string =>
  `(${show(Math.min(...numbers))}–${show(Math.max(...numbers))})`

/** Formats a number with three digits, which is more than its precision. */
export const text = (value: number): string =>
  Number.isInteger(value) || Math.abs(value) >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)))
