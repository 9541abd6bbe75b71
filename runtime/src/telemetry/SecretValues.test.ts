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

describe("Values beyond a limit", () => {
  const text = "an ordinary text"
  const lines = (count: number) => Array.from({ length: count }, (_, at) => `a=${at}"line`).join("\n")
  const notice = "<hidden: Secret production/a is too large to search (at most 65536 characters of values)>"
  const cases: ReadonlyArray<readonly [what: string, value: unknown]> = [
    ["of one line", secret({ a: "x".repeat(700_000) })],
    ["of many lines", secret({ a: lines(52_000) })],
    ["of many lines in JSON", secret({ a: JSON.stringify(lines(10_000).split("\n")) })],
    ["of many keys", secret(Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`k${at}`, `value-${at}`])))],
    ["of empty keys", secret(Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`k${at}`, ""])))],
    ["as plain texts", { ...secret({}), stringData: { a: lines(52_000) } }],
    [
      "in a list",
      { kind: "SecretList", items: Array.from({ length: 99 }, (_, at) => secret({ a: `${at}${"x".repeat(2000)}` })) }
    ]
  ]
  for (const [what, value] of cases) {
    test(`replace each whole text: ${what}`, () => expect(replaced(text, value)).toBe(notice))
  }
  test("replace each whole text if fields have names of secrets, or if there are too many fields", () => {
    const named = SecretValues.make()
    named.learnNamed({ password: lines(52_000) })
    expect(named.replaced(text, () => "*")).toBe(
      "<hidden: the fields with names of secrets are too large to search (at most 65536 characters of values)>"
    )
    for (const wide of [
      Array.from({ length: 70_000 }, () => 1),
      Object.fromEntries(
        lines(70_000)
          .split("\n")
          .map((key) => [key, 1])
      )
    ]) {
      const members = SecretValues.make()
      members.learnNamed({ spec: wide })
      expect(members.replaced(text, () => "*")).toBe(
        "<hidden: an object is too large to search (at most 65536 members)>"
      )
    }
  })
  test("do not replace texts that are shorter than every value", () =>
    expect(replaced("shop", secret({ a: lines(52_000) }))).toBe("shop"))
  test("do not count if they are certificates, or of unused keys", () => {
    const certificate = `# My CA\n-----BEGIN CERTIFICATE-----\n${"MIIB\n".repeat(50_000)}-----END CERTIFICATE-----\n`
    const tls = secret({ "ca.crt": certificate, "tls.key": "correct horse battery" })
    expect(replaced(`${text} MIIB correct horse battery`, tls)).toBe(`${text} MIIB *`)
    const values = SecretValues.make()
    values.learn(secret({ junk: lines(52_000), pin: "4711-0815" }), false, ["pin", "absent"])
    expect(values.replaced(`${text} 4711-0815`, () => "*")).toBe(`${text} *`)
  })
})

describe("The cost of a search", () => {
  /** The fastest of some runs in ms, because the machine does other work too. */
  const millis = (run: () => void): number =>
    Math.min(
      ...Array.from({ length: 5 }, () => {
        const began = performance.now()
        run()
        return performance.now() - began
      })
    )
  const words = (count: number, length: number) =>
    secret({ a: Array.from({ length: count }, (_, at) => `${at} `.padEnd(length, "abcdefghi")).join("\n") })
  const known = (value: unknown): SecretValues.SecretValues => {
    const values = SecretValues.make()
    values.learn(value, false)
    expect(values.replaced("an ordinary text", () => "*")).toBe("an ordinary text")
    return values
  }
  const text = "the claim data is not bound, see kubectl describe pvc data ".repeat(2000)

  test("in a text does not depend on the number of values", () => {
    const search = (values: SecretValues.SecretValues) => millis(() => values.replaced(text, () => "*"))
    expect(search(known(words(1200, 9))) / search(known(words(2, 9)))).toBeLessThan(6)
  })

  test("for the worst values is that of some megabytes of JSON", () => {
    const calibration = millis(() => JSON.parse(JSON.stringify(Array.from({ length: 200_000 }, (_, at) => `${at}`))))
    for (const worst of [words(1200, 9), words(230, 60), words(1, 13_000), secret({ a: "x=".repeat(350_000) })]) {
      const hide = millis(() => {
        const values = SecretValues.make()
        values.learn(worst, false)
        for (let at = 0; at < 20; at++) values.replaced("the claim data is not bound, see kubectl", () => "*")
      })
      expect(hide / calibration).toBeLessThan(5)
    }
  })
})
