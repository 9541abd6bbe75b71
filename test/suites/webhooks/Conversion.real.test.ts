/** A kind of two versions, on a real and on the embedded API server, which call the program for each conversion. */

import { describe, expect } from "bun:test"
import { join } from "node:path"
import * as Eventually from "@homeostat/testkit/Eventually"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect, Exit, Scope } from "effect"
import * as Binary from "../binary/Binary.ts"
import * as Running from "../binary/Running.ts"
import { launch } from "./Programs.ts"
import * as Scene from "./Scene.ts"

describe.each([
  ["a real", Shared.real],
  ["the embedded", Shared.embedded]
] as const)("A kind of two versions, on %s API server,", (_, on) => {
  on(
    "is stored as v2 and served as v1 and v2, and a failed conversion changes nothing",
    (cluster) =>
      Effect.gen(function* () {
        const namespace = yield* cluster.namespace("crates")
        const first = yield* Scope.make()
        yield* Scene.ready(yield* Scope.provide(launch(cluster, yield* Scene.freePort), first))
        const place = `--namespace=${namespace}`
        const v1 = (name: string, size: string) => ({
          apiVersion: "suites.example.com/v1",
          kind: "Crate",
          metadata: { name, namespace },
          spec: { size }
        })
        const run = (args: ReadonlyArray<string>, input?: object) => Scene.kubectl(cluster, args, input)
        const get = (version: string, name: string) =>
          Effect.map(run(["get", `crates.${version}.suites.example.com`, name, place, "-o", "json"]), ({ stdout }) =>
            JSON.parse(stdout)
          )
        yield* Eventually.eventually(
          "a Crate is admitted with its default",
          run(["apply", "--dry-run=server", "-o", "json", "-f", "-"], v1("probe", "3x4")),
          ({ stdout }) => stdout.includes("brown")
        )

        // Each way, with a default that only the stored version has.
        expect(yield* run(["apply", "-f", "-"], v1("one", "3x4"))).toMatchObject({ exitCode: 0 })
        expect((yield* get("v2", "one")).spec).toEqual({ width: 3, height: 4, colour: "brown" })
        const asV1 = yield* get("v1", "one")
        expect(asV1.spec).toEqual({ size: "3x4" })
        expect(asV1.metadata.annotations["suites.example.com/colour"]).toBe("brown")
        expect(yield* run(["apply", "-f", "-"], v1("one", "5x6"))).toMatchObject({ exitCode: 0 })
        expect((yield* get("v2", "one")).spec).toEqual({ width: 5, height: 6, colour: "brown" })
        expect(yield* run(["apply", "--server-side", "--force-conflicts", "-f", "-"], v1("one", "7x8"))).toMatchObject({
          exitCode: 0
        })
        expect((yield* get("v1", "one")).spec).toEqual({ size: "7x8" })
        const table = yield* run(["get", "crates.v1.suites.example.com", place])
        expect(table.stdout).toMatch(/NAME +SIZE\none +7x8/)

        // A failed conversion.
        const failed = yield* run(["apply", "-f", "-"], v1("two", "large"))
        expect(failed.exitCode).toBe(1)
        expect(failed.stderr).toContain('Crate "two": invalid size: "large" (write it like 3x4)')
        const changed = yield* run(["apply", "-f", "-"], v1("one", "large"))
        expect(changed.exitCode).toBe(1)
        expect((yield* get("v2", "one")).spec).toEqual({ width: 7, height: 8, colour: "brown" })
        expect((yield* run(["get", "crates.v2.suites.example.com", "two", place])).stderr).toContain("NotFound")

        // Checks see the hub, whatever the version of the request.
        const denied = yield* run(["apply", "-f", "-"], v1("three", "13x1"))
        expect(denied.stderr).toContain("spec.width: Invalid value: 13: must not be 13")
        expect(yield* run(["label", "crates.v1.suites.example.com", "one", "keep=yes", place])).toMatchObject({
          exitCode: 0
        })
        const kept = yield* run(["delete", "crates.v1.suites.example.com", "one", place])
        expect(kept.stderr).toContain("the Crate has the label keep=yes (remove it first)")
        expect(yield* run(["label", "crates.v1.suites.example.com", "one", "keep-", place])).toMatchObject({
          exitCode: 0
        })

        // A watch of v1, and the migration of the storage.
        const { resourceVersion } = (yield* get("v1", "one")).metadata
        expect(
          yield* run([
            "patch",
            "crates.v2.suites.example.com",
            "one",
            place,
            "--type=merge",
            '--patch={"spec":{"width":9}}'
          ])
        ).toMatchObject({ exitCode: 0 })
        const watched = yield* cluster.request(
          "GET",
          `/apis/suites.example.com/v1/namespaces/${namespace}/crates?watch=true&timeoutSeconds=2&resourceVersion=${resourceVersion}`
        )
        expect(JSON.stringify(watched)).toContain("9x8")
        const list = yield* run(["get", "crates.v1.suites.example.com", place, "-o", "json"])
        expect(yield* run(["replace", "-f", "-"], JSON.parse(list.stdout))).toMatchObject({ exitCode: 0 })
        const crd = yield* run(["get", "crd", "crates.suites.example.com", "-o", "json"])
        expect(JSON.parse(crd.stdout).status.storedVersions).toEqual(["v2"])

        // A server-side apply of two managers in two versions, of which each owns a part.
        const owned = (manager: string, object: object) =>
          run(["apply", "--server-side", "--force-conflicts", `--field-manager=${manager}`, "-f", "-"], object)
        const metadata = { name: "shared", namespace }
        const wide = { apiVersion: "suites.example.com/v2", kind: "Crate", metadata, spec: { width: 1, height: 2 } }
        for (const [manager, object] of [
          ["a", v1("shared", "1x2")],
          ["b", wide],
          ["a", v1("shared", "1x2")],
          ["b", wide]
        ] as const) {
          expect(yield* owned(manager, object)).toMatchObject({ exitCode: 0 })
        }

        // Built-in kinds have defaults too.
        const map = yield* run(["apply", "-o", "json", "-f", "-"], {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { name: "crate", namespace },
          data: { crate: "" }
        })
        expect(JSON.parse(map.stdout).data).toEqual({ crate: "empty" })

        // The address of the conversion changes from a URL to a Service.
        yield* Scope.close(first, Exit.void)
        yield* launch(cluster, yield* Scene.freePort, { inCluster: true })
        const address = Effect.map(run(["get", "crd", "crates.suites.example.com", "-o", "json"]), ({ stdout }) => {
          const { service, url } = JSON.parse(stdout).spec.conversion.webhook.clientConfig
          return [service?.name, url]
        })
        yield* Eventually.eventually(
          "the new address",
          address,
          ([name, url]) => name === "crates-webhook" && url === undefined
        )
      }),
    Scene.options
  )

  on(
    "of a program without controllers has all versions after its printed CRD is applied again",
    (cluster) =>
      Effect.gen(function* () {
        const namespace = yield* cluster.namespace("pallets")
        const run = (args: ReadonlyArray<string>, input?: object) => Scene.kubectl(cluster, args, input)
        // As docs/webhooks.md describes, because the program of the other test has ended.
        yield* run([
          "delete",
          "validatingwebhookconfigurations,mutatingwebhookconfigurations",
          "-l",
          "app.kubernetes.io/managed-by=crates"
        ])
        const crate = (name: string) => ({
          apiVersion: "suites.example.com/v1",
          kind: "Crate",
          metadata: { name, namespace },
          spec: { size: "3x4" }
        })
        const first = yield* Scope.make()
        const pallets = { program: "pallets" } as const
        yield* Scene.ready(yield* Scope.provide(launch(cluster, yield* Scene.freePort, pallets), first))
        yield* Eventually.eventually(
          "the conversion",
          run(["apply", "-f", "-"], crate("one")),
          ({ exitCode }) => exitCode === 0
        )
        const stored = yield* run([
          "get",
          "crates.v2.suites.example.com",
          "one",
          `--namespace=${namespace}`,
          "-o",
          "json"
        ])
        expect(JSON.parse(stored.stdout).spec).toEqual({ width: 3, height: 4 })
        yield* Scope.close(first, Exit.void)

        // The manager adds the CAs to a printed CRD, without --install-crds.
        const crd = Effect.map(
          run(["get", "crd", "crates.suites.example.com", "-o", "json"]),
          ({ stdout }) => JSON.parse(stdout).spec
        )
        const { code, stdout } = yield* Effect.flatMap(
          Running.start(
            [
              process.execPath,
              join(import.meta.dir, "fixtures", "pallets.ts"),
              "crd",
              "--service-account=default/pallets",
              "-o",
              "json"
            ],
            Binary.bare(cluster.directory)
          ),
          (printing) => printing.ended("1 minute")
        )
        expect(code).toBe(0)
        const printed = JSON.parse(stdout)
        expect(yield* run(["replace", "-f", "-"], printed)).toMatchObject({ exitCode: 0 })
        expect((yield* crd).conversion.webhook.clientConfig.caBundle).toBeUndefined()
        yield* launch(cluster, yield* Scene.freePort, { ...pallets, installs: false, inCluster: true })
        const { caBundle } = yield* Eventually.eventually(
          "the CAs",
          Effect.map(crd, ({ conversion }) => conversion.webhook.clientConfig),
          ({ caBundle }) => caBundle !== undefined
        )
        for (const args of [["apply"], ["apply", "--server-side", "--force-conflicts"]]) {
          expect(yield* run([...args, "-f", "-"], printed)).toMatchObject({ exitCode: 0 })
          const { conversion, versions } = yield* crd
          expect(versions.map(({ name }: { readonly name: string }) => name)).toEqual(["v2", "v1"])
          expect(conversion.webhook.clientConfig).toMatchObject({ service: { name: "pallets-webhook" }, caBundle })
        }
      }),
    Scene.options
  )
})
