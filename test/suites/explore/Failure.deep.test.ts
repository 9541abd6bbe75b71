/** Tests of the message of a failed exploration, and of the repetition of its schedule. */
import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import * as Status from "@homeostat/runtime/controller/Status"
import * as Explore from "@homeostat/testkit/Explore"
import * as Fault from "@homeostat/testkit/explore/Fault"
import * as Message from "@homeostat/testkit/explore/Message"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import { crashes } from "./Crashes.ts"
import { errors } from "./Errors.ts"
import { memories } from "./Memories.ts"
import { apply, controller, create, growth, type Mutant, storyOf } from "./Mutant.ts"
import { others } from "./Others.ts"

const mutant = (name: string): Mutant => {
  const found = [...crashes, ...memories, ...others, ...errors].find((one) => one.name.startsWith(name))
  if (found === undefined) throw new Error(`mutant not found: ${name}`)
  return found
}

const limitMillis = 60_000

const explored = (name: string, options: Explore.Options = {}) =>
  Effect.gen(function* () {
    const one = mutant(name)
    const story = storyOf(one.mutant, one)
    const report = yield* Explore.run(story, { faults: one.fault === "none" ? [] : [one.fault], ...options })
    const [first] = report.violations
    if (first === undefined) return yield* Effect.die(new Error("there is no violation"))
    return { first, report, message: Message.of(story, report), trace: first.trace.join("\n") }
  })

describe("A violation", () => {
  live(
    "of the run without a fault has the requests and attempts of the object, and why",
    () =>
      Effect.gen(function* () {
        const { first, message, trace } = yield* explored("does not report that the API server rejects")
        expect(first.schedule.faults).toEqual([])
        expect(trace).toContain("PATCH configmaps/default/v-data → 422")
        expect(trace).toContain("volumes default/v: Done")
        expect(first.why).toContain("Last attempts of Volume default/v (controller volumes)")
        expect(message).toContain(`  | ${first.trace[0]}`)
        expect(message).toContain(`  ${first.why.split("\n", 1)}`)
        expect(message).toContain("HOMEOSTAT_SCHEDULE=0")
      }),
    limitMillis
  )

  live(
    "at unrest folds the lines that repeat",
    () =>
      Effect.gen(function* () {
        const { first, message, report } = yield* explored("fights with another controller")
        expect(report.violations).toHaveLength(1)
        expect(message).toMatch(/… these \d+ lines \d{2,} times until 00:00/)
        expect(first.trace.length).toBeLessThan(40)
      }),
    limitMillis
  )

  live(
    "of a restart has the lines of both processes",
    () =>
      Effect.gen(function* () {
        const { trace } = yield* explored("dies if another client has deleted")
        const [before = "", after = ""] = trace.split("the manager restarts\n")
        expect(before).toContain("PATCH configmaps/default/v-data → 409")
        expect(after).toContain("volumes default/v: Done")
      }),
    limitMillis
  )

  live(
    "after a crash has the requests before the crash",
    () =>
      Effect.gen(function* () {
        const { first } = yield* explored("counts the resizes")
        expect(first.trace[0]).toContain("PATCH configmaps/default/v-data → 201")
        expect(first.trace[1]).toBe("the process dies")
        expect(first.trace[2]).toContain("PATCH configmaps/default/v-data → 200")
      }),
    limitMillis
  )

  live(
    "names the stale reads",
    () =>
      Effect.gen(function* () {
        const { trace } = yield* explored("deletes what belongs to an object")
        expect(trace).toContain("DELETE configmaps/default/contents → 200 (stale: volumes default/w)")
      }),
    limitMillis
  )

  live(
    "that happens several times in a schedule is counted",
    () =>
      Effect.gen(function* () {
        const story = storyOf(() => [controller(() => Effect.die(new Error("a bug")))], {
          ...mutant("ignores"),
          steps: growth
        })
        const report = yield* Explore.run(story, { faults: [] })
        const defects = report.violations.filter(({ oracle }) => oracle === "no defect")
        expect(defects.map(({ schedule }) => schedule.step)).toEqual([0, 1])
        for (const { times } of defects) expect(times).toBeGreaterThan(2)
        expect(Message.of(story, report)).toMatch(/broken \d+ times: no defect/)
      }),
    limitMillis
  )

  live(
    "that other schedules share is shown once",
    () =>
      Effect.gen(function* () {
        const { message, report } = yield* explored("ignores every error")
        const messages = new Set(report.violations.map(({ message, oracle }) => `${oracle} ${message}`))
        expect(messages.size).toBeLessThan(report.violations.length)
        expect(message.split("broken").length - 1).toBe(messages.size)
        expect(message).toMatch(/the same with \d+ other schedules?: \d\/r\d/)
      }),
    limitMillis
  )
})

/** A controller that retries a failed write once, and ignores the second failure. */
const lazy = () => [
  controller((volume) =>
    volume.status?.size === volume.spec.size
      ? Effect.void
      : Effect.andThen(
          Effect.ignore(Effect.retry(apply(volume, "data"), { times: 1 })),
          Status.update(volume, { size: volume.spec.size })
        )
  )
]

describe("A schedule with two faults", () => {
  const options = { depth: 2, pairs: 12, faults: ["Refused"] } as const

  live(
    "is replaced by the fault that breaks the same promise alone",
    () =>
      Effect.gen(function* () {
        const { report } = yield* explored("ignores every error", options)
        for (const { schedule } of report.violations) expect(schedule.faults).toHaveLength(1)
      }),
    limitMillis
  )

  live(
    "stays if each fault alone does no harm, and the identifier finds it without the seed",
    () =>
      Effect.gen(function* () {
        const story = storyOf(lazy, { ...mutant("ignores every error"), steps: [create()] })
        expect((yield* Explore.run(story, { faults: ["Refused"] })).violations).toEqual([])
        const { violations } = yield* Explore.run(story, { ...options, pairs: 20 })
        const [first] = violations
        if (first === undefined) return yield* Effect.die(new Error("there is no violation"))
        for (const { schedule } of violations) expect(schedule.faults).toHaveLength(2)
        const message = Message.of(story, { violations, schedules: 20 })
        expect(message).toMatch(/› PATCH configmaps\/default\/v-data \(request \d after that\): the API server answers/)
        const again = yield* Explore.run(story, { only: Fault.identifier(first.schedule) })
        expect(again.violations.map(({ message }) => message)).toEqual([first.message])
      }),
    limitMillis
  )
})

describe("The command in a failure", () => {
  const run = (command: string) => {
    const cwd = join(import.meta.dir, "../../..")
    const { HOMEOSTAT_SCHEDULE: _, ...env } = process.env
    const child = Bun.spawnSync(["sh", "-c", command], { cwd, env: { ...env, NO_COLOR: "1" }, stderr: "pipe" })
    return { code: child.exitCode, output: `${child.stdout}${child.stderr}` }
  }
  const file = "./test/suites/explore/Failing.fixture.ts"
  const bun = `'${process.execPath}' test`

  test("runs the schedule alone", () => {
    const { output } = run(`${bun} ${file}`)
    const [, variable, rest] = /run it alone: (\S+) bun test (.*)/.exec(output) ?? []
    expect(variable).toBe("HOMEOSTAT_SCHEDULE=0/r0.crash-after")
    expect(rest).toBe(`${file} -t 'it'\\''s one \\(of two\\)'`)
    const again = run(`${variable} ${bun} ${rest}`)
    expect(again.code).toBe(1)
    expect(again.output).toContain("1 violation in 1 schedule\n")
    expect(again.output).toContain("PATCH configmaps/default/v-data → 200")
  }, 60_000)

  test("skips the stories without the schedule", () => {
    const { output } = run(`HOMEOSTAT_SCHEDULE=1/r0.crash-after ${bun} ${file}`)
    expect(output).toContain(
      'skipped "it\'s one (of two) without a second step": schedule not found: "1/r0.crash-after"'
    )
    expect(output).toMatch(/1 pass\n 1 fail/)
  }, 60_000)
})
