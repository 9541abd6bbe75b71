/** Defines kinds for a single case, each in its own group. */
import * as Json from "@homeostat/apiserver/model/Json"
import { Effect, type Scope } from "effect"
import * as Schema from "../comparison/Schema.ts"
import { eventually } from "./Case.ts"
import type * as Raw from "./Raw.ts"
import type { Scene } from "./Scene.ts"

export const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

/** A kind `Thing` in its own group. */
export interface Things {
  readonly group: string
  /** The path of the namespace's Things, or of one of them. */
  readonly path: (name?: string) => string
  readonly thing: (name: string, members?: Json.JsonObject) => Json.JsonObject
  readonly create: (name: string, members?: Json.JsonObject) => Effect.Effect<Json.JsonObject, Raw.NoAnswer>
}

export const definition = (group: string, more: Json.JsonObject = {}): Json.JsonObject => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `things.${group}` },
  spec: {
    group,
    scope: "Namespaced",
    names: { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: Schema.object({ spec: Schema.open, status: Schema.open }) }
      }
    ],
    ...more
  }
})

/** Creates the CRD until the end of the Scope, and waits until the server lists Things. */
export const install = (scene: Scene, more?: Json.JsonObject): Effect.Effect<Things, Raw.NoAnswer, Scope.Scope> =>
  Effect.gen(function* () {
    const group = `g${crypto.randomUUID().slice(0, 8)}.example.com`
    const things = of(scene, group)
    yield* Effect.addFinalizer(() => Effect.ignore(scene.request("DELETE", `${path}/things.${group}`)))
    yield* scene.done("POST", path, { json: definition(group, more) })
    yield* served(scene, things.path())
    return things
  })

/** Waits until the server can list the path. */
export const served = (scene: Scene, path: string): Effect.Effect<unknown, Raw.NoAnswer> =>
  eventually(scene.done("GET", path))

export const of = (scene: Scene, group: string, version = "v1"): Things => {
  const thing = (name: string, members: Json.JsonObject = {}): Json.JsonObject => ({
    apiVersion: `${group}/${version}`,
    kind: "Thing",
    ...members,
    metadata: { name, ...Json.object(members.metadata) }
  })
  const path = (name?: string) => scene.path(`${group}/${version}/things`, name)
  return {
    group,
    path,
    thing,
    create: (name, members) => scene.done("POST", path(), { json: thing(name, members) })
  }
}
