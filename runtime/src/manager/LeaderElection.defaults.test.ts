import { describe, expect, test } from "bun:test"
import { Either } from "effect"
import * as LeaderElection from "./LeaderElection.ts"

describe("the durations of an election", () => {
  test("are client-go's: 15, 10 and 2 seconds", () => {
    expect(LeaderElection.timesOf({})).toEqual(
      Either.right({ leaseDurationMillis: 15_000, renewDeadlineMillis: 10_000, retryPeriodMillis: 2_000 })
    )
  })
})
