/** Requests with unusual request lines, oversized bodies and unusual watch options. */
import { describe, expect } from "bun:test"
import type * as Json from "@homeostat/apiserver/model/Json"
import { Effect } from "effect"
import { conformance } from "./Case.ts"
import type * as Raw from "./Raw.ts"
import * as Socket from "./Socket.ts"
import { webapp } from "./WebApps.ts"

/** The status code of a response, with the reason and message of a Status, the kind of an object, or the text. */
const line = ({ status, text }: { readonly status: number; readonly text: string }): string => {
  if (!text.startsWith("{")) return `${status} ${text.trim()}`
  const { kind, message, reason } = JSON.parse(text) as Json.JsonObject
  return `${status} ${kind === "Status" ? `${reason}: ${message}` : (kind ?? "without a kind")}`
}

/** Sends the requests one after the other. Fails with all responses if one of them is unexpected. */
const answers = (
  ask: (what: string) => Effect.Effect<{ readonly status: number; readonly text: string }, Raw.NoAnswer>,
  expected: { readonly [what: string]: string }
) =>
  Effect.gen(function* () {
    const answered: { [what: string]: string } = {}
    for (const what of Object.keys(expected)) answered[what] = line(yield* ask(what))
    expect(answered).toEqual(expected)
  })

describe.concurrent("The wire", () => {
  conformance(205, "the server refuses a body of 4 MiB for every method", {}, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("w")
      const tooLarge = "413 RequestEntityTooLarge: Request entity too large: limit is 3145728"
      const body = JSON.stringify(webapp("w", { spec: { image: "a".repeat(4 * 1024 * 1024) } }))
      yield* answers(
        (method) =>
          scene.request(method, method === "POST" ? scene.webapps() : scene.webapps("w"), {
            body,
            contentType: method === "PATCH" ? "application/merge-patch+json" : undefined
          }),
        { POST: tooLarge, PUT: tooLarge, PATCH: tooLarge, DELETE: tooLarge }
      )
    })
  )

  conformance(212, "an empty or unknown value of watch starts a watch", {}, (scene) =>
    answers((query) => scene.request("GET", `${scene.webapps()}?timeoutSeconds=1&watch=${query}`), {
      // The watch has an empty body, because no WebApp changes meanwhile.
      maybe: "200 ",
      "": "200 "
    })
  )

  conformance(213, "the server refuses unknown methods", {}, (scene) =>
    answers((method) => Socket.request(scene.cluster.admin, method, scene.webapps()), {
      FOO: '405 MethodNotAllowed:  is not supported on resources of kind "webapps.example.com"',
      get: '405 MethodNotAllowed:  is not supported on resources of kind "webapps.example.com"',
      OPTIONS: '405 MethodNotAllowed:  is not supported on resources of kind "webapps.example.com"',
      TRACE: '405 MethodNotAllowed:  is not supported on resources of kind "webapps.example.com"',
      PUT: "400 BadRequest: name must be provided",
      PATCH:
        "415 UnsupportedMediaType: the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    })
  )

  conformance(214, "the server resolves odd paths", {}, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("w")
      const paths: { readonly [name: string]: string } = { "{webapps}": scene.webapps(), "{long}": "w".repeat(10_000) }
      const ask = (what: string) => {
        const path = what.replace(/\{\w+\}/g, (name) => paths[name] ?? name)
        return Socket.request(scene.cluster.admin, "GET", path, ["Accept: application/json"])
      }
      yield* answers(ask, {
        "/{webapps}/w": "404 404 page not found",
        "{webapps}/w/": "200 WebApp",
        "{webapps}/w/a/b": '404 NotFound: webapps.example.com "w" not found',
        "{webapps}/../webapps/w": '404 NotFound: webapps.example.com ".." not found',
        "{webapps}/./w": '404 NotFound: webapps.example.com "." not found',
        "{webapps}//w": '404 NotFound: webapps.example.com "" not found',
        "{webapps}/%77": "200 WebApp",
        "{webapps}/a%2Fb": '404 NotFound: webapps.example.com "a" not found',
        "{webapps}/%2e%2e": "400 BadRequest: Name parameter invalid: \"..\": may not be '..'",
        "{webapps}/%00": '404 NotFound: webapps.example.com "\\x00" not found',
        "{webapps}/%zz": "400 400 Bad Request",
        "{webapps}/W": '404 NotFound: webapps.example.com "W" not found',
        "{webapps}/{long}": `404 NotFound: webapps.example.com "${"w".repeat(10_000)}" not found`,
        "{webapps}/w%C3%A9": '404 NotFound: webapps.example.com "wé" not found',
        "": "400 400 Bad Request",
        "*": "404 404 page not found",
        "/": "200 without a kind",
        "//": "404 404 page not found",
        "/api/v1/namespaces/": "200 NamespaceList",
        "/api/v1/namespaces//webapps": "404 NotFound: the server could not find the requested resource",
        "/apis/example.com/v1/namespaces//webapps": "200 WebAppList",
        "/api/v1/": "200 APIResourceList",
        "/apis//": "404 404 page not found"
      })
    })
  )
})
