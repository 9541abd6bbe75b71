/** A replay as text. */
import type * as Drift from "../controller/Drift.ts"
import * as Text from "../resource/Text.ts"
import type { ReplayEnding, Report } from "./Replay.ts"
import type { Source, Step } from "./Trail.ts"
import type { Difference } from "./Writes.ts"

/** The most fields of one write. JSON has them all. */
const mostFields = 16

/** The longest value and the longest message, in characters. */
const longestValue = 80
const longestMessage = 300

const shown = (value: Drift.Json | undefined): string => {
  const text = value === undefined ? "none" : typeof value === "string" && value !== "" ? value : JSON.stringify(value)
  return Text.printable(Text.clip(text, longestValue))
}

const counted = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`

const notes: { readonly [source in Source]: string } = {
  recorded: "",
  known: " (from another read)",
  assumed: " (assumed)"
}

const lineOf = (step: Step): string => {
  switch (step.step) {
    case "read":
      return `cache  ${step.what}: ${step.found}`
    case "request":
      return `${step.method.padEnd(6)} ${step.path}: ${step.answer}${notes[step.source]}`
    case "event":
      return `event  ${step.type} ${step.reason}: ${step.note}`
    case "log":
      return `log    ${step.level}: ${step.message}`
  }
}

const endingOf = ({ afterMillis, message, outcome }: ReplayEnding): string => {
  const text = message === undefined ? "" : `: ${Text.clip(message.replaceAll(/\s+/g, " "), longestMessage)}`
  return `${outcome}${afterMillis === undefined ? "" : ` ${Math.round(afterMillis / 1000)}s`}${text}`
}

const titles: { readonly [difference in Difference["difference"]]: string } = {
  changed: "~",
  added: "+",
  moved: ">",
  missing: "-"
}

const differenceLines = ({ after, difference, fields, method, path }: Difference): ReadonlyArray<string> => {
  if (after !== undefined) return [`  ${titles[difference]} ${method} ${path}`, `      after ${after}`]
  const lines = fields
    .slice(0, mostFields)
    .map(({ from, path, to }) =>
      difference === "changed" ? `${path}: ${shown(from)} -> ${shown(to)}` : `${path}: ${shown(to)}`
    )
  const more = fields.length - lines.length
  return [
    `  ${titles[difference]} ${method} ${path}`,
    ...[...lines, ...(more > 0 ? [`${counted(more, "more field")} (-o json)`] : [])].map((line) => `      ${line}`)
  ]
}

const verdictOf = ({ same, steps, writes }: Report): string => {
  const reads = steps.filter(
    (step) => step.step === "read" || (step.step === "request" && step.method === "GET")
  ).length
  const what = `${counted(reads, "read")}, ${counted(writes, "write")}`
  return same ? `Same as the recording: ${what}.` : `Differs from the recording: ${what}.`
}

/** Values of a recording in one line, so that they cannot look like another line of the output. */
const line = (text: string): string => Text.printable(text).replaceAll("\n", "\\n")

/** The text, without a final newline. */
export const render = (report: Report): string => {
  const { differences, ending, missingReads, recordedEnding, recording } = report
  const { controller, object, omitted, redacted, startedAt, trace } = recording
  const now = endingOf(ending)
  const then = endingOf(recordedEnding)
  const lost = omitted.reads + omitted.requests
  return [
    line(`${controller}  ${object.kind} ${object.key}  attempt ${recording.attempt} at ${startedAt}`),
    line(
      `trace ${trace}  reconcileID ${recording.reconcileID}${recording.program === undefined ? "" : `  by ${recording.program}`}`
    ),
    ...report.steps.map((step) => `  ${line(lineOf(step))}`),
    `Outcome: ${line(now)}`,
    ...(now === then ? [] : [`Recorded outcome: ${line(then)}`]),
    ...(missingReads.length === 0
      ? []
      : ["Reads that the recording does not have:", ...missingReads.map((each) => `  ${line(each)}`)]),
    ...(differences.length === 0
      ? []
      : [
          "Writes that differ (+ only now, - only in the recording, ~ recorded -> now, > now after the other):",
          ...differences.flatMap(differenceLines).map(line)
        ]),
    verdictOf(report),
    ...(redacted === 0
      ? []
      : [
          `The recording hides ${counted(redacted, "secret value")}: ${report.same ? "the replay compares only their lengths" : "a difference may come from them"}.`
        ]),
    ...(lost === 0
      ? []
      : [
          `The recording omits ${lost === 1 ? "1 read or request" : `${lost} reads or requests`}, because there were too many${report.same ? "" : ": a difference may come from them"}.`
        ])
  ].join("\n")
}
