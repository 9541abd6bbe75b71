/** An explanation for a terminal: the answer, then the facts in two columns. */

import type { Writer } from "./Fields.ts"
import { ago, clock, future, past, span } from "./Time.ts"
import type { Explanation, Reviewed } from "./Why.ts"
import { counted, deeds, isSame, listed, nameIn, type Subject } from "./Words.ts"

/** A section with a name and lines. */
type Section = readonly [name: string, lines: ReadonlyArray<string>]

/** Aligns columns; the last one has any width. */
const table = (rows: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> => {
  const widths: Array<number> = []
  for (const row of rows) {
    for (const [at, cell] of row.entries()) {
      if (at < row.length - 1) widths[at] = Math.max(widths[at] ?? 0, cell.length)
    }
  }
  return rows.map((row) =>
    row
      .map((cell, at) => (at < row.length - 1 ? cell.padEnd(widths[at] ?? 0) : cell))
      .join("  ")
      .trimEnd()
  )
}

/** The longest message in the text, in characters. The JSON has the whole message. */
const most = 200

/** A message in one line, without its tail beyond `most`; "(see above)" if the answer contains it. */
const clip = (text: string, { answer }: Pick<Explanation, "answer">): string => {
  const line = text.replaceAll(/\s+/g, " ").trim()
  if (line.length > 40 && answer.includes(line.replace(/[.!?…]$/, ""))) return "(see above)"
  return line.length > most ? `${line.slice(0, most)}…` : line
}

const when = (at: string, now: number): string => {
  const time = Date.parse(at)
  return Number.isNaN(time) ? "" : past(time, now)
}

const objectLine = ({ object }: Explanation, now: number): string => {
  if (object.exists === false && !object.seen) return "does not exist"
  const { createdAt, generation, observedGeneration, resourceVersion } = object
  const parts = [
    ...(generation === undefined ? [] : [`generation ${generation}`]),
    ...(observedGeneration !== undefined && generation !== undefined && observedGeneration < generation
      ? [`its status still speaks of generation ${observedGeneration}`]
      : []),
    ...(resourceVersion === undefined ? [] : [`resourceVersion ${resourceVersion}`]),
    ...(createdAt === undefined ? [] : [`created ${when(createdAt, now)}`])
  ]
  return parts.join(", ")
}

const deletionLines = ({ controller, finalizers, object }: Explanation, now: number): ReadonlyArray<string> => {
  if (object.deletionRequestedAt === undefined) return []
  const rows = finalizers.map(({ by, name, ours }) => [
    name,
    ours ? `controller ${controller.name}'s own` : by === undefined ? "not its own" : `not its own; added by ${by}`
  ])
  return [`asked for ${when(object.deletionRequestedAt, now)}`, ...table(rows)]
}

const conditionLines = (explanation: Explanation, now: number): ReadonlyArray<string> =>
  table(
    explanation.conditions.map(({ lastTransitionTime, message, reason, status, type }) => [
      type,
      status,
      reason,
      Number.isNaN(Date.parse(lastTransitionTime)) ? "" : ago(Date.parse(lastTransitionTime), now),
      clip(message, explanation)
    ])
  )

const loopLines = ({ loop, ...explanation }: Explanation, now: number): ReadonlyArray<string> =>
  loop === undefined ? [] : table([[loop.reason, ago(Date.parse(loop.at), now), clip(loop.note, explanation)]])

const nextLine = ({ next }: Explanation, now: number): ReadonlyArray<string> =>
  next === undefined ? [] : [next.at === undefined ? next.why : `${future(Date.parse(next.at), now)}: ${next.why}`]

const wokenLines = ({ wokenBy: { count, triggers } }: Explanation, now: number): ReadonlyArray<string> => [
  ...table(triggers.toReversed().map(({ at, text }) => [when(at, now), text])),
  ...(count > triggers.length ? [`and ${count - triggers.length} more before`] : [])
]

type ShownRun = Explanation["runs"][number]

const resultOf = ({ outcome, times }: ShownRun): string => {
  const words: { readonly [outcome in ShownRun["outcome"]]: string } = {
    Done: "ok",
    RequeueAfter: "ok",
    Requeue: "not yet",
    Vanished: "gone",
    Interrupted: "interrupted",
    Unreachable: "no server",
    Terminal: "failed permanently",
    Failed: "failed"
  }
  return `${words[outcome]}${times > 1 ? ` ×${times}` : ""}`
}

/**
 * The attempts in columns, one line each. The answer is the text above the lines: they do not repeat its messages.
 *
 * @internal
 */
export const runLines = (
  explanation: { readonly object: Subject } & Pick<Explanation, "answer" | "runs">,
  now: number
): ReadonlyArray<string> => {
  const { object, runs } = explanation
  return table(
    runs.map((run) => {
      const did = deeds(run, object)
      // A trigger of another writer says more than the controller's own writes.
      const woken = run.triggers.findLast(({ own }) => !own) ?? run.triggers.at(-1)
      const more = run.coalesced > 1 ? ` (+${run.coalesced - 1})` : ""
      const since = run.times > 1 ? [`since ${clock(Date.parse(run.since), now)}`] : []
      const nothing =
        did.length === 0 && run.message === undefined && run.outcome !== "Vanished" ? ["nothing to do"] : []
      const { recording } = run
      const trace = run.trace?.exported === true ? run.trace.id : undefined
      const ids =
        trace !== undefined && trace === recording
          ? [`trace and replay ${trace}`]
          : [
              ...(trace === undefined ? [] : [`trace ${trace}`]),
              ...(recording === undefined ? [] : [`replay ${recording}`])
            ]
      return [
        clock(Date.parse(run.startedAt), now),
        ago(Date.parse(run.startedAt), now),
        resultOf(run),
        span(run.tookMillis),
        woken === undefined ? "" : `${woken.text}${more}`,
        [
          ...since,
          ...(run.message === undefined ? [] : [clip(run.message, explanation)]),
          ...did,
          ...nothing,
          ...ids
        ].join("; ")
      ]
    })
  )
}

/** The number of ignored changes that are shown; the others are counted. */
const mostIgnored = 4

const ignoredLines = ({ ignored, object }: Explanation, now: number): ReadonlyArray<string> => [
  ...table(
    ignored
      .slice(0, mostIgnored)
      .map(({ at, kind, own, predicate, source, times }) => [
        when(at, now),
        isSame(source, object) ? "it" : nameIn(source, object),
        `${kind === "startup" ? "found at the start" : (kind.split(".")[1] ?? kind)}${times > 1 ? ` ×${times}` : ""}`,
        `${predicate}${own ? " (the controller's own write)" : ""}`
      ])
  ),
  ...(ignored.length > mostIgnored ? [`and ${ignored.length - mostIgnored} more before`] : [])
]

/** One line for each answer of an admission webhook. */
export const webhookLines = (
  webhooks: ReadonlyArray<Reviewed>,
  { answer }: Pick<Explanation, "answer">,
  now: number
): ReadonlyArray<string> =>
  table(
    webhooks.map(({ at, dryRun, message, operation, result, since, times, trace, unverified, username }) => [
      when(at, now),
      `${result}${times > 1 ? ` ×${times}` : ""}`,
      `${operation}${username === "" ? "" : ` by ${username}`}${dryRun ? " (dry run)" : ""}${unverified === undefined ? "" : `, unauthenticated, from ${unverified}`}`,
      [
        ...(times > 1 ? [`since ${clock(Date.parse(since), now)}`] : []),
        clip(message, { answer }),
        ...(trace?.exported === true ? [`trace ${trace.id}`] : [])
      ].join("; ")
    ])
  )

const writerRow = (now: number, { at, fields, manager, operation, subresource }: Writer): ReadonlyArray<string> => [
  manager,
  operation,
  at === undefined ? "" : ago(Date.parse(at), now),
  `${subresource === undefined || subresource === "status" ? "" : `${subresource}: `}${fields.join(", ")}`
]

const childLines = ({ children, controller, object }: Explanation, now: number): ReadonlyArray<string> =>
  table(
    children.flatMap(({ exists, key, kind, others }) => {
      const name = nameIn({ kind, key }, object)
      if (exists === undefined) return [[name, "unknown"]]
      if (!exists) return [[name, "is gone"]]
      return others.length === 0
        ? [[name, `only by ${controller.fieldManager}`]]
        : others.map((writer) => [name, ...writerRow(now, writer)])
    })
  )

const processLines = ({ controller }: Explanation): ReadonlyArray<string> => {
  const { busy, caches, election, name, reachable, workers } = controller
  const role =
    election === undefined
      ? []
      : election.leading
        ? [`leads as ${election.identity}`]
        : [`stands by as ${election.identity}`]
  const waiting = caches.filter(({ problem, synced }) => !synced || problem !== undefined)
  const isWaiting = caches.some(({ synced }) => !synced)
  const absent = caches.filter((cache) => cache.absent === true)
  const kinds = (some: typeof caches) => listed([...new Set(some.map(({ resource }) => resource))])
  const read = kinds(caches.filter((cache) => cache.absent !== true))
  const work = busy === undefined ? "not at work" : `${busy} of ${counted(workers, "worker")} busy`
  return [
    [`controller ${name}`, isWaiting ? "not started" : work, ...role].join(", "),
    waiting.length === 0
      ? `reads ${read}: all in step with the API server`
      : `reads ${read}; not in step: ${kinds(waiting)}`,
    ...(absent.length === 0 ? [] : [`runs without ${kinds(absent)}, which the API server does not serve`]),
    ...(reachable ? [] : ["no API server answers"])
  ]
}

/** The explanation as text, without a final newline. */
export const render = (explanation: Explanation): string => {
  const now = Date.parse(explanation.at)
  const { answer, hints, runs, unknown, writers } = explanation
  const last = runs[0]
  const sections: ReadonlyArray<Section> = [
    ["Object", [objectLine(explanation, now)].filter((line) => line !== "")],
    ["Deletion", deletionLines(explanation, now)],
    ["Conditions", conditionLines(explanation, now)],
    ["Loop", loopLines(explanation, now)],
    ["Next", nextLine(explanation, now)],
    ["Woken by", wokenLines(explanation, now)],
    ["Attempts", runLines(explanation, now)],
    ["Ignored", ignoredLines(explanation, now)],
    ["Webhook", webhookLines(explanation.webhooks, explanation, now)],
    ["Written by", table(writers.map((writer) => writerRow(now, writer)))],
    ["Children", childLines(explanation, now)],
    ["Process", processLines(explanation)],
    ["Not known", unknown],
    ["In the log", last === undefined ? [] : [`reconcileID=${last.id}`]]
  ]
  const width = Math.max(...sections.map(([name]) => name.length)) + 2
  const lines = sections.flatMap(([name, body]) =>
    body.map((line, at) => `${(at === 0 ? name : "").padEnd(width)}${line}`)
  )
  return [answer, ...hints, "", ...lines].join("\n")
}
