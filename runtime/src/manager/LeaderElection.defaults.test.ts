import { describe, expect, test } from "bun:test"
import { Result } from "effect"
import * as LeaderElection from "./LeaderElection.ts"

describe("The default durations of a leader election", () => {
  test("are those of client-go: 15, 10 and 2 seconds", () => {
    expect(LeaderElection.timesOf({})).toEqual(
      Result.succeed({ leaseDurationMillis: 15_000, renewDeadlineMillis: 10_000, retryPeriodMillis: 2_000 })
    )
  })
})
