import { describe, expect, test } from "bun:test"
import * as ApiError from "./ApiError.ts"

const request = { method: "PUT", path: "/apis/apps/v1/namespaces/a/deployments/b" }

const from = (status: number, body: string, headers: Record<string, string> = {}) =>
  ApiError.fromResponse(request, { status, headers: new Headers(headers), body })

const status = (code: number, reason: string, rest: object = {}) =>
  JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message: "words", ...rest })

describe("ApiError", () => {
  const cases: ReadonlyArray<readonly [number, string, ApiError.ApiError["_tag"]]> = [
    [400, "BadRequest", "BadRequest"],
    [401, "Unauthorized", "Unauthorized"],
    [403, "Forbidden", "Forbidden"],
    [404, "NotFound", "NotFound"],
    [405, "MethodNotAllowed", "BadRequest"],
    [406, "NotAcceptable", "BadRequest"],
    [408, "Timeout", "Timeout"],
    [409, "AlreadyExists", "AlreadyExists"],
    [409, "Conflict", "Conflict"],
    [410, "Expired", "Expired"],
    [410, "Gone", "Expired"],
    [413, "RequestEntityTooLarge", "BadRequest"],
    [415, "UnsupportedMediaType", "BadRequest"],
    [422, "Invalid", "Invalid"],
    [429, "TooManyRequests", "TooManyRequests"],
    [500, "InternalError", "ServerError"],
    [500, "ServerTimeout", "ServerError"],
    [503, "ServiceUnavailable", "ServerError"],
    [504, "Timeout", "Timeout"]
  ]
  test.each(cases)("a Status of %d %s is %s", (code, reason, tag) => {
    const error = from(code, status(code, reason))
    expect(error).toMatchObject({ _tag: tag, code, reason, request })
    expect(error.message).toStartWith("PUT /apis/apps/v1/namespaces/a/deployments/b: words")
    expect(ApiError.isApiError(error)).toBe(true)
  })

  test("an Invalid has each field with its error", () => {
    const error = from(
      422,
      status(422, "Invalid", {
        details: {
          name: "b",
          kind: "Deployment",
          group: "apps",
          causes: [
            { reason: "FieldValueRequired", message: "Required value", field: "spec.selector" },
            { reason: "FieldValueInvalid", message: "Invalid value: -1" }
          ]
        }
      })
    )
    expect(error.causes).toEqual([
      { reason: "FieldValueRequired", message: "Required value", field: "spec.selector" },
      { reason: "FieldValueInvalid", message: "Invalid value: -1", field: "" }
    ])
    expect(error.details).toEqual({ name: "b", kind: "Deployment", group: "apps", uid: "" })
  })

  test("a path that is not served differs from a missing object", () => {
    const unserved = from(404, "404 page not found\n")
    expect([ApiError.isUnserved(unserved), ApiError.isNotFound(unserved)]).toEqual([true, false])
    expect(unserved.message).toEndWith(
      "404 page not found (the API server does not serve this path: is the CRD installed?)"
    )
    const missing = from(404, status(404, "NotFound"))
    expect([ApiError.isUnserved(missing), ApiError.isNotFound(missing)]).toEqual([false, true])
    const nameless = from(404, JSON.stringify({ kind: "Status", code: 404 }))
    expect(ApiError.isUnserved(nameless)).toBe(false)
  })

  test("plain text with 429 is TooManyRequests, with the time of the Retry-After header", () => {
    const error = from(429, "Too many requests, please try again later.\n", { "retry-after": "3" })
    expect(error).toMatchObject({ _tag: "TooManyRequests", retryAfterMillis: 3000, reason: "" })
    expect(from(429, "")).toMatchObject({ _tag: "TooManyRequests", retryAfterMillis: 1000 })
  })

  test("the details of a Status may have retryAfterSeconds", () => {
    const body = status(504, "Timeout", { details: { retryAfterSeconds: 1 } })
    expect(from(504, body).retryAfterMillis).toBe(1000)
    expect(from(504, body, { "retry-after": "5" }).retryAfterMillis).toBe(5000)
    expect(from(500, status(500, "InternalError")).retryAfterMillis).toBeUndefined()
  })

  test("the lines of a field conflict are joined to one", () => {
    const message = 'Apply failed with 2 conflicts: conflicts with "m" using v1:\n- .spec.a\n- .spec.b'
    const error = from(
      409,
      status(409, "Conflict", {
        message,
        details: { causes: [{ reason: "FieldManagerConflict", message: 'conflict with "m"', field: ".spec.a" }] }
      })
    )
    expect(error.message).toEndWith('conflicts with "m" using v1: - .spec.a - .spec.b')
    expect(ApiError.isFieldConflict(error)).toBe(true)
    expect(ApiError.isFieldConflict(from(409, status(409, "Conflict")))).toBe(false)
  })

  test("the HTML page of a proxy is truncated", () => {
    const error = from(502, `<html>\n<body>${"x".repeat(5000)}</body></html>`)
    expect(error._tag).toBe("ServerError")
    expect(error.message.length).toBeLessThan(400)
    expect(error.message).not.toContain("\n")
  })

  test("a redirect is an error that asks whether this is an API server", () => {
    const error = from(302, "", { location: "https://login/" })
    expect(error._tag).toBe("BadRequest")
    expect(error.message).toEndWith("HTTP 302, a redirect to https://login/: is this a Kubernetes API server?")
  })

  test("a namespace that is being deleted is recognized", () => {
    const causes = [
      { reason: "NamespaceTerminating", message: "namespace a is being terminated", field: "metadata.namespace" }
    ]
    expect(ApiError.isNamespaceTerminating(from(403, status(403, "Forbidden", { details: { causes } })))).toBe(true)
    expect(ApiError.isNamespaceTerminating(from(403, status(403, "Forbidden")))).toBe(false)
  })

  test("askedMillis is the Retry-After: at most a minute for 429, and at most two seconds for 503", () => {
    const asks = (code: number, seconds: number) =>
      ApiError.askedMillis(from(code, "", { "retry-after": `${seconds}` }))
    expect([asks(429, 5), asks(429, 60), asks(429, 86_400)]).toEqual([5000, 60_000, 60_000])
    expect([asks(503, 1), asks(503, 5)]).toEqual([1000, 2000])
    expect(ApiError.askedMillis(from(503, ""))).toBeUndefined()
  })
})

test("an answer without a Status has no details, and its text is truncated", () => {
  const plain = from(502, "x".repeat(3000))
  expect(plain.details).toEqual({ group: "", kind: "", name: "", uid: "" })
  expect(plain.causes).toEqual([])
  const long = from(500, status(500, "InternalError", { message: "x".repeat(2001) }))
  expect(long.message).toContain(`: ${"x".repeat(2000)}…`)
  expect(long.message).not.toContain("x".repeat(2001))
  expect(from(500, status(500, "InternalError", { message: "x".repeat(2000) })).message).not.toContain("…")
})

describe("A Status", () => {
  const fromStatus = (rest: object, code = 500) =>
    ApiError.fromStatus(request, { kind: "Status", ...rest } as ApiError.Status, code)

  test("without details has empty details", () =>
    expect(fromStatus({ details: { causes: [{}] } })).toMatchObject({
      message: "PUT /apis/apps/v1/namespaces/a/deployments/b: HTTP 500",
      code: 500,
      reason: "Unknown",
      causes: [{ reason: "", message: "", field: "" }],
      details: { group: "", kind: "", name: "", uid: "" },
      retryAfterMillis: undefined,
      request
    }))
  test("has its own code, reason and object", () => {
    const details = { group: "apps", kind: "Deployment", name: "b", uid: "u" }
    expect(fromStatus({ code: 404, reason: "NotFound", message: "", details })).toMatchObject({
      message: "PUT /apis/apps/v1/namespaces/a/deployments/b: NotFound",
      _tag: "NotFound",
      code: 404,
      details
    })
  })
  test("with zero seconds has no retryAfterMillis", () => {
    const waits = (retryAfterSeconds: number) => fromStatus({ details: { retryAfterSeconds } }).retryAfterMillis
    expect([0, -1, 1, 3].map(waits)).toEqual([undefined, undefined, 1000, 3000] as never)
    expect(ApiError.retryAfter(" 7 ")).toBe(7000)
    expect(ApiError.retryAfter("soon")).toBeUndefined()
  })
  test("of 401 reports that the credentials are not accepted", () => {
    expect(fromStatus({ code: 401, message: "no" }).message).toEndWith(
      ": no (the API server does not accept these credentials)"
    )
    expect(fromStatus({ code: 403, message: "no" }).message).toEndWith(": no")
  })
  test("that lists permissions is truncated 200 characters after the list begins", () => {
    const held = "RBAC permissions not currently held:"
    const message = (rules: number) => fromStatus({ message: `no ${held}${"x".repeat(rules)}` }).message
    expect(message(200)).toEndWith(`: no ${held}${"x".repeat(200)}`)
    expect(message(201)).toEndWith(`: no ${held}${"x".repeat(200)}…`)
    expect(fromStatus({ message: "y".repeat(300) }).message).toEndWith(`: ${"y".repeat(300)}`)
  })
})

test("Fenced and unusable requests are not answers of the server", () => {
  const fenced = ApiError.fenced(request, "the Lease is lost")
  expect(fenced).toMatchObject({
    message: "PUT /apis/apps/v1/namespaces/a/deployments/b: not sent, the Lease is lost",
    code: "FENCED",
    reason: "the Lease is lost",
    request
  })
  expect(ApiError.isAnswer(fenced)).toBe(false)
  expect(ApiError.unusable(request, "no name")).toMatchObject({
    message: "PUT /apis/apps/v1/namespaces/a/deployments/b: no name",
    code: 400,
    reason: "BadRequest"
  })
})
