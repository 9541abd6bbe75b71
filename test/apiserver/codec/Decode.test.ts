import { describe, expect, test } from "bun:test"
import * as Kinds from "../kinds/Kinds.fixture.ts"
import type { Json } from "../model/Json.ts"
import type { Kind } from "../model/Kind.ts"
import * as Decode from "./Decode.ts"
import type { Format } from "./Negotiation.ts"

const { configMap, deployment, knows, lease, secret, webApp } = Kinds

const decode = (kind: Kind, body: Json, fieldValidation: Decode.FieldValidation = "Warn", format: Format = "json") => {
  const warnings: Array<string> = []
  const text = typeof body === "string" ? body : JSON.stringify(body)
  const value = Decode.object(kind, text, format, { fieldValidation, warn: (warning) => warnings.push(warning), knows })
  return { value, warnings }
}

const says = (kind: Kind, body: Json, message: string, fieldValidation?: Decode.FieldValidation, format?: Format) =>
  test(`${JSON.stringify(body).slice(0, 100)} is not a ${kind.kind}`, () => {
    expect(() => decode(kind, body, fieldValidation, format)).toThrow(expect.objectContaining({ code: 400, message }))
  })

const broken = (body: string, error: string, shown = body) =>
  says(
    configMap,
    body,
    `the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: ${error} (${shown})`
  )

describe("a body that is not JSON is rejected in the words of Go's decoder", () => {
  broken("", "unexpected end of JSON input", "<empty>")
  broken("  ", "unexpected end of JSON input", "2020")
  for (const body of ["{", '{"a"', '{"a":', '{"a":1', '{"a":1,', '{"a":"b', '{"a":[1'])
    broken(body, "unexpected end of JSON input")
  broken('{"a":1,}', "invalid character '}' looking for beginning of object key string")
  broken("{1:2}", "invalid character '1' looking for beginning of object key string")
  broken('{"a" 1}', "invalid character '1' after object key")
  broken('{"a":1]', "invalid character ']' after object key:value pair")
  broken('{"a":01}', "invalid character '1' after object key:value pair")
  broken('{"a":[1 2]}', "invalid character '2' after array element")
  broken('{"a":1}x', "invalid character 'x' after top-level value")
  broken('{"a":tru}', "invalid character '}' in literal true (expecting 'e')")
  broken("nul", "invalid character ' ' in literal null (expecting 'l')", "6e756c")
  broken('{"a":-}', "invalid character '}' in numeric literal")
  broken('{"a":1.}', "invalid character '}' after decimal point in numeric literal")
  broken('{"a":1e+}', "invalid character '}' in exponent of numeric literal")
  broken('{"a":"\n"}', "invalid character '\\n' in string literal")
  broken('{"a":"\\x"}', "invalid character 'x' in string escape code")
  broken('{"a":"\\ud8', "invalid character ' ' in \\u hexadecimal character escape")
  broken("{'a':1}", "invalid character '\\'' looking for beginning of object key string")
  broken("é", "invalid character 'Ã' looking for beginning of value", "c3a9")
  broken("\ufeff{}", "invalid character 'ï' looking for beginning of value", "efbbbf7b7d")
  broken("[".repeat(10_001), "invalid character '[' exceeded max depth", `${"5b".repeat(30)} ...`)
  broken(
    "[]",
    'json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }',
    "5b5d"
  )
  broken('{"kind":1}', "json: cannot unmarshal number into Go struct field .kind of type string")
})

describe("the kind of a body", () => {
  test("may be left out of a built-in one, not of a custom one", () => {
    expect(decode(configMap, "null").value).toEqual({ apiVersion: "v1", kind: "ConfigMap" })
    expect(() => decode(webApp, {})).toThrow(
      "the object provided is unrecognized (must be of type WebApp): Object 'Kind' is missing in '{}' ({})"
    )
  })
  says(
    configMap,
    { apiVersion: "v1", kind: "Secret" },
    'Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion'
  )
  says(
    configMap,
    { apiVersion: "v1", kind: "Foo" },
    'Foo in version "v1" cannot be handled as a ConfigMap: no kind "Foo" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"'
  )
  says(
    configMap,
    { apiVersion: "a/b/c" },
    'the object provided is unrecognized (must be of type ConfigMap): unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c"})'
  )
  says(
    webApp,
    { kind: "WebApp", apiVersion: "example.com/v2" },
    "the API version in the data (example.com/v2) does not match the expected API version (example.com/v1)"
  )
  says(
    webApp,
    { kind: "WebApp" },
    "the API version in the data () does not match the expected API version (example.com/v1)"
  )
})

describe("fields that are unknown or duplicate", () => {
  const body =
    '{"zz":{"q":1,"q":2},"zz":3,"metadata":{"labels":{"a":"b","a":"c"},"foo":1},"spec":{"Replicas":1,"replicas":1,"replicas":2,"template":{"spec":{"containers":[{"name":"c","x.y":1}]}}}}'
  const errors = [
    'unknown field "zz"',
    'duplicate field "metadata.labels.a"',
    'unknown field "metadata.foo"',
    'unknown field "spec.Replicas"',
    'duplicate field "spec.replicas"',
    'unknown field "spec.template.spec.containers[0].x.y"'
  ]

  test("are reported in a warning", () => {
    const { value, warnings } = decode(deployment, body)
    expect(warnings).toEqual(errors)
    expect(value).toEqual({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { labels: { a: "c" } },
      spec: { replicas: 2, template: { spec: { containers: [{ name: "c" }] } } }
    })
  })
  test("are dropped without a warning if the request ignores them", () => {
    expect(decode(deployment, body, "Ignore").warnings).toEqual([])
  })
  says(
    deployment,
    body,
    `Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: ${errors.join(", ")}`,
    "Strict"
  )
  says(
    webApp,
    '{"kind":"WebApp","apiVersion":"example.com/v1","spec":{"foo":1,"a":"x","a":"y","items":[{"m":1}]}}',
    'WebApp in version "v1" cannot be handled as a WebApp: strict decoding error: duplicate field "spec.a", unknown field "spec.foo", unknown field "spec.items[0].m"',
    "Strict"
  )
  test("are reported at most a hundred times", () => {
    const many = Object.fromEntries(Array.from({ length: 120 }, (_, index) => [`u${index}`, 1]))
    expect(decode(configMap, many).warnings).toHaveLength(100)
  })
  test("are also reported for names that JavaScript treats specially", () => {
    expect(decode(configMap, '{"__proto__":{"a":1}}').warnings).toEqual(['unknown field "__proto__"'])
  })
})

const wrong = (kind: Kind, body: Json, message: string) =>
  says(kind, body, `${kind.kind} in version "v1" cannot be handled as a ${kind.kind}: ${message}`)

describe("a value of a wrong type is rejected in the words of Go's decoder", () => {
  const container = (fields: Json) => ({ spec: { template: { spec: { containers: [fields] } } } })
  wrong(
    deployment,
    { spec: { replicas: "3" } },
    "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"
  )
  wrong(
    deployment,
    { spec: { replicas: 1.5 } },
    "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32"
  )
  wrong(
    deployment,
    { spec: { replicas: 3_000_000_000 } },
    "json: cannot unmarshal number 3000000000 into Go struct field DeploymentSpec.spec.replicas of type int32"
  )
  wrong(
    deployment,
    { spec: "x" },
    "json: cannot unmarshal string into Go struct field Deployment.spec of type v1.DeploymentSpec"
  )
  wrong(
    deployment,
    container("x"),
    "json: cannot unmarshal string into Go struct field PodSpec.spec.template.spec.containers of type v1.Container"
  )
  wrong(
    deployment,
    container({ image: 5 }),
    "json: cannot unmarshal number into Go struct field Container.spec.template.spec.containers.image of type string"
  )
  wrong(
    deployment,
    container({ livenessProbe: { httpGet: { port: {} } } }),
    "json: cannot unmarshal object into Go struct field HTTPGetAction.spec.template.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32"
  )
  wrong(
    deployment,
    container({ resources: { limits: { cpu: "abc" } } }),
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
  )
  wrong(
    deployment,
    { metadata: { labels: [] } },
    "json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type map[string]string"
  )
  wrong(
    deployment,
    { metadata: { labels: { a: 1 } } },
    "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string"
  )
  wrong(
    configMap,
    { immutable: "x" },
    "json: cannot unmarshal string into Go struct field ConfigMap.immutable of type bool"
  )
  wrong(secret, { data: { a: 1 } }, "json: cannot unmarshal number into Go struct field Secret.data of type []uint8")
  for (const [text, at] of [
    ["!!", 0],
    ["a", 0],
    ["abcde", 4],
    ["YW=I", 2],
    ["YWI=x", 4]
  ] as const) {
    wrong(secret, { data: { a: text } }, `illegal base64 data at input byte ${at}`)
  }
  const time = (text: string, message: string) =>
    wrong(configMap, { metadata: { creationTimestamp: text } }, `parsing time ${JSON.stringify(text)}${message}`)
  time("yesterday", ' as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"')
  time("2020-01-01", ' as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"')
  time("2020-13-01T00:00:00Z", ": month out of range")
  time("2020-02-30T00:00:00Z", ": day out of range")
  time("2020-01-01T00:00:00Zx", ': extra text: "x"')
  wrong(
    lease,
    { spec: { renewTime: "2020-01-01T00:00:00Z" } },
    'parsing time "2020-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"'
  )
  wrong(
    webApp,
    { kind: "WebApp", apiVersion: "example.com/v1", metadata: { name: 5 } },
    "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string"
  )
})

describe("YAML", () => {
  const head = "kind: WebApp\napiVersion: example.com/v1\n"
  const yaml = (text: string, fieldValidation?: Decode.FieldValidation) =>
    decode(webApp, `${head}${text}`, fieldValidation, "yaml")

  test("is read as go-yaml reads it", () => {
    const { value } = yaml(
      "spec:\n  any: {a: yes, b: 0x10, c: 010, d: 2020-01-01, e: ~, f: 'no', g: 1_000, h: 1e3, i: 12:30:45, j: 0o17, k: !x 1}\n"
    )
    expect(value.spec).toEqual({
      any: { a: true, b: 16, c: 8, d: "2020-01-01", e: null, f: "no", g: 1000, h: 1000, i: "12:30:45", j: 15, k: "1" }
    })
  })
  test("is its first document, with anchors and merges", () => {
    const { value } = yaml("spec:\n  any:\n    a: &x {b: c}\n    d: *x\n    e: {<<: *x, f: 1}\n---\nfoo: bar\n")
    expect(value.spec).toEqual({ any: { a: { b: "c" }, d: { b: "c" }, e: { b: "c", f: 1 } } })
  })
  test("with a duplicate member gets a warning with its line", () => {
    expect(yaml("spec:\n  a: x\n  a: y\n  foo: 1\n").warnings).toEqual([
      'line 5: key "a" already set in map',
      'unknown field "spec.foo"'
    ])
  })
  says(
    webApp,
    `${head}spec:\n  a: x\n  a: y\n  foo: 1\n`,
    'WebApp in version "v1" cannot be handled as a WebApp: strict decoding error: yaml: unmarshal errors:\n  line 5: key "a" already set in map, unknown field "spec.foo"',
    "Strict",
    "yaml"
  )
  test("that would grow without end is rejected", () => {
    const bomb = Array.from(
      { length: 9 },
      (_, index) => `a${index + 1}: &a${index + 1} [${Array.from({ length: 9 }, () => `*a${index}`).join(",")}]`
    )
    expect(() => Decode.parse(`a0: &a0 [x]\n${bomb.join("\n")}\n`, "yaml")).toThrow(
      "document contains excessive aliasing"
    )
  })
  test("that nests too deeply is rejected", () => {
    expect(() => Decode.parse("[".repeat(20_000), "yaml")).toThrow(expect.objectContaining({ code: 400 }))
  })
})

test("bytes that are not UTF-8 become U+FFFD", () => {
  expect(Decode.textOf(new Uint8Array([0x22, 0xff, 0x22]))).toBe('"\ufffd"')
})

test("ten thousand nested lists are read", () => {
  expect(() => Decode.parse("[".repeat(10_000) + "]".repeat(10_000), "json")).not.toThrow()
})
