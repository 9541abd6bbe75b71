/** Recorded answers of a kube-apiserver: `recording.json` in the folder of a suite, written by `bun run record`. */
import { createHash } from "node:crypto"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Json } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import type { Options } from "@homeostat/testkit/envtest/Envtest"
import { Data, type Effect } from "effect"

export interface Entry {
  /** The digest of the requests. Other requests make the entry stale. */
  readonly asked: string
  readonly answers: ReadonlyArray<Json>
}

export type Entries = ReadonlyMap<string, Entry>

/** One file of `bun run record`. */
export interface Recorded {
  /** The folder below `test/suites` that holds the recording. */
  readonly name: string
  /** The control plane that the suite needs; default: etcd and kube-apiserver. */
  readonly plane?: Options | undefined
  readonly record: (cluster: ControlPlane) => Effect.Effect<Entries, unknown>
}

/** A recording does not fit the catalogue or the version of Kubernetes. */
export class Stale extends Data.TaggedError("Stale")<{ readonly suite: string; readonly reason: string }> {
  override get message(): string {
    return `stale recording: ${this.suite}: ${this.reason} (run "bun run record ${this.suite}")`
  }
}

const root = join(import.meta.dir, "..", "..")
const suites = join(root, "suites")
const module = join(root, "cluster", "envtest", "assets", "controlplane", "go.mod")

/** The version of the control plane, such as `v1.37.1`. */
export const version: string = /k8s\.io\/kubernetes (v\S+)/.exec(readFileSync(module, "utf8"))?.[1] ?? ""

export const digest = (asked: Json): string =>
  createHash("sha256").update(JSON.stringify(asked)).digest("hex").slice(0, 16)

const file = (suite: string): string => join(suites, suite, "recording.json")

/** The entries of a suite. Throws `Stale` for another version of Kubernetes. */
export const read = (suite: string): Entries => {
  const recording = JSON.parse(readFileSync(file(suite), "utf8"))
  if (recording.version !== version) {
    throw new Stale({ suite, reason: `recorded with ${recording.version}, but the control plane is ${version}` })
  }
  return new Map(
    Object.entries<Entry>(recording.entries).map(([name, { answers, asked }]) => [
      name,
      { asked, answers: expanded(answers) }
    ])
  )
}

/** Writes the entries of a suite, one line for each answer. */
export const write = (suite: string, entries: Entries): void => {
  const lines = [...entries].map(
    ([name, { answers, asked }]) =>
      `${JSON.stringify(name)}:{"asked":"${asked}","answers":[\n${shortened(answers)
        .map((answer) => JSON.stringify(answer))
        .join(",\n")}]}`
  )
  writeFileSync(file(suite), `{"version":"${version}","entries":{\n${lines.join(",\n")}\n}}\n`)
}

/** Replace a live object that equals the body, or the live object before. */
const same = { body: "SAME AS BODY", before: "SAME AS BEFORE" }

const withLive = (
  answers: ReadonlyArray<Json>,
  other: (live: Json, body: Json | undefined) => Json | undefined
): ReadonlyArray<Json> =>
  answers.map((exchange) => {
    const [at = null, answer] = J.isList(exchange) ? exchange : []
    const { body, live } = J.object(answer)
    return live === undefined ? exchange : [at, { ...J.object(answer), live: other(live, body) ?? null }]
  })

const shortened = (answers: ReadonlyArray<Json>): ReadonlyArray<Json> => {
  let last: Json | undefined
  return withLive(answers, (live, body) => {
    const short = J.equal(live, body) ? same.body : J.equal(live, last) ? same.before : live
    last = live
    return short
  })
}

const expanded = (answers: ReadonlyArray<Json>): ReadonlyArray<Json> => {
  let last: Json | undefined
  return withLive(answers, (live, body) => {
    last = live === same.body ? body : live === same.before ? last : live
    return last
  })
}

/** Throws `Stale` unless the recording has exactly these names. */
export const complete = (suite: string, entries: Entries, names: ReadonlyArray<string>): void => {
  const lacking = names.find((name) => !entries.has(name))
  if (lacking !== undefined) throw new Stale({ suite, reason: `"${lacking}" is not recorded` })
  const extra = [...entries.keys()].find((name) => !names.includes(name))
  if (extra !== undefined) throw new Stale({ suite, reason: `"${extra}" is not in the catalogue` })
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new Stale({ suite, reason: `"${twice}" is twice in the catalogue` })
}
