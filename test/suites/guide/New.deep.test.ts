/** `bun run new` writes a complete controller, or nothing if a step fails. */
import { describe, expect } from "bun:test"
import { existsSync } from "node:fs"
import { readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { eventually } from "@homeostat/testkit/Eventually"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Running from "../binary/Running.ts"
import {
  copy,
  create,
  createWebhook,
  definitionsOf,
  edit,
  generate,
  limitMillis,
  succeeded,
  test,
  withoutPages
} from "./New.ts"

describe("A new controller", () => {
  live(
    "is type-checked, formatted, tested on the embedded cluster and run by the program",
    () =>
      Effect.gen(function* () {
        const tree = yield* copy
        const made = yield* create(tree, "Cache", "--group", "cache.example.com")
        succeeded(made)
        expect(made.stdout).toContain("bun test controllers/cache")
        const tested = yield* test(tree, "controllers/cache")
        succeeded(tested)
        expect(tested.stderr).toMatch(/^ 0 fail$/m)
        expect(tested.stderr).toMatch(/^Ran 5 tests across 1 file/m)

        expect(yield* definitionsOf(tree)).toContain("caches.cache.example.com")
        const help = yield* tree.run(["bun", "controllers/main.ts", "run", "--help"])
        expect(help.stdout.replaceAll(/\s+/g, " ")).toMatch(/The controllers to run, of [a-z, ]*\bcache\b/)
        yield* Effect.promise(() =>
          writeFile(
            join(tree.folder, "tsconfig.new.json"),
            JSON.stringify({ extends: "./tsconfig.json", include: ["controllers/cache", "controllers/main.ts"] })
          )
        )
        const checked = yield* tree.run(["bun", "x", "tsc", "-p", "tsconfig.new.json", "--checkers", "1"])
        succeeded(checked)
        const files = ["controllers", "package.json", "deploy/samples/cache.yaml"]
        const formatted = yield* tree.run(["bun", "x", "biome", "ci", "--error-on-warnings", ...files])
        succeeded(formatted)
        succeeded(yield* tree.run(["bun", "install", "--frozen-lockfile"]))
      }),
    limitMillis
  )

  live(
    "has a test that fails when its reconcile is empty",
    () =>
      Effect.gen(function* () {
        const tree = yield* copy
        yield* generate(tree, withoutPages)
        succeeded(yield* create(tree, "Hollow", "--group", "hollow.example.com"))
        yield* edit(tree, "controllers/hollow/controller.ts", (text) =>
          text.replace(/reconcile: \(object\) =>.*\n {4}\}\)\n/s, "reconcile: () => Effect.succeed(Result.done)\n")
        )
        const tested = yield* test(tree, "controllers/hollow", "-t", "becomes ready")
        expect(tested.code).toBe(1)
        expect(tested.stderr).toContain("it is ready: not so after")
      }),
    limitMillis
  )

  live(
    "is added to others with a given version and plural, in a list that was edited by hand",
    () =>
      Effect.gen(function* () {
        const tree = yield* copy
        yield* edit(tree, "controllers/main.ts", (text) =>
          text.replace(/controllers: \[([^\]]*)\]/, "controllers: [\n    // ours ]\n    $1, // and more\n  ]")
        )
        yield* generate(tree, withoutPages)
        const words = ["RadixIndex", "--group=index.example.com", "--version=v1", "--plural", "radixindices"]
        succeeded(yield* create(tree, ...words))
        expect(yield* definitionsOf(tree)).toEqual(
          expect.arrayContaining(["webapps.apps.kubedojo.io", "radixindices.index.example.com"])
        )
        const main = yield* Effect.promise(() => readFile(join(tree.folder, "controllers/main.ts"), "utf8"))
        expect(main).toContain("    // ours ]\n")
        expect(main).toContain("radixIndex")
        succeeded(yield* test(tree, "controllers/radixindex"))
        // By default, the plural of this kind is also `radixindices`.
        const { code, stderr } = yield* create(tree, "Radixindice", "--group", "index.example.com")
        expect([code, stderr]).toEqual([2, expect.stringContaining("the controller radixindex of RadixIndex.index")])
      }),
    limitMillis
  )

  live(
    "leaves no files behind when a step fails",
    () =>
      Effect.gen(function* () {
        const tree = yield* copy
        yield* generate(
          tree,
          "rm -r deploy/crds docs/reference; date >docs/metrics.md; touch deploy/rbac/half deploy/ours; exit 3"
        )
        yield* edit(tree, "controllers/main.ts", (text) => `${text}\n// by hand\n`)
        const before = yield* tree.state
        const { code, stderr } = yield* create(tree, "Shelf", "--group", "shelf.example.com")
        expect(code).toBe(1)
        expect(stderr).toContain("bun run new: bun run generate ended with 3; everything is as before")
        // The user may save files meanwhile. The command must not delete them.
        yield* Effect.promise(() => rm(join(tree.folder, "deploy/ours")))
        expect(yield* tree.state).toBe(before)
        succeeded(yield* tree.run(["bun", "install", "--frozen-lockfile"]))
      }),
    limitMillis
  )

  live(
    "leaves no files behind when it is interrupted, after the end of the step",
    () =>
      Effect.gen(function* () {
        const tree = yield* copy
        // The step runs until the test creates `signalled`. One second later it writes another file.
        yield* generate(
          tree,
          `trap '' INT; touch deploy/crds/half; until [ -e ../signalled ]; do sleep 0.05; done; sleep 1; touch deploy/crds/late ../ended`
        )
        const before = yield* tree.state
        const words = ["controllers/new.ts", "controller", "Shelf", "--group", "shelf.example.com"]
        const running = yield* Running.start(
          ["sh", "-c", 'cd "$0" && exec bun "$@"', tree.folder, ...words],
          tree.environment
        )
        const half = Effect.sync(() => existsSync(join(tree.folder, "deploy/crds/half")))
        yield* eventually("the step is in its midst", half, (isThere) => isThere, "60 seconds")
        yield* running.signal("SIGINT")
        yield* Effect.promise(() => Bun.write(join(tree.folder, "../signalled"), ""))
        expect((yield* running.ended("30 seconds")).stdout).toBe("")
        const ended = Effect.sync(() => existsSync(join(tree.folder, "../ended")))
        yield* eventually("the step has ended", ended, (isThere) => isThere, "30 seconds")
        expect(yield* tree.state).toBe(before)
      }),
    limitMillis
  )
})

describe("New webhooks", () => {
  live(
    "of a new controller are type-checked, formatted, tested on the embedded cluster and declared by the program",
    () =>
      Effect.gen(function* () {
        const tree = yield* copy
        yield* generate(tree, withoutPages)
        succeeded(yield* create(tree, "Ledger", "--group", "ledger.example.com"))
        const made = yield* createWebhook(tree, "ledger")
        succeeded(made)
        expect(made.stdout).toContain("bun test controllers/ledger/admission.test.ts")
        const tested = yield* test(tree, "controllers/ledger/admission")
        succeeded(tested)
        expect(tested.stderr).toMatch(/^Ran 2 tests across 1 file/m)
        const roles = yield* tree.run(["bun", "controllers/main.ts", "rbac", "--webhooks"])
        expect(roles.stdout).toContain("homeostat.creator.ledgers.ledger.example.com")
        const generated = yield* Effect.promise(() =>
          readFile(join(tree.folder, "deploy/rbac/webhooks/manager.yaml"), "utf8")
        )
        expect(generated).toContain("homeostat.creator.ledgers.ledger.example.com")

        const settings = { extends: "./tsconfig.json", include: ["controllers/ledger", "controllers/main.ts"] }
        yield* Effect.promise(() => writeFile(join(tree.folder, "tsconfig.ledger.json"), JSON.stringify(settings)))
        const project = "tsconfig.ledger.json"
        succeeded(yield* tree.run(["bun", "x", "tsc", "-p", project, "--checkers", "1"]))
        succeeded(yield* tree.run(["bun", "x", "effect-tsgo", "diagnostics", "--project", project, "--strict"]))
        succeeded(yield* tree.run(["bun", "x", "biome", "ci", "--error-on-warnings", "controllers"]))

        // These tests must fail when a rule is missing or changed.
        yield* edit(tree, "controllers/ledger/admission.ts", (text) => text.replace("length < most", "length <= most"))
        expect((yield* test(tree, "controllers/ledger/admission", "-t", "limit")).code).toBe(1)
        yield* edit(tree, "controllers/ledger/admission.ts", (text) =>
          text.replace(/request.operation == 'CREATE'/, "true")
        )
        expect((yield* test(tree, "controllers/ledger/admission", "-t", "creator")).code).toBe(1)
      }).pipe(Effect.scoped),
    limitMillis
  )

  live(
    "need a sample, and leave no files behind when a step fails",
    () =>
      Effect.gen(function* () {
        const tree = yield* copy
        yield* generate(tree, withoutPages)
        succeeded(yield* create(tree, "Scroll", "--group", "scroll.example.com"))
        const before = yield* tree.state
        const sample = edit(tree, "deploy/samples/scroll.yaml", (text) => text.replace("kind: Scroll", "kind: Other"))
        const missing = yield* Effect.scoped(Effect.andThen(sample, createWebhook(tree, "scroll")))
        expect([missing.code, missing.stderr]).toEqual([
          2,
          expect.stringMatching(/^bun run new: deploy\/samples\/scroll.yaml has no Scroll: write a Scroll there/m)
        ])
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* generate(tree, "rm -r deploy/crds; exit 3")
            const failed = yield* createWebhook(tree, "scroll")
            expect(failed.code).toBe(1)
            expect(failed.stderr).toContain("bun run new: bun run generate ended with 3; everything is as before")
          })
        )
        expect(yield* tree.state).toBe(before)
      }).pipe(Effect.scoped),
    limitMillis
  )
})
