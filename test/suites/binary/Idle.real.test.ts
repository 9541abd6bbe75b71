/** What the program needs while nothing happens, on a real API server. */
import { describe, expect } from "bun:test"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Replica from "./Replica.ts"
import * as Running from "./Running.ts"
import { definitions } from "./Scene.ts"

/** In MiB. 76 were measured. */
const limit = 80

describe("The program, with the flags of the default overlay", () => {
  Shared.real(
    `has less than ${limit} MiB resident when it has read what there is and nothing happens`,
    (cluster) =>
      Effect.gen(function* () {
        yield* cluster.install(...definitions)
        const namespace = yield* cluster.namespace("idle")
        const program = yield* Replica.homeostat(cluster, { namespace, flags: ["--metrics-secure"] })
        yield* program.written(/Leading/)
        yield* Managed.eventually("that it is ready", Endpoint.get(program, "/readyz"), ({ status }) => status === 200)
        // What a start leaves is given back within some seconds, and then it stays.
        const resident = Running.residentMiB(program.pid)
        yield* Managed.eventually("that it is small", resident, (size) => size < limit)
        const size = yield* Managed.stays(
          "small",
          Effect.map(resident, (size) => size < limit),
          "5 seconds"
        )
        expect(size).toBe(true)
        process.stdout.write(`  idle: ${(yield* resident).toFixed(1)} MiB resident\n`)
      }),
    Envtest.everything
  )
})
