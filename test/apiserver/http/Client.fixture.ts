/** Requests to a server in memory, for the tests of the API server. */
import { Effect } from "effect"
import * as Definitions from "../kinds/Definitions.fixture.ts"
import { kinds } from "../kinds/Kinds.fixture.ts"
import * as Json from "../model/Json.ts"
import type * as ApiServer from "./ApiServer.ts"
import * as ApiServers from "./ApiServer.ts"

/** A response. A JSON body is parsed. */
export interface Answer {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly body: Json.JsonObject
  readonly text: string
}

/** The options of a request. */
export interface Options {
  readonly headers?: { readonly [name: string]: string }
}

/** Sends a request to a server. An object as the body is sent as JSON. */
export const ask = (
  server: ApiServer.ApiServer,
  method: string,
  path: string,
  body?: Json.JsonObject | string | Uint8Array,
  options: Options = {}
): Effect.Effect<Answer> =>
  Effect.map(
    server.handle({
      method,
      path,
      headers: {
        "user-agent": "test/1",
        ...(body !== undefined && { "content-type": "application/json" }),
        ...options.headers
      },
      body: typeof body === "object" && !(body instanceof Uint8Array) ? JSON.stringify(body) : body
    }),
    ({ body, headers, status }) => {
      const text = typeof body === "string" ? body : ""
      return { status, headers, text, body: parsed(text) }
    }
  )

/** Sends a merge patch. */
export const merge = (server: ApiServer.ApiServer, path: string, patch: Json.JsonObject) =>
  ask(server, "PATCH", path, patch, { headers: { "content-type": "application/merge-patch+json" } })

/** Opens a watch. It reads the queued events, or waits for the next one. */
export const watch = (server: ApiServer.ApiServer, path: string, headers: { readonly [name: string]: string } = {}) =>
  Effect.map(server.handle({ method: "GET", path, headers, body: undefined }), ({ body, status }) => {
    if (typeof body === "string") throw new Error(`no watch but ${status}: ${body}`)
    return {
      close: body.close,
      next: Effect.map(body.next, (text) =>
        text
          ?.trimEnd()
          .split("\n")
          .map((line) => {
            const { object, type } = parsed(line)
            return { type, object: Json.object(object) }
          })
      )
    }
  })

/** A server with the built-in kinds and the custom kind Thing. */
export const make = (options: ApiServer.Options = {}) =>
  Effect.tap(ApiServers.make({ kinds, seed: 1, ...options }), (server) =>
    ask(server, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", Definitions.things)
  )

/** The path of the things in the namespace `default`. */
export const things = "/apis/probe.io/v1/namespaces/default/things"

/** The path of the ConfigMaps in the namespace `default`. */
export const configMaps = "/api/v1/namespaces/default/configmaps"

/** A thing. */
export const thing = (name: string, more: Json.JsonObject = {}, metadata: Json.JsonObject = {}): Json.JsonObject => ({
  apiVersion: "probe.io/v1",
  kind: "Thing",
  ...more,
  metadata: { name, ...metadata }
})

const parsed = (text: string): Json.JsonObject => {
  try {
    const value: Json.Json = JSON.parse(text)
    return Json.object(value)
  } catch {
    return {}
  }
}
