/** The flags of `bun run mutate`. */
import { readFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { Duration } from "effect"
import type { Mutant } from "./Mutant.ts"
import { folders } from "./Project.ts"

/** The parsed flags. */
export interface Options {
  readonly help: boolean
  /** Files and folders. Default: the changed sources. */
  readonly paths: ReadonlyArray<string>
  readonly count: number
  /** Default: the seed of the commit. */
  readonly seed: number | undefined
  readonly base: string | undefined
  readonly limit: Duration.Duration
  readonly jobs: number
  readonly list: boolean
  /** The mutants of `--replay`, instead of random ones. */
  readonly replay: ReadonlyArray<Mutant> | undefined
}

/** The help text. */
export const usage = `bun run mutate [flags] [PATH...]

Changes sources of the product one at a time, and shows which changes no test notices.

  PATH             Files or folders below ${folders.join(", ")}
                   Default: the files that changed since --base, committed or not
  --base REF       A commit. Default: the merge base of HEAD and origin/main; if nothing changed since, HEAD~1
  --count N        Mutants to draw; default 20
  --seed N         The same seed and sources give the same mutants. Default: from the tree of the commit
  --limit SECONDS  How long the tests of one mutant may run; default 60
  --jobs N         Mutants to try at a time, 1 or 2; default 1
  --list           Print the drawn mutants as JSON, and run no tests
  --replay FILE    Try the mutants of a JSON file: [{ "id", "file", "from", "to", "test"? }, …]. The file has the text
                   "from" once. Test files whose path contains "test" run first

The tests that import a mutant's file run: the one beside it, then those of its folder, then those of folders with the
same name, then others, nearest first. Of equally near ones the fastest runs first.
Only tests of the lanes unit, embedded and deep run. A mutant that passes them is refused where the type check fails.
Everything runs on copies: the working tree does not change.
Exit code 0 after a whole run, also when mutants survived; 1 when a test fails without a mutation or the run ended early;
2 for unusable flags.`

const isMutant = (value: unknown): value is Mutant =>
  typeof value === "object" &&
  value !== null &&
  ["id", "file", "from", "to"].every((name) => typeof Reflect.get(value, name) === "string") &&
  ["string", "undefined"].includes(typeof Reflect.get(value, "test"))

/** Reads mutants from a file. Throws an error with one line for an invalid file. */
const mutantsIn = (file: string): ReadonlyArray<Mutant> => {
  const found: unknown = JSON.parse(readFileSync(file, "utf8"))
  if (!Array.isArray(found)) throw new Error(`--replay ${file}: not an array (a JSON array of mutants is accepted)`)
  return found.map((value: unknown, at) => {
    if (isMutant(value)) return value
    throw new Error(`--replay ${file}: entry ${at} is not a mutant (texts "id", "file", "from" and "to" are needed)`)
  })
}

/** Parses the flags. Throws an error with one line for invalid flags. */
export const parse = (args: ReadonlyArray<string>): Options => {
  const { positionals, values } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      base: { type: "string" },
      count: { type: "string", default: "20" },
      seed: { type: "string" },
      limit: { type: "string", default: "60" },
      jobs: { type: "string", default: "1" },
      list: { type: "boolean", default: false },
      replay: { type: "string" },
      help: { type: "boolean", default: false }
    }
  })
  const number = (flag: string, text: string, least: number, most: number): number => {
    const value = Number(text)
    if (Number.isInteger(value) && text.trim() !== "" && value >= least && value <= most) return value
    throw new Error(`--${flag}: ${text} (an integer from ${least} to ${most} is accepted)`)
  }
  const { base, help, list, replay, seed } = values
  if (replay !== undefined && (positionals.length > 0 || base !== undefined || seed !== undefined || list)) {
    throw new Error("--replay: its mutants are given (PATH, --base, --seed and --list are not accepted with it)")
  }
  return {
    help,
    paths: positionals,
    count: number("count", values.count, 1, 1_000_000),
    seed: seed === undefined ? undefined : number("seed", seed, 0, Number.MAX_SAFE_INTEGER),
    base,
    limit: Duration.seconds(number("limit", values.limit, 1, 86_400)),
    jobs: number("jobs", values.jobs, 1, 2),
    list,
    replay: replay === undefined ? undefined : mutantsIn(replay)
  }
}
