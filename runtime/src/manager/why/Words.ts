/** Words for the contents of a journal and a queue. */

import type { Correction } from "../../controller/Reconciliation.ts"
import type { TriggerEvent } from "../../controller/Trigger.ts"
import { keyString, type ObjectKey } from "../../resource/KubernetesObject.ts"
import type { RecordedWrite, Run } from "./Journal.ts"
import { span } from "./Time.ts"

/** `a`, `a and b`, `a, b and c`. */
export const listed = (words: ReadonlyArray<string>): string =>
  words.length < 2 ? words.join() : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`

/** `1 write`, `2 writes`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`

/** A text that ends with a full stop. */
export const sentence = (text: string): string => (/[.!?…]$/.test(text) ? text : `${text}.`)

const happened = { added: "was created", modified: "was changed", deleted: "was deleted" } as const

/** A kind and a key. */
export interface Named {
  readonly kind: string
  readonly key: string
}

/** The object of the explanation. Names in its namespace are written without the namespace. */
export interface Subject extends ObjectKey {
  readonly kind: string
}

/** Whether that is the object itself. */
export const isSame = ({ key, kind }: Named, self: Subject): boolean => kind === self.kind && key === keyString(self)

/** Its name, relative to the object of the explanation. */
export const nameIn = ({ key, kind }: Named, { namespace }: Subject): string =>
  `${kind} ${namespace !== undefined && key.startsWith(`${namespace}/`) ? key.slice(namespace.length + 1) : key}`

/** A trigger in words. */
export const wordsOf = ({ kind, source }: TriggerEvent, self: Subject): string => {
  const who = source === undefined || isSame(source, self) ? "it" : nameIn(source, self)
  switch (kind) {
    case "watch.added":
    case "watch.modified":
    case "watch.deleted":
      return `${who} ${happened[kind === "watch.added" ? "added" : kind === "watch.modified" ? "modified" : "deleted"]}`
    case "owned.added":
    case "owned.modified":
    case "owned.deleted":
      return `its ${who} ${happened[kind === "owned.added" ? "added" : kind === "owned.modified" ? "modified" : "deleted"]}`
    case "startup":
      return `${who} existed when the controller started`
    case "retry":
      return "a retry after a failure"
    case "requeue":
      return "the controller requeued it"
    case "requeue_after":
      return "requeueAfter was over"
    case "resync":
      return "the periodic resync"
    case "unreachable":
      return "a retry, as no API server had answered"
    case "given_up":
      return "nothing: the retries were over"
    case "served":
      return "the API server serves a kind that it waited for"
  }
}

/** The number of equal outcomes in a row, if more than one. */
export const timesInARow = (run: Run): string => (run.number > 1 ? `, ${run.number} times in a row` : "")

/** The outcome of a run, in a few words. */
export const inBrief = (run: Run): string => {
  switch (run.outcome) {
    case "Done":
      return run.writes.length === 0 && run.corrections.length === 0 ? "nothing to do" : "done"
    case "RequeueAfter":
      return run.next._tag === "Run" ? `done, requeue after ${span(run.next.afterMillis)}` : "done"
    case "Requeue":
      return "requeued"
    case "Vanished":
      return "it was gone"
    case "Interrupted":
      return "interrupted, as the process or its leadership ended, or writes were stopped"
    case "Unreachable":
      return "no API server answered"
    case "Terminal":
      return `failed permanently: ${run.message ?? ""}`
    case "Failed":
      return `failed: ${run.message ?? ""}`
  }
}

/** The effects of a run, one text each; empty if it changed nothing. */
export const deeds = (
  run: {
    readonly writes: ReadonlyArray<RecordedWrite>
    readonly moreWrites: number
    readonly corrections: ReadonlyArray<Correction>
  },
  self: Subject
): ReadonlyArray<string> => {
  const corrected = run.corrections.map((correction) => {
    const { fields, manager = "another manager", reason } = correction
    const name = nameIn(correction, self)
    const what = fields.length === 0 ? "" : ` (${fields.join(", ")})`
    return reason === "created"
      ? `created ${name}`
      : reason === "removed"
        ? `removed ${name}`
        : reason === "drift"
          ? `repaired ${name}, which ${manager} had changed${what}`
          : `changed ${name}${what}`
  })
  const described = new Set(run.corrections.map(({ key, kind }) => `${kind} ${key}`))
  const written = run.writes.flatMap(({ changed, error, key, subresource, verb, what }) => {
    const name = nameIn({ kind: what, key }, self)
    if (error !== undefined) {
      return [`could not ${verb} ${subresource === undefined ? "" : `${subresource} of `}${name} (${error})`]
    }
    if (described.has(`${what} ${key}`) && subresource === undefined) return []
    const itself = isSame({ kind: what, key }, self)
    const target =
      subresource === undefined
        ? itself
          ? "itself"
          : name
        : itself
          ? `its ${subresource}`
          : `${subresource} of ${name}`
    const past = verb === "delete" ? "deleted" : verb === "create" ? "created" : "wrote"
    return [`${past} ${target}${changed === false ? " (nothing new)" : ""}`]
  })
  const more = run.moreWrites > 0 ? [counted(run.moreWrites, "more write")] : []
  return [...corrected, ...written, ...more]
}
