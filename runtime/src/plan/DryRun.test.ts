import { expect, test } from "bun:test"
import * as DryRun from "./DryRun.ts"

const request = (method: "PATCH" | "DELETE" | "POST", path: string, body: unknown) =>
  ({ method, path, template: "", headers: { accept: "x" }, body: JSON.stringify(body), repeatable: false }) as const

test("A dry run has the body of its write", () => {
  const sent = request("PATCH", "/a?b=c", { metadata: { resourceVersion: "48213", name: "n" }, spec: {} })
  expect(DryRun.of(sent)).toEqual({
    ...sent,
    path: "/a?b=c&dryRun=All",
    dryRun: true,
    headers: { accept: "application/json" }
  })
  expect(DryRun.of(request("POST", "/a", {})).path).toBe("/a?dryRun=All")
})

test("The dry run of a deletion is requested in its body", () => {
  const asked = DryRun.of(request("DELETE", "/a", { preconditions: { uid: "u", resourceVersion: "48213" } }))
  expect(asked.path).toBe("/a")
  expect(JSON.parse(asked.body ?? "")).toEqual({
    dryRun: ["All"],
    preconditions: { uid: "u", resourceVersion: "48213" }
  })
})

test("DryRun.isRemoved recognizes a deleted object that has lost its last finalizer, and no pod that still terminates", () => {
  const deletionTimestamp = "2026-11-20T08:00:00Z"
  for (const [metadata, isRemoved] of [
    [{}, false],
    [{ deletionTimestamp }, true],
    [{ deletionTimestamp, finalizers: [], deletionGracePeriodSeconds: 0 }, true],
    [{ deletionTimestamp, finalizers: ["example.com/a"] }, false],
    [{ deletionTimestamp, deletionGracePeriodSeconds: 30 }, false]
  ] as const) {
    expect(DryRun.isRemoved({ metadata })).toBe(isRemoved)
  }
})

test("DryRun.isUnserved recognizes a path that the cluster does not serve, and no missing object", () => {
  expect(DryRun.isUnserved({ status: 404, body: "404 page not found\n" })).toBe(true)
  expect(DryRun.isUnserved({ status: 404, body: JSON.stringify({ kind: "Status" }) })).toBe(false)
})

test("DryRun.unsupported recognizes a webhook with side effects, and no other error", () => {
  const answer = (status: number, message: string) => ({
    status,
    headers: { get: () => null },
    body: JSON.stringify({ kind: "Status", message, reason: "BadRequest", code: status })
  })
  const sent = request("POST", "/a", {})
  const text = 'admission webhook "a.example.com" does not support dry run'
  expect(DryRun.unsupported(sent, answer(400, text))).toBe(`the API server cannot answer a dry run: POST /a: ${text}`)
  expect(DryRun.unsupported(sent, answer(400, "the body is torn"))).toBeUndefined()
  expect(DryRun.unsupported(sent, answer(403, text))).toBeUndefined()
})
