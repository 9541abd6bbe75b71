/** `--install-crds` on a cluster that has the definitions of another version. */
import { expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Kinds from "@homeostat/runtime/command/Kinds"
import * as Crds from "@homeostat/runtime/manager/Crds"
import { CustomResourceDefinition } from "@homeostat/runtime/resource/BuiltIn"
import * as Crd from "@homeostat/runtime/resource/Crd"
import { nameOf } from "@homeostat/runtime/resource/Resource"
import * as Shared from "@homeostat/testkit/Shared"
import { live } from "@homeostat/testkit/Test"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import { loadAll } from "js-yaml"
import { program } from "../../../controllers/main.ts"
import * as Binary from "../binary/Binary.ts"
import * as Managed from "../Managed.ts"
import * as Newer from "./Newer.ts"
import type { Definition } from "./Released.ts"

const name = nameOf(WebApp)

const definition = Client.get(CustomResourceDefinition, { name })

const hasTeam = Effect.map(definition, ({ spec }) =>
  Object.keys(spec.versions[0]?.schema?.openAPIV3Schema?.properties?.spec?.properties ?? {}).includes("team")
)

live(
  "The program does not narrow a definition, logs what it would remove with advice, and works with it, whichever version is first",
  () =>
    Effect.gen(function* () {
      const cluster = yield* Shared.own()
      yield* Effect.gen(function* () {
        // Both versions start at once: on a cluster without CRDs, with the older CRDs, and with the newer CRDs.
        for (const kind of [undefined, WebApp, Newer.NewerWebApp]) {
          if (kind !== undefined) yield* cluster.install(Crd.of(kind))
          const both = [Crds.install([WebApp]), Crds.install([Newer.NewerWebApp])]
          yield* Effect.all(both, { concurrency: "unbounded", discard: true })
          expect(yield* hasTeam).toBe(true)
          yield* Client.delete(CustomResourceDefinition, { name })
          yield* Managed.eventually("it is gone", Effect.result(definition), ({ _tag }) => _tag === "Failure")
        }

        yield* cluster.install(Crd.of(Newer.NewerWebApp))
        const kept = Kinds.of(program).slice(1)
        yield* cluster.install(...kept.map((kind) => Crd.of(kind)))
        const before = yield* definition
        const args = ["run", "--kubeconfig", cluster.admin.kubeconfigPath, "--install-crds"]
        const running = yield* Binary.start(args, Binary.bare(cluster.directory))
        const line = yield* running.written(/was not updated/)
        expect(JSON.parse(line)).toMatchObject({
          level: "warn",
          msg: `CRD ${name} was not updated, because this version would remove or tighten: v1beta1 spec.team is gone: what it holds would be pruned; v1beta1 status.team is gone: what it holds would be pruned. This is expected if a newer version of homeostat installed it. To overwrite it anyway: homeostat crd | kubectl apply --server-side --force-conflicts -f -`
        })
        yield* running.written(/Starting controller webapp/)
        const key = { namespace: "default", name: "shop" }
        yield* Client.create(Newer.NewerWebApp, { metadata: key, spec: { image: "nginx:1.27", ...{ team: "red" } } })
        const shop = yield* Managed.eventually(
          "it is worked on",
          Client.get(Newer.NewerWebApp, key),
          ({ status }) => status?.observedGeneration === 1
        )
        expect(Newer.teamOf(shop.spec)).toBe("red")
        const after = yield* definition
        expect([after.metadata.generation, after.spec]).toEqual([before.metadata.generation, before.spec])
        // One warning for the changed CRD, and no warning for equal CRDs.
        expect(running.stderr().match(/"level":"warn".*CRD|CRD.*"level":"warn"/g)).toHaveLength(1)
        expect(running.stderr()).not.toContain("is applied")

        // The command in the warning installs the CRDs of the older version. The newer version can then install its own again.
        const printed = yield* Binary.run(["crd"], Binary.bare(cluster.directory))
        for (const body of loadAll(printed.stdout) as ReadonlyArray<Definition>) {
          const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${body.metadata.name}`
          const contentType = "application/apply-patch+yaml"
          const query = "?fieldManager=kubectl&force=true"
          expect(yield* cluster.request("PATCH", `${path}${query}`, { body, contentType })).toMatchObject({
            status: 200
          })
        }
        expect(yield* hasTeam).toBe(false)
        yield* Crds.install([Newer.NewerWebApp])
        expect(yield* hasTeam).toBe(true)
      }).pipe(Effect.provide(yield* Managed.client(cluster)))
    }).pipe(Effect.timeout("150 seconds")),
  200_000
)
