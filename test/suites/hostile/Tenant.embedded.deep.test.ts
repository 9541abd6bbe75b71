/** The attacks by a tenant that take many seconds of CPU. */
import { describe } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Deployment } from "@homeostat/runtime/resource/BuiltIn"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import { createApp } from "../binary/Scene.ts"
import * as Managed from "../Managed.ts"
import { deployment } from "./Tenant.ts"
import * as Victim from "./Victim.ts"

/** Adds variables to the Deployment of a WebApp that the WebApp does not name. */
const addVariable = (namespace: string, name: string, variable: string) =>
  Client.patch(
    Deployment,
    { namespace, name },
    Patch.strategic({
      spec: { template: { spec: { containers: [{ name: "app", env: [{ name: variable, value: "x" }] }] } } }
    })
  )

describe("A manager whose tenant", () => {
  Victim.attacked("creates many Deployments of a megabyte continues to serve", ({ hostile, survives }) =>
    survives(
      Effect.forEach(
        Array.from({ length: 60 }, (_, n) => n),
        (n) => Client.create(Deployment, deployment(1_280_000, { namespace: hostile, name: `big-${n}` })),
        { discard: true }
      )
    )
  )

  Victim.attacked("repeatedly adds variables with huge names continues to serve", ({ hostile, survives }) =>
    Effect.gen(function* () {
      yield* createApp(hostile, "fought")
      yield* Managed.eventually(
        "the Deployment",
        Effect.option(Client.get(Deployment, { namespace: hostile, name: "fought" })),
        ({ _tag }) => _tag === "Some"
      )
      for (const piece of ["a.", "a", "eyJaaaaa-"]) {
        yield* survives(
          Effect.forEach(
            Array.from({ length: 6 }, (_, n) => n),
            (n) =>
              Effect.gen(function* () {
                const variable = `${piece.repeat(300_000 / piece.length)}_${n}`
                yield* addVariable(hostile, "fought", variable)
                yield* Managed.eventually(
                  "the removal of the variable",
                  Client.get(Deployment, { namespace: hostile, name: "fought" }),
                  (found) => !JSON.stringify(found.spec).includes(variable)
                )
              }),
            { discard: true }
          )
        )
      }
    })
  )

  Victim.attacked(
    "continuously creates and deletes WebApps with huge specs continues to serve",
    ({ hostile, survives }) =>
      survives(
        Effect.forEach(
          Array.from({ length: 60 }, (_, n) => n),
          (n) =>
            Effect.gen(function* () {
              const name = `app-${n}`
              yield* Client.create(WebApp, {
                metadata: { namespace: hostile, name, annotations: { note: "x".repeat(200_000) } },
                spec: {
                  image: "registry.test/web:1",
                  replicas: 1,
                  env: Array.from({ length: 50 }, (_, at) => ({ name: `V${at}`, value: "y".repeat(4000) }))
                }
              })
              yield* Client.delete(WebApp, { namespace: hostile, name })
            }),
          { discard: true }
        )
      )
  )
})
