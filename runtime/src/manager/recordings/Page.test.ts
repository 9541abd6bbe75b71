import { describe, expect, test } from "bun:test"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as ApiError from "../../client/ApiError.ts"
import { NotFound } from "../../client/ApiError.ts"
import * as AttemptFixture from "../../controller/Attempt.fixture.ts"
import { type Attempt, Outcome } from "../../controller/Attempt.ts"
import * as Memory from "../../controller/Memory.ts"
import * as BuiltIn from "../../resource/BuiltIn.ts"
import * as Recording from "../../telemetry/Recording.ts"
import * as FairScheduler from "../FairScheduler.ts"
import * as Document from "./Document.ts"
import * as Page from "./Page.ts"
import * as Recorded from "./Recorded.ts"
import * as Redaction from "./Redaction.ts"
import * as Ring from "./Ring.ts"

const ids = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"] as const

const metadata = { name: "a", namespace: "default", uid: "u", resourceVersion: "1", creationTimestamp: "" }

const attempt = (over: Partial<Attempt> = {}): Attempt =>
  AttemptFixture.attempt({
    id: ids[0],
    object: { metadata },
    memory: Memory.make().entriesOf("u", 0),
    exchanges: [AttemptFixture.exchange()],
    ...over
  })

const ask = async (ring: Ring.Ring, query: string) => {
  const response = await Effect.runPromise(Page.answer(ring, new URLSearchParams(query), "https://server", "sites/1"))
  return { status: response.status, body: await response.text() }
}

test("The list has a line for each recording, the newest first", async () => {
  const ring = Ring.make()
  expect((await ask(ring, "")).body).toStartWith("No attempt failed or wrote")
  ring.record(attempt())
  const error = new Error("token=abcdef12")
  const outcome = Outcome.Failed({ cause: Cause.fail(error), error, defect: false })
  ring.record(attempt({ id: ids[1], exchanges: [], outcome }))
  expect(await ask(ring, "")).toEqual({
    status: 200,
    body: [
      "22222222222242228222222222222222  1970-01-01T00:00:00.010Z  widgets  Widget default/a  0 writes  Failed: token=<redacted>",
      "11111111111141118111111111111111  1970-01-01T00:00:00.010Z  widgets  Widget default/a  1 write   Done",
      ""
    ].join("\n")
  })
  const json = JSON.parse((await ask(ring, "output=json")).body)
  expect(json.recordings).toMatchObject([
    { reconcileID: ids[1], writes: 0 },
    { reconcileID: ids[0], writes: 1 }
  ])
})

test("A recording is found by its trace, unless several attempts have that trace", async () => {
  const ring = Ring.make()
  const root = Recording.root("reconcile", { traceId: "a".repeat(32), startTime: 0n })
  ring.record(attempt({ root }))
  expect(JSON.parse((await ask(ring, `trace=${"a".repeat(32)}`)).body)).toMatchObject({
    kind: "Recording",
    program: "sites/1",
    server: "https://server",
    reconcileID: ids[0],
    trace: "a".repeat(32)
  })
  ring.record(attempt({ root, id: ids[1] }))
  expect(await ask(ring, `trace=${"a".repeat(32)}`)).toEqual({
    status: 400,
    body: `trace ${"a".repeat(32)} has 2 recordings: use a reconcileID (${ids[1]}, ${ids[0]})\n`
  })
  expect((await ask(ring, `trace=${ids[1]}`)).status).toBe(200)
})

test("A recording that is unknown or was too large gets 404 with advice", async () => {
  const ring = Ring.make({ bytes: 8000 })
  ring.record(attempt())
  expect(await ask(ring, `trace=${ids[0]}`)).toEqual({
    status: 404,
    body: `the attempt "${ids[0]}" is too large to record (raise --recordings-memory)\n`
  })
  expect((await ask(ring, "trace=x")).body).toBe(
    'unknown recording: "x" (list those that there are: replay without a trace)\n'
  )
})

test("A document has each object once, and the responses that lead to the same errors", () => {
  const pod = { metadata: { ...metadata, name: "b" } }
  const kept = [
    { verb: "get", resource: BuiltIn.Pod, of: "default/b", found: pod },
    { verb: "get", resource: BuiltIn.Pod, of: "default/c", found: undefined },
    { verb: "list", resource: BuiltIn.Pod, of: { namespace: "default" }, found: [pod] },
    { verb: "byOwner", resource: BuiltIn.Pod, of: { metadata }, found: [] }
  ] as const
  const refused = ApiError.fromResponse(
    { method: "GET", path: "/api/v1/pods/d" },
    {
      status: 404,
      headers: new Headers(),
      body: JSON.stringify({ kind: "Status", code: 404, reason: "NotFound", message: "no" })
    }
  )
  const exchanges = [AttemptFixture.exchange({ answer: Exit.fail(refused) })]
  const recorded = Recorded.of(attempt({ reads: { kept, count: 9 }, exchanges, requests: 4 }))
  if (recorded === undefined) throw new Error("not recorded")
  const document = Effect.runSync(Document.of(recorded, "https://server"))
  expect(document.objects).toHaveLength(2)
  expect(document.omitted).toEqual({ reads: 5, requests: 3 })
  expect(document.reads).toEqual([
    { verb: "get", resource: "pods/v1", key: "default/b", found: 1 },
    { verb: "get", resource: "pods/v1", key: "default/c" },
    { verb: "list", resource: "pods/v1", filter: { namespace: "default" }, found: [1] },
    { verb: "byOwner", resource: "pods/v1", owner: "u", found: [] }
  ])
  const [request] = document.requests
  const again = ApiError.fromResponse(
    { method: "GET", path: "/api/v1/pods/d" },
    { status: request?.response?.status ?? 0, headers: new Headers(), body: JSON.stringify(request?.response?.body) }
  )
  expect(again).toBeInstanceOf(NotFound)
  expect(again.reason).toBe("NotFound")
})

test("A text that is not a recording is rejected with the reason", () => {
  const cases: ReadonlyArray<readonly [text: string, reason: string]> = [
    ["{", "it is not JSON"],
    ["[]", 'its kind is not "Recording"'],
    ['{"kind":"Plan"}', 'its kind is not "Recording"'],
    ['{"kind":"Recording","version":2}', "its version is 2 (this program reads 1)"],
    ['{"kind":"Recording","version":1}', 'its part "controller" is absent or invalid']
  ]
  for (const [text, reason] of cases) expect(Document.parse(text)).toBe(reason)
})

describe("A value of a Secret that the attempt read", () => {
  const value = "correct horse battery"
  const secret = { kind: "Secret", metadata: { ...metadata, name: "s" }, data: { p: btoa(value) } }
  const failed = (message: string, over: Partial<Attempt> = {}) => {
    const ring = Ring.make()
    const error = new Error(message)
    const outcome = Outcome.Failed({ cause: Cause.fail(error), error, defect: false })
    const reads = {
      kept: [{ verb: "get", resource: BuiltIn.Secret, of: "default/s", found: secret } as const],
      count: 1
    }
    ring.record(attempt({ exchanges: [], outcome, reads, ...over }))
    return ring
  }

  test("is not in an error: in the list, in the recording, or at its end", async () => {
    const ring = failed(`cannot log in with ${value}`)
    for (const query of ["", "output=json", `trace=${ids[0]}`]) {
      const { body } = await ask(ring, query)
      expect(body).toContain("cannot log in with xxxxxxxxxxxxx")
      expect(body).not.toContain(value)
    }
    const { ending } = JSON.parse((await ask(failed(`${"z".repeat(490)}${value}`), `trace=${ids[0]}`)).body)
    expect(ending.message).toBe(`${"z".repeat(490)}xxxxxxxxxx…`)
  })

  test("is not in the report of the controller, or in the filter of a list", async () => {
    const fight = { note: `a fight over ${value}`, until: 9 }
    const memory = { ...Memory.make().entriesOf("u", 0), report: { message: `bad ${value}`, at: 1 }, fight }
    const reads = [
      { verb: "get", resource: BuiltIn.Secret, of: "default/s", found: secret },
      { verb: "list", resource: BuiltIn.Pod, of: { index: { name: "secret", value } }, found: [] },
      { verb: "list", resource: BuiltIn.Pod, of: { index: { name: "secret", value: "default/s" } }, found: [] }
    ] as const
    const { body } = await ask(failed("no", { memory, reads: { kept: reads, count: 3 } }), `trace=${ids[0]}`)
    expect(body).not.toContain(value)
    const document = JSON.parse(body)
    expect(document.memory.report).toEqual({ message: "bad xxxxxxxxxxxxxxxxxxxxx", at: 1 })
    const parsed = Document.parse(body)
    expect(typeof parsed === "string" ? parsed : Document.entriesOf(parsed).fight).toEqual({
      note: "a fight over xxxxxxxxxxxxxxxxxxxxx",
      until: 9
    })
    expect(
      Document.parse(JSON.stringify({ ...document, memory: { ...document.memory, fight: { note: 1 } } }))
    ).toContain("memory")
    expect(document.reads[2].filter).toEqual({ index: { name: "secret", value: "default/s" } })
  })
})

test("A value of a variable with the name of a secret is in no part of a recording", async () => {
  const value = "correct horse battery"
  const spec = { env: [{ name: "DB_PASSWORD", value }], args: ["--db", value], secret: "shop-login" }
  const lastApplied = JSON.stringify({ spec: { env: [{ name: "DB_PASSWORD", value: "short" }], args: [value] } })
  const annotations = { "kubectl.kubernetes.io/last-applied-configuration": lastApplied }
  const widget = { metadata: { ...metadata, annotations }, spec }
  const pod = JSON.stringify({ kind: "Pod", spec: { env: [{ name: "API_TOKEN", value: "battery staple" }] } })
  const [read, event] = ["/api/v1/namespaces/default/secrets/shop-login", "/api/v1/namespaces/default/events"]
  const request = { template: "/x", headers: {}, repeatable: true }
  const exchanges = [
    AttemptFixture.exchange({ answer: Exit.succeed({ status: 200, headers: new Headers(), body: pod }) }),
    AttemptFixture.exchange({ request: { ...request, method: "GET", path: read } }),
    AttemptFixture.exchange({
      request: { ...request, method: "POST", path: event, body: '{"message":"battery staple of shop-login"}' }
    })
  ]
  for (const message of [`no login with ${value}`, `no login with password=${value}`]) {
    const ring = Ring.make()
    const error = new Error(message)
    const outcome = Outcome.Failed({ cause: Cause.fail(error), error, defect: false })
    ring.record(attempt({ object: widget, exchanges, outcome }))
    for (const query of ["", "output=json", `trace=${ids[0]}`]) {
      const { body } = await ask(ring, query)
      expect(body).toContain("no login with ")
      expect(body).not.toMatch(/horse|staple|short/)
    }
    const document = JSON.parse((await ask(ring, `trace=${ids[0]}`)).body)
    // The paths of the recording show this name, so a replay needs it.
    expect(document.requests[2].body.message).toBe("xxxxxxxxxxxxxx of shop-login")
    const shown = document.objects[0].metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]
    expect(JSON.parse(shown)).toEqual({
      spec: { env: [{ name: "DB_PASSWORD", value: "xxxxx" }], args: ["x".repeat(value.length)] }
    })
  }
})

test("A recording with an invalid part is rejected", () => {
  const recorded = Recorded.of(attempt())
  if (recorded === undefined) throw new Error("no recording")
  const document: object = JSON.parse(JSON.stringify(Effect.runSync(Document.of(recorded, "https://server"))))
  expect(Document.parse(JSON.stringify(document))).toEqual(document as Document.Document)
  const parts: ReadonlyArray<object> = [
    { startedAt: "yesterday" },
    { finishedAt: undefined },
    { objects: [null] },
    { objects: [{}] },
    { reads: [null] },
    { requests: [null] },
    { requests: [{ method: "GET", path: "/x", startedAt: "1970-01-01T00:00:00Z", millis: 1, response: {} }] },
    { memory: {} },
    { memory: { dropped: ["x"] } },
    // Their conversion would take minutes.
    { memory: { dropped: ["9".repeat(3_000_000)] } },
    { memory: { dropped: [], accepted: { slot: "9".repeat(21) } } },
    { start: "__proto__" },
    { start: "length" },
    { reads: [{ verb: "get", resource: "pods/v1", found: "__proto__" }] },
    { reads: [{ verb: "list", resource: "pods/v1", found: ["constructor"] }] },
    { ending: {} },
    { object: {} },
    { omitted: {} }
  ]
  for (const part of parts) {
    const [name] = Object.keys(part)
    expect(Document.parse(JSON.stringify({ ...document, ...part }))).toBe(`its part "${name}" is absent or invalid`)
  }
})

describe("A recording of a hostile tenant", () => {
  const lines = Array.from({ length: 40_000 }, (_, at) => `a=${at}"line`)
  const body = JSON.stringify({
    kind: "Secret",
    metadata: { ...metadata, name: "creds" },
    data: { junk: btoa(lines.join("\n")) }
  })
  const secretOf = (secretKeys?: ReadonlyArray<string>) =>
    AttemptFixture.exchange({
      request: {
        method: "GET",
        path: "/api/v1/namespaces/default/secrets/creds",
        template: "/x",
        headers: {},
        repeatable: true,
        secretKeys
      },
      answer: Exit.succeed({ status: 200, headers: new Headers(), body })
    })
  const recordingOf = (over: Partial<Attempt>) => {
    const ring = Ring.make()
    const error = new Error("the claim is not bound")
    ring.record(attempt({ outcome: Outcome.Failed({ cause: Cause.fail(error), error, defect: false }), ...over }))
    return ring
  }

  test("has a notice in place of each text if the Secret is too large to search", async () => {
    const ring = recordingOf({ exchanges: [secretOf()] })
    const notice = "<hidden: Secret default/creds is too large to search (at most 65536 characters of values)>"
    expect((await ask(ring, "")).body).toContain(notice)
    const { body: text } = await ask(ring, `trace=${ids[0]}`)
    expect(JSON.parse(text).ending.message).toBe(notice)
    expect(text).not.toContain('a=1"line')
  })

  test("shows texts if the reconcile does not use the large value", async () => {
    const ring = recordingOf({ exchanges: [secretOf(["RESTIC_PASSWORD"])] })
    const { body: text } = await ask(ring, `trace=${ids[0]}`)
    expect(JSON.parse(text).ending.message).toBe("the claim is not bound")
    expect(text).not.toContain(btoa(lines.join("\n")).slice(0, 100))
  })

  test("lets other work run while it is answered", async () => {
    const texts = Object.fromEntries(lines.slice(0, 20_000).map((line, at) => [`k${at}`, line]))
    const ring = recordingOf({ object: { metadata, spec: texts } as Attempt["object"], exchanges: [] })
    expect(ring.all()).toHaveLength(1)
    let longest = 0
    let isOver = false
    const began = performance.now()
    let last = began
    const look = (): void => {
      const now = performance.now()
      longest = Math.max(longest, now - last)
      last = now
      if (!isOver) setImmediate(look)
    }
    setImmediate(look)
    const answer = Page.answer(ring, new URLSearchParams({ trace: ids[0] }), "https://server", undefined)
    await Effect.runPromise(FairScheduler.within(answer))
    isOver = true
    look()
    expect(longest / (last - began)).toBeLessThan(0.6)
  })

  test("has no text that is too long to search", async () => {
    const ring = recordingOf({
      object: { metadata, spec: { a: "y".repeat(Redaction.longest + 1) } } as Attempt["object"]
    })
    expect(JSON.parse((await ask(ring, `trace=${ids[0]}`)).body).objects[0].spec.a).toBe(
      "x".repeat(Redaction.longest + 1)
    )
  })
})
