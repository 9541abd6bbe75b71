import { expect } from "bun:test"
import { Effect } from "effect"
import * as Broker from "./Broker.ts"
import { live } from "./Test.ts"

live(
  "a broker starts one control plane for all clients, adds users, and reports a control plane that does not start",
  () =>
    Effect.gen(function* () {
      const broker = yield* Broker.serve
      const [one, other] = yield* Effect.all([Broker.connect(broker, {}), Broker.connect(broker, {})], {
        concurrency: "unbounded"
      })
      expect(other.url).toBe(one.url)
      expect(other.directory).not.toBe(one.directory)
      const namespace = yield* one.namespace()
      expect((yield* other.request("GET", `/api/v1/namespaces/${namespace}`)).status).toBe(200)

      const user = yield* other.addUser({ name: "ann" })
      expect((yield* other.request("GET", "/api/v1/namespaces", { as: user })).status).toBe(403)
      expect(other.logs("kube-apiserver", 1)).not.toBe("")
      expect((yield* Effect.flip(other.process("kube-apiserver"))).message).toContain("Shared.own")

      const failed = yield* Effect.flip(Broker.connect(broker, { apiServerFlags: ["--no-such-flag"] }))
      expect(failed.message).toContain("unknown flag: --no-such-flag")
    }),
  120_000
)
