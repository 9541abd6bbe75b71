import { describe, expect, test } from "bun:test"
import * as Fields from "./Fields.ts"

const pod = (containers: ReadonlyArray<object>) => ({ spec: { containers } })

describe("The fields between two states", () => {
  const table: ReadonlyArray<readonly [what: string, from: object, to: object, fields: ReadonlyArray<Fields.Field>]> = [
    ["are none for equal states", { a: [1, { b: 2 }] }, { a: [1, { b: 2 }] }, []],
    [
      "have the path, the old and the new value",
      { spec: { replicas: 1 } },
      { spec: { replicas: 2 } },
      [{ path: "spec.replicas", from: 1, to: 2 }]
    ],
    [
      "name the items of a list",
      pod([{ name: "app", image: "a:1" }]),
      pod([
        { name: "app", image: "a:2" },
        { name: "log", image: "b" }
      ]),
      [
        { path: "spec.containers[app].image", from: "a:1", to: "a:2" },
        { path: "spec.containers[log].image", to: "b" },
        { path: "spec.containers[log].name", to: "log" }
      ]
    ],
    [
      "show another order of the same items",
      pod([{ name: "a" }, { name: "b" }]),
      pod([{ name: "b" }, { name: "a" }]),
      [{ path: "spec.containers", from: ["a", "b"], to: ["b", "a"] }]
    ],
    [
      "have a list of values as a whole",
      { spec: { finalizers: ["a"] } },
      { spec: { finalizers: ["a", "b"] } },
      [{ path: "spec.finalizers", from: ["a"], to: ["a", "b"] }]
    ],
    [
      "have the fields of a part that is new, and of one that is gone",
      { status: { phase: "Old" } },
      { spec: { a: { b: 1 } } },
      [
        { path: "spec.a.b", to: 1 },
        { path: "status.phase", from: "Old" }
      ]
    ],
    [
      "put keys with dots in brackets",
      { metadata: { labels: {} } },
      { metadata: { labels: { "app.kubernetes.io/name": "shop" } } },
      [{ path: "metadata.labels[app.kubernetes.io/name]", to: "shop" }]
    ],
    [
      "leave out the metadata of the API server",
      { kind: "A", metadata: { uid: "1", resourceVersion: "1", generation: 1, managedFields: [] } },
      { kind: "B", metadata: { uid: "2", resourceVersion: "2", generation: 2, creationTimestamp: "x" } },
      []
    ],
    ["find no inherited keys", { data: {} }, { data: { constructor: "x" } }, [{ path: "data.constructor", to: "x" }]]
  ]
  for (const [what, from, to, fields] of table) {
    test(what, () => expect(Fields.between("Thing", from, to)).toEqual(fields))
  }

  test("hide the values of Secrets only", () => {
    const [from, to] = [
      { data: { a: "x" }, type: "A" },
      { data: { a: "y", b: "z" }, type: "B" }
    ]
    expect(Fields.between("Secret", from, to)).toEqual([
      { path: "data.a", from: "<redacted>", to: "<redacted>" },
      { path: "data.b", to: "<redacted>" },
      { path: "type", from: "A", to: "B" }
    ])
    expect(Fields.between("ConfigMap", from, to)).toContainEqual({ path: "data.a", from: "x", to: "y" })
  })
})

test("The values of fields and variables with names of secrets are hidden", () => {
  const object = {
    spec: {
      password: "x",
      tokens: 3,
      annotations: { "access-token": "x" },
      env: [
        { name: "DB_PASSWORD", value: "x" },
        { name: "TOKEN_FILE", value: "/x" }
      ]
    }
  }
  expect(Fields.of("Thing", object)).toEqual([
    { path: "spec.annotations.access-token", to: "<redacted>" },
    { path: "spec.env[DB_PASSWORD].name", to: "DB_PASSWORD" },
    { path: "spec.env[DB_PASSWORD].value", to: "<redacted>" },
    { path: "spec.env[TOKEN_FILE].name", to: "TOKEN_FILE" },
    { path: "spec.env[TOKEN_FILE].value", to: "/x" },
    { path: "spec.password", to: "<redacted>" },
    { path: "spec.tokens", to: 3 }
  ])
})

test("The values of fields and variables with names of secrets are hidden in a list or an object that is one change", () => {
  const env = [
    { name: "DB_PASSWORD", value: "x" },
    { name: "A", value: "y" }
  ]
  const hiddenEnv = [
    { name: "DB_PASSWORD", value: "<redacted>" },
    { name: "A", value: "y" }
  ]
  const from = { env: [], login: null, pair: "none", again: [...env, ...env], json: "none" }
  const to = {
    env,
    login: { password: "x", user: "y" },
    pair: { token: "x", tokens: 3 },
    nested: [[{ password: ["x"] }]],
    again: [],
    json: `${JSON.stringify({ env })}\n`,
    open: '{ "env": [] }',
    deep: `${"[".repeat(50_000)}${"]".repeat(50_000)}`
  }
  const { deep, ...fields } = Object.fromEntries(
    Fields.between("Thing", { spec: from }, { spec: to }).map(({ path, from, to }) => [path.slice(5), [from, to]])
  )
  expect(fields).toEqual({
    env: [[], hiddenEnv],
    login: [null, { password: "<redacted>", user: "y" }],
    pair: ["none", { token: "<redacted>", tokens: 3 }],
    nested: [undefined, [[{ password: "<redacted>" }]]],
    again: [[...hiddenEnv, ...hiddenEnv], []],
    json: ["none", JSON.stringify({ env: hiddenEnv })],
    open: [undefined, '{ "env": [] }']
  })
  expect(JSON.stringify(deep)).toContain("<redacted>")
  expect(Fields.of("Thing", { spec: { env: [...env, ...env] } })).toEqual([
    { path: "spec.env", to: [...hiddenEnv, ...hiddenEnv] }
  ])
})

test("The names of fields with secrets may have words before", () => {
  const data = { DB_PASSWORD: "x", adminPassword: "x", existingSecret: "shop-login", "app.api-key": "x", keys: "a" }
  expect(Fields.of("ConfigMap", { data })).toEqual([
    { path: "data.DB_PASSWORD", to: "<redacted>" },
    { path: "data.adminPassword", to: "<redacted>" },
    { path: "data.existingSecret", to: "shop-login" },
    { path: "data.keys", to: "a" },
    { path: "data[app.api-key]", to: "<redacted>" }
  ])
})

test("Fields.withoutSecrets hides texts that look like secrets, and copies of which these are a part", () => {
  const fields = [
    { path: "spec.url", from: "postgres://u:pw@db/x", to: ["--password=hunter2 x", "Bearer abcdef0123456789"] },
    { path: "spec.line", to: "password=correct horse" },
    { path: "spec.long", to: "a ".repeat(10_000) }
  ]
  const replaced = (text: string) => text.replaceAll("correct horse", "<redacted>")
  expect(Fields.withoutSecrets(fields, { replaced })).toEqual([
    { path: "spec.url", from: "postgres://<redacted>@db/x", to: ["--password=<redacted> x", "Bearer <redacted>"] },
    { path: "spec.line", to: "password=<redacted>" },
    { path: "spec.long", to: "a ".repeat(10_000) }
  ])
})

test("Fields.withoutSecrets hides values at any depth", () => {
  const fields = [
    { path: "data.a", from: "a secret value", to: [{ b: "secret value" }, 1, null] },
    { path: "data.b", to: "open" }
  ]
  const replaced = (text: string) => text.replaceAll("secret value", "*")
  expect(Fields.withoutSecrets(fields, { replaced })).toEqual([
    { path: "data.a", from: "a *", to: [{ b: "*" }, 1, null] },
    { path: "data.b", to: "open" }
  ])
})

test("Fields.of a new object are the fields of the request", () => {
  const object = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "a", namespace: "b", labels: { c: "d" }, resourceVersion: "1" },
    stringData: { key: "secret" },
    items: []
  }
  expect(Fields.of("Secret", object)).toEqual([
    { path: "items", to: [] },
    { path: "metadata.labels.c", to: "d" },
    { path: "stringData.key", to: "<redacted>" }
  ])
})
