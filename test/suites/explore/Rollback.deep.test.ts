/** Explores a WebApp whose rollout fails: no crash makes it run the failed template again, or forget the last good one. */
import * as Explore from "@homeostat/testkit/Explore"
import { rollback } from "./Stories.ts"

Explore.test("the last good template of a WebApp survives every crash", rollback, { faults: ["Crash"] }, 600_000)
