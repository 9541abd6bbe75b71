/** What Prometheus' own tool says of a manager's page of metrics. */
import { describe, expect } from "bun:test"
import * as Assets from "@homeostat/testkit/envtest/Assets"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Chore from "../runtime/Chore.ts"
import { controller, election } from "./Obedient.ts"
import * as Served from "./Served.ts"

describe("The page of metrics", () => {
  Chore.real("has nothing that promtool objects to", (place) =>
    Effect.gen(function* () {
      const served = yield* Served.open
      const settings = { namespaces: [place.namespace], leaderElection: election(place) }
      const [runner] = yield* served.start(place.cluster.admin, [controller], settings)
      yield* runner?.started ?? Effect.void
      for (const what of ["fail", "tell"]) yield* Chore.create(place, what, { what })
      yield* Managed.eventually("that something is counted", served.metrics, (page) => page.includes('method="PATCH"'))
      const promtool = yield* Assets.find("promtool")
      const page = yield* served.metrics
      const check = Bun.spawn([promtool, "check", "metrics"], {
        stdin: Buffer.from(page),
        stdout: "pipe",
        stderr: "pipe"
      })
      const said = yield* Effect.promise(async () => {
        const texts = await Promise.all([check.stdout.text(), check.stderr.text()])
        return { code: await check.exited, text: texts.join("") }
      })
      expect(said).toEqual({ code: 0, text: "" })
    })
  )
})
