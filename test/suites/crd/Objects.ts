/** Valid custom objects, and one object for each mistake. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import * as Schema from "../comparison/Schema.ts"
import { defined } from "./Definitions.ts"

const formats =
  "date-time date duration email ipv4 ipv6 cidr mac uuid uri byte hostname k8s-short-name k8s-long-name password isbn creditcard ssn hexcolor rgbcolor telephone".split(
    " "
  )

const pair = Schema.object({ a: { type: "string" }, b: { type: "string" } })

/** A kind with a field for each feature of a schema. */
export const everything = defined(
  "widgets",
  {
    type: "object",
    required: ["name"],
    properties: {
      name: { type: "string", maxLength: 5, minLength: 2, pattern: "^[a-z]+$" },
      letter: { type: "string", enum: ["a", "b"] },
      posix: { type: "string", pattern: "^[[:alpha:]]+\\z" },
      insensitive: { type: "string", pattern: "(?i)^abc$" },
      number: { type: "number", minimum: 0.5, maximum: 9.5, multipleOf: 0.5 },
      count: { type: "integer", minimum: 1, maximum: 9, format: "int32" },
      positive: { type: "integer", minimum: 0, exclusiveMinimum: true, maximum: 10, exclusiveMaximum: true },
      even: { type: "integer", multipleOf: 2 },
      small: { type: "integer", format: "int32" },
      choice: { type: "integer", enum: [1, 2] },
      flag: { type: "boolean", default: true },
      list: { type: "array", minItems: 1, maxItems: 2, items: { type: "string", maxLength: 3 } },
      set: Schema.set({ type: "string" }),
      map: Schema.map(["k"], { k: { type: "string" }, v: { type: "integer", maximum: 5 } }),
      pairs: {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["p", "n"],
        items: {
          type: "object",
          required: ["n"],
          properties: { p: { type: "string", default: "TCP" }, n: { type: "integer" } }
        }
      },
      labels: {
        type: "object",
        maxProperties: 2,
        minProperties: 1,
        additionalProperties: { type: "string", maxLength: 3 }
      },
      port: { "x-kubernetes-int-or-string": true },
      either: {
        "x-kubernetes-int-or-string": true,
        anyOf: [{ type: "integer" }, { type: "string" }],
        pattern: "^[0-9]+%$"
      },
      nothing: { type: "string", nullable: true },
      nullableEnum: { type: "string", nullable: true, enum: ["a"] },
      anything: { "x-kubernetes-preserve-unknown-fields": true },
      open: { ...Schema.open, properties: { closed: Schema.object({ a: { type: "string" } }) } },
      closed: Schema.object({
        a: { type: "string", default: "A" },
        b: Schema.object({ c: { type: "integer", default: 7 } })
      }),
      filled: { type: "object", default: {}, properties: { x: { type: "string", default: "X" } } },
      resource: Schema.embedded,
      any: { ...pair, anyOf: [{ required: ["a"] }, { required: ["b"] }] },
      one: { ...pair, oneOf: [{ required: ["a"] }, { required: ["b"] }] },
      all: { type: "string", allOf: [{ minLength: 2 }, { pattern: "^a" }] },
      not: { type: "string", not: { enum: ["no"] } },
      better: {
        ...pair,
        anyOf: [{ properties: { a: { minLength: 3 } } }, { properties: { a: { minLength: 4 }, b: { minLength: 1 } } }]
      },
      best: { type: "string", anyOf: [{ minLength: 5, pattern: "^a" }, { maxLength: 1 }] },
      ...Object.fromEntries(formats.map((format) => [format.replaceAll("-", ""), { type: "string", format }]))
    }
  },
  {
    root: { required: ["spec"] },
    version: {
      subresources: { status: {}, scale: { specReplicasPath: ".spec.count", statusReplicasPath: ".status.count" } }
    }
  }
)

/** Specs of objects with a valid name. */
export const specs: ReadonlyArray<JsonObject> = [
  {},
  { name: "toolong" },
  { name: "x" },
  { name: "ABC" },
  { name: 5 },
  { name: null },
  { letter: "c" },
  { letter: 1 },
  { posix: "abc" },
  { posix: "abc1" },
  { insensitive: "ABC" },
  { insensitive: "abd" },
  { number: 0.2 },
  { number: 12 },
  { number: 1.3 },
  { number: 2 },
  { number: "2" },
  { count: 0 },
  { count: 10 },
  { count: 1.5 },
  { count: "1" },
  { count: true },
  { count: [1] },
  { count: {} },
  { count: -1 },
  { positive: 0 },
  { positive: 10 },
  { even: 3 },
  { small: 3_000_000_000 },
  { choice: 3 },
  { flag: "true" },
  { flag: false },
  { list: [] },
  { list: ["a", "b", "c"] },
  { list: ["a", "long"] },
  { list: ["a", 1] },
  { list: "a" },
  { set: ["a", "b", "a", "a"] },
  { map: [{ k: "a" }, { k: "a", v: 1 }] },
  { map: [{ k: "a", v: 6 }, {}] },
  { map: [{}, {}] },
  { pairs: [{ n: 1 }, { n: 1, p: "TCP" }] },
  { pairs: [{ n: 1 }, { n: 1, p: "UDP" }] },
  { labels: {} },
  { labels: { a: "1", b: "2", c: "3" } },
  { labels: { a: "long" } },
  { labels: { a: 1 } },
  { labels: { a: null } },
  { port: 80 },
  { port: "http" },
  { port: 1.5 },
  { port: true },
  { either: "50%" },
  { either: "50" },
  { either: 50 },
  { nothing: null },
  { nullableEnum: null },
  { anything: { x: [1, { y: null }], z: "1" } },
  { open: { a: 1, closed: { a: "1", b: 2 } } },
  { closed: {} },
  { closed: { b: {} } },
  { closed: { b: { c: null, d: 1 } } },
  { closed: { z: 1 }, zz: { y: 1 } },
  { filled: { y: 1 } },
  { filled: null },
  { resource: {} },
  { resource: { apiVersion: "v1", kind: "Pod", metadata: { name: "x", strange: 1, labels: {} }, spec: { a: 1 } } },
  { resource: { apiVersion: "a/b/c", kind: "pod_s", metadata: { name: "a/b" } } },
  { resource: { apiVersion: "", kind: "", metadata: { name: ".." } } },
  { any: {} },
  { any: { a: "1", b: "2" } },
  { one: {} },
  { one: { a: "1", b: "2" } },
  { one: { a: "1" } },
  { one: { a: 1 } },
  { all: "x" },
  { all: "a" },
  { all: "ab" },
  { not: "no" },
  { not: "yes" },
  { best: "bc" },
  { better: { a: "1", b: "2" } },
  { datetime: 5 },
  { datetime: ["a"] },
  { name: "ABCDEFG", count: 0, letter: "z", list: [1], closed: { a: 1 } }
]

export const texts: { readonly [format: string]: ReadonlyArray<string> } = {
  datetime: [
    "2024-01-01T00:00:00Z",
    "2024-01-01T00:00:00.5+01:00",
    "2024-01-01",
    "2024-13-01T00:00:00Z",
    "2024-01-01t00:00:00z",
    "2024-01-01T00:00:00"
  ],
  date: ["2024-01-31", "2024-02-30", "24-01-01", "2024-1-1"],
  duration: ["1h", "1h30m", "90", "1.5s", "3 days", "x", "-1s", "5 fortnights", "0", ""],
  email: ["a@b.c", "a", "A <a@b.c>", "a@b", "a b@c.d"],
  ipv4: ["10.0.0.1", "10.0.0.256", "10.0.0", "::1", "010.0.0.1"],
  ipv6: ["::1", "fe80::1", "10.0.0.1", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7", "::ffff:1.2.3.4", "1::2::3", "g::1"],
  cidr: ["10.0.0.0/8", "10.0.0.0", "10.0.0.0/33", "::/0", "fe80::/129"],
  mac: ["00:11:22:33:44:55", "00-11-22-33-44-55", "0011.2233.4455", "00:11:22:33:44", "00:11:22:33:44:5g"],
  uuid: ["123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000", "123e4567"],
  uri: ["http://a.b/c", "/a", "a", "mailto:x", "http://a b", "", "http://a/%zz", ":x"],
  byte: ["YWJj", "YWI=", "a", "a===", "", "YW-_"],
  hostname: ["a.b.com", "a", "-a", "a-", "a_b", "1.com", "a..b", "xn--a.com"],
  k8sshortname: ["abc", "a-b", "-a", "A", "a.b", ""],
  k8slongname: ["a.b", "a", "a..b", "A.b", "a_b"],
  password: ["anything"],
  isbn: ["978-0321751041", "0321751043", "1"],
  creditcard: ["4111111111111111", "1", "4111-1111-1111-1111"],
  ssn: ["111-11-1111", "1"],
  hexcolor: ["#fff", "fff", "#ffff", "#FFFFFF"],
  rgbcolor: ["rgb(1,2,3)", "rgb(256,0,0)", "red"],
  telephone: ["whatever"]
}

/** Whole objects, by default with the apiVersion and kind of the CRD. */
export const wholes: ReadonlyArray<JsonObject> = [
  {},
  { spec: null },
  { spec: "text" },
  { kind: "Gadget", spec: { name: "abc" } },
  { spec: { name: "abc" }, status: { count: 5 }, strange: 1 },
  { spec: { name: "abc" }, metadata: { name: "a", finalizers: ["x"], annotations: {}, strange: 1 } },
  { spec: { name: "abc" }, metadata: { name: "a", labels: { a: 1 } } },
  { spec: { name: "abc" }, metadata: { name: "a", labels: "x" } },
  { spec: { name: "abc" }, metadata: { name: "a", finalizers: "x" } },
  { spec: { name: "abc" }, metadata: { name: "a", ownerReferences: [{ apiVersion: 1 }] } },
  { spec: { name: "abc" }, metadata: { name: "a", generation: "x" } },
  { spec: { name: "abc" }, metadata: "x" }
]

export const webApps: ReadonlyArray<JsonObject> = [
  { image: "registry.test/web:1" },
  { image: "registry.test/web:1", replicas: 3, port: 80 },
  { image: "" },
  { image: "registry.test/web:1", replicas: 51 },
  { image: "registry.test/web:1", port: 0, replicas: -1 },
  { image: "registry.test/web:1", env: [{ name: "lower", value: "x" }] },
  { image: "registry.test/web:1", ingress: { enabled: true } },
  { image: "registry.test/web:1", resources: { cpuRequest: "2", cpuLimit: "1" } },
  {}
]
