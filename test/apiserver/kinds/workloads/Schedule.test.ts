import { expect, test } from "bun:test"
import * as Schedule from "./Schedule.ts"

test.each(["* * * * *", "*/5 1-3,7 * jan-mar mon", "@daily", "@every 1h30m", "0 0 1 1 ?", "CRON_TZ=UTC 0 0 * * *"])(
  "%s is a schedule",
  (schedule) => {
    expect(Schedule.parseError(schedule)).toBeUndefined()
  }
)

test.each([
  ["* * * *", "expected exactly 5 fields, found 4: [* * * *]"],
  ["60 * * * *", "end of range (60) above maximum (59): 60"],
  ["* * 0 * *", "beginning of range (0) below minimum (1): 0"],
  ["5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"],
  ["*/0 * * * *", "step of range should be a positive number: */0"],
  ["x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'],
  ["1-2-3 * * * *", "too many hyphens: 1-2-3"],
  ["*/2/3 * * * *", "too many slashes: */2/3"],
  ["@never", "unrecognized descriptor: @never"]
])("%s is not a schedule: %s", (schedule, error) => {
  expect(Schedule.parseError(schedule)).toBe(error)
})
