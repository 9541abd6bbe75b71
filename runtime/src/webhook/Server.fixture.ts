/** A webhook server in a process of its own. Prints its port. */
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as SelfSigned from "../manager/SelfSigned.ts"
import * as WebhookServer from "./WebhookServer.ts"

const program = Effect.gen(function* () {
  const pair = SelfSigned.make(["localhost"], yield* Clock.currentTimeMillis)
  const { port } = yield* WebhookServer.make({
    hostname: "127.0.0.1",
    port: 0,
    certificates: { first: pair, after: () => Effect.never },
    routes: new Map([
      [
        "/answer",
        {
          type: "admission",
          endpoint: () => Effect.delay(Effect.succeed({ code: 200, panicked: false, body: {} }), "20 millis")
        }
      ]
    ])
  })
  yield* Console.log(port)
  return yield* Effect.never
})

await Effect.runPromise(Effect.scoped(program))
