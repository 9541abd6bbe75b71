import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import { Backup } from "@homeostat/backup/kinds/Backup"
import * as Crd from "@homeostat/runtime/resource/Crd"
import type { StructuralSchema } from "@homeostat/runtime/resource/StructuralSchema"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Binary from "../binary/Binary.ts"
import * as Definitions from "../metrics/Definitions.ts"
import * as Commands from "./Commands.ts"
import * as Runbooks from "./Runbooks.ts"

/** Fails with the words that are not known, and the alert of each. */
const areKnown = (words: ReadonlyMap<string, string>, isKnown: (word: string) => boolean): void => {
  expect(words.size).toBeGreaterThan(0)
  expect([...words].filter(([word]) => !isKnown(word))).toEqual([])
}

const has = (schema: StructuralSchema | undefined, path: ReadonlyArray<string>): boolean => {
  const [field = "", ...rest] = path
  return schema !== undefined && (path.length === 0 || has(schema.properties?.[field], rest))
}

const crd = Crd.of(Backup)

/** The metrics of the kubelet, of which the runbook of a blocked event loop names one. */
const ofKubelet = /^container_cpu_/

describe("A runbook names only", () => {
  live(
    "flags and variables that the program has",
    () =>
      Effect.gen(function* () {
        const { stdout } = yield* Binary.run(["run", "--help"], Binary.bare(yield* Directory.make))
        const ofKubectl = ["--previous", "--raw"]
        areKnown(Runbooks.words(/--[a-z][a-z-]+/g), (flag) => ofKubectl.includes(flag) || stdout.includes(`${flag} `))
        const tracing = yield* Effect.promise(() => Bun.file(join(Commands.root, "docs/tracing.md")).text())
        const text = `${stdout}${tracing}`
        areKnown(Runbooks.words(/\b(?:HOMEOSTAT|OTEL)_\w+/g), (variable) => text.includes(variable))
      }),
    60_000
  )

  test("metrics that the program exports", () => {
    const names = new Set(
      Definitions.modules.flatMap((module) => Definitions.metricsOf(module).map(([, { name }]) => name))
    )
    const metrics = /\b(?:controller_runtime|workqueue|rest_client|homeostat|process|leader_election|container)_\w+/g
    areKnown(Runbooks.words(metrics), (name) => names.has(name) || ofKubelet.test(name))
  })

  test("fields and annotations of a Backup", () => {
    const schema = Backup.definition.schema
    areKnown(Runbooks.words(/\b(?:spec|status)\.[a-zA-Z.]*[a-zA-Z]/g), (path) => has(schema, path.split(".")))
    const text = JSON.stringify(crd)
    areKnown(Runbooks.words(/\b[a-z.]+\.example\.com\/[a-z-]+/g), (annotation) => text.includes(annotation))
  })

  test("conditions that a page explains", async () => {
    const pages = await Promise.all(
      ["docs/backup.md", "docs/concepts.md"].map((file) => Bun.file(join(Commands.root, file)).text())
    )
    const conditions = Runbooks.words(/(?<=conditions? (?:\w+ and )?)[A-Z]\w+/g)
    areKnown(conditions, (condition) => pages.some((page) => page.includes(condition)))
  })
})
