/** Tests of the WebApp kind in kubectl, with the CRD that the program prints. */
import { describe, expect } from "bun:test"
import { join } from "node:path"
import * as Client from "@homeostat/runtime/client/Client"
import { CustomResourceDefinition } from "@homeostat/runtime/resource/BuiltIn"
import * as Process from "@homeostat/testkit/envtest/Process"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Kubectl from "./Kubectl.ts"
import * as Scene from "./Scene.ts"

const root = join(import.meta.dir, "../../..")

const image = "registry.test/web:1"

describe.concurrent("kubectl, of the WebApp kind,", () => {
  Scene.real.empty(
    "takes the definitions that the program prints, and finds nothing to change the second time",
    (scene) =>
      Effect.gen(function* () {
        const printed = yield* Process.run(process.execPath, [join(root, "controllers/main.ts"), "crd"])
        expect(printed).toMatchObject({ exitCode: 0, stderr: "" })
        const names = ["webapps.apps.kubedojo.io", "backups.backup.example.com", "restores.backup.example.com"]
        const apply = Kubectl.run(scene, ["apply", "--filename=-"], printed.stdout)
        const applied = (yield* apply).split("\n").map((line) => line.replace(/ (created|configured|unchanged)$/, ""))
        expect(applied).toEqual(names.map((name) => `customresourcedefinition.apiextensions.k8s.io/${name}`))
        expect((yield* apply).split("\n")).toEqual(applied.map((definition) => `${definition} unchanged`))
        const { status } = yield* Client.get(CustomResourceDefinition, { name: "webapps.apps.kubedojo.io" })
        const conditions = new Map(status?.conditions?.map(({ status, type }) => [type, status]))
        expect(Object.fromEntries(conditions)).toMatchObject({ NamesAccepted: "True", Established: "True" })
        expect(conditions.has("NonStructuralSchema")).toBe(false)
      })
  )

  Scene.real.empty("stores the tutorial's manifest field for field", (scene) =>
    Effect.gen(function* () {
      const manifest = `
apiVersion: apps.kubedojo.io/v1beta1
kind: WebApp
metadata:
  name: demo-app
spec:
  image: nginx:1.27
  replicas: 3
  port: 80
`
      expect(yield* Kubectl.run(scene, ["apply", "--filename=-"], manifest)).toBe(
        "webapp.apps.kubedojo.io/demo-app created"
      )
      expect((yield* Scene.app(scene, "demo-app")).spec).toEqual({ image: "nginx:1.27", replicas: 3, port: 80 })
    })
  )

  Scene.real.empty("the error names the invalid field", (scene) =>
    Effect.gen(function* () {
      const manifest = {
        apiVersion: "apps.kubedojo.io/v1beta1",
        kind: "WebApp",
        metadata: { name: "shop" },
        spec: { image, replicas: 51 }
      }
      const error = yield* Effect.flip(Kubectl.run(scene, ["apply", "--filename=-"], manifest))
      expect(error.message).toContain('The WebApp "shop" is invalid: spec.replicas: Invalid value: 51')
      const misspelt = { ...manifest, spec: { image, replica: 3 } }
      const unknown = yield* Effect.flip(Kubectl.run(scene, ["apply", "--filename=-"], misspelt))
      expect(unknown.message).toContain('unknown field "spec.replica"')
    })
  )

  Scene.real.empty("explains what the fields are for", (scene) =>
    Effect.gen(function* () {
      const explain = (path: string) =>
        // Kubectl wraps long lines.
        Effect.map(Kubectl.run(scene, ["explain", path]), (text) => text.replaceAll(/\s+/g, " "))
      // The API server publishes the schema of a kind some seconds after it serves the kind.
      const kind = yield* Managed.eventually("explain knows the kind", explain("webapp"), () => true)
      expect(kind).toContain("A container image that runs in a number of pods behind a Service of the same name.")
      const spec = yield* explain("webapp.spec")
      expect(spec).toContain("image <string> -required- The container image to run, such as nginx:1.27.")
      expect(spec).toContain(
        "port <integer> The TCP port that the container listens on; the Service offers the same one."
      )
      expect(yield* explain("webapp.spec.replicas")).toContain("How many pods should run; 0 stops the application.")
      expect(yield* explain("wa.spec.env.valueFrom.secretKeyRef")).toContain("The name of the Secret.")
      expect(yield* explain("webapp.status.phase")).toContain(
        "ENUM: Pending Deploying Running Degraded Stopped Failed DESCRIPTION: The conditions in one word"
      )
    })
  )
})
