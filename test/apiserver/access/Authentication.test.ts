import { describe, expect } from "bun:test"
import { effect, live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as ApiServer from "../http/ApiServer.ts"
import { ask } from "../http/Client.fixture.ts"
import * as Http from "../http/Http.ts"
import type { JsonObject } from "../model/Json.ts"
import * as Json from "../model/Json.ts"

const review: JsonObject = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" }
const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"

const userOf = (body: JsonObject): JsonObject => Json.object(Json.at(body, "status", "userInfo"))

const whoAmI = (server: ApiServer.ApiServer, headers: { readonly [name: string]: string }) =>
  Effect.map(ask(server, "POST", path, review, { headers }), ({ body }) => userOf(body))

describe("The user of a request", () => {
  effect("without credentials is an administrator", () =>
    Effect.gen(function* () {
      const server = yield* ApiServer.make({ seed: 1 })
      expect(yield* whoAmI(server, {})).toEqual({
        username: "admin",
        groups: ["system:masters", "system:authenticated"]
      })
    })
  )

  effect("without credentials is the user of the options", () =>
    Effect.gen(function* () {
      const server = yield* ApiServer.make({
        seed: 1,
        user: { name: "system:anonymous", groups: ["system:unauthenticated"] }
      })
      expect((yield* ask(server, "GET", "/version")).status).toBe(200)
      const { body, status } = yield* ask(server, "GET", "/api/v1/pods")
      expect(status).toBe(403)
      expect(body.message).toBe(
        'pods is forbidden: User "system:anonymous" cannot list resource "pods" in API group "" at the cluster scope'
      )
    })
  )

  effect("with an added token is the user of the token, also in a TokenReview", () =>
    Effect.gen(function* () {
      const server = yield* ApiServer.make({ seed: 1 })
      server.addToken("secret", { name: "ann", groups: ["devs"] })
      const user = { username: "ann", groups: ["devs", "system:authenticated"] }
      expect(yield* whoAmI(server, { authorization: "Bearer secret" })).toEqual(user)
      const { body } = yield* ask(server, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenReview",
        spec: { token: "secret" }
      })
      expect(Json.object(body.status)).toMatchObject({ authenticated: true, user })
    })
  )

  effect("with an unknown token gets 401", () =>
    Effect.gen(function* () {
      const server = yield* ApiServer.make({ seed: 1 })
      const { status, text } = yield* ask(server, "GET", "/version", undefined, {
        headers: { authorization: "Bearer other" }
      })
      expect(status).toBe(401)
      expect(text).toBe(
        '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}\n'
      )
    })
  )

  live("has each of the groups that it impersonates over HTTP", () =>
    Effect.gen(function* () {
      const server = yield* ApiServer.make({ seed: 1 })
      const { url } = yield* Http.serve(server)
      const headers = new Headers({ "content-type": "application/json", "impersonate-user": "ann" })
      headers.append("impersonate-group", "one, two")
      const answer = yield* Effect.promise(() =>
        fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(review) }).then((response) =>
          response.json()
        )
      )
      expect(userOf(answer as JsonObject)).toEqual({ username: "ann", groups: ["one, two", "system:authenticated"] })
    })
  )
})

describe("A token of a service account", () => {
  effect("is the same for the same seed, and ends with its time", () =>
    Effect.gen(function* () {
      const token = Effect.gen(function* () {
        const server = yield* ApiServer.make({ seed: 7 })
        yield* ask(server, "POST", "/api/v1/namespaces/default/serviceaccounts", { metadata: { name: "robot" } })
        const answer = yield* ask(server, "POST", "/api/v1/namespaces/default/serviceaccounts/robot/token", {
          spec: { expirationSeconds: 600 }
        })
        return [server, Json.text(Json.at(answer.body, "status", "token")) ?? ""] as const
      })
      const [server, one] = yield* token
      const [, other] = yield* token
      expect(one).toBe(other)
      expect(one.split(".")).toHaveLength(3)
      const user = (token: string) => whoAmI(server, { authorization: `Bearer ${token}` })
      expect((yield* user(one)).username).toBe("system:serviceaccount:default:robot")
      expect(yield* user(`${one.slice(0, -6)}AAAAAA`)).toEqual({})
      yield* TestClock.adjust("599 seconds")
      expect((yield* user(one)).username).toBe("system:serviceaccount:default:robot")
      yield* TestClock.adjust("1 second")
      expect(yield* user(one)).toEqual({})
    })
  )
})
