import { describe, expect, test } from "bun:test"
import { Either } from "effect"
import * as LeaderElection from "./LeaderElection.ts"

describe("The default durations of a leader election", () => {
  test("are those of client-go: 15, 10 and 2 seconds", () => {
    expect(LeaderElection.timesOf({})).toEqual(
      Either.right({ leaseDurationMillis: 15_000, renewDeadlineMillis: 10_000, retryPeriodMillis: 2_000 })
    )
  })
})
