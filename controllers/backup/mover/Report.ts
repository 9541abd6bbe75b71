/** The result of a mover, as it grows: one line of JSON in the termination message. `MoverReport.ts` reads it. */
import * as Data from "effect/Data"
import * as MoverReport from "./MoverReport.ts"
import * as Protocol from "./Protocol.ts"

/** The run has ended, with success or failure. */
export class Finished extends Data.TaggedError("Finished")<{
  readonly reason: string
  readonly exitCode: number
  readonly message: string
}> {}

/** Kubernetes cuts a termination message at 4096 bytes. */
const mostBytes = 3800

/** The longest message, in bytes. */
const longestMessage = 900

/** The facts of a run so far. */
export interface Report {
  /** The current operation. */
  operation: string | undefined
  repository: string | undefined
  volumes: Array<Volume>
  kept: number | undefined
  removed: number | undefined
  held: MoverReport.Hold | undefined
  pruned: boolean
  checked: boolean
  unlocked: boolean
  restored: MoverReport.Restored | undefined
}

/** A volume: its snapshot, or that it is empty. */
export type Volume =
  | {
      readonly pvc: string
      readonly id: string
      readonly bytes: number
      readonly added: number
      readonly files: number
      readonly before?: MoverReport.Before
    }
  | { readonly pvc: string; readonly empty: true; readonly before?: MoverReport.Before }

/** Without any fact. */
export const make = (): Report => ({
  operation: undefined,
  repository: undefined,
  volumes: [],
  kept: undefined,
  removed: undefined,
  held: undefined,
  pruned: false,
  checked: false,
  unlocked: false,
  restored: undefined
})

/** Whether a volume lost its files, or most of them. */
const isReduced = (volume: Volume): boolean => {
  const { before } = volume
  if (before === undefined) return false
  return "empty" in volume ? before.files > 0 : MoverReport.isMuchSmaller(volume, before)
}

/**
 * The line of JSON. It is short enough for a termination message: if there are too many volumes, the last ones are left out, but those
 * that lost files come first.
 */
export const text = (report: Report, { exitCode, message, reason }: Finished): string => {
  const head = {
    reason,
    protocol: Protocol.number,
    message: fit(MoverReport.clean(message), longestMessage),
    ...(exitCode !== 0 && report.operation !== undefined && { operation: report.operation }),
    repository: report.repository,
    kept: report.kept,
    removed: report.removed,
    held: report.held,
    pruned: report.pruned,
    checked: report.checked,
    ...(report.unlocked && { unlocked: true }),
    restored: report.restored
  }
  const volumes: Array<Volume> = []
  let size = Buffer.byteLength(JSON.stringify({ ...head, cut: true, snapshots: [] }))
  for (const volume of report.volumes.toSorted((one, other) => Number(isReduced(other)) - Number(isReduced(one)))) {
    size += Buffer.byteLength(JSON.stringify(volume)) + 1
    if (size > mostBytes) break
    volumes.push(volume)
  }
  const cut = volumes.length < report.volumes.length
  return JSON.stringify({ ...head, ...(cut && { cut }), snapshots: cut ? volumes : report.volumes })
}

/** The end of a text within this number of bytes, without a split character: the cause comes last. */
const fit = (text: string, bytes: number): string => {
  if (Buffer.byteLength(text) <= bytes) return text
  const mark = "…"
  const kept: Array<string> = []
  let size = Buffer.byteLength(mark)
  for (const character of Array.from(text.replace(mark, "")).reverse()) {
    size += Buffer.byteLength(character)
    if (size > bytes) break
    kept.push(character)
  }
  return `${mark}${kept.reverse().join("")}`
}
