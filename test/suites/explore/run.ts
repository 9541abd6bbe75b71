/**
 * Explores the stories of the shipped controllers one after the other in this process. Prints the violations at once, and every 100
 * schedules the CPU time and the memory:
 * `bun test/suites/explore/run.ts [--depth 1|2] [--fault FAULT...] [--count N] [--seed N] [WebApp|WebAppWithAutoscaler|...]`.
 *
 * `--count` is the number of schedules with two faults for all stories together. A story can occur several times. Its second run shows the
 * cost without the compilation of the code.
 */
import { parseArgs } from "node:util"
import type { Report } from "@homeostat/testkit/explore/Explorer"
import * as Explorer from "@homeostat/testkit/explore/Explorer"
import type { Fault } from "@homeostat/testkit/explore/Fault"
import * as Message from "@homeostat/testkit/explore/Message"
import type { Story } from "@homeostat/testkit/explore/Story"
import { Clock, Effect } from "effect"
import * as Stories from "./Stories.ts"

const stories = {
  WebApp: Stories.webapp,
  WebAppWithAutoscaler: Stories.webappWithAutoscaler,
  Rollback: Stories.rollback,
  WebAppWithJobs: Stories.webappWithJobs,
  Backup: Stories.backupStory,
  Restore: Stories.restoreStory
}
type Title = keyof typeof stories
const titles = Object.keys(stories) as ReadonlyArray<Title>
const isTitle = (text: string): text is Title => Object.hasOwn(stories, text)

const usage = (problem: string): never => {
  process.stderr.write(`${problem}\n`)
  process.exit(2)
}

const integer = (name: string, text: string): number =>
  /^\d+$/.test(text) ? Number(text) : usage(`--${name} is not a number: ${JSON.stringify(text)} (an integer from 0)`)

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    count: { type: "string", default: "10000" },
    depth: { type: "string", default: "2" },
    fault: { type: "string", multiple: true, default: [] },
    seed: { type: "string", default: "1" }
  }
})
const seed = integer("seed", values.seed)
const depth =
  values.depth === "1" ? 1 : values.depth === "2" ? 2 : usage(`invalid depth: ${values.depth} (must be 1 or 2)`)
const faults: ReadonlyArray<string> = [
  "Crash",
  "LostAnswer",
  "Refused",
  "Outage",
  "ForeignWrite",
  "SecondLeader",
  "Lag",
  "Missed"
] satisfies ReadonlyArray<Fault["_tag"]>
for (const fault of values.fault) {
  if (!faults.includes(fault)) usage(`unknown fault: ${fault} (must be one of ${faults.join(", ")})`)
}
const isTried: Explorer.Options["isTried"] = ({ _tag }) => values.fault.length === 0 || values.fault.includes(_tag)
const wanted = (positionals.length === 0 ? titles : positionals).map((title) =>
  isTitle(title) ? title : usage(`unknown story: ${title} (must be one of ${titles.join(", ")})`)
)
const pairs = Math.ceil(integer("count", values.count) / wanted.length)

const megabytes = (): string => `${Math.round(process.memoryUsage.rss() / 1_000_000)} MB`

/** Returns the number of violations of each promise. */
const byOracle = ({ violations }: Report): ReadonlyArray<string> => {
  const counts = new Map<string, number>()
  for (const { oracle } of violations) counts.set(oracle, (counts.get(oracle) ?? 0) + 1)
  return [...counts].map(([oracle, count]) => `  ${count} × ${oracle}`)
}

/** Returns the CPU time of all threads since the start of the process, in milliseconds. */
const cpuMillis = (): number => {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1000
}

const cpu = (): string => `${Math.round(cpuMillis() / 1000)} s of CPU`

/** Prints the violations of a schedule at once, and the numbers at each 100th schedule. */
const progress =
  (title: Title, story: Story): Explorer.Options["progress"] =>
  (schedules, violations) => {
    if (violations.length > 0) process.stdout.write(`${Message.of(story, { schedules, violations })}\n\n`)
    if (schedules === 1 || schedules % 100 === 0) {
      process.stdout.write(`${title}: ${schedules} schedules, ${cpu()}, ${megabytes()}\n`)
    }
  }

const explore = (title: Title) =>
  Effect.gen(function* () {
    const start = yield* Clock.currentTimeMillis
    const cpuAtStart = cpuMillis()
    const story = stories[title]
    const progressed = progress(title, story)
    const report = yield* Explorer.explore(story, { depth, pairs, seed, isTried, progress: progressed })
    const seconds = Math.round(((yield* Clock.currentTimeMillis) - start) / 1000)
    const { pruned, schedules, unreached, violations } = report
    const numbers = `${schedules} schedules in ${seconds} s, ${pruned} with a known state, ${unreached.length} without all faults`
    const each = `${Math.round((cpuMillis() - cpuAtStart) / (schedules + pruned))} ms of CPU each`
    const lines = [
      `${title}: ${numbers}, ${violations.length} violations, ${each}, ${megabytes()}`,
      ...byOracle(report)
    ]
    process.stdout.write(`${lines.join("\n")}\n`)
    if (violations.length > 0) process.stdout.write(`\n${Message.of(story, report)}\n\n`)
    return violations.length
  })

const found = await Effect.runPromise(Effect.forEach(wanted, explore))
const sum = found.reduce((all, one) => all + one, 0)
process.stdout.write(`seed ${seed}: ${sum} violations, ${megabytes()} of memory at the end\n`)
process.exit(sum === 0 ? 0 : 1)
