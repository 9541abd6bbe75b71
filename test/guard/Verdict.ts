/**
 * The verdict about a row, from pairs of measurements of the baseline and of the tree, each pair taken at the same time.
 *
 * A pair votes against the tree if the tree costs more than the limit allows. More pairs are taken until one side leads by `lead` votes, or
 * until there are `most` pairs. So the median of the pairs' ratios decides, and a single disturbed pair decides nothing. Pairs of an
 * unchanged tree vote wrongly only where noise exceeds the tolerance.
 */
import { median } from "../bench/Table.ts"

/** The cost at the baseline and of the tree, in the same unit. Less is better. */
export interface Pair {
  readonly baseline: number
  readonly tree: number
}

/** A number that the guard compares. `lead` is 1 if the number is the same in each measurement. */
export interface Row {
  readonly name: string
  /** The measured number and its unit, in words. */
  readonly what: string
  readonly lead: number
  /** The most pairs, an odd number: 15 if undefined. */
  readonly most?: number
}

/** The tree may cost this many times as much as the baseline, or as the raised baseline. */
export const tolerance = 1.1

const usualMost = 15

/** Returns whether the row passes. Undefined if more pairs are needed. */
export const of = (
  pairs: ReadonlyArray<Pair>,
  { lead, most = usualMost }: Pick<Row, "lead" | "most">,
  raised = 1
): boolean | undefined => {
  const against = pairs.filter(({ baseline, tree }) => !(tree <= baseline * raised * tolerance)).length
  const ahead = pairs.length - 2 * against
  return Math.abs(ahead) >= lead || pairs.length >= most ? ahead > 0 : undefined
}

const digits = (value: number): string => value.toLocaleString("en", { maximumSignificantDigits: 3 })

/** The medians of the row and of the pairs' ratios. */
export const medians = (pairs: ReadonlyArray<Pair>) => ({
  baseline: median(pairs.map(({ baseline }) => baseline)) ?? Number.NaN,
  tree: median(pairs.map(({ tree }) => tree)) ?? Number.NaN,
  ratio: median(pairs.map(({ baseline, tree }) => tree / baseline)) ?? Number.NaN
})

/** Returns the numbers of a row in words. */
export const describe = ({ name, what }: Row, pairs: ReadonlyArray<Pair>, raised = 1): string => {
  const { baseline, ratio, tree } = medians(pairs)
  const all = pairs.map((pair) => pair.tree / pair.baseline)
  const range = pairs.length === 1 ? "" : `, ${Math.min(...all).toFixed(2)} to ${Math.max(...all).toFixed(2)}`
  return `${name}: ${what}: ${digits(tree)}, and ${digits(baseline)} at the baseline: ratio ${ratio.toFixed(3)} (at most ${(raised * tolerance).toFixed(2)}; medians of ${pairs.length}${range})`
}
