/** Tests of the output in docs/replay.md, and of the text of replays. */
import { expect, test } from "bun:test"
import { join } from "node:path"
import type { Report } from "@homeostat/runtime/replay/Replay"
import * as Text from "@homeostat/runtime/replay/Text"
import * as Markdown from "../docs/Markdown.ts"

const page = await Bun.file(join(import.meta.dir, "../../../docs/replay.md")).text()

const path = "/apis/apps/v1/namespaces/default/deployments/shop"
const patch = { method: "PATCH", path: `${path}?fieldManager=webapp-controller` }

const report: Report = {
  kind: "Replay",
  recording: {
    program: "homeostat/0.2.0-dev (linux/amd64)",
    reconcileID: "7f1d2a90-3c41-4f5e-9a6b-2d8c0e4b7a11",
    trace: "7f1d2a903c414f5e9a6b2d8c0e4b7a11",
    controller: "webapp",
    object: { kind: "WebApp", key: "default/shop" },
    attempt: 2,
    startedAt: "2026-11-21T10:19:13.120Z",
    redacted: 0,
    omitted: { reads: 0, requests: 0 }
  },
  same: false,
  steps: [
    { step: "read", what: "Deployment default/shop", found: "resourceVersion 48190" },
    { step: "request", ...patch, answer: "200", source: "assumed" },
    { step: "read", what: "Service default/shop", found: "resourceVersion 48102" },
    {
      step: "event",
      type: "Normal",
      reason: "DeploymentUpdated",
      note: "Updated Deployment shop (spec.template.spec.containers[app].image)"
    }
  ],
  writes: 1,
  ending: { outcome: "Done" },
  recordedEnding: {
    outcome: "Terminal",
    message: `The API server refuses PATCH ${path}: image web:latest has no digest`,
    error: "TerminalError"
  },
  missingReads: [],
  differences: [
    {
      difference: "changed",
      ...patch,
      fields: [{ path: "spec.template.spec.containers[app].image", from: "web:latest", to: "web@sha256:4bf92f35" }]
    }
  ]
}

test("docs/replay.md has the output of a replay", () => {
  const texts = Markdown.blocks(page).filter(({ language }) => language === "text")
  expect(texts.map(({ text }) => text.trimEnd())).toEqual([Text.render(report)])
})

test("A replay that differs reports what the recording lacks", () => {
  const fields = Array.from({ length: 18 }, (_, at) => ({
    path: `data.k${String(at).padStart(2, "0")}`,
    to: `\u001b${at}`
  }))
  const text = Text.render({
    ...report,
    recording: { ...report.recording, redacted: 2, omitted: { reads: 1, requests: 2 } },
    ending: { outcome: "RequeueAfter", afterMillis: 90_000 },
    missingReads: ["Secret default/shop"],
    differences: [
      { difference: "added", method: "POST", path: "/api/v1/namespaces/default/configmaps", fields },
      { difference: "missing", method: "DELETE", path: "/api/v1/namespaces/default/pods/a", fields: [] }
    ]
  })
  const lines = text.split("\n")
  expect(lines).toContain("Outcome: RequeueAfter 90s")
  expect(text).toContain("Reads that the recording does not have:\n  Secret default/shop\n")
  expect(text).toContain("  + POST /api/v1/namespaces/default/configmaps\n      data.k00: \\u001b0\n")
  expect(text).toContain(
    "      data.k15: \\u001b15\n      2 more fields (-o json)\n  - DELETE /api/v1/namespaces/default/pods/a\n"
  )
  expect(lines.slice(-3)).toEqual([
    "Differs from the recording: 2 reads, 1 write.",
    "The recording hides 2 secret values: a difference may come from them.",
    "The recording omits 3 reads or requests, because there were too many: a difference may come from them."
  ])
})
