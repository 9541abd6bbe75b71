/** The objects that `kubectl apply -k` would apply, as kubectl renders them. */
import { cp } from "node:fs/promises"
import { join } from "node:path"
import type { BuiltIn } from "@homeostat/runtime"
import * as Assets from "@homeostat/testkit/envtest/Assets"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as Process from "@homeostat/testkit/envtest/Process"
import { Data, Effect, type Scope } from "effect"
import { loadAll } from "js-yaml"

/** The `deploy` folder. */
export const folder = join(import.meta.dir, "../../../deploy")

/** The names of the overlays. Each overlay is one way to install the manager. */
export const names = ["default", "namespaced", "high-availability", "tracing", "monitoring", "webhooks"] as const

/** The folder of an overlay. */
export const path = (name: (typeof names)[number]): string => join(folder, "overlays", name)

/**
 * Creates a folder with this kustomization and a copy of `deploy` at `homeostat/deploy`, as beside a user's checkout. The end of the
 * Scope deletes the folder.
 */
export const own = (kustomization: string): Effect.Effect<string, never, Scope.Scope> =>
  Effect.tap(Directory.make, (made) =>
    Effect.promise(async () => {
      await cp(folder, join(made, "homeostat/deploy"), { recursive: true })
      await Bun.write(join(made, "kustomization.yaml"), kustomization)
    })
  )

/** kubectl cannot render a folder. */
export class NotRendered extends Data.TaggedError("NotRendered")<{ readonly message: string }> {}

/** The fields that all objects have. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: { readonly [label: string]: string }
  }
}

/** The rendered objects of an overlay. */
export interface Rendered {
  readonly all: ReadonlyArray<Manifest>
  /** The only object of the kind, or the one with the name. Throws if there is not exactly one. */
  readonly one: <A extends object>(kind: string, name?: string) => A & Manifest
}

/** The rendered overlays by folder. The folders do not change while tests run. */
const rendered = new Map<string, Rendered>()

/** Renders the kustomization of a folder. Fails with kubectl's message if kubectl fails or warns. */
export const render = (folder: string): Effect.Effect<Rendered, NotRendered | Assets.MissingAsset> =>
  Effect.suspend(() => {
    const known = rendered.get(folder)
    return known === undefined
      ? Effect.tap(renderAnew(folder), (found) => Effect.sync(() => rendered.set(folder, found)))
      : Effect.succeed(known)
  })

const renderAnew = (folder: string): Effect.Effect<Rendered, NotRendered | Assets.MissingAsset> =>
  Effect.gen(function* () {
    const kubectl = yield* Assets.find("kubectl")
    const { exitCode, stderr, stdout } = yield* Process.run(kubectl, ["kustomize", folder])
    if (exitCode !== 0 || stderr !== "") return yield* new NotRendered({ message: stderr })
    // kubectl has parsed these objects itself, and other tests send them to the API server.
    const all = loadAll(stdout) as ReadonlyArray<Manifest>
    return {
      all,
      one: <A extends object>(kind: string, name?: string) => {
        const found = all.filter(
          (object) => object.kind === kind && (name ?? object.metadata.name) === object.metadata.name
        )
        const [first] = found
        if (first === undefined || found.length > 1)
          throw new Error(`${found.length} objects are ${kind} ${name ?? ""}`)
        return first as A & Manifest
      }
    }
  })

/** The manager's Deployment, its pod template and its container. */
export const manager = (rendered: Rendered) => {
  const deployment = rendered.one<BuiltIn.Deployment>("Deployment", "homeostat")
  const template = deployment.spec?.template
  const container = template?.spec?.containers.find(({ name }) => name === "manager")
  if (template === undefined || container === undefined) throw new Error("the Deployment has no container `manager`")
  return { deployment, template, container }
}
