/** `bun run new` with an invalid command line writes nothing. The lane deep has the tests of what it writes. */
import { describe, expect } from "bun:test"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import { copy, limitMillis } from "./New.ts"

describe("A new controller", () => {
  const wrong: ReadonlyArray<readonly [words: ReadonlyArray<string>, line: string]> = [
    [[], "a kind is required: controller KIND, such as Cache"],
    [
      ["cache", "--group", "a.example.com"],
      'invalid kind: "cache" (must be letters and digits in PascalCase, at most 52 characters'
    ],
    [["Shelf"], "--group: required (the API group of the kind, a domain such as cache.example.com)"],
    [
      ["Shelf", "--group", "shelf"],
      '--group: invalid group: "shelf" (must be a lower-case domain, such as cache.example.com)'
    ],
    [["Shelf", "--group", "a.example.com", "--colour", "red"], "unknown flag: --colour"],
    [["Shelf", "Board", "--group", "a.example.com"], 'unexpected argument: "Board"'],
    [["Webapp", "--group", "a.example.com"], "the controller webapp of WebApp.apps.kubedojo.io has that name already"],
    [["Runtime", "--group", "a.example.com"], "@homeostat/runtime is a module already: choose another kind"],
    [["New", "--group", "a.example.com"], "controllers/new exists already: choose another kind, or remove it"]
  ]

  live(
    "that is invalid is rejected with one line and exit code 2, and nothing is written",
    () =>
      Effect.gen(function* () {
        const tree = yield* copy
        const before = yield* tree.state
        yield* Effect.forEach(
          wrong,
          ([words, line]) =>
            Effect.gen(function* () {
              const { code, stderr } = yield* tree.run(["bun", "controllers/new.ts", "controller", ...words])
              expect({ code, stderr, lines: stderr.split("\n").length }).toMatchObject({ code: 2, lines: 2 })
              expect(stderr).toStartWith(`bun run new: ${line}`)
            }),
          { concurrency: 2 }
        )
        expect(yield* tree.state).toBe(before)
      }),
    limitMillis
  )
})

describe("New webhooks", () => {
  live(
    "that are invalid are rejected with one line and exit code 2, and nothing is written",
    () =>
      Effect.gen(function* () {
        const tree = yield* copy
        const before = yield* tree.state
        const wrong: ReadonlyArray<readonly [words: ReadonlyArray<string>, line: string]> = [
          [[], "a controller is required: webhook NAME, such as webapp"],
          [["shelf"], 'unknown controller: "shelf" (must be one of webapp, backup, restore'],
          [["../webapp"], 'unknown controller: "../webapp" (must be one of webapp, backup, restore'],
          [["webapp", "backup"], 'unexpected argument: "backup"'],
          [["webapp", "--group", "a.example.com"], "unknown flag: --group"],
          [["WebApp"], "controllers/webapp/admission.ts exists already: add the rules there, as in docs/webhooks.md"],
          [["restore"], "controllers/restore/package.json does not exist: write the rules of Restore in its module"]
        ]
        for (const [words, line] of wrong) {
          const { code, stderr } = yield* tree.run(["bun", "controllers/new.ts", "webhook", ...words])
          expect({ code, stderr, lines: stderr.split("\n").length }).toMatchObject({ code: 2, lines: 2 })
          expect(stderr).toStartWith(`bun run new: ${line}`)
        }
        expect(yield* tree.state).toBe(before)
      }),
    limitMillis
  )
})
