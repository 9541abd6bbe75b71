/** The comparison of servers that break or answer differently. */
import { describe, expect, test } from "bun:test"
import { Cause, Effect, Exit } from "effect"
import type { Server } from "../comparison/Server.ts"
import * as Agreement from "./Agreement.ts"

const always =
  (status: number, message: string): Server =>
  (request) =>
    Effect.succeed(
      request.method === "GET" || request.method === "DELETE"
        ? { status: 404, body: {}, headers: {}, at: 0 }
        : { status, body: { kind: "Status", message }, headers: {}, at: 0 }
    )

const compared = (real: Server, embedded: Server) =>
  Effect.runPromiseExit(Agreement.check({ namespace: "somewhere", real, embedded }, 1))

const none = always(0, "the connection was closed")

describe("A comparison", () => {
  test("that fails reports its seed", async () => {
    const exit = await compared(always(201, ""), () => Effect.die("broken"))
    expect(Exit.isFailure(exit) && Cause.pretty(exit.cause)).toContain("seed 1")
  })

  test("accepts a rejection if the real server does not answer, but no success", async () => {
    const found = async (status: number) => {
      const exit = await compared(none, always(status, "no"))
      return Exit.isSuccess(exit) ? exit.value?.seed : exit
    }
    expect(await found(422)).toBeUndefined()
    expect(await found(201)).toBe(1)
  })

  test("finds no difference between the same answers", async () => {
    const exit = await compared(always(422, "a, b"), always(422, "a, b"))
    expect(Exit.isSuccess(exit) && exit.value).toBeUndefined()
  })

  test("finds messages with the same words in another order", async () => {
    const exit = await compared(always(422, "a, b"), always(422, "b, a"))
    expect(Exit.isSuccess(exit) && exit.value?.seed).toBe(1)
  })
})
