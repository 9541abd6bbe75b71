/** E. Update and concurrency. */
import { describe, expect } from "bun:test"
import * as Json from "@homeostat/apiserver/model/Json"
import { Effect } from "effect"
import { conformance } from "./Case.ts"
import type { Scene } from "./Scene.ts"

const put = (scene: Scene, object: Json.JsonObject, name = "w") =>
  scene.request("PUT", scene.webapps(name), { json: object })

describe.concurrent("E. Update", () => {
  conformance(65, "20 concurrent increments that retry after 409 all count", {}, (scene) =>
    Effect.gen(function* () {
      yield* scene.create("w", { spec: { replicas: 0 } })
      const increment: Effect.Effect<void, unknown> = Effect.gen(function* () {
        const read = yield* scene.done("GET", scene.webapps("w"))
        const replicas = (Json.number(Json.at(read, "spec", "replicas")) ?? 0) + 1
        const answer = yield* put(scene, { ...read, spec: { replicas } })
        if (answer.status === 409) return yield* Effect.andThen(Effect.sleep("5 millis"), increment)
        expect(answer.status).toBe(200)
      })
      yield* Effect.all(
        Array.from({ length: 20 }, () => increment),
        { concurrency: "unbounded" }
      )
      expect(Json.at(yield* scene.done("GET", scene.webapps("w")), "spec", "replicas")).toBe(20)
    })
  )
})
