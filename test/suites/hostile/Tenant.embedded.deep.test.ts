/** The attacks by a tenant that take many seconds of CPU. */
import { describe } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { ConfigMap, Deployment, Pod } from "@homeostat/runtime/resource/BuiltIn"
import * as Condition from "@homeostat/runtime/resource/Condition"
import { manager } from "@homeostat/webapp/children"
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

  Victim.attacked(
    "creates many ConfigMaps with many keys, of which it names some, continues to serve",
    ({ hostile, survives }) =>
      survives(
        Effect.gen(function* () {
          const data = Object.fromEntries(Array.from({ length: 40_000 }, (_, at) => [at.toString(36), ""]))
          for (let n = 0; n < 24; n++) {
            yield* Client.create(ConfigMap, { metadata: { namespace: hostile, name: `keys-${n}` }, data })
          }
          const config = [0, 1, 2, 3].map((n) => ({ configMap: `keys-${n}`, mountPath: `/keys/${n}` }))
          yield* Client.create(WebApp, {
            metadata: { namespace: hostile, name: "keys" },
            spec: { image: "registry.test/web:1", config }
          })
          yield* Managed.eventually(
            "the report",
            Client.get(WebApp, { namespace: hostile, name: "keys" }),
            ({ status }) => Condition.find(status?.conditions, "ConfigReady")?.reason === "ConfigTooLarge"
          )
        })
      )
  )

  Victim.attacked("creates many huge WebApps and pods with their labels continues to serve", ({ hostile, survives }) =>
    survives(
      Effect.gen(function* () {
        const env = [{ name: "A", value: "x".repeat(1_200_000) }]
        const labels = { "app.kubernetes.io/managed-by": manager }
        for (let n = 0; n < 40; n++) {
          const metadata = { namespace: hostile, name: `huge-${n}` }
          const podTemplate = { spec: { containers: [{ name: "app", env }] } }
          yield* Client.create(WebApp, { metadata, spec: { image: "registry.test/web:1", podTemplate } })
          const spec = { containers: [{ name: "app", image: "registry.test/web:1", env }] }
          yield* Client.create(Pod, { metadata: { ...metadata, labels }, spec })
        }
        yield* Managed.eventually(
          "the report",
          Client.get(WebApp, { namespace: hostile, name: "huge-39" }),
          ({ status }) => Condition.find(status?.conditions, "Stalled")?.reason === "TooLarge"
        )
      })
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
