import { expect, test } from "bun:test"
import * as Writes from "./Writes.ts"

const at = "2026-11-28T08:00:00.000Z"
const { fields } = Writes.comparison({ startedAt: at, finishedAt: at })
const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { text: "one" } }

test("The same writes are equal, also with another time within the attempt, or another resourceVersion", () => {
  expect(fields(body, { ...body })).toEqual([])
  expect(fields({ ...body, at: "2026-11-28T08:00:00Z" }, { ...body, at: "2026-11-28T08:00:01Z" })).toEqual([])
  const locked = (resourceVersion: string) => ({ ...body, metadata: { name: "a", resourceVersion } })
  expect(fields(locked("1"), locked("2"))).toEqual([])
})

test("A write without the resourceVersion or the uid that the recorded write states is another write", () => {
  const locked = { ...body, metadata: { name: "a", resourceVersion: "1", uid: "u" } }
  expect(fields(locked, body)).toEqual([
    { path: "metadata.resourceVersion", from: "stated", to: undefined },
    { path: "metadata.uid", from: "stated", to: undefined }
  ])
})

test("A write of another kind or version is another write", () => {
  expect(fields(body, { ...body, apiVersion: "v2" })).toEqual([{ path: "apiVersion", from: "v1", to: "v2" }])
  expect(fields(body, { ...body, kind: "Other" })).toEqual([{ path: "kind", from: "ConfigMap", to: "Other" }])
})
