import { describe, expect, test } from "bun:test"
import * as Snapshots from "./Snapshots.ts"

const id = (digit: string): string => digit.repeat(64)
const snapshot = (digit: string, time: string, more: object = {}) => ({
  id: id(digit),
  time,
  hostname: "shop/data",
  ...more
})

describe("Snapshots.list", () => {
  test("sorts by time, in any time zone and to the nanosecond", () => {
    const listed = [
      snapshot("a", "2026-10-31T12:00:00.000000002Z"),
      snapshot("b", "2026-10-31T14:00:00.000000001+02:00"),
      snapshot("c", "2026-10-31T11:59:59Z")
    ]
    expect(Snapshots.list(JSON.stringify(listed))?.map((found) => found.id[0])).toEqual(["c", "b", "a"])
  })
  test("reads tags and sizes, if restic wrote them", () =>
    expect(
      Snapshots.list(
        JSON.stringify([
          snapshot("a", "2026-10-31T12:00:00Z", {
            tags: ["shop/nightly", "run:1"],
            summary: { total_files_processed: 3, total_bytes_processed: 30, data_added_packed: 10 }
          }),
          snapshot("b", "2026-10-31T12:00:01Z")
        ])
      )
    ).toMatchObject([
      { tags: ["shop/nightly", "run:1"], files: 3, bytes: 30, added: 10 },
      { tags: [], files: undefined, bytes: undefined, added: undefined }
    ]))
  for (const [text, expected] of [
    ["null\n", 0],
    ["[]\n", 0],
    ["", 0],
    ["[{", undefined],
    ['[{"id":"../x","time":"2026-10-31T12:00:00Z"},{"id":"aaaaaaaaaa","time":"yesterday"},7]', 0]
  ] as const) {
    test(`finds ${expected} snapshots in ${JSON.stringify(text)}`, () =>
      expect(Snapshots.list(text)?.length).toBe(expected))
  }
})

test("Snapshots.forgotten adds up the groups of restic forget", () => {
  const text = JSON.stringify([
    { host: "shop/a", keep: [snapshot("a", "2026-10-31T12:00:00Z", { paths: ['"remove":['] })], remove: null },
    {
      host: "shop/b",
      keep: null,
      remove: [snapshot("b", "2026-10-31T12:00:00Z"), snapshot("c", "2026-10-31T12:00:00Z")]
    }
  ])
  const found = Snapshots.forgotten(text)
  expect([found?.kept.length, found?.removed.length]).toEqual([1, 2])
})
