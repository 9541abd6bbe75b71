import { describe, expect, test } from "bun:test"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Setting from "./Setting.ts"

const settings = {
  wheels: Setting.make("PROG_WHEELS", {
    description: "How many",
    otherwise: "4",
    parse: (text) => (/^[0-9]+$/.test(text) ? Either.right(Number(text)) : Either.left(`"${text}" is no number`))
  }),
  color: Setting.make("PROG_COLOR", { description: "Which", otherwise: "red", parse: Either.right })
}

const read = (environment: { readonly [name: string]: string }) =>
  Effect.runSync(
    Setting.read(settings).pipe(
      Effect.either,
      Effect.withConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(environment))))
    )
  )

describe("Settings", () => {
  test("are what the environment says, and their defaults where it says nothing, or nothing in a variable", () => {
    expect(read({ PROG_WHEELS: "3" })).toEqual(Either.right({ wheels: 3, color: "red" }))
    expect(read({ PROG_WHEELS: "", PROG_COLOR: "blue" })).toEqual(Either.right({ wheels: 4, color: "blue" }))
    expect(read({})).toEqual(Either.right({ wheels: 4, color: "red" }))
  })

  test("that are wrong are told with the variable and what is accepted", () => {
    expect(read({ PROG_WHEELS: "many" })).toEqual(
      Either.left(new Setting.InvalidSetting({ message: 'PROG_WHEELS: "many" is no number' }))
    )
  })
})
