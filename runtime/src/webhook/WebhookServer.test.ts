/** The webhook server on a real TLS port. */
import { afterAll, describe, expect, test } from "bun:test"
import { connect } from "node:net"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as SelfSigned from "../manager/SelfSigned.ts"
import * as Conversion from "../resource/Conversion.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import * as Admission from "./Admission.ts"
import * as AdmissionReview from "./AdmissionReview.ts"
import type * as CertificateSource from "./CertificateSource.ts"
import * as ConversionReview from "./ConversionReview.ts"
import * as WebhookServer from "./WebhookServer.ts"

const Box = CustomResource.make({
  group: "example.com",
  version: "v2",
  kind: "Box",
  spec: Schema.Struct({
    size: Schema.Int,
    serial: Schema.optional(Schema.Number),
    slow: Schema.optional(Schema.Boolean)
  }),
  status: Schema.Struct({ isFull: Schema.Boolean })
})
const BoxV1 = CustomResource.make({
  group: "example.com",
  version: "v1",
  kind: "Box",
  spec: Schema.Struct({ length: Schema.String, serial: Schema.optional(Schema.Number) }),
  status: Schema.Struct({ full: Schema.Boolean })
})
const Boxes = Conversion.between(
  Box,
  Conversion.spoke(Box, BoxV1, {
    toHub: ({ spec, status }) => {
      if (spec.length === "boom") throw new Error("boom")
      return {
        spec: {
          size: Number.parseInt(spec.length ?? "", 10),
          ...(spec.serial === undefined ? {} : { serial: spec.serial })
        },
        ...(status === undefined ? {} : { status: { isFull: status.full } })
      }
    },
    fromHub: ({ spec }) => ({ spec: { length: `${spec.size} cm` } })
  })
)

class NoDatabase extends Data.TaggedError("NoDatabase") {
  override readonly message = "no database"
}

/** Slow checks that the server has interrupted. */
let interrupted = 0

const checks = Admission.validate(Box, {
  write: ({ spec }) => {
    if (spec.size === 13) throw new Error("thirteen")
    if (spec.size === 14) return Effect.fail(new NoDatabase())
    if (spec.slow === true) {
      return Effect.delay(Effect.succeed([]), "10 seconds").pipe(
        Effect.onInterrupt(() => Effect.sync(() => interrupted++))
      )
    }
    return spec.size > 10
      ? [Admission.invalid("spec.size", spec.size, "must be at most 10"), Admission.warning("large")]
      : []
  }
})
const defaults = Admission.default(Box, ({ metadata }) =>
  metadata.labels === undefined ? { metadata: { labels: { box: "yes" } } } : undefined
)

/** What a user can write into the key of a map. */
const escapes = "a\u001b[2J\u0007\u009b\u202eb"

const routes = new Map<string, WebhookServer.Route>([
  ["/validate", { type: "admission", endpoint: AdmissionReview.endpoint(Box, checks.hooks) }],
  ["/mutate", { type: "admission", endpoint: AdmissionReview.endpoint(Box, defaults.hooks) }],
  [
    "/secret",
    {
      type: "admission",
      endpoint: AdmissionReview.endpoint(
        Box,
        Admission.validate(Box, { write: () => [Admission.invalid("spec.password", "hunter2hunter2", "is weak")] })
          .hooks
      )
    }
  ],
  [
    "/controls",
    {
      type: "admission",
      endpoint: AdmissionReview.endpoint(
        Box,
        Admission.validate(Box, {
          write: ({ spec }) => {
            if (spec.size === 2) throw new Error(escapes)
            return [
              Admission.invalid(`spec.${escapes}`, escapes, escapes),
              Admission.forbidden(escapes, escapes),
              Admission.warning(escapes)
            ]
          }
        }).hooks
      )
    }
  ],
  ["/convert", { type: "conversion", endpoint: ConversionReview.endpoint([Boxes]) }],
  ["/circular", { type: "admission", endpoint: () => Effect.succeed({ body: circular(), code: 200, panicked: false }) }]
])

/** A value that JSON cannot express. */
const circular = (): object => {
  const value: { self?: object } = {}
  value.self = value
  return value
}

const pairs = Array.from({ length: 3 }, () => SelfSigned.make(["localhost", "127.0.0.1"], Date.now()))
const pairAt = (index: number): CertificateSource.Pair => pairs[index] ?? SelfSigned.make(["localhost"], Date.now())
const ca = pairs.map(({ certificate }) => certificate).join("")

const changes = pairs.map(() => Effect.runSync(Deferred.make<void>()))
const certificates = {
  first: pairAt(0),
  after: (pair: CertificateSource.Pair) => {
    const at = pairs.findIndex(({ key }) => key === pair.key)
    const change = changes[at + 1]
    return change === undefined ? Effect.never : Effect.as(Deferred.await(change), pairAt(at + 1))
  }
}

const scope = Effect.runSync(Scope.make())
const metrics = Metrics.make()
const { port } = await Effect.runPromise(
  WebhookServer.make({ hostname: "127.0.0.1", port: 0, certificates, routes }).pipe(
    Scope.provide(scope),
    Effect.provideService(Metrics.Metrics, metrics),
    Effect.provide(Logger.layer([]))
  )
)
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const post = async (
  path: string,
  body: string,
  init: { readonly type?: string; readonly method?: string; readonly close?: boolean } = {}
) => {
  const response = await fetch(`https://127.0.0.1:${port}${path}`, {
    method: init.method ?? "POST",
    ...(init.method === "GET" ? {} : { body }),
    headers: {
      "content-type": init.type ?? "application/json",
      ...(init.close === true ? { connection: "close" } : {})
    },
    tls: { ca }
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: () => JSON.parse(text) }
}

const meta = { name: "one", uid: "u", resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" }
const box = (spec: object, metadata: object = meta) => ({ apiVersion: "example.com/v2", kind: "Box", metadata, spec })
const review = (request: object) =>
  JSON.stringify({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: { uid: "7", operation: "CREATE", name: "one", userInfo: { username: "ann" }, ...request }
  })
const conversion = (request: object) =>
  JSON.stringify({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "ConversionReview",
    request: { uid: "8", desiredAPIVersion: "example.com/v2", objects: [], ...request }
  })

describe("the webhook server", () => {
  test("admits a valid object and returns the UID", async () => {
    const { json, status } = await post("/validate", review({ object: box({ size: 1 }) }))
    expect(status).toBe(200)
    expect(json().response).toEqual({ uid: "7", allowed: true })
  })

  test("denies with the field, its value and a cause for kubectl, and warns", async () => {
    const { json } = await post("/validate", review({ object: box({ size: 11 }) }))
    expect(json().response).toEqual({
      uid: "7",
      allowed: false,
      warnings: ["large"],
      status: {
        code: 422,
        reason: "Invalid",
        message: 'Box.example.com "one" is invalid: spec.size: Invalid value: 11: must be at most 10',
        details: {
          name: "one",
          group: "example.com",
          kind: "Box",
          causes: [
            { reason: "FieldValueInvalid", field: "spec.size", message: "Invalid value: 11: must be at most 10" }
          ]
        }
      }
    })
  })

  test("denies an object that does not match its schema, with the value", async () => {
    const { json } = await post("/validate", review({ object: box({ size: "big" }) }))
    expect(json().response.status.message).toContain('spec.size: Invalid value: "big"')
  })

  test("denies after a defect, and reports the defect", async () => {
    const { json, status } = await post("/validate", review({ object: box({ size: 13 }) }))
    expect(status).toBe(200)
    expect(json().response.allowed).toBe(false)
    expect(json().response.status.message).toBe("internal error of the webhook: thirteen (report it to its developers)")
  })

  test("answers 500 if the check itself fails, so that the failure policy decides", async () => {
    expect(await post("/validate", review({ object: box({ size: 14 }) }))).toMatchObject({
      status: 500,
      text: "no database\n"
    })
  })

  test("admits an operation for which the kind has no check", async () => {
    const { json } = await post("/validate", review({ operation: "DELETE", oldObject: box({ size: 11 }) }))
    expect(json().response).toEqual({ uid: "7", allowed: true })
  })

  test("keeps the connection open after an answer", async () => {
    const { headers } = await post("/validate", review({ object: box({ size: 1 }) }))
    expect(headers.get("connection")).not.toBe("close")
    expect((await post("/validate", " ".repeat(WebhookServer.mostBytes + 1))).headers.get("connection")).toBe("close")
  })

  test("shows the requests that it is answering", async () => {
    const inFlight = () => {
      const family = metrics
        .read()
        .find(({ metric }) => metric.name === "controller_runtime_webhook_requests_in_flight")
      const series = family?.series.find(({ labels }) => labels.join(" ") === "/validate")
      return (series as Metrics.Scalar | undefined)?.value
    }
    expect(inFlight()).toBe(0)
    const answers = Array.from({ length: 2 }, () =>
      post("/validate?timeout=2s", review({ object: box({ size: 1, slow: true }) }))
    )
    for (let tries = 0; tries < 100 && inFlight() !== 2; tries++) await Bun.sleep(10)
    expect(inFlight()).toBe(2)
    await Promise.all(answers)
    expect(inFlight()).toBe(0)
  })

  test("answers 504 within the time limit of the API server", async () => {
    const startedAt = Date.now()
    const { status } = await post("/validate?timeout=2s", review({ object: box({ size: 1, slow: true }) }))
    expect(status).toBe(504)
    expect(Date.now() - startedAt).toBeLessThan(2000)
  })

  test("interrupts a check whose client has gone", async () => {
    const before = interrupted
    const body = review({ object: box({ size: 1, slow: true }) })
    const init = { method: "POST", body, headers: { "content-type": "application/json" }, tls: { ca } }
    const gone = fetch(`https://127.0.0.1:${port}/validate`, { ...init, signal: AbortSignal.timeout(200) })
    expect(await gone.catch((error: Error) => error.name)).toBe("TimeoutError")
    for (let tries = 0; tries < 100 && interrupted === before; tries++) await Bun.sleep(50)
    expect(interrupted - before).toBe(1)
  })

  test("closes a connection without a handshake after some seconds", async () => {
    const startedAt = Date.now()
    const socket = connect(port, "127.0.0.1")
    await new Promise((resolve) => socket.on("close", resolve))
    expect(Date.now() - startedAt).toBeLessThan(25_000)
  }, 30_000)

  test("patches only what changes, and keeps unknown fields", async () => {
    const { json } = await post("/mutate", review({ object: { ...box({ size: 1, unknown: true }), future: 1 } }))
    const { patch, patchType } = json().response
    expect(patchType).toBe("JSONPatch")
    expect(JSON.parse(Buffer.from(patch, "base64").toString())).toEqual([
      { op: "add", path: "/metadata/labels", value: { box: "yes" } }
    ])
    const again = await post("/mutate", review({ object: box({ size: 1 }, { ...meta, labels: {} }) }))
    expect(again.json().response).toEqual({ uid: "7", allowed: true })
  })

  test("converts between the versions in both directions, and keeps the metadata", async () => {
    const v1 = {
      apiVersion: "example.com/v1",
      kind: "Box",
      metadata: { ...meta, labels: { a: "b" } },
      spec: { length: "7 cm" }
    }
    const up = await post("/convert", conversion({ objects: [v1] }))
    expect(up.json().response).toEqual({
      uid: "8",
      result: { status: "Success" },
      convertedObjects: [{ ...v1, apiVersion: "example.com/v2", spec: { size: 7 } }]
    })
    const down = await post(
      "/convert",
      conversion({ desiredAPIVersion: "example.com/v1", objects: up.json().response.convertedObjects })
    )
    expect(down.json().response.convertedObjects).toEqual([v1])
  })

  test("reports a failed conversion with the object's name, and converts nothing", async () => {
    const bad = { apiVersion: "example.com/v1", kind: "Box", metadata: meta, spec: { length: "boom" } }
    const good = { apiVersion: "example.com/v1", kind: "Box", metadata: meta, spec: { length: "7 cm" } }
    const { json } = await post("/convert", conversion({ objects: [good, bad] }))
    expect(json().response.convertedObjects).toEqual([])
    expect(json().response.result.message).toStartWith('Box "one": internal error of the conversion: ')
    const unknown = await post("/convert", conversion({ desiredAPIVersion: "example.com/v9", objects: [good] }))
    expect(unknown.json().response.result.message).toBe(
      'Box "one": unknown version of Box: example.com/v9 (must be one of example.com/v2, example.com/v1)'
    )
  })

  test("keeps an absent spec, which a server-side apply sends for a manager that owns none", async () => {
    const partial = { apiVersion: "example.com/v1", kind: "Box", metadata: { name: "one", labels: { a: "b" } } }
    const { json } = await post("/convert", conversion({ objects: [partial] }))
    expect(json().response.convertedObjects).toEqual([{ ...partial, apiVersion: "example.com/v2" }])
  })

  test("converts a status without its spec, which the manager of the status applies", async () => {
    const partial = { apiVersion: "example.com/v1", kind: "Box", metadata: { name: "one" }, status: { full: true } }
    const { json } = await post("/convert", conversion({ objects: [partial] }))
    expect(json().response.convertedObjects).toEqual([
      { ...partial, apiVersion: "example.com/v2", status: { isFull: true } }
    ])
  })

  test("copies large integers exactly", async () => {
    const text = `{"apiVersion":"example.com/v1","kind":"Box","metadata":{"name":"one"},"spec":{"length":"7 cm","serial":9007199254740993}}`
    const body = conversion({ objects: ["HERE"] }).replace('"HERE"', text)
    const answer = await post("/convert", body)
    expect(answer.text).toContain('"spec":{"size":7,"serial":9007199254740993}')
  })

  test("shows no value of a field whose name marks a secret", async () => {
    const denied = await post("/secret", review({ object: box({ size: 1 }) }))
    expect(denied.json().response.status.message).not.toContain("hunter2")
    expect(denied.json().response.status.message).toContain("spec.password: Invalid value: ")
  })

  test("answers with texts that a terminal can show", async () => {
    for (const size of [1, 2]) {
      const { json } = await post("/controls", review({ name: `n${escapes}`, object: box({ size }) }))
      const { status, warnings } = json().response
      const texts = [status.message, ...(status.details?.causes ?? []).flatMap(Object.values), ...(warnings ?? [])]
      expect(texts).toHaveLength(size === 1 ? 8 : 1)
      for (const text of texts) expect(text).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u)
      expect(status.message).toContain("a\\u001b[2J\\u0007\\u009b\\u202eb")
    }
  })

  test("rejects other paths, methods, content types, bodies and sizes", async () => {
    expect((await post("/nothing", "{}")).status).toBe(404)
    expect((await post("/validate", "", { method: "GET" })).status).toBe(405)
    expect((await post("/validate", "{}", { type: "text/plain" })).status).toBe(415)
    expect((await post("/validate", "{")).status).toBe(400)
    expect((await post("/validate", "{}")).status).toBe(400)
    expect((await post("/validate", conversion({}))).status).toBe(400)
    expect((await post("/validate", " ".repeat(WebhookServer.mostBytes + 1))).status).toBe(413)
  })

  test("rejects JSON that is nested more deeply than an object of an API server", async () => {
    const nested = (depth: number) => `${"[".repeat(depth)}1${"]".repeat(depth)}`
    const body = (depth: number) => conversion({ objects: [box({ deep: "here" })] }).replace('"here"', nested(depth))
    for (const path of ["/convert", "/validate"]) {
      const { status, text } = await post(path, body(100_000))
      expect([status, text]).toEqual([400, "invalid request body (nested too deeply)\n"])
    }
    expect((await post("/convert", body(9990))).text).toContain(nested(9990))
    // Brackets in a text do not count.
    const { json } = await post("/validate", review({ object: box({ size: 1, text: `"${nested(30_000)}` }) }))
    expect(json().response.allowed).toBe(true)
  })

  test("rejects JSON with more values than an object of an API server", async () => {
    const body = (count: number) => review({ object: box({ size: 1, many: Array.from({ length: count }, () => 1) }) })
    expect((await post("/validate", body(90_000))).json().response.allowed).toBe(true)
    const { status, text } = await post("/validate", body(100_000))
    expect([status, text]).toEqual([413, "too many values in the body (at most 98304)\n"])
    // Commas in a text do not count.
    const { json } = await post("/validate", review({ object: box({ size: 1, text: ',"\\",'.repeat(100_000) }) }))
    expect(json().response.allowed).toBe(true)
  })

  test("answers with 500 if JSON cannot express the answer", async () => {
    const { status, text } = await post("/circular", review({ object: box({ size: 1 }) }))
    expect([status, text]).toEqual([500, "internal error\n"])
  })

  test("counts a decision under its code", () => {
    const family = metrics.read().find(({ metric }) => metric.name === "controller_runtime_webhook_requests_total")
    const counts = new Map(family?.series.map((series) => [series.labels.join(" "), (series as Metrics.Scalar).value]))
    expect(counts.get("/validate 422")).toBe(2)
    expect(counts.get("/validate 413")).toBe(3)
    expect(counts.get("/convert 500")).toBe(2)
  })

  test("changes its certificate under load without a failed request", async () => {
    let ended = false
    let served = 0
    const failures: Array<unknown> = []
    const body = review({ object: box({ size: 1 }) })
    const load = Array.from({ length: 8 }, async (_, client) => {
      while (!ended) {
        const answer = await post("/validate", body, { close: client % 2 === 0 }).catch((error: unknown) => error)
        served++
        if (answer instanceof Error || (answer as { status: number }).status !== 200) failures.push(answer)
      }
    })
    const more = async (): Promise<void> => {
      for (const goal = served + 30; served < goal; ) await Bun.sleep(5)
    }
    for (const change of changes.slice(1)) {
      await more()
      Effect.runSync(Deferred.succeed(change, undefined))
    }
    await more()
    ended = true
    await Promise.all(load)
    expect(failures).toEqual([])
    expect(served).toBeGreaterThan(50)
    const last = await fetch(`https://127.0.0.1:${port}/validate`, {
      method: "POST",
      body,
      headers: { "content-type": "application/json", connection: "close" },
      tls: { ca: pairAt(2).certificate }
    })
    expect(last.status).toBe(200)
  })
})

describe("random reviews", () => {
  /** A generator of pseudo-random numbers below a bound, so that a failure can be repeated. */
  const seeded = (seed: number) => {
    let state = seed
    return (below: number): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return Math.floor((state / 0x1_0000_0000) * below)
    }
  }
  const values = [
    null,
    true,
    -1,
    1e300,
    "",
    "x".repeat(5000),
    [],
    {},
    [[[]]],
    { metadata: null },
    "\u0000",
    "__proto__"
  ]

  /** Changes a value at a random place. */
  const damaged = (value: unknown, random: (below: number) => number): unknown => {
    if (typeof value !== "object" || value === null || random(4) === 0) return values[random(values.length)]
    const entries = Object.entries(value)
    const at = random(entries.length + 1)
    if (at === entries.length)
      return { ...value, [String(values[random(values.length)])]: values[random(values.length)] }
    if (random(3) === 0) return Object.fromEntries(entries.filter((_, index) => index !== at))
    return Object.fromEntries(entries.map(([key, each], index) => [key, index === at ? damaged(each, random) : each]))
  }

  test("500 reviews get a denial or an HTTP error each, and the memory stays", async () => {
    const random = seeded(19)
    const admission = JSON.parse(review({ object: box({ size: 11 }), oldObject: box({ size: 1 }) }))
    const converting = JSON.parse(
      conversion({ objects: [{ apiVersion: "example.com/v1", kind: "Box", metadata: meta, spec: { length: "x" } }] })
    )
    const statuses = new Map<string, number>()
    const round = async (): Promise<void> => {
      for (let count = 0; count < 500; count++) {
        const path = ["/validate", "/mutate", "/convert"][random(3)] ?? ""
        let body = path === "/convert" ? converting : admission
        for (let times = 1 + random(3); times > 0; times--) body = damaged(body, random)
        const text = JSON.stringify(body) ?? ""
        const sent = random(10) === 0 ? text.slice(0, random(text.length + 1)) : text
        const answer = await post(path, sent)
        statuses.set(String(answer.status), (statuses.get(String(answer.status)) ?? 0) + 1)
        if (answer.status !== 200) expect([400, 500]).toContain(answer.status)
        else expect(answer.json().response.uid).toBeString()
      }
    }
    await round()
    Bun.gc(true)
    const before = process.memoryUsage().heapUsed
    await round()
    Bun.gc(true)
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(4 * 1024 * 1024)
    expect(statuses.get("200")).toBeGreaterThan(50)
    expect(statuses.get("400")).toBeGreaterThan(50)
    expect((await post("/validate", review({ object: box({ size: 1 }) }))).status).toBe(200)
  }, 60_000)
})
