/**
 * The requests that kubectl sends in the walks, as dialogues. `bun run record kubectl/requests` takes them and their answers from
 * kubectl and a kube-apiserver without controllers.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Crd from "@homeostat/runtime/resource/Crd"
import type { Json } from "@homeostat/testkit/server/Json"
import * as J from "@homeostat/testkit/server/Json"
import { WebApp } from "@homeostat/webapp/WebApp"
import type { Part } from "../comparison/Dialogue.ts"
import type { Suite } from "../comparison/Dialogues.ts"
import * as Recording from "../comparison/Recording.ts"
import type { Request } from "../comparison/Server.ts"
import { notes } from "./Notes.ts"
import type { Step, Walk } from "./Walk.ts"
import { walks } from "./Walks.ts"

/** The requests of a walk, in their comparable form. */
export interface Asked {
  /** The digest of the commands. */
  readonly commands: string
  readonly requests: ReadonlyArray<Json>
}

/** The requests by the names of the walks. */
export type Catalogue = ReadonlyMap<string, Asked>

const file = join(import.meta.dir, "requests", "requests.json")

/** The requests that were taken from kubectl. */
export const catalogue = (): Catalogue => new Map(Object.entries(JSON.parse(readFileSync(file, "utf8"))))

/** Writes them, one line for each. */
export const write = (asked: Catalogue): void => {
  const lines = [...asked].map(
    ([name, { commands, requests }]) =>
      `${JSON.stringify(name)}:{"commands":"${commands}","requests":[\n${requests.map((one) => JSON.stringify(one)).join(",\n")}]}`
  )
  writeFileSync(file, `{\n${lines.join(",\n")}\n}\n`)
}

const lineOf = (step: string | Step): string => (typeof step === "string" ? step : step.line)

/** Commands that would never end without the controllers, or that only wait. */
const waits = /\brollout (?:status|undo)\b|\bkubectl wait (?!crd)|--cascade=(?:foreground|orphan)|--timeout=/

/** Commands that the walks repeat until the API server has published a kind. */
const publishing = /\bkubectl (?:explain|apply)\b/

/** Walks about a node, about what controllers do, about a definition that the server publishes later, and about OpenAPI alone. */
const others = /^(?:a node is|a namespace goes|a definition is|kubectl explains)/

/** The walks without what takes controllers or a node. */
export const withoutControllers: ReadonlyArray<Walk> = walks
  .filter(({ name }) => !others.test(name))
  .map((walk) => ({
    ...walk,
    steps: walk.steps.filter(
      (step) =>
        !waits.test(lineOf(step)) &&
        (typeof step === "string" || step.until === undefined || publishing.test(step.line))
    )
  }))

/** The digest of the commands of a walk and of its files. */
export const digest = ({ files = {}, steps }: Walk): string =>
  Recording.digest(
    JSON.stringify([files, steps], (_, value: unknown) => (value instanceof RegExp ? value.source : value))
  )

/** The custom kinds of the walks. */
export const definitions = [Crd.of(WebApp), notes]

/** A list without its resourceVersion, which grows with the writes of other dialogues. */
export const compared: Part = (_, body) => {
  if (J.at(body, "items") === undefined && J.at(body, "rows") === undefined) return body
  const { resourceVersion, ...metadata } = J.object(J.at(body, "metadata"))
  return { ...J.object(body), metadata: { ...metadata, hasRevision: resourceVersion !== undefined } }
}

/** The dialogues of a catalogue. */
export const suiteOf = (asked: Catalogue): Suite => ({
  name: "kubectl/requests",
  definitions,
  dialogues: Array.from(asked, ([name, { requests }]) => ({
    name,
    compared,
    steps: requests.map((request) => ({ restored }) => {
      const { body, ...rest } = J.object(restored(request))
      return { ...rest, ...(body !== null && { body }) } as unknown as Request
    })
  }))
})
