import { describe, expect, test } from "bun:test"
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import * as Indexes from "./Indexes.ts"
import * as JobBackoff from "./JobBackoff.ts"
import * as JobPods from "./JobPods.ts"
import type { JobState } from "./JobState.ts"
import { verdictOn } from "./PodFailurePolicy.ts"

const pod = (exitCode: number, seconds = 0, conditions: ReadonlyArray<JsonObject> = []): JsonObject => {
  const finishedAt = new Date(seconds * 1000).toISOString()
  return {
    metadata: { name: "p", namespace: "n" },
    status: { conditions, containerStatuses: [{ name: "c", state: { terminated: { exitCode, finishedAt } } }] }
  }
}

describe("Indexes", () => {
  test.each([
    [[], ""],
    [[3], "3"],
    [[1, 0], "0,1"],
    [[5, 0, 2, 3, 4], "0,2-5"]
  ])("%p are written as %p", (indexes, text) => {
    expect(Indexes.format(indexes)).toBe(text)
    expect(Indexes.parse(text, 10)).toEqual(indexes.toSorted((one, other) => one - other))
  })

  test("above the number of completions are ignored", () => {
    expect(Indexes.parse("0,2-5,8", 4)).toEqual([0, 2, 3])
  })
})

describe("The delay before a failed pod is replaced", () => {
  test.each([
    [1, 10],
    [2, 20],
    [4, 80],
    [7, 600],
    [40, 600]
  ])("is, after %p consecutive failures, %p seconds", (failures, seconds) => {
    expect(JobBackoff.remaining({ failures, last: 1000 }, 1000)).toBe(seconds * 1000)
  })

  test("starts with the last failure", () => {
    expect(JobBackoff.remaining({ failures: 1, last: 1000 }, 8000)).toBe(3000)
    expect(JobBackoff.remaining({ failures: 1, last: 1000 }, 20_000)).toBe(0)
  })

  test("counts only failures after the last success", () => {
    const before = { failures: 5, last: 1000 }
    expect(JobBackoff.after(before, [pod(0, 10)], [pod(1, 5), pod(1, 20)])).toEqual({ failures: 1, last: 20_000 })
    expect(JobBackoff.after(before, [pod(0, 10)], [])).toEqual({ failures: 0, last: 0 })
    expect(JobBackoff.after(before, [], [pod(1, 30)])).toEqual({ failures: 6, last: 30_000 })
    expect(JobBackoff.after(before, [], [])).toEqual(before)
  })

  test("starts with the latest of several failures", () => {
    const failures = [pod(1, 20), pod(1, 30), pod(1, 25)]
    expect(JobBackoff.after({ failures: 0, last: 0 }, [], failures)).toEqual({ failures: 3, last: 30_000 })
  })
})

test("A Job that deletes pods counts only the others as active and ready", () => {
  const ready = { metadata: { name: "ready" }, status: { conditions: [{ type: "Ready", status: "True" }] } }
  const unready = { metadata: { name: "unready" }, status: { conditions: [{ type: "Ready", status: "False" }] } }
  const state: JobState = {
    job: {},
    pods: [ready, unready],
    active: [ready, unready],
    terminating: 1,
    uncounted: { succeeded: [], failed: [] },
    newSucceeded: [],
    newFailed: [],
    succeeded: 0,
    failed: 0,
    completed: new Set()
  }
  expect(JobPods.deleted(state, [unready], () => [])).toMatchObject({ active: 1, ready: 1, terminating: 2 })
  expect(JobPods.deleted(state, [ready], () => [])).toMatchObject({ active: 1, ready: 0, terminating: 2 })
})

describe("A podFailurePolicy", () => {
  const job = (...rules: ReadonlyArray<JsonObject>): JsonObject => ({ spec: { podFailurePolicy: { rules } } })
  const onExitCodes = (operator: string, ...values: ReadonlyArray<number>) => ({ onExitCodes: { operator, values } })

  test("fails the Job by an exit code", () => {
    const verdict = verdictOn(job({ action: "FailJob", ...onExitCodes("In", 42) }), pod(42))
    expect(verdict.fails).toBe("Container c for pod n/p failed with exit code 42 matching FailJob rule at index 0")
  })

  test("applies its first matching rule", () => {
    const rules = [
      { action: "Count", ...onExitCodes("In", 1) },
      { action: "Ignore", ...onExitCodes("NotIn", 2) }
    ]
    expect(verdictOn(job(...rules), pod(1))).toEqual({ counts: true, fails: undefined })
    expect(verdictOn(job(...rules), pod(3))).toEqual({ counts: false, fails: undefined })
    expect(verdictOn(job(...rules), pod(2))).toEqual({ counts: true, fails: undefined })
  })

  test("ignores containers that succeeded or are not selected", () => {
    const other = { action: "Ignore", onExitCodes: { containerName: "other", operator: "In", values: [1] } }
    expect(verdictOn(job(other), pod(1)).counts).toBe(true)
    expect(verdictOn(job({ action: "Ignore", ...onExitCodes("NotIn", 5) }), pod(0)).counts).toBe(true)
  })

  test("fails the Job by a condition", () => {
    const onPodConditions = [{ type: "DisruptionTarget", status: "True" }]
    const disrupted = pod(0, 0, [{ type: "DisruptionTarget", status: "True" }])
    expect(verdictOn(job({ action: "FailJob", onPodConditions }), disrupted).fails).toBe(
      "Pod n/p has condition DisruptionTarget matching FailJob rule at index 0"
    )
    expect(verdictOn(job({ action: "FailJob", onPodConditions }), pod(1)).fails).toBeUndefined()
  })
})
