import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as States from "./States.ts"

live(
  "The metric, the list and why agree about 200 objects with random failures",
  () => Effect.map(States.observe(200, 45), States.agree),
  300_000
)
