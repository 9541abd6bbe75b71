import { describe, expect, test } from "bun:test"
import * as Seed from "@homeostat/testkit/Seed.fixture"
import * as FastCheck from "fast-check"
import { canonical, equal, foreignFields, isEmpty, type Json, mergePatch, missing, restoration } from "./Drift.ts"

const paths = (intent: Json, object: Json) => missing(intent, object).map(({ path }) => path)

/** Items with names, in long lists. */
const items = (count: number, more: object = {}) =>
  Array.from({ length: count }, (_, at) => ({ name: `V${at}`, ...more }))

/** Fails for a comparison of each item with each other one, which takes a minute. */
const soon = <A>(compare: () => A): A => {
  const start = performance.now()
  const found = compare()
  expect(performance.now() - start).toBeLessThan(5000)
  return found
}

describe("a list of 20,000 items", () => {
  const path = [["env"]]
  const env = items(20_000)

  test("that are in another order differs once", () => {
    expect(soon(() => paths({ env }, { env: env.toReversed() }))).toEqual(["env"])
  })

  test("that the server stores without empty values differs in each", () => {
    expect(soon(() => paths({ env: items(20_000, { value: "" }) }, { env }))).toHaveLength(20_000)
  })

  test("without keys differs in each", () => {
    const terms = (value: number) => Array.from({ length: 20_000 }, (_, at) => ({ key: `k${at}`, value }))
    expect(soon(() => paths({ terms: terms(1) }, { terms: terms(2) }))).toHaveLength(20_000)
  })

  test("has one foreign item", () => {
    const object = { env: [...env.toReversed(), { name: "FOREIGN" }] }
    expect(soon(() => foreignFields({ env }, object, path))).toEqual([{ path: "env[FOREIGN]", pointer: "/env/20000" }])
    expect(soon(() => restoration({ env }, object, path))).toEqual([{ op: "replace", path: "/env", value: env }])
  })
})

describe("missing", () => {
  const table: ReadonlyArray<readonly [string, Json, Json, ReadonlyArray<string>]> = [
    ["nothing if the object has the whole intent", { a: 1, b: { c: "x" } }, { a: 1, b: { c: "x" } }, []],
    ["nothing for fields that the intent does not name", { a: 1 }, { a: 1, foreign: true }, []],
    ["a changed scalar", { spec: { replicas: 2 } }, { spec: { replicas: 5 } }, ["spec.replicas"]],
    ["an absent field", { spec: { replicas: 2 } }, { spec: {} }, ["spec.replicas"]],
    ["an absent subtree, once", { spec: { a: 1, b: 2 } }, {}, ["spec"]],
    [
      "an item of a list by its name",
      { c: [{ name: "app", image: "b" }] },
      { c: [{ name: "app", image: "a" }] },
      ["c[app].image"]
    ],
    [
      "nothing for a foreign item next to an intended one",
      { c: [{ name: "app" }] },
      { c: [{ name: "sidecar" }, { name: "app", x: 1 }] },
      []
    ],
    ["an absent item", { c: [{ name: "app" }] }, { c: [{ name: "sidecar" }] }, ["c[app]"]],
    [
      "a port by its number",
      { ports: [{ containerPort: 80 }] },
      { ports: [{ containerPort: 81, protocol: "TCP" }] },
      ["ports[80]"]
    ],
    ["a list of scalars in another order", { args: ["a", "b"] }, { args: ["b", "a"] }, ["args"]],
    ["an empty text that is absent", { data: { KEY: "" } }, { data: {} }, ["data.KEY"]],
    ["an empty map that is absent", { spec: { resources: {} } }, { spec: {} }, ["spec.resources"]],
    ["an empty list that is absent", { spec: { env: [] } }, { spec: {} }, ["spec.env"]],
    ["an emptied list that was filled", { args: [] }, { args: ["--debug"] }, ["args"]],
    [
      "an emptied list of items without keys that was filled",
      { tolerations: [] },
      { tolerations: [{ operator: "Exists" }] },
      ["tolerations"]
    ],
    ["nothing for foreign items in a list that is empty in the intent", { c: [] }, { c: [{ name: "x" }] }, []],
    ["items in another order", { c: [{ name: "a" }, { name: "b" }] }, { c: [{ name: "b" }, { name: "a" }] }, ["c"]],
    [
      "items in another order, of which one differs",
      { c: [{ name: "a" }, { name: "b", x: 1 }] },
      { c: [{ name: "b", x: 2 }, { name: "a" }] },
      ["c[b].x", "c"]
    ],
    [
      "nothing for items in order with foreign items in between",
      { c: [{ name: "a" }, { name: "b" }] },
      { c: [{ name: "x" }, { name: "a" }, { name: "y" }, { name: "b" }] },
      []
    ],
    ["nothing for a list of scalars that is equal", { args: ["a", "b"] }, { args: ["a", "b"] }, []],
    ["nothing for a field that the intent leaves undefined", { a: undefined }, { a: 1 }, []],
    [
      "nothing for items without a key after foreign ones",
      { c: [{ y: 1 }, { x: 1 }] },
      { c: [{ z: 1 }, { y: 1 }, { x: 1 }] },
      []
    ],
    [
      "nothing for an item without a key that got one from the server",
      { c: [{ x: 1 }] },
      { c: [{ x: 1, name: "n" }] },
      []
    ],
    ["nothing for items that are equal", { c: [{ x: 1 }, { x: 1 }] }, { c: [{ x: 1 }, { x: 1 }] }, []],
    [
      "a deleted item, even if another item has all its fields",
      { tolerations: [{ operator: "Exists" }, { key: "x", operator: "Exists" }] },
      { tolerations: [{ key: "x", operator: "Exists" }] },
      ["tolerations"]
    ],
    [
      "one of two ports with the same number",
      { ports: [{ containerPort: 53 }, { containerPort: 53, protocol: "UDP" }] },
      { ports: [{ containerPort: 53, protocol: "UDP" }] },
      ["ports"]
    ],
    [
      "nothing for an item that a foreign item before it matches, too",
      { tolerations: [{ operator: "Exists" }, { key: "x", operator: "Exists" }] },
      {
        tolerations: [{ key: "y", operator: "Exists" }, { operator: "Exists" }, { key: "x", operator: "Exists" }]
      },
      []
    ]
  ]
  for (const [name, intent, object, expected] of table) {
    test(`finds ${name}`, () => expect(paths(intent, object)).toEqual([...expected]))
  }

  test("returns the order of the wanted and of the existing items", () => {
    const [a, b] = [{ name: "a" }, { name: "b" }]
    expect(missing({ c: [a, b] }, { c: [b, a] })).toEqual([{ path: "c", want: ["a", "b"], have: ["b", "a"] }])
    const [other, c] = [{ name: "other" }, { name: "c" }]
    expect(missing({ c: [a, b, c] }, { c: [c, other, b, a] })).toEqual([
      { path: "c", want: ["a", "b", "c"], have: ["c", "b", "a"] }
    ])
  })

  test("returns the wanted and the existing value", () => {
    expect(missing({ a: { b: 1 } }, { a: { b: 2 } })).toEqual([{ path: "a.b", want: 1, have: 2 }])
  })
})

describe("foreignFields", () => {
  const ports = [["spec", "containers", { name: "app" }, "ports"]]
  test("returns the items of an exclusive list that match no intended item, last first", () => {
    const intent = { spec: { containers: [{ name: "app", ports: [{ containerPort: 80 }] }] } }
    const object = {
      spec: {
        containers: [
          { name: "sidecar", ports: [{ containerPort: 1 }] },
          { name: "app", ports: [{ containerPort: 7 }, { containerPort: 80, protocol: "TCP" }, { containerPort: 9 }] }
        ]
      }
    }
    expect(foreignFields(intent, object, ports)).toEqual([
      { path: "spec.containers[app].ports[9]", pointer: "/spec/containers/1/ports/2" },
      { path: "spec.containers[app].ports[7]", pointer: "/spec/containers/1/ports/0" }
    ])
  })
  test("returns all items of an exclusive list that the intent does not contain", () => {
    expect(foreignFields({}, { env: [{ name: "A" }] }, [["env"]])).toEqual([{ path: "env[A]", pointer: "/env/0" }])
  })
  test("returns the unintended keys of an exclusive map, escaped for a pointer", () => {
    expect(foreignFields({ s: { app: "a" } }, { s: { app: "a", "x/y~z": "1" } }, [["s"]])).toEqual([
      { path: "s.x/y~z", pointer: "/s/x~1y~0z" }
    ])
  })
  test("truncates long names to 256 characters, and compares whole names", () => {
    const long = "a.".repeat(60_000)
    const env = { env: [{ name: `${long}x`, value: "1" }] }
    expect(foreignFields({ env: [] }, env, [["env"]])).toEqual([
      { path: `env[${long.slice(0, 256)}…]`, pointer: "/env/0" }
    ])
    expect(foreignFields({ env: [{ name: `${long}x` }] }, env, [["env"]])).toEqual([])
    expect(foreignFields({ env: [{ name: `${long}y` }] }, env, [["env"]])).toHaveLength(1)
    const key = foreignFields({ data: {} }, { data: { [long]: "1" } }, [["data"]])
    expect(key).toEqual([{ path: `data.${long.slice(0, 256)}…`, pointer: `/data/${long}` }])
    expect(missing({ env: [{ name: `${long}x`, value: "2" }] }, env)).toMatchObject([
      { path: `env[${long.slice(0, 256)}…].value`, want: "2", have: "1" }
    ])
  })
  test("returns unintended values of a list", () => {
    expect(foreignFields({ a: ["x"] }, { a: ["x", "y"] }, [["a"]])).toEqual([{ path: "a[1]", pointer: "/a/1" }])
    expect(foreignFields({ a: [{ x: 1 }] }, { a: [{ x: 2 }] }, [["a"]])).toEqual([{ path: "a[0]", pointer: "/a/0" }])
    expect(foreignFields({ a: ["x"] }, { a: [{ x: 1 }] }, [["a"]])).toEqual([{ path: "a[0]", pointer: "/a/0" }])
    expect(foreignFields({ a: [{ x: [1] }] }, { a: [{ x: [1], y: 1 }] }, [["a"]])).toEqual([])
  })

  test("returns no item from which the server dropped empty values", () => {
    const intent = [{ namespaceSelector: { matchLabels: {} } }, { ipBlock: { cidr: "10.0.0.0/8", except: [] } }]
    const stored = [{ namespaceSelector: {} }, { ipBlock: { cidr: "10.0.0.0/8" } }]
    expect(foreignFields({ from: intent }, { from: stored }, [["from"]])).toEqual([])
    const rule = (from: Json) => ({ ingress: [{ from, ports: [{ port: 80 }] }] })
    expect(foreignFields(rule(intent), rule(stored), [["ingress"]])).toEqual([])
    expect(foreignFields(rule([{ namespaceSelector: {} }]), rule(stored.slice(1)), [["ingress"]])).toHaveLength(1)
    expect(foreignFields(rule(intent), rule([...stored, { podSelector: {} }]), [["ingress"]])).toHaveLength(1)
    const foreign = [
      { ipBlock: { cidr: "0.0.0.0/0" } },
      { podSelector: {} },
      { namespaceSelector: { matchLabels: {} } }
    ]
    for (const item of foreign.slice(0, 2)) {
      expect(foreignFields({ from: [{ namespaceSelector: {} }] }, { from: [item] }, [["from"]])).toHaveLength(1)
    }
    expect(foreignFields({ from: [intent[1] ?? {}] }, { from: foreign }, [["from"]])).toHaveLength(3)
  })

  test("returns nothing for a place with a single value", () => {
    expect(foreignFields({ a: 1 }, { a: 2 }, [["a"]])).toEqual([])
  })

  test("pairs items by the first merge key of Kubernetes", () => {
    for (const key of ["name", "containerPort", "port", "type", "uid"]) {
      const [want, have] = [
        { [key]: "k", x: 1 },
        { [key]: "k", x: 2 }
      ]
      expect(foreignFields({ a: [want] }, { a: [have] }, [["a"]])).toEqual([])
      expect(missing({ a: [want] }, { a: [have] })).toEqual([{ path: "a[k].x", want: 1, have: 2 }])
    }
  })

  test("supports a place with several merge keys", () => {
    const ports = [{ port: 80, protocol: "UDP", tags: { x: 1 } }]
    expect(foreignFields({}, { ports }, [["ports", { port: 80, protocol: "UDP" }, "tags"]])).toEqual([
      { path: "ports[80 UDP].tags.x", pointer: "/ports/0/tags/x" }
    ])
  })

  test("returns nothing if the place does not exist", () => {
    expect(foreignFields({}, { spec: { containers: [] } }, ports)).toEqual([])
  })
})

describe("foreignFields with values of the server", () => {
  const place = [["env"]]
  test("ignores values that the server stores in another form", () => {
    const intent = {
      env: [
        { name: "A", value: "" },
        { name: "B", amount: "1024Mi" }
      ]
    }
    expect(foreignFields(intent, { env: [{ name: "A" }, { name: "B", amount: "1Gi" }] }, place)).toEqual([])
  })
  test("returns ports of another protocol", () => {
    const intent = { ports: [{ port: 53, protocol: "TCP" }] }
    const object = {
      ports: [
        { port: 53, protocol: "TCP" },
        { port: 53, protocol: "UDP" }
      ]
    }
    expect(foreignFields(intent, object, [["ports"]])).toEqual([{ path: "ports[53]", pointer: "/ports/1" }])
    const named = { ports: [{ port: 53, protocol: "TCP", targetPort: 1 }] }
    for (const protocol of [{}, { protocol: "TCP" }]) {
      const ports = [{ port: 53, ...protocol, targetPort: 2 }]
      expect(foreignFields(named, { ports }, [["ports"]])).toEqual([])
    }
  })
})

describe("restoration", () => {
  test("replaces foreign fields by the missing ones, and keeps what the server added to the intended ones", () => {
    const intent = { spec: { ports: [{ port: 80 }, { port: 443 }], selector: { app: "a" } } }
    const object = { spec: { ports: [{ port: 81 }, { port: 80, nodePort: 30_000 }], selector: { app: "a", x: "y" } } }
    const exclusive = [
      ["spec", "ports"],
      ["spec", "selector"]
    ]
    expect(restoration(intent, object, exclusive)).toEqual([
      { op: "replace", path: "/spec/ports", value: [{ port: 80, nodePort: 30_000 }, { port: 443 }] },
      { op: "replace", path: "/spec/selector", value: { app: "a" } }
    ])
  })
  test("removes a list that the intent does not contain, and ignores places without foreign fields", () => {
    const object = { env: [{ name: "A" }], ports: [{ port: 80, x: 1 }] }
    expect(restoration({ ports: [{ port: 80 }] }, object, [["env"], ["ports"]])).toEqual([
      { op: "remove", path: "/env" }
    ])
  })
})

describe("mergePatch", () => {
  test("supports a key that every object inherits", () => {
    const some: Json = JSON.parse('{"counts":{"__proto__":{"seen":1}}}')
    expect(JSON.stringify(mergePatch({ counts: {} }, some))).toBe('{"counts":{"__proto__":{"seen":1}}}')
    expect(JSON.stringify(mergePatch(some, { counts: {} }))).toBe('{"counts":{"__proto__":null}}')
  })

  test("ignores inherited keys", () => {
    expect(mergePatch({ constructor: "a" }, {})).toEqual({ constructor: null })
  })
  test("is undefined for equal values, in any order of keys", () => {
    expect(mergePatch({ a: 1, b: [1] }, { b: [1], a: 1 })).toBeUndefined()
  })
  test("sets removed keys to null, replaces lists, and omits the rest", () => {
    expect(mergePatch({ a: 1, b: { c: 1, d: 2 }, l: [1, 2] }, { b: { c: 1, d: 3 }, l: [2] })).toEqual({
      a: null,
      b: { d: 3 },
      l: [2]
    })
  })
})

/** Any key except `__proto__`, which sets the prototype in JavaScript. Kubernetes rejects such a name too. */
const key = FastCheck.string().filter((text) => text !== "__proto__")
const value: FastCheck.Arbitrary<Json> = FastCheck.jsonValue({ maxDepth: 3 }).map(
  (json): Json => JSON.parse(JSON.stringify(json).replaceAll('"__proto__":', '"proto":'))
)

/** The pseudocode of RFC 7386. */
const applyPatch = (target: Json | undefined, patch: Json): Json => {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch
  const result: { [key: string]: Json } =
    typeof target === "object" && target !== null && !Array.isArray(target)
      ? { ...(target as { [key: string]: Json }) }
      : {}
  for (const [key, part] of Object.entries(patch)) {
    if (part === null) delete result[key]
    else result[key] = applyPatch(result[key], part as Json)
  }
  return result
}

const withoutNulls = (json: Json): Json =>
  Array.isArray(json)
    ? json
    : typeof json === "object" && json !== null
      ? Object.fromEntries(
          Object.entries(json).flatMap(([key, part]) => (part === null ? [] : [[key, withoutNulls(part as Json)]]))
        )
      : json

test("isEmpty is true for the default of each type", () => {
  const values: ReadonlyArray<Json> = ["", [], {}, { a: undefined }, 0, false, null]
  expect(values.map(isEmpty)).toEqual(values.map(() => true))
  expect(["x", [0], { a: 1, b: undefined }, { a: null }, 1, true].map(isEmpty)).not.toContain(true)
})

test("canonical sorts the keys, and omits undefined values", () => {
  expect(canonical({ b: [{ d: 1, c: "x" }], a: null, e: undefined })).toBe('{"a":null,"b":[{"c":"x","d":1}]}')
  expect(canonical(undefined)).toBe("null")
})

test("restoration replaces a map by a list", () => {
  expect(restoration({ a: ["x"] }, { a: { y: 1 } }, [["a"]])).toEqual([{ op: "replace", path: "/a", value: ["x"] }])
})

test("mergePatch contains only changes", () => {
  expect(Object.keys(Object(mergePatch({ a: 1, b: 2, c: { d: 1 } }, { a: 1, b: 3, c: { d: 1 } })))).toEqual(["b"])
})

test("mergePatch turns the first value into the second", () => {
  FastCheck.assert(
    FastCheck.property(FastCheck.dictionary(key, value), FastCheck.dictionary(key, value), (from, to) => {
      const [start, end] = [withoutNulls(from), withoutNulls(to)]
      const patch = mergePatch(start, end)
      expect(patch === undefined ? start : applyPatch(start, patch)).toEqual(end)
    }),
    { seed: Seed.current() }
  )
})

test("missing is empty for equal values, and canonical is stable", () => {
  FastCheck.assert(
    FastCheck.property(value, (json) => {
      expect(missing(json, json)).toEqual([])
      const reordered: Json = JSON.parse(canonical(json))
      expect(equal(json, reordered)).toBe(true)
      expect(canonical(reordered)).toBe(canonical(json))
    }),
    { seed: Seed.current() }
  )
})
