import { describe, expect, test } from "bun:test"
import * as Seed from "@homeostat/testkit/Seed.fixture"
import * as FastCheck from "fast-check"
import * as MoverReport from "./MoverReport.ts"

const whole =
  '{"reason":"Succeeded","message":"","snapshots":[{"pvc":"data","id":"0123456789abcdef","bytes":10,"added":5,"files":2},{"pvc":"cache","empty":true}],"pruned":true}'
const snapshots: ReadonlyArray<MoverReport.Snapshot> = [
  { pvc: "data", id: "0123456789abcdef", bytes: 10, added: 5, files: 2 },
  { pvc: "cache", id: undefined, bytes: 0, added: 0, files: 0 }
]
const succeeded: MoverReport.MoverReport = {
  reason: "Succeeded",
  protocol: 1,
  message: "",
  operation: undefined,
  repository: undefined,
  snapshots,
  cut: false,
  kept: undefined,
  removed: undefined,
  held: undefined,
  pruned: true,
  checked: false,
  unlocked: false,
  restored: undefined,
  complete: true
}

describe("MoverReport.parse", () => {
  test("reads a report", () => expect(MoverReport.parse(whole)).toEqual(succeeded))
  test("reads a report between lines of a log", () => {
    expect(MoverReport.parse(`{"message_type":"summary","files_new":1}\nunlocked {\n${whole}\n`)).toEqual(succeeded)
    expect(MoverReport.parse(`${whole}\nsh: can't kill pid 7`)).toEqual(succeeded)
  })
  for (const [text, protocol] of [
    ['{"reason":"Succeeded","protocol":2}', 2],
    ['{"reason":"Succeeded","protocol":2,"message":"cut of', 2],
    ['{"reason":"Succeeded","message":"protocol: 2"}', 1],
    ['{"reason":"Succeeded","protocol":"2"}', 1],
    ["protocol: 2", 1]
  ] as const) {
    test(`reads the protocol ${protocol}: ${text}`, () => expect(MoverReport.parse(text).protocol).toBe(protocol))
  }
  test("reads fields in any order", () =>
    expect(MoverReport.parse('{"checked":true,"reason":"Succeeded"}')).toEqual({
      ...succeeded,
      snapshots: [],
      pruned: false,
      checked: true
    }))
  test("reads the counts, the operations on the repository and whether the list is complete", () =>
    expect(
      MoverReport.parse(
        '{"reason":"Succeeded","message":"","repository":"89abcdef01","kept":2,"removed":0,"pruned":true,"checked":true,"unlocked":true,"cut":true,"snapshots":[]}'
      )
    ).toEqual({
      ...succeeded,
      repository: "89abcdef01",
      snapshots: [],
      cut: true,
      kept: 2,
      removed: 0,
      checked: true,
      unlocked: true
    }))
  test("reads the previous snapshot and why the deletion is held", () => {
    const text = `{"reason":"Succeeded","held":"TooMany","snapshots":[{"pvc":"a","empty":true,"before":{"id":"0123456789abcdef","bytes":7,"files":2}},{"pvc":"b","empty":true,"before":{"id":"../x"}}]}`
    expect(MoverReport.parse(text)).toMatchObject({ held: "TooMany" })
    expect(MoverReport.parse(text).snapshots.map(({ before }) => before)).toEqual([
      { id: "0123456789abcdef", bytes: 7, files: 2 },
      undefined
    ])
    expect(MoverReport.parse('{"reason":"x","held":"Anything"}').held).toBeUndefined()
  })
  test("reads the restored snapshot", () => {
    const of = (restored: string) => MoverReport.parse(`{"reason":"Succeeded","restored":${restored}}`).restored
    expect(of('{"snapshot":"0123456789abcdef","bytes":7,"files":2}')).toEqual({
      snapshot: "0123456789abcdef",
      bytes: 7,
      files: 2
    })
    expect(of('{"snapshot":"../etc","bytes":7,"files":2}')).toBeUndefined()
    expect(of("true")).toBeUndefined()
  })
  test("reads the failed operation of a truncated report", () => {
    const text = '{"reason":"ResticFailed","message":"Fatal","operation":"check","repository":"89abcdef01","kept":2'
    const expected = { reason: "ResticFailed", operation: "check", repository: "89abcdef01" }
    expect(MoverReport.parse(`${text}}`)).toMatchObject({ ...expected, kept: 2 })
    // The number may be cut.
    expect(MoverReport.parse(text)).toMatchObject({ ...expected, kept: undefined })
  })
  test("reads the complete fields of a truncated report", () => {
    const cut = MoverReport.parse(whole.slice(0, whole.indexOf('"empty"')))
    expect(cut).toEqual({ ...succeeded, snapshots: snapshots.slice(0, 1), pruned: false, complete: false })
    expect(MoverReport.parse('{"reason":"ResticFailed","message":"Fatal: \\u00fcble')).toMatchObject({
      reason: "ResticFailed",
      message: "Fatal: üble",
      complete: false
    })
  })
  test("ignores fields of the wrong type", () =>
    expect(
      MoverReport.parse(
        '{"reason":7,"message":["a"],"snapshots":[1,null,{"id":"x"},{"pvc":"a","id":"../x","bytes":-1,"files":"9"}],"pruned":"yes","kept":"2","removed":-1,"repository":"/","operation":"a b"}'
      )
    ).toEqual({
      ...succeeded,
      reason: undefined,
      snapshots: [{ pvc: "a", id: undefined, bytes: 0, added: 0, files: 0 }],
      pruned: false
    }))
  test("reads any other text as the message", () =>
    expect(MoverReport.parse("exec /bin/sh:\n  no such file or directory\n")).toEqual({
      ...succeeded,
      reason: undefined,
      message: "exec /bin/sh: no such file or directory",
      snapshots: [],
      pruned: false,
      complete: false
    }))
  test("ignores JSON of restic itself", () =>
    expect(MoverReport.parse('{"message_type":"exit_error","code":1,"message":"Fatal: x"}')).toMatchObject({
      reason: undefined,
      message: '{"message_type":"exit_error","code":1,"message":"Fatal: x"}',
      complete: false
    }))
  test("reads the last of two truncated reports", () =>
    expect(MoverReport.parse('{"reason":"A","mess {"reason":"B","message":"b')).toMatchObject({
      reason: "B",
      message: "b"
    }))
  for (const text of [undefined, "", " \n "]) {
    test(`returns an empty report for ${JSON.stringify(text)}`, () =>
      expect(MoverReport.parse(text)).toMatchObject({ reason: undefined, message: "", complete: false }))
  }
  for (const text of ["null", "[]", "7", '"a"', "{}", "{"]) {
    test(`returns no reason for ${text}`, () => expect(MoverReport.parse(text).reason).toBeUndefined())
  }

  test("invents no snapshot, wherever the report is truncated", () => {
    for (let end = 0; end <= whole.length; end += 1) {
      const { snapshots: found, reason } = MoverReport.parse(whole.slice(0, end))
      expect(snapshots).toEqual(expect.arrayContaining([...found]))
      expect("Succeeded".startsWith(reason ?? "")).toBe(true)
    }
  })
  test("never fails, and returns a message of one short line", () =>
    FastCheck.assert(
      FastCheck.property(
        FastCheck.oneof(FastCheck.string({ unit: "binary", maxLength: 3000 }), FastCheck.json()),
        (text) => {
          const { message } = MoverReport.parse(text)
          expect(Array.from(message).length).toBeLessThanOrEqual(900)
          expect(message).not.toMatch(/[\n\r\0]/)
        }
      ),
      { numRuns: 500, seed: Seed.current() }
    ))
})

test("MoverReport.parse ignores volumes without a valid claim name", () => {
  const names = ["data", "a.b-1", "", "-x", "Data", "a\u202eb", "a".repeat(254)]
  const text = JSON.stringify({ reason: "Succeeded", snapshots: names.map((pvc) => ({ pvc })) })
  expect(MoverReport.parse(text).snapshots.map(({ pvc }) => pvc)).toEqual(["data", "a.b-1"])
})

test("isMuchSmaller compares half of both files and bytes, and a tenth of one of them", () => {
  const MiB = 2 ** 20
  const isSmaller = (files: number, bytes: number, from: readonly [files: number, bytes: number]) =>
    MoverReport.isMuchSmaller({ files, bytes }, { files: from[0], bytes: from[1] })
  expect([isSmaller(4, 4, [10, 10]), isSmaller(5, 4, [10, 10]), isSmaller(4, 5, [10, 10])]).toEqual([
    true,
    false,
    false
  ])
  expect([isSmaller(9, 100, [100, 100]), isSmaller(10, 100, [100, 100]), isSmaller(0, 100, [99, 100])]).toEqual([
    true,
    false,
    false
  ])
  expect([isSmaller(1, MiB - 1, [1, 10 * MiB]), isSmaller(1, MiB, [1, 10 * MiB])]).toEqual([true, false])
  expect(isSmaller(1, 0, [1, 10 * MiB - 1])).toBe(false)
})

describe("MoverReport.clean", () => {
  test("redacts credentials in URLs", () =>
    expect(MoverReport.clean("Get https://joe:secret@host/a: refused, and rest:https://x:y@h/")).toBe(
      "Get https://<redacted>@host/a: refused, and rest:https://<redacted>@h/"
    ))
  test("keeps the end of a long message, without splitting a character", () => {
    const long = MoverReport.clean(`${"😀".repeat(1000)} the cause`)
    expect(long).toMatch(/^…😀+ the cause$/u)
    expect(Array.from(long)).toHaveLength(900)
  })
  test("redacts values that look like secrets", () =>
    expect(MoverReport.clean("AWS_SECRET_ACCESS_KEY=abc/def+123 and Bearer abcdefghijkl: refused")).toBe(
      "AWS_SECRET_ACCESS_KEY=<redacted> and Bearer <redacted> refused"
    ))
  test("replaces lone surrogates, as the API server does", () =>
    expect(MoverReport.clean(JSON.parse('"a\\ud83d b"'))).toBe("a\ufffd b"))
  test("removes control and bidirectional characters", () => expect(MoverReport.clean("a\u202eb\u0007c")).toBe("a b c"))
})
