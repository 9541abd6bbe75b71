import { describe, expect, test } from "bun:test"
import { ConfigMap, Namespace } from "../../resource/BuiltIn.ts"
import * as Recording from "../../telemetry/Recording.ts"
import { admission, answer, call } from "../../webhook/Call.fixture.ts"
import type * as Call from "../../webhook/Call.ts"
import * as Admissions from "./Admissions.ts"
import { answerOf } from "./Answer.ts"
import { cases, facts, now, reviewed } from "./Why.fixture.ts"

const page = { namespace: "default", name: "page" }

const denied = (denial = "no", at = 15, over: Partial<Call.Admission> = {}): Call.Call =>
  call({ finishedAt: at, admission: admission({ answer: answer({ denial }), ...over }) })

/** The history after these requests. */
const after = (...calls: ReadonlyArray<Call.Call>) => {
  const admissions = Admissions.make([ConfigMap])
  for (const each of calls) admissions.record(each)
  return admissions
}
const entriesOf = (...calls: ReadonlyArray<Call.Call>) => after(...calls).of(ConfigMap, page)

describe("The history of webhooks", () => {
  test("contains a denial with its time, operation, user and text", () => {
    expect(entriesOf(denied("no", 15, { operation: "UPDATE", dryRun: true }))).toEqual([
      {
        at: 15,
        result: "denied",
        operation: "update",
        dryRun: true,
        username: "ann",
        unverified: undefined,
        message: "no",
        trace: undefined,
        times: 1,
        since: 15
      }
    ])
  })

  const patch = Array.from({ length: 10 }, (_, at) => ({ op: "remove", path: `/data/f${at}` }) as const)
  const results: ReadonlyArray<readonly [string, Partial<Call.Call>, object]> = [
    [
      "changed fields, without values",
      {
        admission: admission({
          answer: answer({ patch: [{ op: "add", path: "/data/theme", value: "hunter2" }, ...patch.slice(0, 1)] })
        })
      },
      { result: "changed", message: "data.theme, data.f0" }
    ],
    [
      "the number of further changed fields",
      { admission: admission({ answer: answer({ patch, warnings: ["w"] }) }) },
      { result: "changed", message: "data.f0, data.f1, data.f2, data.f3, data.f4, data.f5, data.f6, data.f7, 2 more" }
    ],
    [
      "warnings",
      { admission: admission({ answer: answer({ warnings: ["one", "two"] }) }) },
      { result: "warned", message: "one; two" }
    ],
    [
      "the error of a webhook",
      { status: 500, problem: "no database", admission: admission({ answer: undefined }) },
      { result: "failed", message: "no database" }
    ],
    [
      "a timed-out answer",
      { status: undefined, admission: admission({ answer: undefined }) },
      { result: "failed", message: "the API server did not wait for the answer" }
    ]
  ]
  for (const [what, of, expected] of results) {
    test(`contains ${what}`, () => expect(entriesOf(call(of))).toMatchObject([expected]))
  }

  test("omits requests that were allowed without a comment, without a review or without a name", () => {
    const quiet = call({ admission: admission() })
    const unnamed = denied("no", 15, { name: undefined })
    expect(after(quiet, unnamed, call()).size()).toEqual({ keys: 0, bytes: 0 })
  })

  test("contains the trace, and whether it was exported", () => {
    const root = Recording.root("POST /validate", { startTime: 0n })
    root.recording.exported = true
    expect(entriesOf({ ...denied(), root })).toMatchObject([{ trace: { id: root.traceId, exported: true } }])
  })

  test("merges equal consecutive answers", () => {
    const [first, second, ...more] = entriesOf(denied("no", 1), denied("no", 2), denied("no", 3), denied("never", 4))
    expect(first).toMatchObject({ message: "no", times: 3, since: 1, at: 3 })
    expect(second).toMatchObject({ message: "never", times: 1 })
    expect(more).toEqual([])
    for (const other of [{ dryRun: true }, { username: "bob" }, { operation: "UPDATE" }] as const) {
      expect(entriesOf(denied(), denied("no", 15, other))).toHaveLength(2)
    }
  })

  test("keeps the latest four answers about an object", () => {
    const calls = Array.from({ length: 6 }, (_, at) => denied(`no ${at}`, at))
    expect(entriesOf(...calls).map(({ message }) => message)).toEqual(["no 2", "no 3", "no 4", "no 5"])
  })

  test("keeps each object separately, by kind, namespace and name", () => {
    const admissions = after(
      denied("one"),
      denied("two", 15, { namespace: "other" }),
      denied("three", 15, { resource: Namespace, namespace: undefined })
    )
    const messages = (...asked: Parameters<typeof admissions.of>) =>
      admissions.of(...asked).map(({ message }) => message)
    expect(messages(ConfigMap, page)).toEqual(["one"])
    expect(messages(ConfigMap, { ...page, namespace: "other" })).toEqual(["two"])
    expect(messages(Namespace, { name: "page" })).toEqual(["three"])
    expect(messages(ConfigMap, { ...page, name: "x" })).toEqual([])
  })

  test("keeps texts in one line, without secrets, and truncates long ones", () => {
    const [entry] = entriesOf(denied(`password=hunter2\n${"x".repeat(2000)}`, 15, { username: "u".repeat(300) }))
    expect(entry?.message).toStartWith("password=<redacted> xxx")
    expect(entry?.message.length).toBeLessThan(510)
    expect(entry?.username.length).toBe(101)
  })

  describe("of clients without proof", () => {
    const from = (address: string, denial: string, at = 15, over: Partial<Call.Admission> = {}): Call.Call => ({
      ...denied(denial, at, over),
      client: { address, isVerified: false }
    })
    const truth = denied("true", 1)
    const messages = (...calls: ReadonlyArray<Call.Call>) =>
      entriesOf(...calls).map(({ message, unverified }) => [message, unverified])

    test("has their addresses", () =>
      expect(messages(truth, from("10.0.0.7", "forged", 2))).toEqual([
        ["true", undefined],
        ["forged", "10.0.0.7"]
      ]))

    test("evicts no entry of another client, neither of the object nor of others", () => {
      const flood = Array.from({ length: 9000 }, (_, at) =>
        from("10.0.0.7", `${at} ${"x".repeat(400)}`, at + 2, { name: at % 2 === 0 ? "page" : `page-${at}` })
      )
      for (const first of [truth, from("10.0.0.1", "true", 1)]) {
        const found = messages(first, ...flood)
        expect(found[0]).toEqual(["true", first.client.isVerified ? undefined : "10.0.0.1"])
        expect(found).toHaveLength(5)
      }
      expect(after(...flood).size().bytes).toBeLessThan(Admissions.capacity / 4)
    })

    test("has eight addresses, and a ninth one only after another has been silent for a day", () => {
      const eight = Array.from({ length: 8 }, (_, at) => from(`10.0.0.${at}`, "no", at))
      const day = 24 * 60 * 60 * 1000
      expect(messages(...eight, from("10.0.0.9", "late", day))).toHaveLength(8)
      const found = messages(...eight, from("10.0.0.9", "late", day + 1)).map(([, address]) => address)
      expect(found).toEqual([...eight.slice(1).map(({ client }) => client.address), "10.0.0.9"])
    })
  })

  test("is limited in bytes, also for one object with changing answers", () => {
    const admissions = Admissions.make([ConfigMap], { capacity: 20_000 })
    for (let at = 0; at < 10_000; at++)
      admissions.record(denied(`no ${at} ${"x".repeat(400)}`, at, { name: `page-${at}` }))
    const full = admissions.size()
    expect(full.keys).toBeGreaterThan(15)
    // An entry with 400 characters has more than 500 bytes.
    expect(full.keys).toBeLessThan(40)
    expect(full.bytes).toBeLessThanOrEqual(22_000)
    expect(admissions.of(ConfigMap, { ...page, name: "page-9999" })).toHaveLength(1)
    expect(admissions.of(ConfigMap, { ...page, name: "page-0" })).toEqual([])
    for (let at = 0; at < 10_000; at++) admissions.record(denied(`no ${at}`, at, { name: "page-9999" }))
    expect(admissions.size().bytes).toBeLessThanOrEqual(22_000)
  })
})

describe("The answer for an object that does not exist", () => {
  const absent = { cached: undefined, children: [], entry: undefined }
  const verdictOf = (...admissions: ReadonlyArray<Admissions.Entry>) =>
    answerOf(facts({ ...absent, admissions })).verdict

  test("is the denial of its creation, unless that was a dry run or another operation", () => {
    expect(verdictOf(reviewed(1000))).toBe("denied")
    expect(verdictOf(reviewed(2000), reviewed(1000, { dryRun: true }))).toBe("denied")
    expect(verdictOf(reviewed(1000, { dryRun: true }))).toBe("absent")
    expect(verdictOf(reviewed(1000, { operation: "update" }))).toBe("absent")
    expect(verdictOf(reviewed(2000), reviewed(1000, { result: "warned" }))).toBe("absent")
    expect(verdictOf(reviewed(2000), reviewed(1000, { result: "warned", unverified: "10.0.0.7" }))).toBe("denied")
  })

  test("reports that no certificate proves the review", () => {
    const { answer } = answerOf(facts({ ...absent, admissions: [reviewed(1000, { unverified: "10.0.0.7" })] }))
    expect(answer).toContain(
      "denied its creation 1s ago (10:21:12Z), in an unauthenticated review from 10.0.0.7: Backup"
    )
  })

  test("is its deletion if that is later", () => {
    const entry = (at: number) => ({ runs: [], ignored: [], deleted: { uid: "", at } })
    const of = (at: number) => answerOf({ ...cases.denied, entry: entry(at) }).verdict
    expect([of(now - 60_000), of(now)]).toEqual(["denied", "deleted"])
  })
})
