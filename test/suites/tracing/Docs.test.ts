/** docs/tracing.md names only things that exist. */
import { expect, test } from "bun:test"
import { join } from "node:path"
import { AttemptTrace } from "@homeostat/observability"
import * as Attribute from "@homeostat/runtime/telemetry/Attribute"
import * as Metric from "@homeostat/runtime/telemetry/Metric"

const page = await Bun.file(join(import.meta.dir, "../../../docs/tracing.md")).text()
const words = Array.from(page.matchAll(/`([^`\n]+)`/g), ([, word = ""]) => word)

test("docs/tracing.md names only attributes that spans have", () => {
  const known = new Set<unknown>(Object.values(Attribute))
  const named = words.filter((word) =>
    /^(k8s|reconcile|dependent|http|controller|trigger|admission|conversion|error|url)\.[a-z_.]+$/.test(word)
  )
  expect(named.length).toBeGreaterThan(15)
  expect(named.filter((word) => !known.has(word))).toEqual([])
})

test("docs/tracing.md names only metrics that exist", () => {
  const known = new Set<unknown>(Object.values(Metric).flatMap((each) => ("name" in each ? [each.name] : [])))
  const named = words.filter((word) => /^(homeostat|controller_runtime)_[a-z_]+$/.test(word))
  expect(named.length).toBeGreaterThan(2)
  expect(named.filter((word) => !known.has(word))).toEqual([])
})

test("docs/tracing.md names the results of a reconcile", () => {
  const done = AttemptTrace.resultOf({ outcome: { _tag: "Done" }, next: { _tag: "Wait" } })
  expect(words).toContain(done)
  expect(words).toContain(AttemptTrace.resultOf({ outcome: { _tag: "Vanished" }, next: { _tag: "Wait" } }))
  expect(words).toContain(AttemptTrace.resultOf({ outcome: { _tag: "Requeue" }, next: { _tag: "GiveUp" } }))
})
