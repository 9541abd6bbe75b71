/** A route and a check of a program, which its layer adds to the ports of the manager. */
import { describe, expect } from "bun:test"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect } from "effect"
import * as Keeper from "./Keeper.ts"

describe.concurrent("The layer of a program", () => {
  Shared.cluster("adds a route that takes a body, and a check", (cluster) =>
    Effect.gen(function* () {
      const namespace = yield* cluster.namespace("callers")
      const program = yield* Keeper.start(cluster, [`--namespace=${namespace}`])
      const probes = `http://${yield* Keeper.address(program, "probes")}`
      yield* program.written(/Starting controller keeper/)
      const sent = (body: string) => Keeper.ask(`${probes}/inbox?namespace=${namespace}`, { method: "POST", body })
      expect(yield* sent("hello")).toEqual({ status: 201, body: "hello\n" })
      expect(yield* sent("x".repeat(1025))).toEqual({
        status: 413,
        body: "the body is too large: 1025 bytes (at most 1024)\n"
      })
      expect(yield* Keeper.ask(`${probes}/readyz/inbox`)).toEqual({ status: 200, body: "ok\n" })
      expect((yield* Keeper.ask(`${probes}/readyz?verbose`)).body).toContain("inbox ok: 1 received\n")
    })
  )
})
