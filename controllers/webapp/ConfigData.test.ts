import { describe, expect, test } from "bun:test"
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

/** The part of a named object that is kept. */
const kept = (object: KubernetesObject) =>
  ConfigData.kinds[object.kind === "Secret" ? "Secret" : "ConfigMap"].keep(object)

const hashes = (object: KubernetesObject) => kept(object).hashes

describe("The cache", () => {
  test("keeps name and version of an object, however large its metadata is", () => {
    const note = "x".repeat(250_000)
    const object = { ...configMap({}), metadata: { ...metadata("u"), annotations: { note } } }
    for (const transform of ConfigData.transforms) {
      expect(transform.resource.projection).toBe("metadata")
      expect(transform.apply(object).metadata).toEqual(
        expect.objectContaining({ name: "shop", namespace: "default", uid: "u", resourceVersion: "1" })
      )
      expect(JSON.stringify(transform.apply(object)).length).toBeLessThan(300)
    }
  })
  test("keeps the keys and hashes of a named object, and no value", () => {
    const object = configMap({ theme: "dark", "app.yaml": "level: 9" }, { binaryData: { logo: "AAEC" } })
    const { labels: _, annotations: __, ...identity } = object.metadata
    const hash = expect.stringMatching(/^[\w-]{22}$/)
    expect<unknown>(kept(object)).toEqual({
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
  test("keeps no key of an object with too many of them", () => {
    const data = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`key-${at}`, ""]))
    const { excess, hashes } = kept(configMap(data))
    expect(hashes).toEqual([])
    expect(excess).toBe(Object.keys(data).reduce((sum, key) => sum + key.length + 22, 0))
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
  test("finds the same hashes as earlier releases, so that an upgrade rolls out nothing", () => {
    expect([hashes(configMap({ a: "1" })), hashes(secret("one", { pin: "MTIzNA==" }))]).toEqual([
      [["a", "8iR8j1G3l2QX1TFgHuw1Qw"]],
      [["pin", "3oITNAO3q4gEsk-TeHXJld"]]
    ])
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
    expect(ConfigData.watches.map(({ select }) => select?.fields)).toEqual([undefined, "type!=helm.sh/release.v1"])
    expect(ConfigData.watches.map(({ resource }) => [resource.kind, resource.projection])).toEqual([
      ["ConfigMap", "metadata"],
      ["Secret", "metadata"]
    ])
  })
})
