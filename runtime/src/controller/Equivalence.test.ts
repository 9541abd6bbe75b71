import { describe, expect, test } from "bun:test"
import type { Json } from "./Drift.ts"
import * as Equivalence from "./Equivalence.ts"

/** Units such as `1000n` and `1u`. */
const units = (...names: ReadonlyArray<string>) =>
  names.slice(1).map((name, at): readonly [less: string, more: string] => [`1000${names[at]}`, `1${name}`])

describe("Equivalence.isSame", () => {
  const same: ReadonlyArray<readonly [sent: Json, stored: Json]> = [
    ["1000m", "1"],
    ["0.5", "500m"],
    [1, "1"],
    ["1Gi", "1024Mi"],
    ["1e3", "1k"],
    ["1G", "1000M"],
    [".5", "0.5"],
    ["0.1", "100m"],
    ["60m", "1h0m0s"],
    ["90s", "1m30s"],
    ["1.5h", "1h30m0s"],
    ["-0s", "0s"],
    ["1h", "60m"],
    ...units("ns", "us", "ms", "s"),
    ...units("n", "u", "m", "", "k", "M", "G", "T", "P", "E"),
    ["1µs", "1us"],
    ...units("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei").map(([less, more]): readonly [Json, Json] => [
      less.replace("1000", "1024"),
      more
    ]),
    ["2026-11-21T10:00:00+01:00", "2026-11-21T09:00:00Z"],
    ["2026-11-21T10:00:00.000Z", "2026-11-21T10:00:00Z"],
    [["a"], ["b", "a"]],
    [["1000m"], ["1"]],
    [
      { b: 1, a: 2 },
      { a: 2, b: 1 }
    ]
  ]
  for (const [sent, stored] of same) {
    test(`accepts ${JSON.stringify(sent)} for ${JSON.stringify(stored)}`, () => {
      expect(Equivalence.isSame(sent, stored)).toBe(true)
    })
  }

  const others: ReadonlyArray<readonly [sent: Json, stored: Json]> = [
    ["web:1", "web:2"],
    ["1", "2"],
    ["1G", "1Gi"],
    ["1000m", "1000M"],
    ["1toString", "1"],
    ["60s", "60m"],
    ["-1m", "1m"],
    ["2026-11-21T10:00:00Z", "2026-11-21T10:00:01Z"],
    [["a", "b"], ["a"]],
    [true, "true"],
    ["", 0],
    ["Jan 2 2026 00:00 UTC", "2026-01-02T00:00:00Z"],
    [{ a: 1 }, { a: 2 }]
  ]
  for (const [sent, stored] of others) {
    test(`rejects ${JSON.stringify(sent)} for ${JSON.stringify(stored)}`, () => {
      expect(Equivalence.isSame(sent, stored)).toBe(false)
    })
  }
})

describe("Equivalence.isStored", () => {
  const stored: ReadonlyArray<readonly [path: string, want: Json, have: Json]> = [
    ["spec.resources.limits.cpu", "1000m", "1"],
    ["spec.resources.limits.cpu", 1, "1"],
    ["spec.resources.limits.memory", "1024Mi", "1Gi"],
    ["spec.resources.limits.memory", "1.5Gi", "1536Mi"],
    ["spec.resources.limits.cpu", "0m", "0"],
    ["spec.interval", "90s", "1m30s"],
    ["spec.interval", "60m", "1h0m0s"],
    ["spec.at", "2026-11-21T10:00:00+01:00", "2026-11-21T09:00:00Z"]
  ]
  for (const [path, want, have] of stored) {
    test(`accepts ${have} in ${path} for ${want}`, () => {
      expect(Equivalence.isStored({ path, want, have })).toBe(true)
    })
  }
  const changed: ReadonlyArray<readonly [path: string, want: Json, have: Json]> = [
    ["spec.resources.limits.cpu", "1000m", "2"],
    ["spec.resources.limits.cpu", "1", "1000m"],
    ["spec.version", "1.10", "1.1"],
    ["spec.resources.limits.memory", "1Gi", "1024Mi"],
    ["spec.interval", "1m30s", "90s"],
    ["spec.at", "2026-11-21T09:00:00Z", "2026-11-21T10:00:00+01:00"],
    ["data.cpu", "1000m", "1"],
    ["metadata.labels.code", "01", "1"],
    ["spec.template.metadata.labels.code", "01", "1"],
    ["spec.template.spec.containers[app].env[A].value", "01", "1"]
  ]
  for (const [path, want, have] of changed) {
    test(`rejects ${have} in ${path} for ${want}`, () => {
      expect(Equivalence.isStored({ path, want, have })).toBe(false)
    })
  }
})
