import { expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as AuthPlugin from "./AuthPlugin.ts"
import type { Selected } from "./KubeConfigFile.ts"

effect("AuthPlugin.run creates a failed authenticator again with the next request, and then keeps it", () =>
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

const selected = (user: object | undefined): Selected => ({
  context: "main",
  namespace: undefined,
  cluster: { value: { name: "main", server: "https://localhost", skipTLSVerify: false }, file: "/config", raw: {} },
  user: user === undefined ? undefined : { value: { name: "jane", ...user }, file: "/config", raw: {} }
})

effect("AuthPlugin.of returns the plugin of the user, and supports only the auth-provider oidc", () =>
  Effect.gen(function* () {
    expect(yield* AuthPlugin.of(selected(undefined))).toBeUndefined()
    expect(yield* AuthPlugin.of(selected({}))).toBeUndefined()
    for (const user of [{ exec: { command: "login" } }, { authProvider: { name: "oidc", config: {} } }]) {
      expect(yield* AuthPlugin.of(selected(user))).toBeDefined()
    }
    const refused = yield* Effect.result(AuthPlugin.of(selected({ authProvider: { name: "gcp" } })))
    expect(refused).toMatchObject({
      failure: { message: 'user "jane" of /config: auth-provider gcp is not supported, use its exec plugin' }
    })
  })
)

effect("The error of an authenticator has one line, even if the authenticator returns nothing", () =>
  Effect.gen(function* () {
    const failing = (authenticate: () => Promise<void>) =>
      Effect.map(
        Effect.flip(
          AuthPlugin.run("OpenID Connect", { name: "jane" }, async () => ({ applyAuthentication: authenticate }))
        ),
        ({ message }) => message
      )
    expect(yield* failing(() => Promise.resolve())).toBe(
      "OpenID Connect failed: the id-token has expired and has no refresh-token"
    )
    expect(yield* failing(() => Promise.reject("\n refused\nby the issuer"))).toBe("OpenID Connect failed: refused")
    expect(yield* failing(() => Promise.reject(new Error("")))).toBe("OpenID Connect failed: no message")
  }).pipe(Effect.provide(FileSystem.layerNoop({})))
)
