/** Files of strangers cost `plan -f` no more than their length, and errors are one line. */
import { expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as NodeFileSystem from "@effect/platform-node-shared/NodeFileSystem"
import * as Effect from "effect/Effect"
import * as ManifestFiles from "./ManifestFiles.ts"

/** The error of a file with this text, without its path; undefined if the file is accepted. */
const errorOf = (text: string): Promise<string | undefined> => {
  const folder = mkdtempSync(join(tmpdir(), "homeostat-manifests-"))
  const path = join(folder, "file.yaml")
  writeFileSync(path, text)
  return Effect.runPromise(
    Effect.matchEffect(ManifestFiles.objectsIn([path]), {
      onFailure: ({ message }) => Effect.succeed(message.replace(path, "FILE")),
      onSuccess: () => Effect.sync(() => undefined)
    }).pipe(Effect.provide(NodeFileSystem.layer))
  ).finally(() => rmSync(folder, { recursive: true }))
}

const head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"

/** Anchors `a0` to `aN`, each with several aliases of the one before. */
const laughs = (levels: number, times: number, first: string): string =>
  [
    `a0: &a0 [${first}]`,
    ...Array.from({ length: levels }, (_, at) => `a${at + 1}: &a${at + 1} [${Array(times).fill(`*a${at}`).join(",")}]`)
  ].join("\n")

const excessive =
  "--filename: FILE cannot be read: document contains excessive aliasing (aliases must add at most 3145728 characters and 1000 levels)"
const itself = "--filename: FILE cannot be read: an alias leads to a value that contains it"
const hidden = (field: string) => `--filename: FILE has an unsupported field: ${field} (choose another name)`

for (const [name, text, error] of [
  ["a billion laughs", laughs(9, 9, "lol"), excessive],
  ["lists of nothing", laughs(9, 9, "~"), excessive],
  [
    "a thousand aliases of a long text",
    `a: &a ${"x".repeat(10_000)}\nb: [${Array(1000).fill("*a").join(",")}]`,
    excessive
  ],
  ["many levels", laughs(2000, 1, "x"), excessive],
  // JavaScript enumerates this key first.
  ["many levels from the last one", `${laughs(20_000, 1, "x")}\n1: *a20000`, excessive],
  ["a map that contains itself", "data: &d\n  a: *d", itself],
  ["a list that contains itself", "data: &d [1, [*d]]", itself],
  ["the field __proto__", "data: {__proto__: {a: 1}}", hidden("data.__proto__")],
  ["the field __proto__ in JSON in a list", 'data: [{"a": {"__proto__": 1}}]', hidden("data[0].a.__proto__")],
  ["ordinary aliases", `a: &a {b: c, d: [1, 2]}\ndata: [*a, *a, {<<: *a}]`, undefined],
  ["a long list", `data: [${Array(200_000).fill("1").join(",")}]`, undefined],
  ["a long text", `data: ${"x".repeat(4_000_000)}`, undefined]
] as const) {
  test(`A file with ${name} is ${error === undefined ? "accepted" : "refused with one line"}`, async () => {
    const start = process.cpuUsage()
    expect(await errorOf(`${head}${text}\n`)).toBe(error)
    const { system, user } = process.cpuUsage(start)
    expect((user + system) / 1e6).toBeLessThan(2)
  })
}
