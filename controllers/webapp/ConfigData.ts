/**
 * The data of ConfigMaps and Secrets as the cache keeps it: a hash for each key. The cache follows the objects of all tenants, and holds no
 * value of them.
 */
import * as Cache from "@homeostat/runtime/cache/Cache"
import * as Transform from "@homeostat/runtime/cache/Transform"
import * as Owned from "@homeostat/runtime/controller/Owned"
import * as Predicate from "@homeostat/runtime/controller/Predicate"
import * as Trigger from "@homeostat/runtime/controller/Trigger"
import * as BuiltIn from "@homeostat/runtime/resource/BuiltIn"
import { type KubernetesObject, keyOf, type ObjectKey } from "@homeostat/runtime/resource/KubernetesObject"
import * as Resource from "@homeostat/runtime/resource/Resource"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Config from "./Config.ts"
import { WebApp } from "./WebApp.ts"

/** A list of pairs, because recordings hide the values of fields with names such as `password`. */
type Hashes = ReadonlyArray<readonly [key: string, hash: string]>

/** A ConfigMap or Secret with the hash of each value. */
export interface ConfigData extends KubernetesObject {
  readonly hashes: Hashes
}

interface Wire extends KubernetesObject {
  readonly data?: { readonly [key: string]: string }
  readonly binaryData?: { readonly [key: string]: string }
}

const hashesIn = (field: "data" | "binaryData", { [field]: data = {} }: Wire, salt: string): Hashes =>
  Object.entries(data).map(([key, value]) => {
    const hash = new Bun.CryptoHasher("sha256").update(`${salt}\n${field}\n`).update(value).digest("base64url")
    // 132 bits.
    return [key, hash.slice(0, 22)]
  })

const reduce = (object: Wire, salt: string): ConfigData => ({
  ...Transform.existence(object),
  hashes: [...hashesIn("data", object, salt), ...hashesIn("binaryData", object, salt)]
})

/**
 * The hashes reach an annotation of the pods, which more users can read than Secrets. Only readers of a Secret know its random UID, so
 * other users cannot find a short value by trying.
 */
const saltOf = ({ kind }: Resource.Any, { metadata }: KubernetesObject): string =>
  kind === "Secret" ? metadata.uid : ""

const isReduced = (object: KubernetesObject): object is ConfigData => "hashes" in object

const dataOf = (kind: Resource.Any, object: KubernetesObject): ConfigData =>
  isReduced(object) ? object : reduce(object, saltOf(kind, object))

/** The kind with hashes, also of an object that the cache has whole. */
const of = (kind: Resource.Any) =>
  Resource.make<ConfigData, never>({ ...kind, decode: (object) => Result.succeed(dataOf(kind, object)) })

/** The transforms of the caches. Children of other controllers of the program stay whole, because `Owned.apply` compares them. */
export const transforms: ReadonlyArray<Transform.Transform> = [BuiltIn.ConfigMap, BuiltIn.Secret].map((kind) => ({
  resource: kind,
  apply: (object) =>
    object.metadata.annotations?.[Owned.intentAnnotation] === undefined
      ? { ...dataOf(kind, object), apiVersion: "v1", kind: kind.kind }
      : object
}))

const textOf = (kind: Resource.Any, object: KubernetesObject): string =>
  JSON.stringify([...dataOf(kind, object).hashes].sort(([a], [b]) => (a < b ? -1 : 1)))

const changed = (kind: Resource.Any): Predicate.Predicate =>
  Predicate.named("data: its data is as it was", ({ initial, object, previous }) => {
    // The controller reconciles every WebApp then.
    if (initial) return false
    return previous === undefined || textOf(kind, previous) !== textOf(kind, object)
  })

const placeOf = (kind: string, { name, namespace }: ObjectKey): string => `${kind} ${namespace}/${name}`

/** The WebApps by their references. One without `config` and `env` has none, and is not decoded before its reconcile. */
export const index = {
  name: "webapp.config",
  values: (wire: KubernetesObject & { readonly spec?: object }) => {
    const { spec } = wire
    if (spec !== undefined && !("config" in spec) && !("env" in spec)) return noPlaces
    return Result.match(WebApp.decode(wire), {
      onFailure: () => [],
      onSuccess: ({ metadata: { namespace }, spec }) =>
        Config.referencesOf(spec).map(({ kind, name }) => placeOf(kind, { namespace, name }))
    })
  }
}

const noPlaces: ReadonlyArray<string> = []

const kinds = { ConfigMap: of(BuiltIn.ConfigMap), Secret: of(BuiltIn.Secret) }

const watch = (kind: Config.Kind, fieldSelector?: string) =>
  Trigger.on(kinds[kind], {
    fieldSelector,
    predicate: changed(kinds[kind]),
    // One rollout for several objects that a user or a tool writes one after the other.
    delay: "2 seconds",
    map: (object) =>
      Effect.map(
        Cache.list(WebApp, { index: { name: index.name, value: placeOf(kind, keyOf(object)) } }),
        ({ items }) => items.map(keyOf)
      )
  })

/** The watches of the kinds. A release of Helm is a Secret of up to a megabyte, which no pod reads. */
export const watches = [watch("ConfigMap"), watch("Secret", "type!=helm.sh/release.v1")]

/** The references of a WebApp, from the cache. */
export const observe = Effect.fnUntraced(function* (
  { metadata: { namespace } }: WebApp,
  references: ReadonlyArray<Config.Reference>
) {
  const found = new Map<string, ReadonlyMap<string, string> | undefined>()
  for (const { kind, name } of references) {
    const place = placeOf(kind, { namespace, name })
    if (found.has(place)) continue
    const object = Option.getOrUndefined(yield* Cache.get(kinds[kind], { namespace, name }))
    found.set(place, object && new Map(object.hashes))
  }
  return Config.observe(references, ({ kind, name }) => found.get(placeOf(kind, { namespace, name })))
})
