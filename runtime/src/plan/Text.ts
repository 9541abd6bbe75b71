/** A plan as text and as Markdown. */
import type * as Drift from "../controller/Drift.ts"
import { keyString } from "../resource/KubernetesObject.ts"
import * as Text from "../resource/Text.ts"
import type { Difference, Document, Parts } from "./Document.ts"
import * as Documents from "./Document.ts"
import type { Unknown } from "./Endings.ts"
import type { Field } from "./Fields.ts"
import type { Plan } from "./Plan.ts"
import type { ObjectName, Write } from "./Write.ts"

/** The most fields of one write. JSON has them all. */
const mostFields = 16

/** The longest value, in characters. */
const longestValue = 80

const signs = { create: "+", change: "~", delete: "-" } as const

/** The fields that change with every write of their kind. */
const isNoise = ({ path }: Field): boolean =>
  path === "metadata.annotations[homeostat.dev/intent]" ||
  (path.startsWith("status.conditions[") && /\.(type|lastTransitionTime|observedGeneration)$/.test(path))

/** The text of lines. A text of the cluster or of a file stays in its line, so that it cannot look like another line. */
const joined = (lines: ReadonlyArray<string>): string =>
  lines.map((line) => Text.printable(line).replaceAll("\n", "\\n").replaceAll("\t", "\\t")).join("\n")

const shown = (value: Drift.Json | undefined): string => {
  const text = value === undefined ? "none" : typeof value === "string" && value !== "" ? value : JSON.stringify(value)
  return Text.clip(text, longestValue)
}

const counted = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`

const named = ({ kind, name, namespace }: ObjectName): string => `${kind} ${keyString({ name, namespace })}`

const headOf = ({ action, rollout, subresource, target, verb }: Write): string =>
  [
    `${signs[action]} ${named(target)}${subresource === undefined ? "" : ` ${subresource}`}`,
    `(${verb})`,
    ...(rollout === undefined ? [] : [`rolls ${counted(rollout.pods, "pod")}`])
  ].join(" ")

const fieldsOf = ({ action, fields }: Write): ReadonlyArray<string> => {
  if (action !== "change") return []
  const main = fields.filter((field) => !isNoise(field))
  // A write without a visible field would look like a mistake of the plan.
  const worth = main.length === 0 ? fields : main
  const lines = worth.slice(0, mostFields).map(({ from, path, to }) => `${path}: ${shown(from)} -> ${shown(to)}`)
  const rest = worth.length - lines.length
  return rest === 0 ? lines : [...lines, `${counted(rest, "more field")} (-o json)`]
}

const linesOf = (write: Write): ReadonlyArray<string> => [
  headOf(write),
  ...fieldsOf(write).map((line) => `    ${line}`)
]

/** The parts of a plan about one reconciled object. */
interface Part {
  readonly title: string
  readonly writes: Array<Write>
  readonly notes: Array<string>
}

const partsOf = (plan: Parts) => {
  const parts = new Map<string, Part>()
  const partOf = ({
    controller,
    object
  }: {
    readonly controller?: string | undefined
    readonly object?: ObjectName | undefined
  }): Part => {
    const title = [controller ?? "no controller", ...(object === undefined ? [] : [named(object)])].join("  ")
    const part = parts.get(title) ?? { title, writes: [], notes: [] }
    parts.set(title, part)
    return part
  }
  for (const write of plan.writes) partOf(write).writes.push(write)
  for (const unknown of plan.unknown) partOf(unknown).notes.push(noteOf(unknown))
  for (const problem of plan.problems) partOf(problem).notes.push(`! ${problem.message}`)
  return [...parts.values()]
}

const noteOf = ({ reason }: Unknown): string => `? unknown: ${reason}`

const titleOf = ({ notes, title, writes }: Part): string => {
  const unknown = notes.filter((note) => note.startsWith("?")).length
  const counts = [counted(writes.length, "write"), ...(unknown === 0 ? [] : [`${unknown} unknown`])]
  return `${title}  ${counts.join(", ")}`
}

/** The numbers in one line. */
const totalOf = (plan: Parts): string => {
  const { change, create, delete: gone, rollouts, unknown } = Documents.summaryOf(plan)
  return `${create} to create, ${change} to change, ${gone} to delete, ${counted(rollouts, "rollout")}, ${unknown} unknown`
}

/** A plan as text names at most so many namespaces. */
const mostNamespaces = 10

/** The rollouts that the build causes by itself, in one line. */
const ownOf = (plan: Parts): ReadonlyArray<string> => {
  const { own } = Documents.summaryOf(plan)
  if (own.length === 0) return []
  const sum = (field: "rollouts" | "pods"): number => own.reduce((sum, each) => sum + each[field], 0)
  const named = own
    .slice(0, mostNamespaces)
    .map(({ namespace, pods, rollouts }) => `${namespace} ${rollouts} (${counted(pods, "pod")})`)
  const more = own.length - named.length
  const rest = more > 0 ? [`${counted(more, "more namespace")} (-o json)`] : []
  return [
    `Without a new spec: ${counted(sum("rollouts"), "rollout")} of ${counted(sum("pods"), "pod")}. By namespace: ${[...named, ...rest].join(", ")}.`
  ]
}

const bodyOf = (plan: Parts): ReadonlyArray<string> =>
  partsOf(plan).flatMap((part) => [
    titleOf(part),
    ...part.writes.flatMap((write) => linesOf(write).map((line) => `  ${line}`)),
    ...part.notes.map((note) => `  ${note}`)
  ])

/** The controllers with the number of their objects that need no write. */
const restOf = ({ controllers, unknown, writes }: Plan): ReadonlyArray<string> =>
  controllers.map(({ complete, kind, name, objects }) => {
    if (objects === undefined) return `${name}  ${kind}s not planned`
    if (!complete) return `${name}  ${counted(objects, kind)}, not all of them planned`
    const busy = new Set(
      [...writes, ...unknown].flatMap(({ controller, object }) =>
        controller === name && object !== undefined ? [named(object)] : []
      )
    )
    return `${name}  ${Math.max(0, objects - busy.size)} of ${counted(objects, kind)} with nothing to write`
  })

const titleOfPlan = ({ complete }: Document): string => (complete ? "Plan" : "Incomplete plan")

/** A plan as text. */
export const text = (plan: Document): string =>
  joined([...bodyOf(plan), ...restOf(plan), ...ownOf(plan), `${titleOfPlan(plan)}: ${totalOf(plan)}.`])

const makerOf = ({ program: { commit, name, version } }: Pick<Document, "program">): string =>
  `${name} ${version}${commit === undefined ? "" : ` (${commit.slice(0, 8)})`}`

/** The parts of a comparison, with their titles. */
const sidesOf = ({ before, now, unknown }: Difference): ReadonlyArray<readonly [title: string, parts: Parts]> =>
  (
    [
      [`Only the earlier plan, by ${makerOf(before)}, has:`, before],
      [`Only this plan, by ${makerOf(now)}, has:`, now],
      ["Both plans are incomplete:", { writes: [], unknown, problems: [] }]
    ] as const
  ).filter(([, parts]) => !Documents.isEmpty(parts) || parts.problems.length > 0)

/** The end of a comparison without different parts. */
const endOf = (difference: Difference): ReadonlyArray<string> =>
  sidesOf(difference).length > 0
    ? []
    : [Documents.isSame(difference) ? "The plans are the same." : "The writes are the same."]

/** The difference of two plans as text. */
export const differenceText = (difference: Difference): string =>
  joined([
    ...difference.warnings,
    ...sidesOf(difference).flatMap(([title, side]) => [title, ...bodyOf(side), `  ${totalOf(side)}`]),
    ...endOf(difference)
  ])

/** A text in Markdown, also in a table. A tag or a comment in it would hide the rest. */
const cell = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll("|", "\\|").replaceAll("`", "'")

const noteRow = ({ controller, object }: Pick<Unknown, "controller" | "object">, note: string): string =>
  `| ${cell(controller ?? "")} | ${object === undefined ? "" : cell(named(object))} | ${cell(note)} | |`

const table = (plan: Parts): ReadonlyArray<string> => [
  "| controller | object | write | pods |",
  "| --- | --- | --- | --- |",
  ...plan.writes.map((write) => {
    const object = write.object === undefined ? "" : named(write.object)
    const what = `${signs[write.action]} ${named(write.target)}${write.subresource === undefined ? "" : ` ${write.subresource}`}`
    return `| ${cell(write.controller ?? "")} | ${cell(object)} | \`${cell(what)}\` | ${write.rollout === undefined ? "" : `rolls ${write.rollout.pods}`} |`
  }),
  ...plan.unknown.map((unknown) => noteRow(unknown, `unknown: ${unknown.reason}`)),
  ...plan.problems.map((problem) => noteRow(problem, `stops: ${problem.message}`))
]

const details = (plan: Parts): ReadonlyArray<string> => [
  "<details><summary>Fields</summary>",
  "",
  "```diff",
  // A fence in a value would end the block.
  ...bodyOf(plan).map((line) => line.replaceAll("```", "'''")),
  "```",
  "",
  "</details>"
]

/** A plan as Markdown, for a merge request. */
export const markdown = (plan: Document): string =>
  joined([
    `### ${titleOfPlan(plan)} of ${makerOf(plan)}`,
    "",
    `${totalOf(plan)}.`,
    ...ownOf(plan).flatMap((line) => ["", cell(line)]),
    ...(plan.problems.length > 0 || !Documents.isEmpty(plan) ? ["", ...table(plan), "", ...details(plan)] : []),
    "",
    ...restOf(plan).map((line) => `- ${line}`)
  ])

/** The difference of two plans as Markdown. */
export const differenceMarkdown = (difference: Difference): string =>
  joined([
    `### From ${cell(makerOf(difference.before))} to ${makerOf(difference.now)}`,
    ...difference.warnings.flatMap((line) => ["", cell(line)]),
    ...sidesOf(difference).flatMap(([title, side]) => [
      "",
      `#### ${cell(title)}`,
      "",
      `${totalOf(side)}.`,
      "",
      ...table(side),
      "",
      ...details(side)
    ]),
    ...endOf(difference).flatMap((line) => ["", line])
  ])
