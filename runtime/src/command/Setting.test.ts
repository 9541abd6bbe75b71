import { describe, expect, test } from "bun:test"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Setting from "./Setting.ts"

const settings = {
  wheels: Setting.make("PROG_WHEELS", {
    description: "How many",
    otherwise: "4",
    parse: (text) => (/^[0-9]+$/.test(text) ? Result.succeed(Number(text)) : Result.fail(`"${text}" is not a number`))
  }),
  color: Setting.make("PROG_COLOR", { description: "Which", otherwise: "red", parse: Result.succeed })
}

const read = (environment: { readonly [name: string]: string }) =>
  Effect.runSync(
    Setting.read(settings).pipe(
      Effect.result,
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord(environment))
    )
  )

describe("Settings", () => {
  test("come from the environment, and have their defaults for absent and empty variables", () => {
    expect(read({ PROG_WHEELS: "3" })).toEqual(Result.succeed({ wheels: 3, color: "red" }))
    expect(read({ PROG_WHEELS: "", PROG_COLOR: "blue" })).toEqual(Result.succeed({ wheels: 4, color: "blue" }))
    expect(read({})).toEqual(Result.succeed({ wheels: 4, color: "red" }))
  })

  test("that are invalid fail with the variable and the accepted values", () => {
    expect(read({ PROG_WHEELS: "many" })).toEqual(
      Result.fail(new Setting.InvalidSetting({ message: 'PROG_WHEELS: "many" is not a number' }))
    )
  })
})
