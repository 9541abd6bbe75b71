/** A change of the hub, with replicas behind a Service that contains only pods that are ready. */
import { describe, expect } from "bun:test"
import * as Eventually from "@homeostat/testkit/Eventually"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect } from "effect"
import * as Endpoint from "../binary/Endpoint.ts"
import * as Load from "./Load.ts"
import { launch } from "./Programs.ts"
import * as Scene from "./Scene.ts"

describe.each([
  ["a real", Shared.real],
  ["the embedded", Shared.embedded]
] as const)("A new replica, on %s API server,", (_, on) => {
  on(
    "converts the objects of the former hub, which its own cache needs",
    (cluster) =>
      Effect.gen(function* () {
        const namespace = yield* cluster.namespace("hub")
        const service = yield* Load.service([])
        const start = Effect.gen(function* () {
          const port = yield* Scene.freePort
          return { port, program: yield* launch(cluster, port, { url: `https://127.0.0.1:${service.port}` }) }
        })
        const name = "crates.suites.example.com"
        const store = (version: string) =>
          Effect.gen(function* () {
            const { stdout } = yield* Scene.kubectl(cluster, ["get", "crd", name, "-o", "json"])
            const crd = JSON.parse(stdout)
            for (const each of crd.spec.versions) each.storage = each.name === version
            expect(yield* Scene.kubectl(cluster, ["replace", "-f", "-"], crd)).toMatchObject({ exitCode: 0 })
          })
        yield* Effect.scoped(
          Effect.gen(function* () {
            const { port, program } = yield* start
            service.route([port])
            yield* Scene.ready(program)
            yield* store("v1")
            yield* Eventually.eventually(
              "a Crate is stored as v1",
              Scene.kubectl(cluster, ["apply", "-f", "-"], {
                apiVersion: "suites.example.com/v1",
                kind: "Crate",
                metadata: { name: "old", namespace },
                spec: { size: "3x4" }
              }),
              ({ exitCode }) => exitCode === 0
            )
          })
        )
        yield* store("v2")
        service.route([])
        const { port, program } = yield* start
        yield* Eventually.eventually(
          "the webhooks are ready",
          Endpoint.get(program, "/readyz/webhooks"),
          ({ status }) => status === 200
        )
        service.route([port])
        yield* Scene.ready(program)
        const { stdout } = yield* Scene.kubectl(cluster, [
          "get",
          "crates.v2.suites.example.com",
          "old",
          `--namespace=${namespace}`,
          "-o",
          "json"
        ])
        expect(JSON.parse(stdout).spec).toMatchObject({ width: 3, height: 4 })
        // Other tests expect a CRD that has never stored v1.
        expect(yield* Scene.kubectl(cluster, ["delete", "crd", name])).toMatchObject({ exitCode: 0 })
      }),
    Scene.options
  )
})
