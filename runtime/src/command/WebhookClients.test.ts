/** The CAs of `--webhook-client-ca`, in virtual time. */
import { expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FileSystem from "effect/FileSystem"
import * as TestClock from "effect/testing/TestClock"
import { capture } from "../controller/World.fixture.ts"
import * as Authority from "../webhook/Authority.ts"
import * as WebhookClients from "./WebhookClients.ts"

const now = Date.UTC(2026, 10, 26)
const [first, second] = [Authority.makeAuthority(now).certificate, Authority.makeAuthority(now).certificate]

const file = "/etc/homeostat/client-ca.crt"
const settings = { webhookClientCa: file, webhookClientName: "kube-apiserver" }
const refusal = `--webhook-client-ca: cannot read a CA: ${file} (the CA of the API servers, as PEM)`

/** A folder with one file in memory. */
const inMemory = () => {
  const state = { text: "rubbish" }
  return { state, layer: FileSystem.layerNoop({ readFileString: () => Effect.sync(() => state.text) }) }
}

effect("Without the flag, clients are not verified", () =>
  Effect.map(
    WebhookClients.make({ webhookClientCa: undefined, webhookClientName: undefined }).pipe(
      Effect.provide(inMemory().layer)
    ),
    (clients) => expect(clients).toBeUndefined()
  )
)

effect("A file that is absent or has no CA is an error that names it", () =>
  Effect.gen(function* () {
    for (const layer of [inMemory().layer, FileSystem.layerNoop({})]) {
      const { message } = yield* Effect.provide(Effect.flip(WebhookClients.make(settings)), layer)
      expect(message).toBe(refusal)
    }
  })
)

effect("A change of the file follows, and a file without a CA changes nothing and is logged once", () => {
  const { layer, state } = inMemory()
  const lines: Array<string> = []
  return Effect.gen(function* () {
    state.text = first
    const clients = yield* WebhookClients.make(settings)
    if (clients === undefined) throw new Error("no clients")
    expect([clients.cas, clients.name]).toEqual([first, "kube-apiserver"])
    const change = yield* Effect.forkChild(clients.after(first))
    state.text = "rubbish"
    yield* TestClock.adjust("1 minute")
    expect(change.pollUnsafe()).toBeUndefined()
    expect(lines).toEqual([`WARN ${refusal}`])
    state.text = `${first}${second}`
    yield* TestClock.adjust("10 seconds")
    expect(yield* Fiber.join(change)).toBe(`${first}${second}`)
  }).pipe(Effect.provide([layer, capture(lines)]))
})
