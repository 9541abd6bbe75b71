import { describe, expect, test } from "bun:test"
import * as Config from "./Config.ts"
import { desiredDeployment, templateOf } from "./children.ts"
import type { WebApp } from "./WebApp.ts"

const metadata = {
  name: "shop",
  namespace: "default",
  uid: "u",
  resourceVersion: "1",
  creationTimestamp: "2026-11-20T08:00:00Z"
}

type Spec = Partial<WebApp["spec"]>

const app = (spec: Spec): WebApp => ({ metadata, spec: { image: "nginx:1.27", replicas: 2, port: 8080, ...spec } })

const podOf = (spec: Spec) => desiredDeployment(app(spec)).spec?.template.spec
const containerOf = (spec: Spec) => podOf(spec)?.containers[0]

describe("An entry of config", () => {
  test("with a mountPath is a volume of all keys and a read-only mount", () => {
    const pod = podOf({
      config: [
        { configMap: "shop", mountPath: "/etc/shop" },
        { secret: "shop", mountPath: "/etc/keys", optional: true }
      ]
    })
    const [file = "", secret = ""] = pod?.volumes?.map(({ name }) => name) ?? []
    expect(pod?.volumes).toEqual([
      { name: file, configMap: { name: "shop" } },
      { name: secret, secret: { secretName: "shop", optional: true } }
    ])
    expect(pod?.containers[0]?.volumeMounts).toEqual([
      { name: file, mountPath: "/etc/shop", readOnly: true },
      { name: secret, mountPath: "/etc/keys", readOnly: true }
    ])
    expect(file).toMatch(/^config-[0-9a-f]{10}$/)
  })
  test("with a mountPath and keys has only the files of these keys", () =>
    expect(podOf({ config: [{ configMap: "shop", mountPath: "/etc", keys: ["a", "b", "a"] }] })?.volumes).toEqual([
      {
        name: expect.any(String),
        configMap: {
          name: "shop",
          items: [
            { key: "a", path: "a" },
            { key: "b", path: "b" }
          ]
        }
      }
    ]))
  test("shares its volume with another path, and keeps the name of the volume in another order", () => {
    const one = { configMap: "shop", mountPath: "/one" }
    const two = { configMap: "shop", mountPath: "/two" }
    const other = { secret: "shop", mountPath: "/other" }
    const first = podOf({ config: [one, two, other] })
    const second = podOf({ config: [other, two, one] })
    expect(first?.volumes?.length).toBe(2)
    expect(second?.volumes).toEqual(first?.volumes?.toReversed())
    expect(first?.containers[0]?.volumeMounts?.length).toBe(3)
  })
  test("with env is a source of all variables, after those of the podTemplate", () => {
    const podTemplate = { spec: { containers: [{ name: "app", envFrom: [{ configMapRef: { name: "base" } }] }] } }
    const config = [
      { configMap: "shop", env: { prefix: "SHOP_" } },
      { secret: "shop", env: {}, optional: true }
    ]
    expect(containerOf({ config, podTemplate })?.envFrom).toEqual([
      { configMapRef: { name: "base" } },
      { prefix: "SHOP_", configMapRef: { name: "shop" } },
      { secretRef: { name: "shop", optional: true } }
    ])
    expect(containerOf({ config })?.env).toBeUndefined()
  })
  test("with env and keys is one variable for each key, which spec.env and a later entry override", () => {
    const env = [{ name: "MODE", value: "a" }]
    const config = [
      { configMap: "shop", env: { prefix: "P_" }, keys: ["theme", "theme"] },
      { configMap: "shop", env: {}, keys: ["MODE", "LEVEL"] },
      { secret: "shop", env: {}, keys: ["LEVEL"], optional: true }
    ]
    expect(containerOf({ env, config })?.env).toEqual([
      { name: "P_theme", valueFrom: { configMapKeyRef: { name: "shop", key: "theme" } } },
      { name: "LEVEL", valueFrom: { secretKeyRef: { name: "shop", key: "LEVEL", optional: true } } },
      { name: "MODE", value: "a" }
    ])
    expect(containerOf({ config })?.envFrom).toBeUndefined()
  })
})

const [data, other] = [new Map([["a", "1"]]), new Map([["b", "2"]])]

const find =
  (objects: { readonly [place: string]: ReadonlyMap<string, string> }): Config.Find =>
  ({ kind, name }) => {
    const hashes = objects[`${kind} ${name}`]
    return hashes && { hashes }
  }

const observed = (spec: Spec, objects: { readonly [place: string]: ReadonlyMap<string, string> }) =>
  Config.observe(Config.referencesOf(app(spec).spec), find(objects))

const hash = (
  config: NonNullable<Spec["config"]>,
  objects: { readonly [place: string]: ReadonlyMap<string, string> }
) => observed({ config }, objects)?.hash

describe("The hash", () => {
  const whole = [{ configMap: "shop", mountPath: "/etc" }]
  const some = [{ configMap: "shop", mountPath: "/etc", keys: ["a"] }]
  const both = new Map([...data, ...other])

  test("is not there without references", () => {
    expect(observed({ env: [{ name: "A", value: "1" }] }, {})).toBeUndefined()
    expect(desiredDeployment(app({})).spec?.template.metadata?.annotations).toBeUndefined()
  })
  test("is an annotation of the pods", () => {
    const config = observed({ config: whole }, { "ConfigMap shop": data })
    expect(config?.hash).toMatch(/^[0-9a-f]{32}$/)
    expect(templateOf(app({ config: whole }), "app", undefined, config).metadata?.annotations).toEqual({
      "apps.kubedojo.io/config-hash": config?.hash ?? ""
    })
  })
  test("changes with a value and with a new key, and not with the order of keys and entries", () => {
    const first = hash(whole, { "ConfigMap shop": both })
    expect(hash(whole, { "ConfigMap shop": new Map([...other, ...data]) })).toBe(first)
    expect(hash(whole, { "ConfigMap shop": data })).not.toBe(first)
    expect(hash(whole, { "ConfigMap shop": new Map([...data, ["b", "3"]]) })).not.toBe(first)
    const more = [...whole, { secret: "shop", env: {} }]
    const objects = { "ConfigMap shop": data, "Secret shop": other }
    expect(hash(more.toReversed(), objects)).toBe(hash(more, objects))
    expect(hash(more, { "ConfigMap shop": other, "Secret shop": data })).not.toBe(hash(more, objects))
  })
  test("changes only with the keys of the entry", () => {
    const first = hash(some, { "ConfigMap shop": data })
    expect(hash(some, { "ConfigMap shop": both })).toBe(first)
    expect(hash(some, { "ConfigMap shop": new Map([["a", "2"]]) })).not.toBe(first)
  })
  test("changes with the key of a variable in spec.env", () => {
    const env = [{ name: "A", valueFrom: { secretKeyRef: { name: "shop", key: "a" } } }]
    const of = (values: ReadonlyMap<string, string>) => observed({ env }, { "Secret shop": values })?.hash
    expect(of(both)).toBe(of(data))
    expect(of(new Map([["a", "2"]]))).not.toBe(of(data))
  })
  test("changes when an optional object appears", () => {
    const optional = [{ configMap: "shop", env: {}, optional: true }]
    expect(hash(optional, {})).not.toBe(hash(optional, { "ConfigMap shop": data }))
  })
})

describe("A missing reference", () => {
  const missing = (spec: Spec, objects: { readonly [place: string]: ReadonlyMap<string, string> }) => {
    const found = observed(spec, objects)
    return found && Config.finding(found)
  }
  const some = [{ configMap: "shop", mountPath: "/etc", keys: ["a", "z"] }]

  for (const [title, spec, objects, message] of [
    [
      "is an object",
      { config: [{ configMap: "shop", mountPath: "/etc" }] },
      { "Secret shop": data },
      "ConfigMap shop not found (create it, or set optional: true)"
    ],
    [
      "is a key",
      { config: some },
      { "ConfigMap shop": data },
      "key z not found in ConfigMap shop (add it, or set optional: true)"
    ],
    [
      "is the source of a variable",
      { env: [{ name: "A", valueFrom: { secretKeyRef: { name: "shop", key: "z" } } }] },
      { "Secret shop": data },
      "key z not found in Secret shop (add it, or set optional: true)"
    ],
    [
      "is reported once, and after five only counted",
      { config: [1, 1, 2, 3, 4, 5, 6, 7].map((n) => ({ secret: `s${n}`, env: {} })) },
      {},
      `${[1, 2, 3, 4, 5].map((n) => `Secret s${n} not found (create it, or set optional: true)`).join("; ")}; and 2 more`
    ]
  ] as const) {
    test(title, () => expect(missing(spec, objects)).toEqual({ status: "False", reason: "ConfigNotFound", message }))
  }
  test("has too many keys: then its pods stay as they are, even if it is optional", () => {
    const config = app({ config: some.map((each) => ({ ...each, optional: true })) }).spec
    const found = Config.observe(Config.referencesOf(config), () => ({ hashes: new Map(), excess: 99_000 }))
    expect(Config.isMissing(found)).toBe(true)
    expect(found && Config.finding(found)).toEqual({
      status: "False",
      reason: "ConfigTooLarge",
      message: "ConfigMap shop has too many keys: 99000 characters, with a hash for each (at most 65536; split it)"
    })
  })
  test("that is optional is not missing", () => {
    const optional = some.map((each) => ({ ...each, optional: true }))
    expect(missing({ config: optional }, {})).toEqual({
      status: "True",
      reason: "ConfigFound",
      message: "not found, but optional: ConfigMap shop"
    })
    const flags = { configMap: "flags", env: {}, optional: true }
    expect(missing({ config: [...optional, flags] }, { "ConfigMap shop": data })?.message).toBe(
      "found ConfigMap shop; not found, but optional: ConfigMap flags"
    )
    expect(missing({ config: optional }, { "ConfigMap shop": data })).toEqual({
      status: "True",
      reason: "ConfigFound",
      message: "found ConfigMap shop"
    })
  })
})
