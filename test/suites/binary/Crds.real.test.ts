/** The binary on a cluster that does not know its kinds yet. Each test has a server of its own: the kind is one for all. */
import { describe, expect } from "bun:test"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import { live } from "@homeostat/testkit/Test"
import { Effect, type Scope } from "effect"
import * as Managed from "../Managed.ts"
import * as Binary from "./Binary.ts"

const onNewServer = <A, E>(name: string, body: (cluster: ControlPlane) => Effect.Effect<A, E, Scope.Scope>): void =>
  live(name, () => Effect.flatMap(Envtest.start(), body).pipe(Effect.timeout("150 seconds")), 200_000)

const run = (cluster: ControlPlane, ...flags: ReadonlyArray<string>) =>
  Binary.start(["run", "--kubeconfig", cluster.admin.kubeconfigPath, ...flags], Binary.bare(cluster.directory))

const sample = JSON.stringify({
  apiVersion: "apps.kubedojo.io/v1beta1",
  kind: "WebApp",
  metadata: { name: "shop", namespace: "default" },
  spec: { image: "nginx:1.27" }
})

/** What a user sees: the WebApp is accepted, and its Deployment appears. */
const isServed = (cluster: ControlPlane) =>
  Effect.gen(function* () {
    const applied = yield* cluster.kubectl(["apply", "--filename=-"], { stdin: sample })
    expect(applied.stderr).toBe("")
    yield* Managed.eventually(
      "the Deployment of the WebApp",
      cluster.kubectl(["get", "deployment", "shop", "--output=name"]),
      ({ exitCode }) => exitCode === 0
    )
  })

describe("A cluster without the CustomResourceDefinition", () => {
  onNewServer("is waited for, with the kind and what helps in the log, and served once it is applied", (cluster) =>
    Effect.gen(function* () {
      const program = yield* run(cluster)
      const line = yield* program.written(/"level":"warn"/)
      expect(JSON.parse(line).msg).toBe(
        "cannot watch webapps.apps.kubedojo.io in all namespaces: the API server does not serve apps.kubedojo.io/v1beta1 WebApp; install its CustomResourceDefinition"
      )
      expect(program.stderr()).not.toContain("starts with")
      const crd = yield* Binary.run(["crd"], Binary.bare(cluster.directory))
      const applied = yield* cluster.kubectl(["apply", "--filename=-"], { stdin: crd.stdout })
      expect(applied).toMatchObject({ exitCode: 0, stderr: "" })
      yield* program.written(/webapps\.apps\.kubedojo\.io: recovered/, "30 seconds")
      yield* program.written(/Controller webapp starts/, "30 seconds")
      yield* isServed(cluster)
      expect(program.stderr()).not.toContain(`"level":"error"`)
    })
  )

  onNewServer("gets it from --install-crds, as often as it is started, and is served", (cluster) =>
    Effect.gen(function* () {
      const first = yield* run(cluster, "--install-crds")
      yield* first.written(/Controller webapp starts/)
      yield* isServed(cluster)
      yield* first.signal("SIGTERM")
      expect((yield* first.ended("5 seconds")).stderr).not.toContain(`"level":"warn"`)

      const second = yield* run(cluster, "--install-crds")
      yield* second.written(/Controller webapp starts/)
      const versions = yield* cluster.kubectl([
        "get",
        "crd",
        "webapps.apps.kubedojo.io",
        "--output=jsonpath={.metadata.generation} {.metadata.managedFields[*].manager}"
      ])
      expect(versions.stdout).toBe("1 homeostat kube-apiserver")
    })
  )

  onNewServer("that may not be changed by us ends --install-crds with a line that names the right", (cluster) =>
    Effect.gen(function* () {
      const nobody = yield* cluster.addUser({ name: "nobody" })
      const end = yield* Binary.run(
        ["run", "--kubeconfig", nobody.kubeconfigPath, "--install-crds"],
        Binary.bare(cluster.directory)
      )
      expect(end.code).toBe(1)
      expect(end.stderr.trimEnd().split("\n").at(-1)).toMatch(
        /^homeostat: PATCH \/apis\/apiextensions\.k8s\.io\/v1\/customresourcedefinitions\/webapps\.apps\.kubedojo\.io: .*User "nobody" cannot patch resource "customresourcedefinitions"/
      )
    })
  )
})
