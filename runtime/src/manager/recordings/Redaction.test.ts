import { describe, expect, test } from "bun:test"
import * as Redaction from "./Redaction.ts"

const base64 = (text: string): string => Buffer.from(text).toString("base64")

const secret = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: {
    name: "key",
    annotations: { a: "b", "kubectl.kubernetes.io/last-applied-configuration": '{"data":{"key":"aHVudGVyMg=="}}' }
  },
  data: { password: base64("correct horse"), empty: "" },
  stringData: { plain: "battery staple" }
}

const hidden = (value: unknown, isSecret = false): string => {
  const redaction = Redaction.make()
  redaction.learn(value, isSecret)
  return JSON.stringify(redaction.hide(value, isSecret))
}

describe("Secrets", () => {
  test("have values of the same length, and base64 stays base64 of the text that replaces copies", () => {
    const shown = JSON.parse(hidden(secret))
    expect(shown.data).toEqual({ password: base64("xxxxxxxxxxxxx"), empty: "" })
    expect(Buffer.from(shown.data.password, "base64")).toHaveLength("correct horse".length)
    expect(shown.stringData).toEqual({ plain: "xxxxxxxxxxxxxx" })
    expect(shown.metadata).toMatchObject({ name: "key", annotations: { a: "b" } })
    expect(JSON.stringify(shown)).not.toContain("aHVudGVyMg")
  })

  test("are hidden without a kind, in a list, and in a JSON patch", () => {
    const { kind: _, ...item } = secret
    expect(hidden(item, true)).not.toMatch(/battery|Y29ycmVjd/)
    expect(hidden({ kind: "SecretList", items: [item] })).not.toMatch(/battery|Y29ycmVjd/)
    const patch = [{ op: "add", path: "/data/password", value: base64("correct horse") }]
    expect(hidden(patch, true)).not.toContain("Y29ycmVjd")
    expect(hidden([{ op: "add", path: "/spec/password", value: "hunter2" }])).toContain('"xxxxxxx"')
  })

  test("have no copies if only a JSON patch of the Secret has the value", () => {
    for (const value of [base64("correct horse"), { password: base64("correct horse") }]) {
      const redaction = Redaction.make()
      redaction.learn([{ op: "add", path: typeof value === "string" ? "/data/password" : "/data", value }], true)
      expect(redaction.text("it is correct horse")).toBe("it is xxxxxxxxxxxxx")
    }
  })

  test("have no copies in other objects, in base64 or as a text", () => {
    const redaction = Redaction.make()
    redaction.learn(secret, false)
    const copy = { data: { note: "it is correct horse", raw: base64("correct horse"), also: ["battery staple"] } }
    expect(redaction.hide(copy, false)).toEqual({
      data: { note: "it is xxxxxxxxxxxxx", raw: "x".repeat(base64("correct horse").length), also: ["xxxxxxxxxxxxxx"] }
    })
    expect(redaction.text("it is correct horse")).toBe("it is xxxxxxxxxxxxx")
    expect(redaction.count()).toBeGreaterThan(3)
  })

  test("with short values and values that are names do not change other objects", () => {
    const redaction = Redaction.make()
    redaction.learn({ kind: "Secret", data: { user: base64("admin"), host: base64("database-0") } }, false)
    const other = { metadata: { name: "database-0", labels: { role: "admin" } }, spec: { host: "database-0" } }
    expect(redaction.hide(other, false)).toEqual({ ...other, spec: { host: "xxxxxxxxxx" } })
  })
})

test("Variables of containers with names of secrets are hidden", () => {
  const env = ["PASSWORD", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY"].map((name) => ({ name, value: "hunter2" }))
  expect(hidden({ kind: "Pod", spec: { containers: [{ env }] } })).not.toContain("hunter2")
  const plain = { env: [{ name: "KEYS", value: "a,b" }] }
  expect(JSON.parse(hidden(plain))).toEqual(plain)
  const annotations = { "kubectl.kubernetes.io/last-applied-configuration": `${JSON.stringify(plain)}\n`, a: "b" }
  expect(JSON.parse(hidden({ metadata: { annotations } }))).toEqual({ metadata: { annotations } })
})

test("An annotation of kubectl apply with very deep JSON has no values at the depth", () => {
  const nested = `${"[".repeat(50_000)}"hunter2"${"]".repeat(50_000)}`
  for (const text of [nested, `{"password":["x",${nested}]}`]) {
    const shown = hidden({ metadata: { annotations: { "kubectl.kubernetes.io/last-applied-configuration": text } } })
    expect(shown).toContain("[[[null]]]")
    expect(shown).not.toContain("hunter2")
  }
})

test("Fields with names of secrets and texts that look like secrets are hidden, and nothing else", () => {
  const object = {
    spec: { password: "hunter2", tokens: 3, url: "https://user:hunter2@example.com/", image: "nginx:1" }
  }
  expect(JSON.parse(hidden(object))).toEqual({
    spec: { password: "xxxxxxx", tokens: 3, url: "https://<redacted>@example.com/", image: "nginx:1" }
  })
  const redaction = Redaction.make()
  const plain = { spec: { image: "nginx:1", ports: [80] }, status: null }
  expect(redaction.hide(plain, false)).toEqual(plain)
  expect(redaction.count()).toBe(0)
})
