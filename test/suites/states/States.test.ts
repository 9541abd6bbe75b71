import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as States from "./States.ts"

live(
  "The metric, the list and why agree about 26 objects with random failures",
  () => Effect.map(States.observe(26, 45), States.agree),
  60_000
)
