import { expect, test } from "bun:test"
import * as Logging from "./Logging.ts"

test("A terminal has colours unless NO_COLOR is set or TERM is dumb", () => {
  for (const accepted of [{}, { TERM: "xterm" }, { NO_COLOR: "" }]) {
    expect(Logging.acceptsColours(accepted)).toBe(true)
  }
  for (const refused of [{ NO_COLOR: "1" }, { NO_COLOR: "0", TERM: "xterm" }, { TERM: "dumb" }]) {
    expect(Logging.acceptsColours(refused)).toBe(false)
  }
})
