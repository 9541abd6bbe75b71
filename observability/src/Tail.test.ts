import { describe, expect, test } from "bun:test"
import { type Attempt, Outcome } from "@homeostat/runtime/controller/Attempt"
import { exchange, attempt as record } from "@homeostat/runtime/controller/Attempt.fixture"
import { TerminalError } from "@homeostat/runtime/controller/TerminalError"
import * as Recording from "@homeostat/runtime/telemetry/Recording"
import * as TraceParent from "@homeostat/runtime/telemetry/TraceParent"
import type { Call } from "@homeostat/runtime/webhook/Call"
import { admission, answer, call } from "@homeostat/runtime/webhook/Call.fixture"
import * as Option from "effect/Option"
import * as Tail from "./Tail.ts"

const traced = (over: Partial<Attempt> = {}, traceId?: string): Attempt =>
  record({ root: Recording.root("reconcile widgets", { startTime: 0n, traceId }), ...over })

const wrote = (changed: boolean | undefined): Attempt["exchanges"][number] =>
  exchange({
    write: {
      kind: "Widget",
      verb: "patch",
      subresource: undefined,
      fieldManager: "widgets",
      before: "1",
      after: changed === true ? "2" : "1",
      changed
    }
  })

const widget = (status: unknown): Attempt["object"] => {
  const metadata = {
    namespace: "default",
    name: "a",
    uid: "u",
    resourceVersion: "1",
    generation: 2,
    creationTimestamp: ""
  }
  const object = { apiVersion: "example.com/v1", kind: "Widget", metadata }
  return status === undefined ? object : Object.assign(object, { status })
}

/** An attempt for an object of generation 2 with this status. */
const at = (status: unknown, over: Partial<Attempt> = {}) =>
  traced({ object: widget(status), uid: "u", generation: 2, ...over })

const seen = { observedGeneration: 2 }

/** The same, with an Event that links to its trace. */
const withEvent = (attempt: Attempt): Attempt => {
  if (attempt.root !== undefined) attempt.root.recording.hasEvent = true
  return attempt
}

describe("A trace is", () => {
  const cases: ReadonlyArray<readonly [string, Attempt, Tail.Decision]> = [
    ["quiet without a write", at(seen), "quiet"],
    ["quiet if the object does not exist", traced({ outcome: Outcome.Vanished() }), "quiet"],
    ["quiet if no write changed an object", at(seen, { exchanges: [wrote(false)] }), "quiet"],
    ["exported if a write changed an object", at(seen, { exchanges: [wrote(false), wrote(true)] }), "wrote"],
    ["exported if the result of a write is unknown", at(seen, { exchanges: [wrote(undefined)] }), "wrote"],
    ["quiet with reads only", at(seen, { exchanges: [{ ...wrote(true), write: undefined }] }), "quiet"],
    [
      "exported if a deleted object was written",
      traced({ outcome: Outcome.Vanished(), exchanges: [wrote(true)] }),
      "wrote"
    ],
    [
      "exported for a failure",
      at(seen, { outcome: Outcome.Failed({ cause: undefined as never, error: "x", defect: false }) }),
      "failed"
    ],
    [
      "exported for a permanent failure",
      at(seen, { outcome: Outcome.Terminal({ error: new TerminalError({ message: "no" }) }) }),
      "failed"
    ],
    ["exported for an interruption", at(seen, { outcome: Outcome.Interrupted() }), "failed"],
    ["quiet for a requeue", at(seen, { outcome: Outcome.Requeue({}) }), "quiet"],
    ["exported if an Event links to it", withEvent(at(seen)), "event"],
    ["exported from a duration of 1 second on", at(seen, { startedAt: 10, finishedAt: 1010 }), "slow"],
    ["quiet below a duration of 1 second", at(seen, { startedAt: 10, finishedAt: 1009 }), "quiet"],
    ["exported for an object without a status", at(undefined), "first"],
    ["exported for an object with an empty status", at({}), "first"],
    ["exported for a generation that the status has not observed", at({ observedGeneration: 1 }), "first"],
    ["quiet for a kind without observedGeneration", at({ phase: "Ready" }), "quiet"],
    ["quiet for a kind without generations", at(undefined, { generation: undefined }), "quiet"]
  ]
  for (const [name, attempt, decision] of cases) {
    test(name, () => expect(Tail.make({ ratio: 0 })(attempt)).toBe(decision))
  }
})

describe("The first attempt of a generation", () => {
  test("is exported once, even if the status never has observedGeneration", () => {
    const decide = Tail.make({ ratio: 0 })
    expect([at({ observedGeneration: 1 }), at({ observedGeneration: 1 })].map(decide)).toEqual(["first", "quiet"])
    expect([at(undefined, { uid: "v" }), at(undefined, { uid: "v" })].map(decide)).toEqual(["first", "quiet"])
  })
  test("is found from earlier attempts in this process if the status has no observedGeneration", () => {
    const decide = Tail.make({ ratio: 0 })
    const phased = (generation: number) => at({ phase: "Ready" }, { generation })
    expect([phased(2), phased(2), phased(3), phased(3)].map(decide)).toEqual(["quiet", "quiet", "first", "quiet"])
  })
  test("is found for each object", () => {
    const decide = Tail.make({ ratio: 0 })
    expect([at(undefined, { uid: "v" }), at(undefined, { uid: "w" })].map(decide)).toEqual(["first", "first"])
  })
  test("is kept for 4,096 objects", () => {
    const decide = Tail.make({ ratio: 0 })
    const object = (uid: number) => at(undefined, { uid: String(uid) })
    for (let uid = 0; uid < 4097; uid++) decide(object(uid))
    expect([object(4096), object(1000), object(0)].map(decide)).toEqual(["quiet", "quiet", "first"])
  })
})

describe("Quiet traces", () => {
  const share = (ratio: number): number => {
    const decide = Tail.make({ ratio })
    const decided = Array.from({ length: 10_000 }, () => decide(at(seen)))
    return decided.filter((decision) => decision === "sampled").length / 10_000
  }
  test("are all or never exported with the ratio 1 or 0", () => expect([share(0), share(1)]).toEqual([0, 1]))
  test("are sampled with the ratio", () => {
    expect(share(0.1)).toBeGreaterThan(0.08)
    expect(share(0.1)).toBeLessThan(0.12)
  })
  test("are sampled by their id, so that each program decides the same", () => {
    const low = `ffffffffffffffffff${"0".repeat(14)}`
    const half = `000000000000000000${"8".padEnd(14, "0")}`
    expect([Tail.isSampled(low, 0.01), Tail.isSampled(low, 0)]).toEqual([true, false])
    expect([Tail.isSampled(half, 0.5), Tail.isSampled(half, 0.51)]).toEqual([false, true])
  })
})

describe("The trace of a request to a webhook is", () => {
  /** A request in a trace of its own, or in that of the API server with these flags. */
  const asked = (over: Partial<Call> = {}, flags?: string): Call => {
    const parent =
      flags === undefined ? undefined : TraceParent.parse(`00-${"a".repeat(32)}-${"b".repeat(16)}-${flags}`)
    return call({ root: Recording.root("POST /validate", { startTime: 0n, parent }), admission: admission(), ...over })
  }
  /** The same from a client without a certificate. */
  const stranger = (over: Partial<Call>, flags: string): Call =>
    asked({ client: { address: "10.0.0.2", isVerified: false }, ...over }, flags)
  const withRequest = (method: string, changed: boolean | undefined): Call => {
    const one = asked()
    const span = one.root?.recording.span(`${method} /x`, Option.some(one.root), 0n, "client")
    span?.attribute("http.request.method", method)
    if (changed !== undefined) span?.attribute("k8s.write.changed", changed)
    return one
  }
  const denied = { admission: admission({ answer: answer({ denial: "no" }) }) }
  const conversion = { uid: "u", desired: "example.com/v2", objects: 1, kind: "Box", failure: undefined }
  const cases: ReadonlyArray<readonly [string, Call, Tail.Decision, alwaysOn?: Tail.Decision]> = [
    ["quiet if the webhook allowed it", asked(), "quiet", "sampled"],
    [
      "quiet with a warning",
      asked({ admission: admission({ answer: answer({ warnings: ["w"] }) }) }),
      "quiet",
      "sampled"
    ],
    ["quiet without a trace", asked({ ...denied, root: undefined }), "quiet", "quiet"],
    ["exported with a denial", asked(denied), "denied"],
    [
      "exported with a change",
      asked({ admission: admission({ answer: answer({ patch: [{ op: "remove", path: "/data" }] }) }) }),
      "wrote"
    ],
    ["exported with a write of the webhook", withRequest("PATCH", true), "wrote"],
    ["exported with a write of an unknown result", withRequest("POST", undefined), "wrote"],
    ["quiet with a write that changed nothing", withRequest("PATCH", false), "quiet", "sampled"],
    ["quiet with a read of the webhook", withRequest("GET", undefined), "quiet", "sampled"],
    ["exported with a server error", asked({ status: 500 }), "failed"],
    ["exported with a client error", asked({ status: 400 }), "failed"],
    ["exported if the API server closed the connection", asked({ status: undefined }), "failed"],
    ["exported with a defect, which is also a denial", asked({ ...denied, panicked: true }), "failed"],
    ["quiet for a conversion", asked({ conversion, admission: undefined }), "quiet", "sampled"],
    [
      "exported for a failed conversion",
      asked({ conversion: { ...conversion, failure: "no" }, admission: undefined }),
      "failed"
    ],
    ["exported from a second on", asked({ startedAt: 10, finishedAt: 1010 }), "slow"],
    ["quiet below a second", asked({ startedAt: 10, finishedAt: 1009 }), "quiet", "sampled"],
    ["exported if the API server samples it", asked({}, "01"), "parent"],
    ["exported for this reason also with a denial", asked(denied, "01"), "parent"],
    ["quiet if the API server does not sample it", asked({}, "00"), "quiet", "sampled"],
    ["quiet then also with a denial", asked(denied, "00"), "quiet", "denied"],
    ["quiet if a stranger claims that it is sampled", stranger({}, "01"), "quiet", "sampled"],
    ["exported with a denial for a stranger too", stranger(denied, "01"), "denied"],
    ["exported with a denial, whatever a stranger claims", stranger(denied, "00"), "denied"]
  ]
  for (const [name, request, decision, alwaysOn = decision] of cases) {
    test(name, () => {
      expect(Tail.ofCall({ ratio: 0, parentBased: true })(request)).toBe(decision)
      expect(Tail.ofCall({ ratio: 1, parentBased: false })(request)).toBe(alwaysOn)
    })
  }

  test("exported with the share for a client without a certificate too, whatever ID it chooses", () => {
    const low = TraceParent.parse(`00-${"1".repeat(18)}${"0".repeat(14)}-${"b".repeat(16)}-01`)
    const decisions = (isVerified: boolean) => {
      const all = Array.from({ length: 200 }, () => {
        const root = Recording.root("POST /validate", { startTime: 0n, parent: low })
        const client = { address: "10.0.0.2", isVerified }
        return Tail.ofCall({ ratio: 0.5, parentBased: false })(call({ root, client, admission: admission() }))
      })
      return new Set(all)
    }
    expect(decisions(false)).toEqual(new Set<Tail.Decision>(["sampled", "quiet"]))
    expect(decisions(true)).toEqual(new Set<Tail.Decision>(["parent"]))
  })
})
