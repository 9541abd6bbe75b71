/** Errors and warnings of an API server that quotes values. */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Answer from "./Answer.ts"
import type { ApiError, Invalid } from "./ApiError.ts"
import { Exchanges, Ledger } from "./Exchange.ts"
import type { Request } from "./Request.ts"

const password = "correct-horse-battery"

const request = (over: Partial<Request> = {}): Request => ({
  method: "POST",
  path: "/api/v1/namespaces/default/configmaps",
  template: "/api/v1/namespaces/{ns}/configmaps",
  headers: {},
  body: "{}",
  repeatable: false,
  ...over
})

const rejection = JSON.stringify({
  kind: "Status",
  reason: "Invalid",
  code: 422,
  message: `x is invalid: data: Invalid value: "${"x".repeat(1900)}${password}": no`,
  details: { causes: [{ field: "data", message: `Invalid value: "${password}": no` }] }
})

/** The error of a rejected request, and the warnings. */
const answered = (sent: Request, ledger?: Ledger) => {
  const warnings: Array<string> = []
  const send = Answer.check((headers, hide) =>
    Effect.sync(() => void warnings.push(hide(headers.get("warning") ?? "")))
  )(() =>
    Effect.succeed({
      status: 422,
      headers: { get: (name) => (name === "warning" ? `299 - "odd: ${password}"` : null) },
      body: rejection
    })
  )
  const error: ApiError = Effect.runSync(Effect.provideService(Effect.flip(send(sent)), Exchanges, ledger))
  // Only this class has causes.
  return { error: error as Invalid, warnings }
}

const secret = { kind: "Secret", metadata: { name: "a" }, data: { password: btoa(password) } }

const known = (): Ledger => {
  const ledger = new Ledger()
  ledger.suspect(secret)
  return ledger
}

describe("An error and a warning of an API server", () => {
  const cases: ReadonlyArray<readonly [what: string, sent: Request, ledger?: Ledger]> = [
    [
      "a Secret in the request",
      request({ path: "/api/v1/namespaces/default/secrets", body: JSON.stringify({ stringData: { password } }) })
    ],
    [
      "a variable in the request",
      request({ body: JSON.stringify({ env: [{ name: "DB_PASSWORD", value: password }] }) })
    ],
    ["a Secret that the reconcile has read", request(), known()]
  ]
  for (const [what, sent, ledger] of cases) {
    test(`have no values of ${what}, also where a text is cut`, () => {
      const { error, warnings } = answered(sent, ledger)
      expect(error._tag).toBe("Invalid")
      expect(error.message).not.toContain("correct-horse")
      expect(error.causes).toMatchObject([{ message: 'Invalid value: "<redacted>": no' }])
      expect(warnings).toEqual(['299 - "odd: <redacted>"'])
    })
  }
  test("are hidden as a whole if the reconcile has read too many values, unless it named its keys", () => {
    const many = Array.from({ length: 9000 }, (_, at) => `value-${at}`).join("\n")
    const body = JSON.stringify({ ...secret, data: { ...secret.data, many: btoa(many) } })
    const read = (secretKeys?: ReadonlyArray<string>): Ledger => {
      const ledger = new Ledger()
      ledger.add({
        request: request({ method: "GET", path: "/api/v1/namespaces/default/secrets/a", secretKeys }),
        startedAt: 0,
        millis: 1,
        status: 200,
        error: undefined,
        resends: 0,
        auditId: undefined,
        span: undefined,
        answer: Exit.succeed({ status: 200, headers: new Headers(), body })
      })
      return ledger
    }
    expect(answered(request(), read()).warnings).toEqual([
      "<hidden: Secret a is too large to search (at most 65536 characters of values)>"
    ])
    expect(answered(request(), read(["password"])).warnings).toEqual(['299 - "odd: <redacted>"'])
  })
  test("quote other values", () => {
    const { error, warnings } = answered(request({ body: JSON.stringify({ data: { a: password } }) }))
    expect(error.causes).toMatchObject([{ message: `Invalid value: "${password}": no` }])
    expect(warnings).toEqual([`299 - "odd: ${password}"`])
  })
})
