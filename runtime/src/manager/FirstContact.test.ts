import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/TestClock"
import * as Client from "../client/Client.ts"
import * as Cluster from "../client/Cluster.ts"
import * as Disconnect from "../client/Disconnect.ts"
import { infoOf, type Request } from "../client/Request.ts"
import * as Transport from "../client/Transport.ts"
import * as FirstContact from "./FirstContact.ts"

const cluster = Cluster.make({ server: "https://server", source: "a test" })

/** A client whose requests get these answers one after the other, the last one again and again: statuses, or codes of failures. */
const answering = (answers: ReadonlyArray<number | string>) => {
  let sent = 0
  const send = (request: Request) =>
    Effect.suspend(() => {
      const answer = answers[Math.min(sent++, answers.length - 1)] ?? 200
      return typeof answer === "string"
        ? Effect.fail(Disconnect.make(infoOf(request), cluster.server, answer))
        : Effect.succeed({ status: answer, headers: new Headers(), body: "{}" })
    })
  const transport = Layer.succeed(Transport.Transport, { server: cluster.server, send, open: () => Effect.never })
  return { layer: Layer.provide(Client.layer(), transport), sent: () => sent }
}

const logged = (lines: Array<string>) =>
  Logger.replace(
    Logger.defaultLogger,
    Logger.make(({ logLevel, message }) => {
      lines.push(`${logLevel.label} ${String(message)}`)
    })
  )

/** The outcome within a minute, or nothing; and what was logged meanwhile. */
const meet = (answers: ReadonlyArray<number | string>) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const server = answering(answers)
    const fiber = yield* Effect.fork(
      FirstContact.make(cluster).pipe(Effect.either, Effect.provide([server.layer, logged(lines)]))
    )
    yield* TestClock.adjust("1 minutes")
    const outcome = yield* Fiber.poll(fiber)
    const ended = outcome._tag === "Some" ? yield* outcome.value : undefined
    yield* Fiber.interrupt(fiber)
    return {
      outcome: ended === undefined ? "waiting" : Either.isRight(ended) ? "on" : ended.left.message,
      lines,
      sent: server.sent()
    }
  })

describe("The first contact", () => {
  for (const status of [200, 403, 404, 500, 503]) {
    effect(`is made by any answer but a refusal of the credentials: ${status}`, () =>
      Effect.gen(function* () {
        expect(yield* meet([status])).toEqual({ outcome: "on", lines: [], sent: 1 })
      })
    )
  }

  const final: ReadonlyArray<readonly [number | string, string]> = [
    [401, "the server does not accept the credentials (401 Unauthorized)"],
    [
      "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
      "the server's certificate is not signed by the configured certificate authority (UNABLE_TO_VERIFY_LEAF_SIGNATURE)"
    ],
    [
      "ERR_TLS_CERT_ALTNAME_INVALID",
      "the server's certificate is not for this host name (see tls-server-name) (ERR_TLS_CERT_ALTNAME_INVALID)"
    ],
    ["EPROTO", "the TLS handshake failed: does the server speak TLS on this port? (EPROTO)"]
  ]
  for (const [answer, reason] of final) {
    effect(`fails at once, naming server and source, by what waiting won't mend: ${answer}`, () =>
      Effect.gen(function* () {
        const { outcome, sent } = yield* meet([answer])
        expect(outcome).toBe(`cannot work on https://server, from a test: ${reason}`)
        expect(sent).toBe(1)
      })
    )
  }

  effect("waits for a server that does not answer, says so once, and goes on when it does", () =>
    Effect.gen(function* () {
      const { lines, outcome, sent } = yield* meet(["ECONNREFUSED", "ECONNREFUSED", "ECONNREFUSED", "DEADLINE", 200])
      expect(outcome).toBe("on")
      expect(sent).toBe(5)
      expect(lines).toEqual([
        "WARN https://server does not answer, waiting for it: connection refused, nothing listens there (ECONNREFUSED)",
        "WARN https://server does not answer, waiting for it: no answer in time (DEADLINE)",
        "INFO https://server answers"
      ])
    })
  )

  effect("fails when the server that came back does not accept us", () =>
    Effect.gen(function* () {
      expect((yield* meet(["ECONNREFUSED", 401])).outcome).toContain("does not accept the credentials")
    })
  )

  effect("never waits longer than two seconds to ask again, and never gives up", () =>
    Effect.gen(function* () {
      const { outcome, sent } = yield* meet(["ECONNREFUSED"])
      expect(outcome).toBe("waiting")
      expect(sent).toBeGreaterThan(30)
      expect(sent).toBeLessThan(40)
    })
  )
})
