/** A cluster for scenes: a real one in real time, or the embedded one in virtual time. The test acts as the kubelet. */

import * as ApiServer from "@homeostat/apiserver/http/ApiServer"
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import * as Controllers from "@homeostat/testkit/controllers/Controllers"
import * as Loop from "@homeostat/testkit/controllers/Loop"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import { Clock, Data, Effect, type Scope } from "effect"
import { TestClock } from "effect/testing"
import type { Answer } from "../comparison/Server.ts"
import * as Server from "../comparison/Server.ts"
import * as Raw from "../conformance/Raw.ts"

/** A request failed, or a condition did not become true in time. */
export class SceneFailed extends Data.TaggedError("SceneFailed")<{ readonly message: string }> {}

export interface Cluster {
  /** Sends a request. A PATCH is a merge patch. */
  readonly send: (method: string, path: string, body?: JsonObject) => Effect.Effect<Answer>
  /** Waits a short time, in which the controllers work. */
  readonly wait: Effect.Effect<void>
  /** The versions of the objects at a path since a resourceVersion. */
  readonly history: (path: string, since: string) => Effect.Effect<ReadonlyArray<JsonObject>, SceneFailed>
}

/** The parsed body of a successful response. Fails with SceneFailed for any other status. */
export const request = (
  cluster: Cluster,
  method: string,
  path: string,
  body?: JsonObject
): Effect.Effect<JsonObject, SceneFailed> =>
  Effect.flatMap(cluster.send(method, path, body), (answer) =>
    answer.status >= 200 && answer.status < 300
      ? Effect.succeed(J.object(answer.body))
      : new SceneFailed({ message: `${method} ${path}: ${answer.status}: ${JSON.stringify(answer.body)}` })
  )

const sending =
  (server: Server.Server): Cluster["send"] =>
  (method, path, body) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      server({ method, path, body, ...(method === "PATCH" && { contentType: "application/merge-patch+json" }) }, now)
    )

/** A real control plane with its controllers, and without kwok. */
export const real = (plane: ControlPlane): Cluster => ({
  send: sending(Server.real(plane.admin)),
  wait: Effect.sleep(100),
  history: (path, since) =>
    Raw.watch(plane.admin, `${path}?watch=true&timeoutSeconds=1&resourceVersion=${since}`).pipe(
      Effect.flatMap(({ rest }) => rest),
      Effect.mapBoth({
        onSuccess: (frames) => frames.map(({ object }) => object),
        onFailure: ({ message }) => new SceneFailed({ message })
      }),
      Effect.scoped
    )
})

/** An embedded server with its controllers, under a TestClock. */
export const embedded: Effect.Effect<Cluster, never, Scope.Scope> = Effect.gen(function* () {
  yield* TestClock.setTime(Date.parse("2026-11-21T10:00:00Z"))
  const server = yield* ApiServer.make({ seed: 1 })
  const loop = yield* Loop.start(server, Controllers.all())
  let passed = yield* Clock.currentTimeMillis
  return {
    send: sending(Server.embedded(server)),
    // The clock advances only when the controllers are idle.
    wait: Effect.gen(function* () {
      yield* loop.idle
      passed += 500
      yield* TestClock.setTime(passed)
      yield* loop.idle
    }),
    history: (path, since) => {
      const [, , group = "", , , , plural = ""] = path.split("/")
      const storage = path.startsWith("/apis/") ? `${group}/${plural}` : `/${path.split("/").at(-1)}`
      return Effect.sync(() => (server.store.changes(storage, Number(since)) ?? []).map(({ object }) => object))
    }
  }
})
