import { describe, expect, test } from "bun:test"
import type { Report } from "./Batch.ts"
import * as Verdict from "./Verdict.ts"

const tests = (...names: ReadonlyArray<string>) => names.map((name) => ({ file: "a.test.ts", name }))
const report = (passed: ReadonlyArray<string>, failed: ReadonlyArray<string> = [], error?: string): Report => ({
  passed: tests(...passed),
  failed: tests(...failed),
  error,
  seconds: new Map(),
  cpuSeconds: 0,
  output: ""
})

describe("The verdict", () => {
  test("counts what passed at once", () => {
    expect(Verdict.of([{ lane: "real", first: report(["a", "b"]), repeat: undefined }])).toEqual({
      passed: 2,
      failed: [],
      flaky: []
    })
  })

  test("fails a test that fails twice, in every lane", () => {
    for (const lane of ["unit", "embedded", "deep", "tools", "real"]) {
      const run = { lane, first: report(["a"], ["b"]), repeat: report(["a"], ["b"]) }
      expect(Verdict.of([run])).toEqual({ passed: 1, failed: [`${lane}: a.test.ts > b`], flaky: [] })
    }
  })

  test("fails a flaky test in the lanes unit and deep", () => {
    for (const lane of ["unit", "deep"]) {
      const run = { lane, first: report(["a"], ["b"]), repeat: report(["a", "b"]) }
      const { failed, passed } = Verdict.of([run])
      expect({ failed, passed }).toEqual({
        failed: [`${lane}: a.test.ts > b (flaky: it passed on the repeat)`],
        passed: 1
      })
    }
  })

  for (const file of ["a.embedded.deep.test.ts", "a.cluster.deep.test.ts"]) {
    test(`does not fail a flaky test of the lane deep in ${file}, which uses a cluster over HTTP`, () => {
      const of = (passed: boolean): Report => ({ ...report([]), [passed ? "passed" : "failed"]: [{ file, name: "b" }] })
      const { failed, flaky } = Verdict.of([{ lane: "deep", first: of(false), repeat: of(true) }])
      expect([failed, flaky]).toEqual([[], [`deep: ${file} > b`]])
    })
  }

  test("tolerates three flaky tests in the other lanes together, and fails all of four", () => {
    const flaky = (lane: string, name: string) => ({ lane, first: report([], [name]), repeat: report([name]) })
    const three = [flaky("embedded", "a"), flaky("real", "b"), flaky("tools", "c")]
    expect(Verdict.of(three)).toMatchObject({ passed: 3, failed: [] })
    expect(Verdict.of(three).flaky).toHaveLength(3)
    const four = Verdict.of([...three, flaky("real", "d")])
    expect([four.passed, four.failed.length, four.flaky]).toEqual([0, 4, []])
  })

  test("counts a test that fails only on the repeat as flaky", () => {
    const run = { lane: "real", first: report(["a"], ["b"]), repeat: report(["b"], ["a"]) }
    const { failed, flaky, passed } = Verdict.of([run])
    expect([passed, failed, flaky]).toEqual([
      2,
      [],
      ["real: a.test.ts > b", "real: a.test.ts > a (it failed on the repeat)"]
    ])
  })

  test("fails a test that failed only on the repeat in the unit lane", () => {
    const run = { lane: "unit", first: report(["a"], ["b"]), repeat: report(["b"], ["a"]) }
    expect(Verdict.of([run])).toEqual({
      passed: 0,
      failed: ["unit: a.test.ts > b (flaky: it passed on the repeat)", "unit: a.test.ts > a (it failed on the repeat)"],
      flaky: []
    })
  })

  test("fails a test that the repeat does not run", () => {
    const run = { lane: "real", first: report(["a"], ["seed 1"]), repeat: report(["a", "seed 2"]) }
    expect(Verdict.of([run])).toEqual({ passed: 1, failed: ["real: a.test.ts > seed 1"], flaky: [] })
  })

  test("fails a test whose namesake passes on the repeat", () => {
    const run = { lane: "real", first: report(["b"], ["b"]), repeat: report(["b"], ["b"]) }
    expect(Verdict.of([run])).toEqual({ passed: 1, failed: ["real: a.test.ts > b"], flaky: [] })
  })

  test("fails when a process died, whatever its repeat shows", () => {
    const run = { lane: "real", first: report([], [], "the process ended early"), repeat: report(["a"]) }
    expect(Verdict.of([run]).failed).toEqual(["real: the process ended early"])
  })

  test("takes no comfort from a repeat that died", () => {
    const run = { lane: "real", first: report(["a"], ["b"]), repeat: report(["b"], [], "exit code 1") }
    expect(Verdict.of([run])).toMatchObject({ passed: 1, failed: ["real: a.test.ts > b"] })
  })
})
