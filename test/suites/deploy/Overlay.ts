/** What `kubectl apply -k` would apply: the objects of an overlay, as kubectl renders them. */
import { cp } from "node:fs/promises"
import { join } from "node:path"
import type { BuiltIn } from "@homeostat/runtime"
import * as Assets from "@homeostat/testkit/envtest/Assets"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as Process from "@homeostat/testkit/envtest/Process"
import { Data, Effect, type Scope } from "effect"
import { loadAll } from "js-yaml"

/** The folder with everything that is installed. */
export const folder = join(import.meta.dir, "../../../deploy")

/** The overlays, each of which is a way to install. */
export const names = ["default", "namespaced", "high-availability", "tracing", "monitoring", "webhooks"] as const

/** The folder of an overlay. */
export const path = (name: (typeof names)[number]): string => join(folder, "overlays", name)

/**
 * A folder of somebody's own with a kustomization in it, beside a checkout: this folder is `homeostat/deploy` there.
 */
export const own = (kustomization: string): Effect.Effect<string, never, Scope.Scope> =>
  Effect.tap(Directory.make, (made) =>
    Effect.promise(async () => {
      await cp(folder, join(made, "homeostat/deploy"), { recursive: true })
      await Bun.write(join(made, "kustomization.yaml"), kustomization)
    })
  )

/** kubectl can't make objects of a folder. */
export class NotRendered extends Data.TaggedError("NotRendered")<{ readonly message: string }> {}

/** An object, as far as all of them are alike. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: { readonly [label: string]: string }
  }
}

/** Some objects. */
export interface Rendered {
  readonly all: ReadonlyArray<Manifest>
  /** The one of a kind, or the one of that name; none is a defect. */
  readonly one: <A extends object>(kind: string, name?: string) => A & Manifest
}

/** What was rendered already: the folders do not change while tests run. */
const rendered = new Map<string, Rendered>()

/** The objects of a folder with a kustomization. */
export const render = (folder: string): Effect.Effect<Rendered, NotRendered | Assets.MissingAsset> =>
  Effect.suspend(() => {
    const known = rendered.get(folder)
    return known === undefined
      ? Effect.tap(renderAnew(folder), (found) => rendered.set(folder, found))
      : Effect.succeed(known)
  })

const renderAnew = (folder: string): Effect.Effect<Rendered, NotRendered | Assets.MissingAsset> =>
  Effect.gen(function* () {
    const kubectl = yield* Assets.find("kubectl")
    const { exitCode, stderr, stdout } = yield* Process.run(kubectl, ["kustomize", folder])
    if (exitCode !== 0 || stderr !== "") return yield* new NotRendered({ message: stderr })
    // They are what kubectl has read itself, and what the API server is asked about by other tests.
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

/** The manager's Deployment, its pod, and the container in it. */
export const manager = (rendered: Rendered) => {
  const deployment = rendered.one<BuiltIn.Deployment>("Deployment", "homeostat")
  const template = deployment.spec?.template
  const container = template?.spec?.containers.find(({ name }) => name === "manager")
  if (template === undefined || container === undefined) throw new Error("the Deployment has no container `manager`")
  return { deployment, template, container }
}
