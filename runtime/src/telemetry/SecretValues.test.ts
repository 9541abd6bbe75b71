import { describe, expect, test } from "bun:test"
import * as SecretValues from "./SecretValues.ts"

const base64 = (text: string): string => Buffer.from(text).toString("base64")

const secret = (values: { readonly [key: string]: string }, name = "a") => ({
  kind: "Secret",
  metadata: { namespace: "production", name },
  data: Object.fromEntries(Object.entries(values).map(([key, value]) => [key, base64(value)]))
})

/** The text without the values of these Secrets. */
const replaced = (text: string, ...secrets: ReadonlyArray<unknown>): string => {
  const values = SecretValues.make()
  for (const each of secrets) values.learn(each, false)
  return values.replaced(text, () => "*")
}

describe("The values of a Secret in a text", () => {
  const password = "correct horse battery"
  const cases: ReadonlyArray<readonly [what: string, value: string, text: string, shown: string]> = [
    ["as plain text", password, `no login as ${password}!`, "no login as *!"],
    ["in base64", password, `data.a: ${base64(password)}`, "data.a: *"],
    ["without the newline at its end", `${password}\n`, `as ${password}`, "as *"],
    ["with escaped quotes", 'horse "battery"', String.raw`as \"horse \"battery\"\"`, String.raw`as \"*\"`],
    ["as a part of JSON", '{"user":"a","list":[{"pin":"4711-0815"}]}', "actual 4711-0815", "actual *"],
    ["as a line", "first-line\nsecond-line", "at first-line, second-line", "at *, *"],
    ["after a name", "USER=a\nPASSWORD='horse battery'", "as horse battery", "as *"],
    ["after a name in YAML", "password: horse-battery\n", "as horse-battery", "as *"],
    ["several times", password, `${password} ${password}`, "* *"]
  ]
  for (const [what, value, text, shown] of cases) {
    test(`are replaced ${what}`, () => expect(replaced(text, secret({ value }))).toBe(shown))
  }
  test("are replaced as a whole if one has another", () =>
    expect(replaced("battery-horse", secret({ one: "battery-", other: "battery-horse" }))).toBe("*"))
  test("are found in stringData, in lists and in JSON patches", () => {
    const stringData = { kind: "Secret", stringData: { a: password } }
    expect(replaced(`${password} ${base64(password)}`, stringData)).toBe("* *")
    expect(replaced(password, { kind: "SecretList", items: [{ data: { a: base64(password) } }] })).toBe("*")
    const values = SecretValues.make()
    values.learn([{ op: "add", path: "/data/a", value: base64(password) }], true)
    expect(values.replaced(password, () => "*")).toBe("*")
  })
  test("stay if they have less than eight characters, or are the names of the Secret", () => {
    const text = "GET /api/v1/namespaces/production/secrets/database: battery"
    expect(replaced(text, secret({ a: "battery", b: "production", c: "database" }, "database"))).toBe(text)
  })
  test("do not count for another kind", () =>
    expect(replaced(password, { kind: "ConfigMap", data: { a: base64(password) } })).toBe(password))
  test("of binary data are found in base64", () => {
    const binary = Buffer.from([255, 254, 253, 252, 251, 250, 249, 248]).toString("base64")
    expect(replaced(`data ${binary}`, { kind: "Secret", data: { a: binary } })).toBe("data *")
  })
})

test("Values of fields and variables with names of secrets are replaced", () => {
  const values = SecretValues.make()
  values.learnNamed({
    spec: { password: "correct-horse", env: [{ name: "DB_PASSWORD", value: "battery-staple" }], image: "nginx:1.27.3" },
    data: { API_TOKEN: "paper-clip", existingSecret: "shop-login" },
    headers: [{ name: "Authorization", value: "rubber-duck" }]
  })
  expect(values.replaced("correct-horse battery-staple nginx:1.27.3", () => "*")).toBe("* * nginx:1.27.3")
  expect(values.replaced("paper-clip shop-login rubber-duck", () => "*")).toBe("* shop-login *")
})
