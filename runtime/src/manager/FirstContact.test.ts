import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"
import * as Client from "../client/Client.ts"
import * as Cluster from "../client/Cluster.ts"
import * as Disconnect from "../client/Disconnect.ts"
import { infoOf, type Request } from "../client/Request.ts"
import * as Transport from "../client/Transport.ts"
import { Pod } from "../resource/BuiltIn.ts"
import * as FirstContact from "./FirstContact.ts"

const cluster = Cluster.make({ server: "https://server", source: "a test" })

/** A client whose requests get these responses in this order: statuses or error codes. The last one repeats. */
const answering = (answers: ReadonlyArray<number | string>) => {
  let sent = 0
  const send = (request: Request) =>
    Effect.suspend(() => {
      const answer = answers[Math.min(sent++, answers.length - 1)] ?? 200
      return typeof answer === "string"
        ? Effect.fail(Disconnect.make(infoOf(request), cluster.server, answer))
        : Effect.succeed({ status: answer, headers: new Headers(), body: `{"metadata":{},"items":[]}` })
    })
  const transport = Layer.succeed(Transport.Transport, { server: cluster.server, send, open: () => Effect.never })
  return { layer: Layer.provide(Client.layer(), transport), sent: () => sent }
}

const logged = (lines: Array<string>) =>
  Logger.layer([
    Logger.make(({ logLevel, message }) => {
      lines.push(`${logLevel.toUpperCase()} ${String(message)}`)
    })
  ])

/** The outcome of reads and of a probe within a minute, or that they still wait; and the log. */
const meet = (answers: ReadonlyArray<number | string>, reads = 2) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const server = answering(answers)
    const fiber = yield* Effect.forkChild(
      Effect.gen(function* () {
        const contact = yield* FirstContact.make(cluster)
        const client = contact.client(yield* Client.Client)
        yield* Effect.forkScoped(contact.probe)
        const read = Effect.result(client.page(Pod, { retry: false }))
        const fibers = yield* Effect.replicateEffect(Effect.forkScoped(read), reads)
        yield* contact.made
        return yield* Effect.forEach(fibers, Fiber.join)
      }).pipe(Effect.scoped, Effect.result, Effect.provide([server.layer, logged(lines)]))
    )
    yield* TestClock.adjust("1 minutes")
    const exit = fiber.pollUnsafe()
    const ended = exit && (yield* exit)
    yield* Fiber.interrupt(fiber)
    return {
      outcome: ended === undefined ? "waiting" : Result.isSuccess(ended) ? "on" : ended.failure.message,
      reads: ended !== undefined && Result.isSuccess(ended) ? ended.success.map(({ _tag }) => _tag) : [],
      lines,
      sent: server.sent()
    }
  })

describe("The first contact", () => {
  for (const status of [200, 403, 404, 500, 503]) {
    effect(`is complete with any answer except 401, without a probe: ${status}`, () =>
      Effect.gen(function* () {
        const read = status === 200 ? "Success" : "Failure"
        expect(yield* meet([status])).toEqual({ outcome: "on", reads: [read, read], lines: [], sent: 2 })
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
    ["EPROTO", "the TLS connection failed: does the server speak TLS on this port? (EPROTO)"]
  ]
  for (const [answer, reason] of final) {
    effect(`fails at once with the server and the source for a permanent error: ${answer}`, () =>
      Effect.gen(function* () {
        const { outcome, sent } = yield* meet([answer], 1)
        expect(outcome).toBe(`cannot work on https://server, from a test: ${reason}`)
        expect(sent).toBe(1)
      })
    )
  }

  effect("waits for a server that does not answer, logs that once per reason, and repeats the reads", () =>
    Effect.gen(function* () {
      const refused = ["ECONNREFUSED", "ECONNREFUSED", "ECONNREFUSED", "ECONNREFUSED", "DEADLINE"]
      const { lines, outcome, reads, sent } = yield* meet([...refused, 200])
      expect(outcome).toBe("on")
      expect(reads).toEqual(["Success", "Success"])
      // Two reads, four probes, and the two reads again.
      expect(sent).toBe(8)
      expect(lines).toEqual([
        "WARN https://server does not answer, waiting for it: connection refused, nothing listens there (ECONNREFUSED)",
        "WARN https://server does not answer, waiting for it: no answer in time (DEADLINE)",
        "INFO https://server answers"
      ])
    })
  )

  effect("probes after five seconds without the answer to a read", () =>
    Effect.gen(function* () {
      expect(yield* meet([200], 0)).toEqual({ outcome: "on", reads: [], lines: [], sent: 1 })
    })
  )

  effect("happens once: a later failed read fails at once", () =>
    Effect.gen(function* () {
      const server = answering([200, "ECONNREFUSED"])
      const again = Effect.gen(function* () {
        const contact = yield* FirstContact.make(cluster)
        const client = contact.client(yield* Client.Client)
        const read = client.page(Pod, { retry: false })
        yield* read
        return yield* Effect.result(read)
      }).pipe(Effect.provide(server.layer))
      expect(yield* again).toMatchObject({ _tag: "Failure", failure: { _tag: "Transport" } })
      expect(server.sent()).toBe(2)
    })
  )

  effect("fails if the server then rejects the credentials", () =>
    Effect.gen(function* () {
      expect((yield* meet(["ECONNREFUSED", 401])).outcome).toContain("does not accept the credentials")
    })
  )

  effect("keeps probing, at least every two seconds", () =>
    Effect.gen(function* () {
      const { outcome, sent } = yield* meet(["ECONNREFUSED"])
      expect(outcome).toBe("waiting")
      expect(sent).toBeGreaterThan(30)
      expect(sent).toBeLessThan(40)
    })
  )
})
