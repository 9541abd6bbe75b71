/** The records and the traces of requests to a webhook server on a real TLS port. */
import { afterAll, describe, expect, test } from "bun:test"
import { connect } from "node:tls"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import type { Request } from "../client/Request.ts"
import * as Trace from "../client/Trace.ts"
import * as SelfSigned from "../manager/SelfSigned.ts"
import * as BuiltIn from "../resource/BuiltIn.ts"
import type * as Recording from "../telemetry/Recording.ts"
import * as Tracing from "../telemetry/Tracing.ts"
import * as Admission from "./Admission.ts"
import * as AdmissionReview from "./AdmissionReview.ts"
import * as Authority from "./Authority.ts"
import * as Call from "./Call.ts"
import type * as CertificateSource from "./CertificateSource.ts"
import * as ClientCertificate from "./ClientCertificate.fixture.ts"
import * as ConversionReview from "./ConversionReview.ts"
import * as WebhookServer from "./WebhookServer.ts"

class NoDatabase extends Data.TaggedError("NoDatabase") {
  override readonly message = "no database"
}

/** The headers of the hooks' requests to the API server. */
const sent: Array<Request["headers"]> = []
const send = Trace.layer("https://api.example.com")((request) => {
  sent.push(request.headers)
  return Effect.succeed({ status: 200, headers: new Headers(), body: "{}" } as never)
})
const look = send({ method: "GET", path: "/api/v1/nodes", template: "/api/v1/nodes", headers: {}, repeatable: true })

const checks = Admission.validate(BuiltIn.ConfigMap, {
  write: ({ data }) => {
    switch (data?.how) {
      case "deny":
        return [Admission.invalid("data.how", "deny", "must be kind"), Admission.warning("unkind")]
      case "warn":
        return [Admission.warning("unkind")]
      case "fail":
        return Effect.fail(new NoDatabase())
      case "throw":
        throw new Error("thrown")
      case "wait":
        return Effect.delay(Effect.succeed([]), "20 seconds")
      case "look":
        return Effect.andThen(
          Effect.withSpan(Effect.ignore(look), "ask", { captureStackTrace: false }),
          Effect.succeed([])
        )
      default:
        return []
    }
  }
})
const defaults = Admission.default(BuiltIn.ConfigMap, () => ({ data: { theme: "light" } }))
const routes = new Map<string, WebhookServer.Route>([
  ["/validate", { type: "admission", endpoint: AdmissionReview.endpoint(BuiltIn.ConfigMap, checks.hooks) }],
  ["/mutate", { type: "admission", endpoint: AdmissionReview.endpoint(BuiltIn.ConfigMap, defaults.hooks) }],
  ["/convert", { type: "conversion", endpoint: ConversionReview.endpoint([]) }]
])

const pair = SelfSigned.make(["localhost", "127.0.0.1"], Date.now())
const ca = Authority.makeAuthority(Date.now())
const certificates = { first: pair, after: () => Effect.never }
const scope = Effect.runSync(Scope.make())
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

/** A server, and the records of its requests so far. */
const serve = async (settings: Tracing.Settings | undefined, client?: CertificateSource.Pair) => {
  const calls: Array<Call.Call> = []
  const { port } = await Effect.runPromise(
    WebhookServer.make({
      hostname: "127.0.0.1",
      port: 0,
      certificates,
      routes,
      ...(client !== undefined && { clients: { cas: ca.certificate, after: () => Effect.never, name: undefined } })
    }).pipe(
      Call.observedBy((call) => void calls.push(call)),
      Effect.provideService(Tracing.Tracing, settings),
      Scope.provide(scope),
      Effect.provide(Logger.layer([]))
    )
  )
  const next = async (): Promise<Call.Call> => {
    while (calls.length === 0) await Bun.sleep(1)
    const call = calls.shift()
    if (call === undefined) throw new Error("no record")
    return call
  }
  const post = async (path: string, body: string, headers: Record<string, string> = {}): Promise<Call.Call> => {
    const response = await fetch(`https://127.0.0.1:${port}${path}`, {
      method: "POST",
      body,
      headers: { "content-type": "application/json", ...headers },
      tls: { ca: pair.certificate, ...(client !== undefined && { cert: client.certificate, key: client.key }) }
    })
    await response.text()
    return next()
  }
  return { port, post, next, calls }
}

const tracing: Tracing.Settings = { propagation: "link", annotation: Tracing.annotation }
const traced = await serve(tracing)
const verified = await serve(tracing, ClientCertificate.of(ca, Date.now()))
const untraced = await serve(undefined)

const review = (data: object, request: object = {}): string =>
  JSON.stringify({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid: "7",
      operation: "CREATE",
      namespace: "default",
      userInfo: { username: "ann" },
      object: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "page", uid: "u" }, data },
      ...request
    }
  })

const traceId = "0af7651916cd43dd8448eb211c80319c"
const spanId = "b7ad6b7169203331"
const parentOf = (flags: string) => ({ traceparent: `00-${traceId}-${spanId}-${flags}` })

const rootOf = ({ root }: Call.Call): Recording.Span => {
  if (root === undefined) throw new Error("not traced")
  return root
}

class WeakPassword extends Data.TaggedError("WeakPassword")<{ readonly message: string }> {}

describe("The record of a request", () => {
  const subject = {
    resource: BuiltIn.ConfigMap,
    uid: "7",
    operation: "CREATE",
    namespace: "default",
    name: "page",
    objectUid: "u",
    dryRun: false,
    username: "ann"
  } as const
  const allowed = { denial: undefined, warnings: [], patch: [] }

  test("has the object and the answer of an AdmissionReview, without tracing", async () => {
    const call = await untraced.post("/validate", review({ how: "well" }))
    expect(call).toEqual({
      method: "POST",
      path: "/validate",
      client: { address: "127.0.0.1", isVerified: false },
      startedAt: expect.any(Number),
      finishedAt: expect.any(Number),
      admission: { ...subject, answer: allowed },
      conversion: undefined,
      status: 200,
      problem: undefined,
      panicked: false,
      root: undefined
    })
    expect(call.finishedAt).toBeGreaterThan(call.startedAt)
    expect(call.finishedAt - call.startedAt).toBeLessThan(5000)
  })

  const denial = 'ConfigMap "page" is invalid: data.how: Invalid value: "deny": must be kind'
  const patch = [{ op: "add", path: "/data/theme", value: "light" }] as const
  const cases: ReadonlyArray<readonly [string, string, string, object]> = [
    [
      "a denial",
      "/validate",
      review({ how: "deny" }),
      { status: 200, admission: { answer: { denial, warnings: ["unkind"], patch: [] } } }
    ],
    [
      "warnings",
      "/validate",
      review({ how: "warn" }, { dryRun: true }),
      { status: 200, admission: { dryRun: true, answer: { denial: undefined, warnings: ["unkind"], patch: [] } } }
    ],
    [
      "a patch",
      "/mutate",
      review({ how: "well" }),
      { status: 200, admission: { answer: { denial: undefined, warnings: [], patch } } }
    ],
    [
      "the error of a webhook",
      "/validate",
      review({ how: "fail" }),
      { status: 500, problem: "no database", admission: { ...subject, answer: undefined } }
    ],
    [
      "a defect",
      "/validate",
      review({ how: "throw" }),
      { status: 200, panicked: true, admission: { answer: { denial: expect.stringContaining("thrown") } } }
    ],
    [
      "the time limit",
      "/validate?timeout=200ms",
      review({ how: "wait" }),
      { status: 504, problem: expect.stringContaining("no answer within 180ms"), admission: { answer: undefined } }
    ],
    [
      "an operation without a check",
      "/validate",
      review({}, { operation: "CONNECT" }),
      { admission: { answer: allowed } }
    ],
    [
      "an object without a name yet",
      "/validate",
      review({}, { object: { metadata: { generateName: "page-" } } }),
      { admission: { name: undefined, objectUid: undefined } }
    ],
    ["a body that is not JSON", "/validate", "{", { status: 400, admission: undefined, conversion: undefined }],
    [
      "a conversion",
      "/convert",
      JSON.stringify({
        apiVersion: "apiextensions.k8s.io/v1",
        kind: "ConversionReview",
        request: {
          uid: "8",
          desiredAPIVersion: "example.com/v2",
          objects: [{ apiVersion: "example.com/v1", kind: "Box", metadata: { name: "one" } }]
        }
      }),
      {
        status: 200,
        conversion: {
          uid: "8",
          desired: "example.com/v2",
          objects: 1,
          kind: "Box",
          failure: expect.stringContaining('Box "one": unknown kind')
        }
      }
    ]
  ]
  for (const [what, path, body, expected] of cases) {
    test(`has ${what}`, async () => expect(await traced.post(path, body)).toMatchObject(expected))
  }

  test("has a request that the server rejects before the body", async () => {
    expect(await traced.post("/validate", "x", { "content-type": "text/plain" })).toMatchObject({
      status: 415,
      problem: expect.stringContaining("text/plain")
    })
  })

  test("has no status if the API server closes the connection, and comes once", async () => {
    const socket = connect({ port: traced.port, host: "127.0.0.1", ca: pair.certificate })
    const body = review({ how: "wait" })
    socket.write(
      `POST /validate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    )
    await Bun.sleep(100)
    socket.destroy()
    const call = await traced.next()
    expect(call).toMatchObject({ status: undefined, problem: undefined, admission: { answer: undefined } })
    const { status } = rootOf(call)
    expect(status._tag === "Ended" && Exit.hasInterrupts(status.exit)).toBe(true)
    await Bun.sleep(50)
    expect(traced.calls).toEqual([])
  })

  test("hides the values of a Secret", async () => {
    const secrets = Admission.validate(BuiltIn.Secret, {
      write: () => [
        Admission.invalid("data.pin", "c2VjcmV0", "is weak"),
        Admission.invalid("stringData[pin]", "secret", "is weak"),
        Admission.invalid("type", "Opaque", "must be pin")
      ]
    })
    const call = { admission: undefined as Call.Admission | undefined, conversion: undefined }
    const object = { apiVersion: "v1", kind: "Secret", metadata: { name: "s" } }
    const body = JSON.parse(review({}, { object }))
    const { body: answer } = await Effect.runPromise(
      AdmissionReview.endpoint(BuiltIn.Secret, secrets.hooks)(body, call)
    )
    const hidden = 'Invalid value: "<redacted>": is weak'
    const denial = `Secret "s" is invalid: [data.pin: ${hidden}, stringData[pin]: ${hidden}, type: Invalid value: "Opaque": must be pin]`
    expect(call.admission?.answer?.denial).toBe(denial)
    expect(JSON.stringify(answer)).not.toMatch(/c2VjcmV0|"secret/)
  })

  test("hides the values of a Secret in texts and logs of its hook", async () => {
    const password = "correct-horse-battery"
    const lines: Array<string> = []
    const object = { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, data: { password: btoa(password) } }
    const answers = [
      () => [Admission.forbidden(`${password} is weak`), Admission.warning(`${password} is short`)],
      () => new WeakPassword({ message: `no ${password}` }),
      () => Effect.die(new Error(`no ${password}`))
    ]
    for (const write of answers) {
      const call = { admission: undefined as Call.Admission | undefined, conversion: undefined }
      const { hooks } = Admission.validate(BuiltIn.Secret, { write })
      const exit = await Effect.runPromise(
        Effect.exit(AdmissionReview.endpoint(BuiltIn.Secret, hooks)(JSON.parse(review({}, { object })), call)).pipe(
          Effect.provide(Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))]))
        )
      )
      const shown = JSON.stringify([exit, call])
      expect(shown).toContain("<redacted>")
      expect(shown).not.toContain(password)
    }
    expect(lines.join("\n")).not.toContain(password)
  })
})

describe("A review", () => {
  const findings = Array.from({ length: 300 }, (_, at) => Admission.invalid(`data.f${at}`, at, "must be absent"))
  const { hooks } = Admission.validate(BuiltIn.ConfigMap, {
    write: () => [...Array.from({ length: 300 }, (_, at) => Admission.warning(`warning ${at}`)), ...findings]
  })
  const answered = (annotations: object) => {
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "s", annotations } }
    const text = review({}, { object })
    return () => Effect.runSync(AdmissionReview.endpoint(BuiltIn.ConfigMap, hooks)(JSON.parse(text), undefined))
  }

  test("gets at most 100 errors and 100 warnings", () => {
    const { body } = answered({})() as { body: { response: { warnings: unknown; status: { details: unknown } } } }
    expect(body.response.warnings).toHaveLength(100)
    expect(body.response.status.details).toMatchObject({ causes: { length: 100 } })
  })

  test("teaches the server no values, so a review costs as much as its JSON", () => {
    /** The fastest of some runs, because the machine does other work too. */
    const millis = (run: () => unknown): number =>
      Math.min(
        ...Array.from({ length: 5 }, () => {
          const began = performance.now()
          run()
          return performance.now() - began
        })
      )
    const password = Array.from({ length: 550_000 }, (_, at) => `a=${at}"`).join("\n")
    const plain = millis(() => JSON.parse(JSON.stringify({ password })))
    const small = millis(answered({}))
    expect((millis(answered({ password })) - small) / plain).toBeLessThan(3)
  })
})

describe("The trace of a request", () => {
  test("is a child of the span of the API server", async () => {
    const root = rootOf(await traced.post("/validate", review({}), parentOf("01")))
    expect([root.name, root.kind, root.traceId, root.sampled]).toEqual(["POST /validate", "server", traceId, true])
    expect(Option.getOrThrow(root.parent)).toMatchObject({ _tag: "ExternalSpan", spanId, sampled: true })
    expect(root.spanId).not.toBe(spanId)
    expect(root.status).toMatchObject({ _tag: "Ended", exit: Exit.void })
  })

  test("starts with the request if the header is absent or invalid", async () => {
    for (const headers of [{}, { traceparent: "nonsense" }, { traceparent: "00-0-0-01" }]) {
      const root = rootOf(await traced.post("/validate", review({}), headers))
      expect(Option.isNone(root.parent)).toBe(true)
      expect(root.traceId).toMatch(/^[0-9a-f]{32}$/)
    }
  })

  test("contains the spans of the check and its requests, which carry the trace", async () => {
    sent.length = 0
    const root = rootOf(await traced.post("/validate", review({ how: "look" }), parentOf("01")))
    const [, ask, get, ...others] = root.recording.spans
    expect(others).toEqual([])
    expect([ask?.name, get?.name]).toEqual(["ask", "GET /api/v1/nodes"])
    expect([ask, get].map((span) => span && Option.getOrThrow(span.parent).spanId)).toEqual([root.spanId, ask?.spanId])
    expect(sent).toMatchObject([{ traceparent: `00-${traceId}-${get?.spanId}-01` }])
  })

  const flags: ReadonlyArray<readonly [string, typeof traced, string, boolean]> = [
    ["a sampled parent of a client with a certificate", verified, "01", true],
    ["a parent that is not sampled of a client with a certificate", verified, "00", false],
    ["a sampled parent of a stranger", traced, "01", true],
    ["a parent that is not sampled of a stranger, whose flag decides nothing", traced, "00", true]
  ]
  for (const [name, server, flag, expected] of flags) {
    test(`passes on its flag with ${name}`, async () => {
      sent.length = 0
      const root = rootOf(await server.post("/validate", review({ how: "look" }), parentOf(flag)))
      expect(root.sampled).toBe(expected)
      expect(sent[0]?.traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-0${expected ? 1 : 0}$`))
    })
  }

  test("fails with a server error or a defect, and not with a denial or a client error", async () => {
    const failureOf = async (body: string) => {
      const { status } = rootOf(await traced.post("/validate", body))
      return status._tag === "Ended" && Exit.isFailure(status.exit) ? String(status.exit.cause) : "none"
    }
    expect(await failureOf(review({ how: "fail" }))).toContain("no database")
    expect(await failureOf(review({ how: "throw" }))).toContain("thrown")
    expect(await failureOf(review({ how: "deny" }))).toBe("none")
    expect(await failureOf("{")).toBe("none")
  })

  test("does not exist without tracing, and neither do spans of requests", async () => {
    sent.length = 0
    const call = await untraced.post("/validate", review({ how: "look" }), parentOf("01"))
    expect(call.root).toBeUndefined()
    // The span of the check itself belongs to Effect, in another trace.
    expect(String(sent[0]?.traceparent)).not.toContain(traceId)
  })
})
