/**
 * A cluster on which the same scene is played: a real one in real time, or the embedded one in virtual time. In both, the test
 * is the kubelet.
 */
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as ApiServer from "@homeostat/testkit/server/ApiServer"
import * as Controllers from "@homeostat/testkit/server/controllers/Controllers"
import * as Loop from "@homeostat/testkit/server/controllers/Loop"
import type { Json, JsonObject } from "@homeostat/testkit/server/Json"
import * as JsonValue from "@homeostat/testkit/server/Json"
import { Clock, Data, Effect, type Scope, TestClock } from "effect"

/** An answer that was not expected, or a state that did not come. */
export class SceneFailed extends Data.TaggedError("SceneFailed")<{ readonly message: string }> {}

/** What a scene needs of a cluster. */
export interface Cluster {
  readonly send: (
    method: string,
    path: string,
    body?: JsonObject,
    contentType?: string
  ) => Effect.Effect<{ readonly status: number; readonly body: string }, SceneFailed>
  /** Lets the controllers do what they can, or some time pass. */
  readonly wait: Effect.Effect<void>
  /** What a list of these has gone through since a resourceVersion, the objects as they were written. */
  readonly history: (path: string, since: string) => Effect.Effect<ReadonlyArray<JsonObject>, SceneFailed>
}

/** Parsed, or not expected. */
export const request = (
  cluster: Cluster,
  method: string,
  path: string,
  body?: JsonObject,
  contentType?: string
): Effect.Effect<JsonObject, SceneFailed> =>
  Effect.flatMap(cluster.send(method, path, body, contentType), (answer) =>
    answer.status < 300
      ? Effect.succeed(parse(answer.body))
      : new SceneFailed({ message: `${method} ${path}: ${answer.body}` })
  )

const parse = (text: string): JsonObject => JsonValue.object(JSON.parse(text) as Json)

/** A real control plane with its controllers, and without kwok. */
export const real = (plane: ControlPlane): Cluster => {
  const send: Cluster["send"] = (method, path, body, contentType) =>
    Effect.mapError(
      plane.request(method, path, { ...(body === undefined ? {} : { body }), contentType }),
      (error) => new SceneFailed({ message: error.message })
    )
  return {
    send,
    wait: Effect.sleep(100),
    history: (path, since) =>
      Effect.map(send("GET", `${path}?watch=true&timeoutSeconds=1&resourceVersion=${since}`), ({ body }) =>
        body
          .split("\n")
          .filter((line) => line !== "")
          .map((line) => JsonValue.object(parse(line).object))
      )
  }
}

/** An embedded server with its controllers, under a TestClock. */
export const embedded: Effect.Effect<Cluster, never, Scope.Scope> = Effect.gen(function* () {
  yield* TestClock.setTime(Date.parse("2026-11-21T10:00:00Z"))
  const server = yield* ApiServer.make({ seed: 1 })
  const loop = yield* Loop.start(server, Controllers.all())
  const send: Cluster["send"] = (method, path, body, contentType = "application/json") =>
    Effect.map(
      server.handle({
        method,
        path,
        headers: { accept: "application/json", "content-type": contentType, "user-agent": "test" },
        body: body === undefined ? undefined : JSON.stringify(body)
      }),
      ({ body: answer, status }) => ({ status, body: typeof answer === "string" ? answer : "{}" })
    )
  let passed = yield* Clock.currentTimeMillis
  return {
    send,
    // Time only passes when the controllers have nothing to do before it.
    wait: Effect.gen(function* () {
      yield* loop.idle
      passed += 500
      yield* TestClock.setTime(passed)
      yield* loop.idle
    }),
    history: (path, since) => {
      const [, , group = "", version = "", , , plural = ""] = path.split("/")
      const storage = path.startsWith("/apis/") ? `${group}/${plural}` : `/${path.split("/").at(-1)}`
      return Effect.succeed((server.store.changes(storage, Number(since)) ?? []).map(({ object }) => object)).pipe(
        Effect.filterOrFail(
          () => version !== "",
          () => new SceneFailed({ message: path })
        )
      )
    }
  }
})
