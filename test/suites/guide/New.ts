/** A copy of the tree for the tests of `bun run new`. */
import { expect } from "bun:test"
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import * as AtEnd from "@homeostat/testkit/envtest/AtEnd"
import { Effect, Exit, Scope } from "effect"
import { loadAll } from "js-yaml"
import type * as Running from "../binary/Running.ts"
import * as Copy from "./Copy.ts"

/** All tests of a file share one copy, because each test uses its own kind. */
let shared: Promise<Copy.Copy> | undefined

const made = (): Promise<Copy.Copy> => {
  const scope = Effect.runSync(Scope.make())
  AtEnd.add(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  return Effect.runPromise(Scope.provide(Copy.make, scope))
}

/** The copy of the tree. */
export const copy: Effect.Effect<Copy.Copy> = Effect.promise(() => {
  shared ??= made()
  return shared
})

/** Runs `bun run new controller`. */
export const create = ({ run }: Copy.Copy, ...words: ReadonlyArray<string>) =>
  run(["bun", "run", "new", "controller", ...words])

/** Runs `bun run new webhook`. */
export const createWebhook = ({ run }: Copy.Copy, ...words: ReadonlyArray<string>) =>
  run(["bun", "run", "new", "webhook", ...words])

/**
 * Runs tests of a copy with the time limit of the test command. A busy machine needs more than Bun's default of five seconds.
 */
export const test = ({ run }: Copy.Copy, ...words: ReadonlyArray<string>) => run(["bun", "test", ...words])

/** Expects that a command succeeded. A failure shows its output. */
export const succeeded = ({ code, stderr, stdout }: Running.End) =>
  expect({ code, output: code === 0 ? "" : stdout + stderr }).toEqual({ code: 0, output: "" })

/** The names of the CRDs that the program of a copy prints. */
export const definitionsOf = ({ run }: Copy.Copy) =>
  Effect.map(run(["bun", "controllers/main.ts", "crd"]), ({ stdout }) =>
    loadAll(stdout).map((definition) => (definition as { readonly metadata: { readonly name: string } }).metadata.name)
  )

/** Replaces the script `generate` until the end of the Scope. */
export const generate = (tree: Copy.Copy, script: string) =>
  edit(tree, "package.json", (text) => {
    const manifest = JSON.parse(text)
    return JSON.stringify({ ...manifest, scripts: { ...manifest.scripts, generate: script } })
  })

/** Generates the CRDs and roles only. The first test generates the pages, which take the most time. */
export const withoutPages = "bun deploy/generate.ts"

/** Changes a file of a copy until the end of the Scope. */
export const edit = ({ folder }: Copy.Copy, path: string, change: (text: string) => string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const before = await readFile(join(folder, path), "utf8")
      const after = change(before)
      expect(after).not.toBe(before)
      await writeFile(join(folder, path), after)
      return before
    }),
    (before) => Effect.promise(() => writeFile(join(folder, path), before))
  )

/** The time limit of a test. */
export const limitMillis = 240_000
