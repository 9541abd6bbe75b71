/**
 * A reader follows the guide page by page on an embedded cluster. kubectl is the only other program that the guide needs.
 */
import { describe } from "bun:test"
import { join } from "node:path"
import * as AtEnd from "@homeostat/testkit/envtest/AtEnd"
import { live } from "@homeostat/testkit/Test"
import { Effect, Exit, Scope } from "effect"
import * as Reader from "./Reader.ts"
import * as Steps from "./Steps.ts"

const index = "README.md"

const read = (name: string) => Effect.promise(() => Bun.file(join(Steps.folder, name)).text())

/** The index has the steps that all pages need first. Its programs run until the end of the test run. */
const begun = Effect.gen(function* () {
  const reader = yield* Reader.make
  yield* reader.begin(index, yield* read(index))
  return reader
})

let shared: Promise<Reader.Reader> | undefined

const reader: Effect.Effect<Reader.Reader> = Effect.promise(() => {
  if (shared === undefined) {
    const scope = Effect.runSync(Scope.make())
    AtEnd.add(() => Effect.runPromise(Scope.close(scope, Exit.void)))
    shared = Effect.runPromise(Scope.provide(begun, scope))
  }
  return shared
})

describe("The guide", () => {
  for (const name of Steps.pages) {
    if (name === index) continue
    live(
      `can be followed with the shown results in ${name}`,
      () => Effect.flatMap(Effect.all([reader, read(name)]), ([somebody, page]) => somebody.follow(name, page)),
      240_000
    )
  }
})
