import { describe, expect, test } from "bun:test"
import * as ApiError from "../client/ApiError.ts"
import * as Problem from "./Problem.ts"
import { refusal, unreachable } from "./Scripted.fixture.ts"
import { Node, WebApp } from "./Server.fixture.ts"

describe("The description of a problem names the kind, the namespaces and the fix", () => {
  const describeFor = (error: ApiError.ApiError, resource = WebApp, namespace?: string) =>
    Problem.describe(Problem.of(error, "watch"), resource, namespace)

  test("for a missing permission", () => {
    expect(describeFor(refusal(403, "Forbidden"))).toBe(
      "cannot watch webapps.apps.kubedojo.io in all namespaces: requires permission to list and watch webapps.apps.kubedojo.io in all namespaces; GET /apis/apps.kubedojo.io/v1beta1/webapps: Forbidden"
    )
    expect(describeFor(refusal(403, "Forbidden"), Node)).toStartWith(
      "cannot watch nodes: requires permission to list and watch nodes; GET"
    )
  })

  test("for a kind that is not served", () => {
    expect(describeFor(refusal(404, ""), WebApp, "one")).toBe(
      "cannot watch webapps.apps.kubedojo.io in namespace one: the API server does not serve apps.kubedojo.io/v1beta1 WebApp; install its CustomResourceDefinition"
    )
  })

  test("with the message of the server or the connection for all others", () => {
    expect(describeFor(refusal(401, "Unauthorized"))).toContain("does not accept these credentials")
    expect(describeFor(unreachable)).toBe(
      "cannot watch webapps.apps.kubedojo.io in all namespaces: GET /apis: connect ECONNREFUSED"
    )
  })
})

test("A resourceVersion that is too large counts as expired, by its cause or its message", () => {
  const timeout = (message: string, reason?: string) =>
    ApiError.fromStatus(
      { method: "GET", path: "/" },
      {
        kind: "Status",
        code: 504,
        reason: "Timeout",
        message,
        ...(reason !== undefined && { details: { causes: [{ reason }] } })
      },
      504
    )
  expect(Problem.kindOf(timeout("Too large resource version: 9, current: 1"))).toBe("expired")
  expect(Problem.kindOf(timeout("try later", "ResourceVersionTooLarge"))).toBe("expired")
  expect(Problem.kindOf(timeout("try later"))).toBe("unavailable")
})
