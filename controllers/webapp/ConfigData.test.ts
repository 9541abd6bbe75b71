import { describe, expect, test } from "bun:test"
import * as BuiltIn from "@homeostat/runtime/resource/BuiltIn"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import * as ConfigData from "./ConfigData.ts"

const metadata = (uid: string) => ({
  name: "shop",
  namespace: "default",
  uid,
  resourceVersion: "1",
  creationTimestamp: "2026-11-20T08:00:00Z",
  labels: { app: "shop" },
  annotations: { note: "long" }
})

const configMap = (data: object, more: object = {}) => ({ kind: "ConfigMap", metadata: metadata("u"), data, ...more })
const secret = (uid: string, data: object) => ({ kind: "Secret", metadata: metadata(uid), data, type: "Opaque" })

/** The cached object. */
const kept = (object: KubernetesObject) => {
  const transform = ConfigData.transforms.find(({ resource }) => resource.kind === object.kind)
  return transform?.apply(object)
}

const hashes = (object: KubernetesObject) => {
  const found = kept(object)
  return found !== undefined && "hashes" in found ? found.hashes : undefined
}

describe("The cache", () => {
  test("keeps identity, keys and hashes of an object, and no value", () => {
    const object = configMap({ theme: "dark", "app.yaml": "level: 9" }, { binaryData: { logo: "AAEC" } })
    const { labels: _, annotations: __, ...identity } = object.metadata
    const hash = expect.stringMatching(/^[\w-]{22}$/)
    expect<unknown>(kept(object)).toEqual({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: identity,
      hashes: [
        ["theme", hash],
        ["app.yaml", hash],
        ["logo", hash]
      ]
    })
    expect(JSON.stringify([kept(object), kept(secret("u", { password: "c2VjcmV0" }))])).not.toMatch(
      /dark|level|AAEC|c2V/
    )
    expect(hashes(configMap({}))).toEqual([])
    expect(hashes({ kind: "Secret", metadata: metadata("u") })).toEqual([])
  })
  test("keeps a child of another controller whole, because Owned.apply compares it", () => {
    const child = configMap({ a: "1" })
    const owned = { ...child, metadata: { ...child.metadata, annotations: { "homeostat.dev/intent": "x" } } }
    expect(kept(owned)).toBe(owned)
  })
  test("finds the same hash in two ConfigMaps, and another one in a binary value", () => {
    const hash = hashes(configMap({ a: "1" }))
    expect(hashes({ ...configMap({ a: "1" }), metadata: metadata("other") })).toEqual(hash)
    expect(hashes(configMap({}, { binaryData: { a: "1" } }))).not.toEqual(hash)
  })
  test("salts the hashes of a Secret with its UID, which only its readers know", () => {
    const hash = hashes(secret("one", { pin: "MTIzNA==" }))
    expect(hashes(secret("one", { pin: "MTIzNA==" }))).toEqual(hash)
    expect(hashes(secret("two", { pin: "MTIzNA==" }))).not.toEqual(hash)
    expect(hashes(configMap({ pin: "MTIzNA==" }))).not.toEqual(hash)
  })
})

describe("A change of a ConfigMap", () => {
  const [trigger] = ConfigData.watches
  const change = (previous: KubernetesObject | undefined, object: KubernetesObject, initial = false) =>
    trigger?.predicate?.({
      type: previous === undefined ? "added" : "updated",
      previous,
      object,
      initial,
      relisted: false,
      receivedAt: 0
    })
  const reduced = (data: object) => kept(configMap(data)) ?? expect.unreachable("no transform")

  test("triggers with its data, not with its metadata", () => {
    expect(change(reduced({ a: "1" }), reduced({ a: "1" }))).toBe(false)
    expect(change(reduced({ a: "1", b: "2" }), reduced({ b: "2", a: "1" }))).toBe(false)
    expect(change(reduced({ a: "1" }), reduced({ a: "2" }))).toBe(true)
    expect(change(reduced({ a: "1" }), reduced({ a: "1", b: "" }))).toBe(true)
    expect(change(configMap({ a: "1" }), reduced({ a: "1" }))).toBe(false)
  })
  test("triggers when it is created, but not with the first list", () => {
    expect(change(undefined, reduced({}))).toBe(true)
    expect(change(undefined, reduced({}), true)).toBe(false)
  })
})

describe("A WebApp is indexed", () => {
  test("by the ConfigMaps and Secrets of config and env", () => {
    const spec = {
      image: "nginx:1.27",
      config: [
        { configMap: "files", mountPath: "/etc/app" },
        { secret: "keys", env: {} }
      ],
      env: [
        { name: "A", valueFrom: { configMapKeyRef: { name: "theme", key: "a" } } },
        { name: "B", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }
      ]
    }
    expect(ConfigData.index.values({ metadata: metadata("u"), ...{ spec } })).toEqual([
      "ConfigMap default/files",
      "Secret default/keys",
      "ConfigMap default/theme"
    ])
    expect(ConfigData.index.values({ metadata: metadata("u"), ...{ spec: { image: 7 } } })).toEqual([])
  })
  test("and Secrets of Helm are not watched", () => {
    expect(ConfigData.watches.map(({ fieldSelector }) => fieldSelector)).toEqual([
      undefined,
      "type!=helm.sh/release.v1"
    ])
    expect(ConfigData.watches.map(({ resource }) => resource.kind)).toEqual([
      BuiltIn.ConfigMap.kind,
      BuiltIn.Secret.kind
    ])
  })
})
