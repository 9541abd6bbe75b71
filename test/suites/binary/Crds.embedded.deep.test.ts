/** The program on a cluster without its kinds. Each test has a separate server, because CRDs belong to the whole cluster. */
import { describe, expect } from "bun:test"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Shared from "@homeostat/testkit/Shared"
import { live } from "@homeostat/testkit/Test"
import { Effect, type Scope } from "effect"
import { loadAll } from "js-yaml"
import * as Managed from "../Managed.ts"
import * as Binary from "./Binary.ts"

const onNewServer = <A, E>(name: string, body: (cluster: ControlPlane) => Effect.Effect<A, E, Scope.Scope>): void =>
  live(name, () => Effect.flatMap(Shared.own(), body).pipe(Effect.timeout("150 seconds")), 200_000)

const run = (cluster: ControlPlane, ...flags: ReadonlyArray<string>) =>
  Binary.start(["run", "--kubeconfig", cluster.admin.kubeconfigPath, ...flags], Binary.bare(cluster.directory))

const sample = {
  apiVersion: "apps.kubedojo.io/v1beta1",
  kind: "WebApp",
  metadata: { name: "shop" },
  spec: { image: "nginx:1.27" }
}

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

/** Checks the user's view: the API server accepts a WebApp, and its Deployment appears. */
const isServed = (cluster: ControlPlane) =>
  Effect.gen(function* () {
    const made = yield* cluster.request("POST", "/apis/apps.kubedojo.io/v1beta1/namespaces/default/webapps", {
      body: sample
    })
    expect(made).toMatchObject({ status: 201 })
    yield* Managed.eventually(
      "the Deployment of the WebApp",
      cluster.request("GET", "/apis/apps/v1/namespaces/default/deployments/shop"),
      ({ status }) => status === 200
    )
  })

describe.concurrent("A cluster without the CustomResourceDefinition", () => {
  onNewServer("makes the manager wait, with the kind and advice in the log, until it is applied", (cluster) =>
    Effect.gen(function* () {
      const program = yield* run(cluster)
      for (const [plural, kind] of [
        ["webapps.apps.kubedojo.io", "apps.kubedojo.io/v1beta1 WebApp"],
        ["backups.backup.example.com", "backup.example.com/v1 Backup"],
        ["restores.backup.example.com", "backup.example.com/v1 Restore"]
      ]) {
        const line = yield* program.written(
          new RegExp(`"level":"warn".*cannot list ${plural}|cannot list ${plural}.*"level":"warn"`)
        )
        expect(JSON.parse(line).msg).toBe(
          `cannot list ${plural} in all namespaces: the API server does not serve ${kind}; install its CustomResourceDefinition`
        )
      }
      expect(program.stderr()).not.toContain("starts with")
      const crd = yield* Binary.run(["crd"], Binary.bare(cluster.directory))
      for (const body of loadAll(crd.stdout)) {
        expect(yield* cluster.request("POST", definitions, { body })).toMatchObject({ status: 201 })
      }
      for (const plural of ["webapps.apps.kubedojo.io", "backups.backup.example.com", "restores.backup.example.com"]) {
        yield* program.written(new RegExp(`${plural}: recovered`), "30 seconds")
      }
      for (const name of ["webapp", "backup", "restore"]) {
        yield* program.written(new RegExp(`Starting controller ${name}`), "30 seconds")
      }
      yield* isServed(cluster)
      expect(program.stderr()).not.toContain(`"level":"error"`)
    })
  )

  onNewServer("gets it from --install-crds at each start", (cluster) =>
    Effect.gen(function* () {
      const first = yield* run(cluster, "--install-crds")
      yield* first.written(/Starting controller webapp/)
      yield* isServed(cluster)
      yield* first.signal("SIGTERM")
      expect((yield* first.ended("5 seconds")).stderr).not.toContain(`"level":"warn"`)

      const second = yield* run(cluster, "--install-crds")
      yield* second.written(/Starting controller webapp/)
      const { body } = yield* cluster.request("GET", `${definitions}/webapps.apps.kubedojo.io`)
      const { generation, managedFields } = JSON.parse(body).metadata
      expect([generation, managedFields.map(({ manager }: { manager: string }) => manager)]).toEqual([
        1,
        ["homeostat", "kube-apiserver"]
      ])
    })
  )
})
