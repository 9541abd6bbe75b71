/** A namespace on a cluster that serves WebApps, and requests of the administrator. */
import { expect } from "bun:test"
import * as Json from "@homeostat/apiserver/model/Json"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import { Effect, type Exit, type Scope } from "effect"
import * as Raw from "./Raw.ts"
import * as WebApps from "./WebApps.ts"

export interface Scene {
  readonly cluster: ControlPlane
  readonly namespace: string
  /** The path of the namespace's WebApps, or of one of them. */
  readonly webapps: (name?: string) => string
  /**
   * The path of a built-in kind in the namespace, or of one object: `path("configmaps")`, `path("apps/v1/deployments", "d")`.
   */
  readonly path: (resource: string, name?: string) => string
  readonly request: (method: string, path: string, options?: Raw.Options) => Effect.Effect<Raw.Answer, Raw.NoAnswer>
  /** The body of a response with status 200 or 201. Any other status fails the test. */
  readonly done: (method: string, path: string, options?: Raw.Options) => Effect.Effect<Json.JsonObject, Raw.NoAnswer>
  /** Creates a WebApp and returns the stored object. */
  readonly create: (name: string, members?: Json.JsonObject) => Effect.Effect<Json.JsonObject, Raw.NoAnswer>
  readonly watch: (path: string, options?: Raw.Options) => Effect.Effect<Raw.Watch, Raw.NoAnswer, Scope.Scope>
}

export const make = (cluster: ControlPlane) =>
  Effect.gen(function* () {
    yield* installed(cluster)
    return of(cluster, yield* cluster.namespace("conformance"))
  })

/** An existing namespace. */
export const of = (cluster: ControlPlane, namespace: string): Scene => {
  const request: Scene["request"] = (method, path, options) => Raw.request(cluster.admin, method, path, options)
  const done: Scene["done"] = (method, path, options) =>
    Effect.map(request(method, path, options), (answer) => {
      if (answer.status !== 200 && answer.status !== 201) throw new Error(`${method} ${path}: ${answer.text}`)
      return Json.object(answer.body)
    })
  const path: Scene["path"] = (resource, name) => {
    const [plural = "", version = "v1", group] = resource.split("/").reverse()
    const root = group === undefined ? `/api/${version}` : `/apis/${group}/${version}`
    return `${root}/namespaces/${namespace}/${plural}${name === undefined ? "" : `/${name}`}`
  }
  const webapps: Scene["webapps"] = (name) => path(`${WebApps.groupVersion}/webapps`, name)
  return {
    cluster,
    namespace,
    webapps,
    path,
    request,
    done,
    create: (name, members) => done("POST", webapps(), { json: WebApps.webapp(name, members) }),
    watch: (path, options) => Raw.watch(cluster.admin, path, options)
  }
}

/** The resourceVersion as a number. */
export const revision = (object: Json.Json | undefined): number => {
  const text = Json.text(Json.at(object, "metadata", "resourceVersion")) ?? ""
  expect(text).toMatch(/^[1-9][0-9]*$/)
  return Number(text)
}

const installations = new WeakMap<ControlPlane, Promise<Exit.Exit<void, unknown>>>()

/** Installs the kind once per control plane. */
const installed = (cluster: ControlPlane): Effect.Effect<void, unknown> =>
  Effect.suspend(() => {
    const made = installations.get(cluster) ?? Effect.runPromiseExit(cluster.install(WebApps.definition))
    installations.set(cluster, made)
    return Effect.flatten(Effect.promise(() => made))
  })
