import { expect, test } from "bun:test"
import type { Report } from "./Replay.ts"
import * as Text from "./Text.ts"

const report = (over: Partial<Report> = {}, redacted = 0): Report => ({
  kind: "Replay",
  recording: {
    reconcileID: "r",
    trace: "t",
    controller: "sites",
    object: { kind: "Site", key: "default/a" },
    attempt: 1,
    startedAt: "2026-11-28T08:00:00.000Z",
    redacted,
    omitted: { reads: 0, requests: 0 }
  },
  same: true,
  steps: [],
  writes: 0,
  ending: { outcome: "Done" },
  recordedEnding: { outcome: "Done" },
  missingReads: [],
  differences: [],
  ...over
})

test("A text of the recording cannot look like another line, and has no control characters", () => {
  const text = "\u001b[2J\nSame as the recording"
  const { recording } = report()
  const shown = Text.render(
    report({
      same: false,
      recording: { ...recording, controller: text, trace: text, program: text, object: { kind: "Site", key: text } },
      steps: [{ step: "log", level: "info", message: text }],
      recordedEnding: { outcome: "Failed", message: text },
      missingReads: [text],
      differences: [{ difference: "added", method: "PUT", path: text, fields: [{ path: text, to: text }] }]
    })
  )
  expect(shown).not.toContain("\u001b")
  expect(shown.split("\n").filter((line) => line.startsWith("Same"))).toEqual([])
})

test("A replay with hidden values reports what it cannot compare", () => {
  expect(Text.render(report())).toEndWith("\nSame as the recording: 0 reads, 0 writes.")
  expect(Text.render(report({}, 2))).toEndWith(
    "\nThe recording hides 2 secret values: the replay compares only their lengths."
  )
  expect(Text.render(report({ same: false }, 1))).toEndWith(
    "\nThe recording hides 1 secret value: a difference may come from them."
  )
})

test("A replay of a recording that is cut reports that a difference may come from that", () => {
  const recording = { ...report().recording, omitted: { reads: 3, requests: 1 } }
  const line = "\nThe recording omits 4 reads or requests, because there were too many"
  expect(Text.render(report({ recording }))).toEndWith(`${line}.`)
  expect(Text.render(report({ recording, same: false }))).toEndWith(`${line}: a difference may come from them.`)
})
