import { expect } from "bun:test"
import * as FileSystem from "@effect/platform/FileSystem"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as AuthPlugin from "./AuthPlugin.ts"

effect("An authenticator that could not be made is made again by the next request, and is kept then", () =>
  Effect.gen(function* () {
    let made = 0
    const plugin = AuthPlugin.run("OpenID Connect", { name: "jane" }, async () => {
      made++
      if (made === 1) throw new Error("no such module")
      return {
        applyAuthentication: async (_, options) => {
          options.headers.Authorization = `Bearer ${made}`
        }
      }
    })
    expect((yield* Effect.flip(plugin)).message).toBe("OpenID Connect failed: no such module")
    expect([yield* plugin, yield* plugin]).toEqual([{ authorization: "Bearer 2" }, { authorization: "Bearer 2" }])
  }).pipe(Effect.provide(FileSystem.layerNoop({})))
)
