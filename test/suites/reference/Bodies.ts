/** Runs examples of a reconcile, each in a controller on the embedded cluster. */
import { describe, expect } from "bun:test"
import { join } from "node:path"
import * as Client from "@homeostat/runtime/client/Client"
import * as Access from "@homeostat/runtime/controller/Access"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Trigger from "@homeostat/runtime/controller/Trigger"
import * as Manager from "@homeostat/runtime/manager/Manager"
import * as BuiltIn from "@homeostat/runtime/resource/BuiltIn"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as Harness from "@homeostat/testkit/Harness"
import { effect } from "@homeostat/testkit/Test"
import { Cause, Deferred, Effect, Exit } from "effect"
import { TestClock } from "effect/testing"
import * as Example from "./Example.ts"
import { Site } from "./Site.ts"

const access = [Access.of(BuiltIn.ConfigMap, ["create", "update", "patch", "delete", "deletecollection"])]

const objects = Effect.gen(function* () {
  const namespace = "default"
  yield* Client.create(BuiltIn.ConfigMap, {
    metadata: { namespace, name: "page", labels: { app: "shop" } },
    data: { "index.html": "Hello" }
  })
  yield* Client.create(BuiltIn.Deployment, {
    metadata: { namespace, name: "web" },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: "web" } },
      template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "app", image: "nginx:1.27" }] } }
    }
  })
  yield* Client.create(Site, { metadata: { namespace, name: "shop" }, spec: { replicas: 2 } })
})

/** Declares a test for every so manieth example of a reconcile. The examples are files of the folder. */
export const test = (folder: string, every: number): void =>
  describe("The example runs in a reconcile:", () => {
    for (const { file, name } of Example.tested("body").filter((_, at) => at % every === 0)) {
      effect(name, () =>
        Effect.gen(function* () {
          const { default: body } = yield* Effect.promise(() => import(join(folder, file)))
          const exit = yield* Deferred.make<Exit.Exit<unknown, unknown>>()
          const controller = Controller.make("site", {
            for: Site,
            owns: [BuiltIn.ConfigMap, BuiltIn.Deployment],
            // For `Cache.getWhole`.
            watches: [Trigger.onMetadata(BuiltIn.ConfigMap, { map: () => [] })],
            access,
            reconcile: (site) =>
              Effect.as(
                Effect.flatMap(Effect.exit(body(site) as Effect.Effect<unknown>), (it) => Deferred.succeed(exit, it)),
                Result.done
              )
          })
          const options = { crds: [Crd.of(Site)], manager: Effect.void }
          const ended = yield* Harness.run(options, ({ transport }) =>
            Effect.gen(function* () {
              yield* objects
              yield* Effect.provide(Manager.launch([controller]), transport)
              return yield* Effect.andThen(TestClock.adjust("10 seconds"), Deferred.await(exit))
            })
          )
          expect(Exit.isSuccess(ended) ? "" : Cause.pretty(ended.cause)).toBe("")
        })
      )
    }
  })
