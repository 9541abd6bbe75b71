/** Runs one schedule of a test. The variable `HOMEOSTAT_SCHEDULE` selects it. */

import { relative } from "node:path"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import type { Report, ScheduleNotFound } from "./Explorer.ts"
import * as Message from "./Message.ts"
import type { Story } from "./Story.ts"

const quoted = (text: string): string => (/^[\w./=:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")

/**
 * Returns the command that runs one schedule of a test in the current test file.
 *
 * @internal
 */
export const command =
  (name: string) =>
  (schedule: string): string => {
    const path = relative(process.cwd(), Bun.main)
    const file = path.startsWith("..") ? Bun.main : `./${path}`
    return `HOMEOSTAT_SCHEDULE=${schedule} bun test ${quoted(file)} -t ${quoted(escaped(name))}`
  }

/**
 * The body of a test: explores, and dies with the violations. With the variable, it runs the selected schedule, prints its trace, and
 * returns undefined. It also returns undefined if the story does not have the schedule, because another test has it.
 *
 * @internal
 */
export const body = (
  name: string,
  story: Story,
  explore: (only: string | undefined) => Effect.Effect<Report, ScheduleNotFound>,
  chosen?: string
): Effect.Effect<Report | undefined> =>
  Effect.gen(function* () {
    const { HOMEOSTAT_SCHEDULE: named = "" } = process.env
    const only = chosen ?? (named === "" ? undefined : named)
    const report = yield* explore(only)
    if (only !== undefined) yield* Console.log(report.trace.join("\n"))
    if (report.violations.length > 0) {
      return yield* Effect.die(new Error(Message.of(story, report, command(name))))
    }
    return only === undefined ? report : undefined
  }).pipe(
    Effect.catchTag("ScheduleNotFound", (error) =>
      chosen === undefined
        ? Effect.as(Console.log(`skipped ${JSON.stringify(name)}: ${error.message}`), undefined)
        : Effect.die(error)
    )
  )
