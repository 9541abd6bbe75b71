import { describe, expect, test } from "bun:test"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Setting from "./Setting.ts"

const settings = {
  wheels: Setting.make("PROG_WHEELS", {
    description: "How many",
    otherwise: "4",
    parse: (text) => (/^[0-9]+$/.test(text) ? Either.right(Number(text)) : Either.left(`"${text}" is not a number`))
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
  test("come from the environment, and have their defaults for absent and empty variables", () => {
    expect(read({ PROG_WHEELS: "3" })).toEqual(Either.right({ wheels: 3, color: "red" }))
    expect(read({ PROG_WHEELS: "", PROG_COLOR: "blue" })).toEqual(Either.right({ wheels: 4, color: "blue" }))
    expect(read({})).toEqual(Either.right({ wheels: 4, color: "red" }))
  })

  test("that are invalid fail with the variable and the accepted values", () => {
    expect(read({ PROG_WHEELS: "many" })).toEqual(
      Either.left(new Setting.InvalidSetting({ message: 'PROG_WHEELS: "many" is not a number' }))
    )
  })
})
