/**
 * Tests that kubectl, kstatus (Flux) and Argo CD agree on each state of a WebApp. The states come from a real control plane, and the
 * answers from the tools: kubectl, the library kstatus, and the Lua interpreter of Argo CD with the script of docs/webapp.md.
 */
import { expect } from "bun:test"
import { join } from "node:path"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Deployment, Pod, Service } from "@homeostat/runtime/resource/BuiltIn"
import * as Readiness from "@homeostat/runtime/resource/Readiness"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as Process from "@homeostat/testkit/envtest/Process"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import { load } from "js-yaml"
import * as Markdown from "../docs/Markdown.ts"
import * as Managed from "../Managed.ts"
import * as Peers from "../peers/Peers.ts"
import * as Kubectl from "./Kubectl.ts"
import * as Scene from "./Scene.ts"

const image = "registry.test/web:1"
/** The kubelet of the tests cannot pull the images of these pods. */
const podTemplate = { metadata: { annotations: { "envtest/image-pull-error": "" } } }

const change = (scene: Scene.Scene, name: string, spec: object) =>
  Client.patch(WebApp, scene.key(name), Patch.merge({ spec }))

const changeDeployment = (scene: Scene.Scene, name: string, spec: object) =>
  Client.patch(Deployment, scene.key(name), Patch.merge({ spec }))

const is = (scene: Scene.Scene, name: string, phase: string, reason: string) =>
  Managed.eventually(
    `${name} is ${phase}`,
    Scene.app(scene, name),
    (app) => Scene.isAt(phase)(app) && Scene.condition(app, "Ready")?.reason === reason
  )

/** Brings a WebApp into each state, by its name. */
const states: {
  readonly [name: string]: (scene: Scene.Scene, name: string) => Effect.Effect<unknown, unknown, Client.Client>
} = {
  pending: (scene, name) =>
    Effect.andThen(Scene.create(scene, name, { image, podTemplate }), is(scene, name, "Pending", "ReplicasNotReady")),
  deploying: (scene, name) =>
    Scene.launch(scene, name).pipe(
      Effect.andThen(change(scene, name, { podTemplate })),
      Effect.andThen(is(scene, name, "Deploying", "ReplicasNotReady"))
    ),
  paused: (scene, name) =>
    Scene.launch(scene, name).pipe(
      Effect.andThen(changeDeployment(scene, name, { paused: true })),
      Effect.andThen(change(scene, name, { image: "registry.test/web:2" })),
      Effect.andThen(is(scene, name, "Deploying", "ReplicasNotReady"))
    ),
  running: Scene.launch,
  degraded: (scene, name) =>
    Effect.gen(function* () {
      yield* Scene.launch(scene, name)
      const [pod] = yield* Scene.pods(scene, name)
      const conditions = [{ type: "Ready", status: "False" }]
      yield* Client.status.patch(Pod, scene.key(pod?.metadata.name ?? ""), Patch.strategic({ status: { conditions } }))
      yield* is(scene, name, "Degraded", "ReplicasNotReady")
    }),
  stopped: (scene, name) =>
    Effect.andThen(Scene.create(scene, name, { image, replicas: 0 }), is(scene, name, "Stopped", "ScaledToZero")),
  failed: (scene, name) =>
    Scene.create(scene, name, { image, podTemplate }).pipe(
      Effect.andThen(is(scene, name, "Pending", "ReplicasNotReady")),
      Effect.andThen(changeDeployment(scene, name, { progressDeadlineSeconds: 1 })),
      Effect.andThen(is(scene, name, "Failed", "ProgressDeadlineExceeded"))
    ),
  taken: (scene, name) =>
    Client.create(Service, { metadata: { namespace: scene.namespace, name }, spec: { ports: [{ port: 80 }] } }).pipe(
      Effect.andThen(Scene.create(scene, name)),
      Effect.andThen(is(scene, name, "Failed", "NotOwned"))
    )
}

/** Without a manager: a new WebApp, and one with a new spec. */
const unseen = (scene: Scene.Scene) =>
  Effect.andThen(Scene.create(scene, "new"), change(scene, "changed", { image: "registry.test/web:2" }))

/** The cell of the only row in a table of kubectl. */
const cellOf = (table: string, column: string): string => {
  const [head = "", row = ""] = table.split("\n")
  return row.slice(head.indexOf(column)).replace(/ .*/, "")
}

/** The script of the docs. */
const script = Effect.promise(async () => {
  const page = await Bun.file(join(import.meta.dir, "../../../docs/webapp.md")).text()
  const block = Markdown.blocks(page).find(({ attributes }) => attributes.title === "argocd-cm.yaml")
  const { data } = load(block?.text ?? "") as { readonly data: { readonly [key: string]: string } }
  return data["resource.customizations.health.apps.kubedojo.io_WebApp"] ?? ""
})

interface Health {
  readonly kstatus: string
  readonly argo: string
}

/** Returns the health of objects according to kstatus and Argo CD. */
const healthOf = (folder: string) =>
  Effect.gen(function* () {
    const program = join(Peers.builds, "health")
    yield* Peers.run(["go", "build", "-o", program, "."], { cwd: join(Peers.sources, "health") })
    const file = join(folder, "health.lua")
    yield* Effect.flatMap(script, (text) => Effect.promise(() => Bun.write(file, text)))
    return (object: string) =>
      Effect.map(Process.run(program, [file], { stdin: object }), ({ stderr, stdout }): Health => {
        expect(stderr).toBe("")
        return JSON.parse(stdout)
      })
  })

// A machine with another control plane in KUBEBUILDER_ASSETS can be without Go.
if (Bun.which("go") !== null) {
  Scene.real.empty(
    "kubectl wait, the column, kstatus and Argo CD agree on each state of a WebApp",
    (scene) =>
      Effect.gen(function* () {
        const health = yield* healthOf(yield* Directory.make)
        yield* Scene.during(
          scene.manage(),
          Effect.andThen(
            Effect.forEach(Object.entries(states), ([name, reach]) => reach(scene, name), {
              concurrency: "unbounded",
              discard: true
            }),
            Scene.launch(scene, "changed")
          )
        )
        yield* unseen(scene)
        const rows: Array<ReadonlyArray<string>> = []
        for (const name of [...Object.keys(states), "changed", "new"]) {
          const object = yield* Kubectl.run(scene, ["get", "wa", name, "--output=json"])
          const table = yield* Kubectl.run(scene, ["get", "wa", name, "--output=wide"])
          const { exitCode } = yield* scene.cluster.kubectl([
            ...["wait", `wa/${name}`, "--for=condition=Ready", "--timeout=0"],
            `--namespace=${scene.namespace}`
          ])
          const { argo, kstatus } = yield* health(object)
          expect<string>(Readiness.of(WebApp, yield* Scene.app(scene, name)).state).toBe(kstatus)
          rows.push([name, cellOf(table, "PHASE"), exitCode === 0 ? "ends" : "waits", kstatus, argo])
        }
        expect(rows).toEqual([
          ["pending", "Pending", "waits", "InProgress", "Progressing"],
          ["deploying", "Deploying", "waits", "InProgress", "Progressing"],
          ["paused", "Deploying", "waits", "InProgress", "Progressing"],
          ["running", "Running", "ends", "Current", "Healthy"],
          ["degraded", "Degraded", "waits", "InProgress", "Progressing"],
          ["stopped", "Stopped", "ends", "Current", "Healthy"],
          ["failed", "Failed", "waits", "Failed", "Degraded"],
          ["taken", "Failed", "waits", "Failed", "Degraded"],
          ["changed", "Running", "waits", "InProgress", "Progressing"],
          // Before the first reconcile, the WebApp has only the default status of the CRD.
          ["new", "", "waits", "InProgress", "Progressing"]
        ])
        const explained = yield* Kubectl.run(scene, ["explain", "webapp.status.phase"])
        const phases = rows.slice(0, -1).map(([, phase = ""]) => phase)
        for (const phase of phases) expect(explained.replaceAll(/\s+/g, " ")).toContain(`${phase}: `)
      }),
    Peers.limitMillis
  )
}
