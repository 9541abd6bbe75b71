/** The output of a run of mutations. Pure. */
import type { Change } from "./Mutant.ts"
import type { Outcome, Tried, Verdict } from "./Trial.ts"

const words: { readonly [Tag in Verdict["_tag"]]: string } = {
  Killed: "killed",
  TimedOut: "timed out",
  Refused: "refused",
  Survived: "survived",
  Stale: "stale"
}

const shortened = (text: string, length = 160): string =>
  text.length > length ? `${text.slice(0, length - 1)}…` : text

/** Both texts, starting shortly before the first different character. */
const difference = ({ after, before }: Change): string => {
  let same = 0
  while (same < before.length && before[same] === after[same]) same++
  const shown = (text: string): string => shortened(same > 30 ? `…${text.slice(same - 25)}` : text, 60)
  return `${shown(before)} → ${shown(after)}`
}

const placeOf = ({ change, mutant }: Tried): string =>
  change === undefined ? mutant.file : `${mutant.file}:${change.line}`

const reasonOf = (verdict: Verdict): string => {
  switch (verdict._tag) {
    case "Killed":
      return `by ${verdict.file}: ${shortened(verdict.test)}`
    case "TimedOut":
      return `in ${verdict.file}`
    case "Refused":
      return `by the type check: ${shortened(verdict.error)}`
    case "Survived":
      return verdict.known === 0
        ? "no test reaches the file"
        : `${verdict.passed} of ${verdict.known} test files passed`
    case "Stale":
      return "the file does not hold the replaced text exactly once"
  }
}

/** Returns one line about a mutant and its verdict. */
export const line = (tried: Tried): string => {
  const { change, mutant, verdict } = tried
  const what = change === undefined ? "" : ` ${difference(change)}`
  return `${mutant.id} ${words[verdict._tag]} ${placeOf(tried)}${what} (${reasonOf(verdict)})`
}

const of = <Tag extends Verdict["_tag"]>(outcome: Outcome, tag: Tag): ReadonlyArray<Tried> =>
  outcome.tried.filter(({ verdict }) => verdict._tag === tag)

const section = (title: string, lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  lines.length === 0 ? [] : ["", title, ...lines]

/** Returns the open work after a run, and the score: the share of mutants that tests or the type check noticed. */
export const summary = (outcome: Outcome): string => {
  const [killed, timedOut, refused, survived, stale] = [
    of(outcome, "Killed").length,
    of(outcome, "TimedOut").length,
    of(outcome, "Refused").length,
    of(outcome, "Survived"),
    of(outcome, "Stale")
  ]
  const noticed = killed + timedOut + refused
  const counted = noticed + survived.length
  const share = counted === 0 ? "" : ` (${((100 * noticed) / counted).toFixed(1)} %)`
  return [
    ...section(
      "Survived:",
      survived.flatMap((tried) => [
        `  ${tried.mutant.id} ${placeOf(tried)} (${reasonOf(tried.verdict)})`,
        `    - ${shortened(tried.change?.before ?? "")}`,
        `    + ${shortened(tried.change?.after ?? "")}`
      ])
    ),
    ...section(
      "Not tried, since the file does not hold the replaced text exactly once:",
      stale.map(({ mutant }) => `  ${mutant.id} ${mutant.file}`)
    ),
    ...section(
      "Test files that fail without a mutation, and were not used:",
      outcome.failing.map(({ file, test }) => `  ${file}: ${test}`)
    ),
    ...section(
      "Test files that take longer than the limit without a mutation, and were not used:",
      outcome.slow.map((file) => `  ${file}`)
    ),
    "",
    `${noticed} of ${counted} mutants killed${share}: ${killed} by a failing test, ${timedOut} by a timeout, ${refused} by the type check alone; ${survived.length} survived`
  ].join("\n")
}
