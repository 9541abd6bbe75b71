/**
 * The latest answers of this replica's admission webhooks, by object, for `why`: denials, changes, warnings and failures. It is empty
 * after a restart.
 *
 * It has two bounds: the number of entries per object, and the bytes of all objects. The objects without news for the longest time are
 * evicted. It stores texts that the user has already seen, without secrets, and never an object.
 *
 * Without `--webhook-client-ca`, every pod that reaches the port can send a review. So each address has a history of its own, within these
 * bounds, and the reviews from one address never evict those from another one.
 */
import * as Halves from "../../resource/Halves.ts"
import { keyString, type ObjectKey } from "../../resource/KubernetesObject.ts"
import * as Resource from "../../resource/Resource.ts"
import * as Text from "../../resource/Text.ts"
import * as Secrecy from "../../telemetry/Secrecy.ts"
import type * as Call from "../../webhook/Call.ts"
import * as JsonPatch from "../../webhook/JsonPatch.ts"

/** An answer, or the last of several equal ones in a row. Times are milliseconds of the Clock. */
export interface Entry {
  readonly at: number
  /** `failed`: the webhook did not decide, so its `failurePolicy` did. */
  readonly result: "denied" | "changed" | "warned" | "failed"
  readonly operation: "create" | "update" | "delete" | "connect"
  readonly dryRun: boolean
  readonly username: string
  /** The address of a sender that no certificate has proved to be the API server; absent for an API server. */
  readonly unverified: string | undefined
  /** The denial, the changed fields, the warnings or the error. */
  readonly message: string
  /** The trace of the request. `exported`: the trace was sent to a collector. */
  readonly trace: { readonly id: string; readonly exported: boolean } | undefined
  /** The number of equal answers in a row. */
  readonly times: number
  /** The time of the first of them. */
  readonly since: number
}

/** The answers of a program's webhooks. */
export interface Admissions {
  /** The kinds with webhooks. */
  readonly resources: ReadonlyArray<Resource.Any>
  readonly record: Call.Observer
  /** Oldest first. */
  readonly of: (resource: Pick<Resource.Any, "group" | "plural">, key: ObjectKey) => ReadonlyArray<Entry>
  /** The number of objects, and the approximate bytes. */
  readonly size: () => { readonly keys: number; readonly bytes: number }
}

/** Enough for the recent history of an object. */
const mostEntries = 4
/** The longest stored message and user name, in characters. */
const longest = 500
const longestUser = 100
/** The addresses without proof that have a history, and how long a silent one keeps its place for another one, in ms. */
const mostSenders = 8
const silentFor = 24 * 60 * 60 * 1000
/** The changed fields of an entry. */
const mostFields = 8

/** Approximate bytes for all objects: some thousand denials. */
export const capacity = 1024 * 1024

interface Page extends Halves.Weighed {
  entries: ReadonlyArray<Entry>
}

/** The reviews of an address without proof. */
interface Sender {
  readonly pages: Halves.Halves<Page>
  /** The time of its last review. */
  at: number
}

const bytesOfPage = 200
const bytesOf = (entries: ReadonlyArray<Entry>): number =>
  entries.reduce((bytes, { message, username }) => bytes + 250 + Text.bytes(message) + Text.bytes(username), 0)

const operations = { CREATE: "create", UPDATE: "update", DELETE: "delete", CONNECT: "connect" } as const

/** The result and its text; undefined if the webhook allowed the request without a comment. */
const verdictOf = (
  { problem, status }: Call.Call,
  { answer }: Call.Admission
): Pick<Entry, "result" | "message"> | undefined => {
  if (answer === undefined) {
    const reason = status === undefined ? "the API server did not wait for the answer" : (problem ?? "")
    return { result: "failed", message: reason }
  }
  const { denial, patch, warnings } = answer
  if (denial !== undefined) return { result: "denied", message: denial }
  if (patch.length > 0) {
    const fields = patch.slice(0, mostFields).map(JsonPatch.fieldOf)
    const more = patch.length > mostFields ? [`${patch.length - mostFields} more`] : []
    return { result: "changed", message: [...fields, ...more].join(", ") }
  }
  return warnings.length === 0 ? undefined : { result: "warned", message: warnings.join("; ") }
}

const isSame = (one: Entry, other: Entry): boolean =>
  one.result === other.result &&
  one.message === other.message &&
  one.operation === other.operation &&
  one.dryRun === other.dryRun &&
  one.username === other.username

/** An empty history of the webhooks of these kinds. */
export const make = (
  resources: ReadonlyArray<Resource.Any>,
  options: { readonly capacity?: number } = {}
): Admissions => {
  const most = options.capacity ?? capacity
  const verified = Halves.make<Page>(most)
  const senders = new Map<string, Sender>()
  /** The history for the reviews of a client; undefined if there are too many senders. */
  const pagesOf = ({ address, isVerified }: Call.Client, now: number): Halves.Halves<Page> | undefined => {
    if (isVerified) return verified
    const known = senders.get(address)
    if (known !== undefined) {
      known.at = now
      return known.pages
    }
    if (senders.size >= mostSenders) {
      const [silent] = [...senders].find(([, { at }]) => now - at > silentFor) ?? []
      if (silent === undefined) return undefined
      senders.delete(silent)
    }
    const pages = Halves.make<Page>(most / mostSenders)
    senders.set(address, { pages, at: now })
    return pages
  }
  const histories = () => [verified, ...Array.from(senders.values(), ({ pages }) => pages)]
  const nameOf = (resource: Pick<Resource.Any, "group" | "plural">, key: ObjectKey): string =>
    `${Resource.nameOf(resource)} ${keyString(key)}`
  return {
    resources,
    record: (call) => {
      const { admission, client, finishedAt, root } = call
      if (admission === undefined) return
      const pages = pagesOf(client, finishedAt)
      if (pages === undefined || admission.name === undefined) return
      const verdict = verdictOf(call, admission)
      if (verdict === undefined) return
      const entry: Entry = {
        at: finishedAt,
        result: verdict.result,
        operation: operations[admission.operation],
        dryRun: admission.dryRun,
        username: Text.clip(admission.username, longestUser),
        unverified: client.isVerified ? undefined : client.address,
        message: Secrecy.masked(verdict.message, longest).replaceAll(/\s+/g, " "),
        trace: root === undefined ? undefined : { id: root.traceId, exported: root.recording.exported },
        times: 1,
        since: finishedAt
      }
      const { name, namespace } = admission
      const key = nameOf(admission.resource, { namespace, name })
      const page = pages.open(key, () => ({ entries: [], bytes: bytesOfPage + Text.bytes(key) }))
      const last = page.entries.at(-1)
      const entries =
        last !== undefined && isSame(last, entry)
          ? [...page.entries.slice(0, -1), { ...entry, times: last.times + 1, since: last.since }]
          : [...page.entries, entry].slice(-mostEntries)
      const grown = bytesOf(entries) - bytesOf(page.entries)
      page.entries = entries
      pages.weigh(page, page.bytes + grown)
    },
    of: (resource, key) =>
      histories()
        .flatMap((pages) => pages.get(nameOf(resource, key))?.entries ?? [])
        .sort((one, other) => one.at - other.at),
    size: () =>
      histories().reduce(
        (sum, pages) => {
          const { bytes, keys } = pages.size()
          return { keys: sum.keys + keys, bytes: sum.bytes + bytes }
        },
        { keys: 0, bytes: 0 }
      )
  }
}
