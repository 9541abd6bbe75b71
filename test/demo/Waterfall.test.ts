import { describe, expect, test } from "bun:test"
import * as Recording from "@homeostat/runtime/telemetry/Recording"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Waterfall from "./Waterfall.ts"

const at = (millis: number): bigint => BigInt(millis) * 1_000_000n

/** A reconcile of 80 ms that waited for 20 ms and sent a request within a step. */
const trace = () => {
  const root = Recording.root("reconcile webapp", { startTime: at(20) })
  const add = (name: string, parent: Recording.Span, from: number, to: number) => {
    const span = root.recording.span(name, Option.some(parent), at(from))
    span.end(at(to), Exit.void)
    return span
  }
  const step = add("dependent Deployment", root, 40, 90)
  add("PATCH /apis/{name}", step, 50, 80)
  add("queue wait", root, 0, 20)
  root.end(at(100), Exit.void)
  return root.recording
}

describe("a trace in text", () => {
  const lines = Waterfall.lines(trace(), 80)

  test("has a line for each span, children below their parent, in the order of time", () => {
    expect(lines.map((line) => /^ *\S+ \S+/.exec(line)?.[0])).toEqual([
      "reconcile webapp",
      "  queue wait",
      "  dependent Deployment",
      "    PATCH /apis/{name}"
    ])
  })
  test("shows the duration of each span", () => {
    expect(lines.map((line) => /[\d.]+ ms$/.exec(line)?.[0])).toEqual(["80.0 ms", "20.0 ms", "50.0 ms", "30.0 ms"])
  })
  test("draws each span at its place in the whole time", () => {
    const width = 40
    const bars = lines.map((line) => {
      const bar = line.slice(line.search(/ms$/) - 11 - width + 1)
      return [bar.indexOf("█"), bar.lastIndexOf("█") + 1]
    })
    const [first = 0] = bars.map(([start = 0]) => start).toSorted((one, other) => one - other)
    expect(bars.map(([from = 0, to = 0]) => [from - first, to - first])).toEqual([
      [8, 40],
      [0, 8],
      [16, 36],
      [20, 32]
    ])
  })
  test("fits the width, and shows the note of a span below it", () => {
    const narrow = Waterfall.lines(trace(), 44, ({ name }) => ({
      name,
      note: name.startsWith("PATCH") ? "x".repeat(60) : ""
    }))
    expect(narrow).toHaveLength(5)
    for (const line of narrow) expect(line.length).toBeLessThanOrEqual(44)
    expect(narrow[4]?.trim()).toStartWith("xxx")
  })
  test("draws a span that has not ended until the end of the root", () => {
    const recording = trace()
    recording.span("left open", Option.some(recording.spans[0] as Recording.Span), at(60))
    expect(Waterfall.lines(recording, 80).find((line) => line.includes("left open"))).toEndWith("40.0 ms")
  })
})
