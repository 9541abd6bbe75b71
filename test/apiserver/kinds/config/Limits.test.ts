import { expect, test } from "bun:test"
import type { Writing } from "../../model/Kind.ts"
import * as ObjectIndex from "../../model/ObjectIndex.ts"
import { limitRange } from "./Limits.ts"

const writing: Writing = {
  now: 0,
  warn: () => {},
  user: { name: "u", groups: [] },
  stored: () => [],
  values: (_, valuesOf) => ObjectIndex.make(valuesOf, [])
}

test.each([
  ["min above max", { min: "2", max: "1" }, "min"],
  ["min above the default request", { min: "2", defaultRequest: "1" }, "defaultRequest"],
  ["the default request above max", { defaultRequest: "2", max: "1" }, "defaultRequest"],
  ["the default request above the default", { defaultRequest: "2", default: "1" }, "defaultRequest"],
  ["min above the default", { min: "2", default: "1" }, "default"],
  ["the default above max", { default: "2", max: "1" }, "default"]
])("a limit range with %s is refused", (_, amounts, field) => {
  const limits = Object.fromEntries(Object.entries(amounts).map(([name, cpu]) => [name, { cpu }]))
  const object = { metadata: { name: "a" }, spec: { limits: [{ type: "Container", ...limits }] } }
  const fields = [...limitRange.strategy.validate(object, writing)].map(({ field }) => field)
  expect(fields).toEqual([`spec.limits[0].${field}[cpu]`])
})
