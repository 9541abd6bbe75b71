import { describe, expect } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import * as Broker from "../Broker.ts"
import { live } from "../Test.ts"
import * as Directory from "./Directory.ts"
import { isAlive, until } from "./fixtures/pids.ts"

describe("A test run that is stopped early", () => {
  for (const signal of ["SIGKILL", "SIGTERM", "SIGINT"] as const) {
    live(
      `leaves no etcd, API server or file behind after ${signal}`,
      () =>
        Effect.gen(function* () {
          const holds = join(yield* Directory.make, "holds.json")
          const run = yield* Effect.acquireRelease(
            Effect.sync(() =>
              Bun.spawn([process.execPath, "test", "./fixtures/plane.fixture.ts"], {
                cwd: import.meta.dirname,
                // The run starts a control plane of its own: it does not share the broker's.
                env: { ...process.env, [Broker.variable]: undefined, HOLDS: holds },
                stdio: ["ignore", "ignore", "ignore"]
              })
            ),
            (child) => Effect.sync(() => child.kill("SIGKILL"))
          )
          yield* until(() => existsSync(holds) && readFileSync(holds, "utf8").endsWith("}"), 60)
          const { directory, pids } = JSON.parse(readFileSync(holds, "utf8"))
          expect([...pids.map(isAlive), existsSync(directory)]).toEqual([true, true, true])

          run.kill(signal)
          yield* until(() => !pids.some(isAlive), 30)
          yield* until(() => !existsSync(directory), 30)
        }),
      180_000
    )
  }
})
