/**
 * Turns the requests of kubectl in the walks into dialogues. `bun run record kubectl/requests` records them without controllers.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Json } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import * as Crd from "@homeostat/runtime/resource/Crd"
import { WebApp } from "@homeostat/webapp/WebApp"
import * as Dialogue from "../comparison/Dialogue.ts"
import type { Suite } from "../comparison/Dialogues.ts"
import * as Recording from "../comparison/Recording.ts"
import type { Request } from "../comparison/Server.ts"
import { notes } from "./Notes.ts"
import type { Step, Walk } from "./Walk.ts"
import { walks } from "./Walks.ts"

/** The comparable requests of a walk. */
export interface Asked {
  /** The digest of the commands. */
  readonly commands: string
  readonly requests: ReadonlyArray<Json>
}

/** The requests by the name of the walk. */
export type Catalogue = ReadonlyMap<string, Asked>

const file = join(import.meta.dir, "requests", "requests.json")

/** The recorded requests. */
export const catalogue = (): Catalogue => new Map(Object.entries(JSON.parse(readFileSync(file, "utf8"))))

/** Writes the requests, one per line. */
export const write = (asked: Catalogue): void => {
  const lines = [...asked].map(
    ([name, { commands, requests }]) =>
      `${JSON.stringify(name)}:{"commands":"${commands}","requests":[\n${requests.map((one) => JSON.stringify(one)).join(",\n")}]}`
  )
  writeFileSync(file, `{\n${lines.join(",\n")}\n}\n`)
}

const lineOf = (step: string | Step): string => (typeof step === "string" ? step : step.line)

/** Commands that wait for controllers. */
const waits = /\brollout (?:status|undo)\b|\bkubectl wait (?!crd)|--cascade=(?:foreground|orphan)|--timeout=/

/** Commands that the walks repeat until the API server has published a kind. */
const publishing = /\bkubectl (?:explain|apply)\b/

/** Walks about nodes, controllers, CRDs and OpenAPI. */
const others = /^(?:a node is|the deletion of a namespace|a definition is|kubectl explains)/

/** The walks without the steps that need controllers or a node. */
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

/** The dialogues of a catalogue. */
export const suiteOf = (asked: Catalogue): Suite => ({
  name: "kubectl/requests",
  definitions,
  dialogues: Array.from(asked, ([name, { requests }]) => ({
    name,
    compared: Dialogue.withoutRevision,
    steps: requests.map((request) => ({ restored }) => {
      const { body, ...rest } = J.object(restored(request))
      return { ...rest, ...(body !== null && { body }) } as unknown as Request
    })
  }))
})
