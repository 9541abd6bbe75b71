import { describe, expect, test } from "bun:test"
import * as Result from "effect/Result"
import * as Listing from "./Listing.ts"
import * as Names from "./Names.ts"

const names = Names.of({ kind: "Cache", group: "cache.example.com", version: "v1", plural: undefined })

const imported = `import { webapp } from "@homeostat/webapp"`
const added = `import { controller as cache } from "@homeostat/cache"`

const lists: ReadonlyArray<readonly [what: string, before: string, after: string]> = [
  ["on one line", "controllers: [webapp]", "controllers: [webapp, cache]"],
  ["with no entries", "controllers: []", "controllers: [cache]"],
  ["with only a comment", "controllers: [ /* none */ ]", "controllers: [cache /* none */ ]"],
  ["on several lines", "controllers: [\n    webapp,\n  ]", "controllers: [\n    webapp, cache,\n  ]"],
  [
    "with comments and brackets in them",
    'controllers: [\n    // the first ]\n    webapp, // and "the [last\n  ]',
    'controllers: [\n    // the first ]\n    webapp, cache, // and "the [last\n  ]'
  ],
  ["with calls", 'controllers: [made("]"), ...others()]', 'controllers: [made("]"), ...others(), cache]'],
  ["with as const", "controllers: [webapp] as const", "controllers: [webapp, cache] as const"],
  ["under a quoted name", '"controllers": [webapp]', '"controllers": [webapp, cache]']
]

const written = (list: string, rest = "") =>
  `/** By hand. */\n${imported}\n\n// [ controllers: [x]\nexport const p = { ${list} }\n${rest}`

const add = (text: string) => Listing.add(text, Listing.ofController(names))

const refusal = (text: string) => Result.getOrUndefined(Result.flip(add(text)))

describe("Listing adds a controller to the list in main.ts", () => {
  for (const [what, before, after] of lists) {
    test(`${what}, and keeps all other text`, () => {
      const expected = written(after).replace(imported, `${imported}\n${added}`)
      expect(add(written(before))).toEqual(Result.succeed(expected))
    })
  }

  test("under another name if its own is taken or a reserved word", () => {
    const taken = Result.getOrThrow(add(written("controllers: [webapp]", "const cache = 1\n")))
    expect(taken).toContain("{ controller as cacheController }")
    expect(taken).toContain("[webapp, cacheController]")
    const both = written("controllers: [webapp]", "const cache = 1, cacheController = 1, cacheController2 = 1\n")
    expect(Result.getOrThrow(add(both))).toContain("[webapp, cacheController3]")
    for (const kind of ["Switch", "Eval", "Arguments", "Undefined"]) {
      const word = Names.of({ ...names, kind })
      const listed = Result.getOrThrow(Listing.add(written("controllers: []"), Listing.ofController(word)))
      expect(listed).toContain(`[${kind.toLowerCase()}Controller]`)
    }
  })

  test("and reports the line to add if there is no list, or several", () => {
    const line = `\`${added}\`, and cache in the list`
    for (const list of ["controllers: all", "others: [webapp]", 'text: "controllers: [webapp]"']) {
      expect(refusal(written(list))).toStartWith("has no list")
      expect(refusal(written(list))).toEndWith(line)
    }
    const two = written("controllers: [webapp], other: { controllers: [] }")
    expect(refusal(two)).toStartWith("has 2 lists")
    expect(refusal("export const p = { controllers: [] }")).toStartWith("has no list")
  })

  test("unless the file is invalid TypeScript, or already imports the module", () => {
    expect(refusal(written("controllers: [webapp"))).toStartWith("is not TypeScript (")
    expect(refusal(written("controllers: []", added))).toContain("take that line out first")
  })
})

describe("Listing adds webhooks to the list in main.ts", () => {
  const addWebhooks = (text: string) => Listing.add(text, Listing.ofWebhooks(names))
  const line = `import { admission as cacheAdmission } from "@homeostat/cache/admission"`

  const cases: ReadonlyArray<readonly [what: string, before: string, after: string]> = [
    [
      "with other webhooks",
      "controllers: [a], webhooks: [...one]",
      "controllers: [a], webhooks: [...one, ...cacheAdmission]"
    ],
    ["with no entries", "webhooks: [], controllers: [a]", "webhooks: [...cacheAdmission], controllers: [a]"],
    [
      "and creates the list if there is none",
      "controllers: [a] as const",
      "controllers: [a] as const,\n  webhooks: [...cacheAdmission]"
    ]
  ]
  for (const [what, before, after] of cases) {
    test(what, () =>
      expect(addWebhooks(written(before))).toEqual(
        Result.succeed(written(after).replace(imported, `${imported}\n${line}`))
      )
    )
  }

  test("under another name if their own is taken", () => {
    const both = written("controllers: []", "const cacheAdmission = 1, cacheAdmission2 = 1\n")
    expect(Result.getOrThrow(addWebhooks(both))).toContain("webhooks: [...cacheAdmission3]")
  })

  test("and reports the line to add if the list is not a literal", () => {
    const reason = Result.getOrUndefined(Result.flip(addWebhooks(written("controllers: [], webhooks: all"))))
    expect(reason).toStartWith("has no list `webhooks: [ … ]` to put the webhooks into")
    expect(reason).toEndWith(`\`${line}\`, and ...cacheAdmission in the list`)
  })
})
