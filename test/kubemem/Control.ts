/**
 * The requests that control a cluster. They use the port of the API server, so that tests in any language can send them:
 *
 * - `POST /clock?advance=1h`: advances the clock by a duration. `GET /clock`: returns its time.
 * - `POST /reset`: restores the state at the start.
 * - `POST /snapshot?name=NAME` and `POST /restore?name=NAME`: save and restore a state. Default name: `default`.
 * - `POST /stop`: ends the program.
 *
 * A user needs the verb `post` or `get` for these non-resource URLs.
 */

import type { ApiServer, HttpRequest, HttpResponse } from "@homeostat/apiserver/http/ApiServer"
import * as Json from "@homeostat/apiserver/model/Json"
import type { Saved } from "@homeostat/apiserver/storage/Store"
import * as DurationText from "@homeostat/runtime/command/DurationText"
import type { EmbeddedCluster } from "@homeostat/testkit/EmbeddedCluster"
import type { LeapingTime } from "@homeostat/testkit/VirtualTime"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Pods from "./Pods.ts"

/** The storage for snapshots that outlive the process. */
export interface Snapshots {
  readonly save: (name: string, saved: Saved) => Effect.Effect<void, Error>
  readonly load: (name: string) => Effect.Effect<Saved | undefined, Error>
  readonly names: Effect.Effect<ReadonlyArray<string>>
}

/** The cluster, its clock and its storage. */
export interface Controlled {
  readonly cluster: EmbeddedCluster
  readonly time: LeapingTime
  readonly snapshots: Snapshots
  /** The program stops when this completes. */
  readonly stop: Deferred.Deferred<void>
}

/**
 * Returns an API server that also serves the requests of this module. It first waits until the pods of the cluster have started. `reset`
 * restores the state at that moment.
 */
export const around = (controlled: Controlled): Effect.Effect<ApiServer> =>
  Effect.gen(function* () {
    const { cluster, snapshots, stop, time } = controlled
    const { server } = cluster
    yield* Pods.started(cluster)
    const initial = server.saved()
    const restore = (saved: Saved) => Effect.andThen(server.restore(saved), cluster.idle)
    const now = Effect.map(Clock.currentTimeMillis, (millis) => done({ now: new Date(millis).toISOString() }))
    const actions: { readonly [request: string]: (query: URLSearchParams) => Effect.Effect<HttpResponse, Error> } = {
      "GET /clock": () => now,
      "POST /clock": (query) =>
        Result.match(DurationText.parse()(query.get("advance") ?? ""), {
          onFailure: (message) => Effect.succeed(refused(400, "BadRequest", `advance: ${message}`)),
          onSuccess: (duration) => Effect.andThen(Effect.andThen(time.pass(duration), cluster.idle), now)
        }),
      "POST /reset": () => Effect.as(restore(initial), done({ restored: "initial state" })),
      "POST /snapshot": (query) =>
        named(query, (name) =>
          Effect.gen(function* () {
            yield* cluster.idle
            yield* snapshots.save(name, server.saved())
            return done({ saved: name })
          })
        ),
      "POST /restore": (query) =>
        named(query, (name) =>
          Effect.gen(function* () {
            const saved = yield* snapshots.load(name)
            if (saved !== undefined) return yield* Effect.as(restore(saved), done({ restored: name }))
            const names = yield* snapshots.names
            const hint = names.length === 0 ? "there are no snapshots" : `must be one of ${names.join(", ")}`
            return refused(404, "NotFound", `snapshot not found: "${name}" (${hint})`)
          })
        ),
      "POST /stop": () => Effect.as(Deferred.succeed(stop, undefined), done({ stopped: true }))
    }
    const handle: ApiServer["handle"] = (request) => {
      const [path = "", query = ""] = request.path.split("?", 2)
      const action = actions[`${request.method} ${path}`]
      if (action === undefined) return server.handle(request)
      return Effect.flatMap(denial(server, request, path), (denied) =>
        denied !== undefined
          ? Effect.succeed(denied)
          : Effect.catch(action(new URLSearchParams(query)), ({ message }) =>
              Effect.succeed(refused(500, "InternalError", message))
            )
      )
    }
    return { ...server, handle }
  })

/** Returns the rejection of a user without permission, or undefined. The API server decides with the roles for non-resource URLs. */
const denial = (server: ApiServer, request: HttpRequest, path: string): Effect.Effect<HttpResponse | undefined> => {
  const verb = request.method.toLowerCase()
  const spec = { nonResourceAttributes: { path, verb } }
  const review = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec }
  const asked = server.handle({
    ...request,
    method: "POST",
    path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    headers: { ...request.headers, "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify(review)
  })
  return Effect.map(asked, (answer) => {
    if (answer.status === 401 || typeof answer.body !== "string") return answer
    return Json.at(JSON.parse(answer.body), "status", "allowed") === true
      ? undefined
      : refused(
          403,
          "Forbidden",
          `forbidden: ${verb} ${path} (requires the verb "${verb}" for the non-resource URL ${path})`
        )
  })
}

const named = (
  query: URLSearchParams,
  then: (name: string) => Effect.Effect<HttpResponse, Error>
): Effect.Effect<HttpResponse, Error> => {
  const name = query.get("name") ?? "default"
  return /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name)
    ? then(name)
    : Effect.succeed(
        refused(400, "BadRequest", `name: invalid value: "${name}" (must be a DNS label, such as before-upgrade)`)
      )
}

const headers = { "content-type": "application/json" }

const done = (value: Json.JsonObject): HttpResponse => ({ status: 200, headers, body: `${JSON.stringify(value)}\n` })

const refused = (code: number, reason: string, message: string): HttpResponse => ({
  status: code,
  headers,
  body: JSON.stringify({ apiVersion: "v1", kind: "Status", metadata: {}, status: "Failure", message, reason, code })
})
