/**
 * The ConfigMaps and Secrets that WebApps name. The cache follows those of all tenants, and keeps their names and versions. Those that a
 * WebApp names are read once per version, and a hash is kept for each key. No value is kept.
 */
import * as Cache from "@homeostat/runtime/cache/Cache"
import * as Transform from "@homeostat/runtime/cache/Transform"
import * as Access from "@homeostat/runtime/controller/Access"
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
interface ConfigData extends KubernetesObject {
  readonly hashes: Hashes
  /** The length of the keys beyond `Config.mostKeys`: then there is no hash. */
  readonly excess?: number
}

interface Wire extends KubernetesObject {
  readonly data?: { readonly [key: string]: string }
  readonly binaryData?: { readonly [key: string]: string }
}

/** 132 bits. */
const hashLength = 22

const hashesIn = (field: "data" | "binaryData", { [field]: data = {} }: Wire, salt: string): Hashes =>
  Object.entries(data).map(([key, value]) => {
    const hash = new Bun.CryptoHasher("sha256").update(`${salt}\n${field}\n`).update(value).digest("base64url")
    return [key, hash.slice(0, hashLength)]
  })

const lengthOf = ({ binaryData = {}, data = {} }: Wire): number =>
  [...Object.keys(data), ...Object.keys(binaryData)].reduce((sum, key) => sum + key.length + hashLength, 0)

const reduce = (object: Wire, salt: string): ConfigData => {
  const length = lengthOf(object)
  const { metadata } = Transform.existence(object)
  return length > Config.mostKeys
    ? { metadata, hashes: [], excess: length }
    : { metadata, hashes: [...hashesIn("data", object, salt), ...hashesIn("binaryData", object, salt)] }
}

/**
 * The hashes reach an annotation of the pods, which more users can read than Secrets. Only readers of a Secret know its random UID, so
 * other users cannot find a short value by trying.
 */
const saltOf = ({ kind }: Resource.Any, { metadata }: KubernetesObject): string =>
  kind === "Secret" ? metadata.uid : ""

const isReduced = (object: KubernetesObject): object is ConfigData => "hashes" in object

/** The kind with hashes, from the wire form or from the kept form, and the part of an object to keep. */
const of = (kind: Resource.Any) => {
  const keep = (object: KubernetesObject): ConfigData =>
    isReduced(object) ? object : reduce(object, saltOf(kind, object))
  return { kind: Resource.make<ConfigData, never>({ ...kind, decode: (object) => Result.succeed(keep(object)) }), keep }
}

/** The kinds with hashes. */
export const kinds = { ConfigMap: of(BuiltIn.ConfigMap), Secret: of(BuiltIn.Secret) }

/** Labels and annotations of other users' objects may be large, too. */
export const transforms: ReadonlyArray<Transform.Transform> = [BuiltIn.ConfigMap, BuiltIn.Secret].map((kind) => ({
  resource: Resource.metadataOnly(kind),
  apply: Transform.existence
}))

/** The reads of the objects that WebApps name. */
export const access: ReadonlyArray<Access.Access> = [Access.get(BuiltIn.ConfigMap), Access.get(BuiltIn.Secret)]

/** The controller reconciles every WebApp with the first list. */
const isNews = Predicate.named("news: the first list", ({ initial }) => !initial)

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

const watch = (kind: Config.Kind, fields?: string) =>
  Trigger.onMetadata(kinds[kind].kind, {
    select: { fields },
    predicate: isNews,
    // One rollout for several objects that a user or a tool writes one after the other.
    delay: "2 seconds",
    map: (object) =>
      Effect.map(
        Cache.list(WebApp, { index: { name: index.name, value: placeOf(kind, keyOf(object)) } }),
        ({ items }) => items.map(keyOf)
      )
  })

/** The watches of the kinds. A release of Helm is a Secret which no pod reads. */
export const watches = [watch("ConfigMap"), watch("Secret", "type!=helm.sh/release.v1")]

/** The references of a WebApp. */
export const observe = Effect.fnUntraced(function* (
  { metadata: { namespace } }: WebApp,
  references: ReadonlyArray<Config.Reference>
) {
  const found = new Map<string, Config.Data | undefined>()
  for (const { kind, name } of references) {
    const place = placeOf(kind, { namespace, name })
    if (found.has(place)) continue
    const named = kinds[kind]
    const object = Option.getOrUndefined(yield* Cache.getWhole(named.kind, { namespace, name }, named.keep))
    found.set(place, object && { hashes: new Map(object.hashes), excess: object.excess })
  }
  return Config.observe(references, ({ kind, name }) => found.get(placeOf(kind, { namespace, name })))
})
