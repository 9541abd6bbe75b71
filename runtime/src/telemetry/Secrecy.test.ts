import { describe, expect, test } from "bun:test"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Secrecy from "./Secrecy.ts"

const secret = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: {
    name: "key",
    annotations: { a: "b", "kubectl.kubernetes.io/last-applied-configuration": '{"data":{"key":"aHVudGVyMg=="}}' }
  },
  data: { key: "aHVudGVyMg==", other: "aHVudGVyMg==" },
  stringData: { key: "hunter2" }
}

const shown = (value: unknown): string => JSON.stringify(Secrecy.redacted(value))

describe("Secrecy.redacted", () => {
  test("shows only the keys of a Secret", () => {
    const open = shown(secret)
    expect(open).not.toMatch(/hunter2|aHVudGVyMg/)
    expect(JSON.parse(open)).toMatchObject({
      metadata: { name: "key", annotations: { a: "b" } },
      data: { key: "<redacted>" }
    })
  })
  test("adds no fields to a Secret", () => {
    for (const metadata of [{ name: "key" }, { name: "key", annotations: { a: "b" } }, { annotations: 3 }, "odd"]) {
      const odd = { kind: "Secret", data: 3, stringData: "x", metadata }
      expect(Secrecy.redacted(odd)).toEqual(odd)
    }
    expect(Secrecy.redacted({ kind: "Secret" })).toEqual({ kind: "Secret" })
    expect(Secrecy.redacted({ kind: "SecretList", items: [3, "x"] })).toEqual({ kind: "SecretList", items: [3, "x"] })
  })
  test("redacts single items of a list", () =>
    expect(Secrecy.redacted([1, { token: "hunter2" }])).toEqual([1, { token: "<redacted>" }]))
  test("shows 32 levels of an object", () => {
    const nested = (depth: number): unknown => (depth === 0 ? {} : { in: nested(depth - 1) })
    expect(shown(nested(32))).not.toContain("…")
    expect(shown(nested(33))).toContain('{"in":"…"}')
  })
  test("finds fields by name", () =>
    expect(
      Secrecy.fields([
        ["a", 1],
        ["token", "hunter2"],
        ["b", { password: "hunter2" }]
      ])
    ).toEqual({
      a: 1,
      token: "<redacted>",
      b: { password: "<redacted>" }
    }))
  test("treats a toJSON that is not a function as a field", () =>
    expect(shown({ toJSON: "x", token: "hunter2" })).toBe('{"toJSON":"x","token":"<redacted>"}'))
  test("keeps an empty text", () => expect(Secrecy.redacted({ token: "" })).toEqual({ token: "" }))
  test("redacts nested Secrets at any depth", () => {
    const { apiVersion, kind, ...item } = secret
    for (const value of [
      { a: [{ b: secret }] },
      { kind: "SecretList", items: [item] },
      { kind: "List", items: [secret] }
    ]) {
      expect(shown(value)).not.toMatch(/hunter2|aHVudGVyMg/)
      expect(shown(value)).toContain('"name":"key"')
    }
  })
  test("redacts fields with names of secrets", () => {
    for (const name of [
      "authorization",
      "Authorization",
      "proxy-authorization",
      "cookie",
      "token",
      "id-token",
      "accessToken",
      "password",
      "client-key-data",
      "clientSecret",
      "apiKey"
    ]) {
      expect(shown({ headers: { [name]: "hunter2" } })).toBe(`{"headers":{"${name}":"<redacted>"}}`)
    }
    expect(shown(new Headers({ authorization: "hunter2", accept: "a" }))).toBe(
      '{"accept":"a","authorization":"<redacted>"}'
    )
    expect(shown({ kind: "TokenReview", spec: { token: "hunter2" } })).not.toContain("hunter2")
  })
  test("redacts lists with names of secrets, and attributes", () => {
    expect(shown({ password: ["hunter2", "hunter3"], "http.request.header.authorization": ["hunter2"] })).toBe(
      '{"password":"<redacted>","http.request.header.authorization":"<redacted>"}'
    )
  })
  test("redacts the result of toJSON", () => {
    const broken = {
      toJSON: () => {
        throw new Error("boom")
      }
    }
    expect(Secrecy.redacted(broken)).toBe(broken)
    const self = { ...secret, toJSON: (): unknown => self }
    for (const value of [
      Option.some(secret),
      { in: Option.some([Option.some(secret)]) },
      { toJSON: () => secret },
      self,
      Object.assign(new Error("refused"), { request: { headers: { authorization: "hunter2" } } })
    ]) {
      expect(shown(value)).not.toMatch(/hunter2|aHVudGVyMg/)
      expect(shown(value)).toContain("<redacted>")
    }
    expect(shown(Option.some(secret))).toStartWith('{"_id":"Option","_tag":"Some","value":{')
    expect(shown({ password: Redacted.make("hunter2") })).toBe('{"password":"<redacted>"}')
  })
  test("returns all other values unchanged", () => {
    for (const value of [
      { list: [1, "a", null, undefined] },
      { kind: "ConfigMap", data: { key: "open" } },
      { tokens: 3, token: 3, secretName: "a", passwordless: "yes", automountServiceAccountToken: true },
      new Date(0),
      Redacted.make("hunter2"),
      Option.some({ kind: "ConfigMap", data: { key: "open" } }),
      new Error("boom"),
      "text",
      1n,
      undefined
    ]) {
      expect(Secrecy.redacted(value)).toBe(value)
    }
  })
  test("visits circular and shared objects once", () => {
    const circular: { self?: unknown; readonly secret: unknown } = { secret }
    circular.self = circular
    expect(shown(circular)).not.toMatch(/hunter2|aHVudGVyMg/)
    let shared: unknown = secret
    for (let layer = 0; layer < 30; layer++) shared = { left: shared, right: shared }
    expect(Secrecy.redacted(shared)).not.toBe(shared)
  })
  test("truncates very deep objects", () => {
    interface Nested {
      readonly in?: Nested
    }
    let nested: Nested = {}
    for (let depth = 0; depth < 10_000; depth++) nested = { in: nested }
    expect(shown(nested)).toContain('"…"')
  })
})

describe("Secrecy.masked", () => {
  const cases: ReadonlyArray<readonly [string, string, string]> = [
    ["a bearer token", "sent authorization: Bearer abc.def-ghi_123/=", "sent authorization: Bearer <redacted>"],
    ["basic credentials", "Basic aHVudGVyMjpodW50ZXIy", "Basic <redacted>"],
    ["basic credentials of letters only", "Basic dXNlcjpwYXNz, basic YTpi", "Basic <redacted>, basic <redacted>"],
    ["a JSON web token", "token eyJhbGciOi.eyJpc3MiOi.c2lnbmF0dXJl, unknown", "token <redacted>, unknown"],
    [
      "a private key",
      "a\n-----BEGIN EC PRIVATE KEY-----\nMHcC\n-----END EC PRIVATE KEY-----\nb",
      "a\nEC PRIVATE KEY <redacted>\nb"
    ],
    ["a password in a URL", "GET https://me:hunter2@proxy.test:3128/x", "GET https://<redacted>@proxy.test:3128/x"],
    ["a password with / in a URL", "https://me:hun/ter2@host:80/x@1", "https://<redacted>@host:80/x@1"],
    ["a password with @ in a URL", "https://me:hun@ter2@host/x", "https://<redacted>@host/x"],
    [
      "a bearer token without a digit",
      "Authorization: Bearer abcdefghijklmnop, x",
      "Authorization: Bearer <redacted>, x"
    ],
    ["a key of AWS", "AKIAIOSFODNN7EXAMPLE, x", "<redacted>, x"],
    ["a token of GitHub", "as ghp_16C7e42F292c6912E7710c838347Ae178B4a", "as <redacted>"],
    ["a password by its name", "password=hunter-two x", "password=<redacted> x"],
    ["a password in quotes", 'db password="hunter two" x', "db password=<redacted> x"],
    ["a secret key of AWS by its name", "AWS_SECRET_ACCESS_KEY=a/b+c x", "AWS_SECRET_ACCESS_KEY=<redacted> x"],
    [
      "a signature in a URL",
      "https://a.test/c?sv=2020&sig=AbC%3D&se=1",
      "https://a.test/c?sv=2020&sig=<redacted>&se=1"
    ],
    ["a password in JSON", '{"password":"hunter \\"two","a":"b"}', '{"password":"<redacted>","a":"b"}'],
    ["a token after its name", "token: hunter2-hunter, x", "token: <redacted>, x"],
    ["a short password after its name", "password: hunter2, x", "password: <redacted>, x"],
    ["a password after a colon alone", "password:hunter2, x", "password:<redacted>, x"],
    ["a password between colon and spaces", "Password\t : hunter2 x", "Password\t : <redacted> x"],
    ["a token after a space and a colon", "secret : abc123456 x", "secret : <redacted> x"],
    ["a quoted password after its name", 'passphrase: "hunter two", x', "passphrase: <redacted>, x"],
    [
      "a key in a file of settings",
      "aws_secret_access_key = a/b+c\nregion = x",
      "aws_secret_access_key = <redacted>\nregion = x"
    ],
    ["a quoted password in a file of settings", "password\t= 'hunter two' x", "password\t= <redacted> x"],
    [
      "a password with a space on one side",
      "password= hunter, token =abc x",
      "password= <redacted>, token =<redacted> x"
    ],
    ["a password of a connection", "Server=a;Uid=me;Pwd=hunter;x=1", "Server=a;Uid=me;Pwd=<redacted>;x=1"],
    ["a passphrase", "KEY_PASSPHRASE=hunter x", "KEY_PASSPHRASE=<redacted> x"],
    ["a password as an option", "mysql --password hunter2 --user me", "mysql --password <redacted> --user me"],
    ["a token of Slack", "as xoxb-123456789012-abcdefABCDEF, x", "as <redacted>, x"],
    ["a key of Google", `key=AIzaSy${"Ab0_-".repeat(7)} x`, "key=<redacted> x"],
    ["a token of GitLab", `glpat-${"aB1-".repeat(5)}x y`, "<redacted> y"],
    ["a key of Stripe", `sk_live_${"aB1".repeat(8)} y`, "<redacted> y"]
  ]
  for (const [what, text, expected] of cases) test(`redacts ${what}`, () => expect(Secrecy.masked(text)).toBe(expected))

  test("takes a time that grows with the text", () => {
    const millis = (text: string): number =>
      Math.min(
        ...Array.from({ length: 5 }, () => {
          const began = performance.now()
          Secrecy.masked(text, text.length)
          return performance.now() - began
        })
      )
    for (const part of [
      "-",
      "--",
      "--a",
      "password ",
      "password = ",
      "pwd: ",
      "pwd:",
      "password \t:\t",
      "xox",
      "token\t",
      "a.",
      " =",
      "'",
      "sig=' "
    ]) {
      const [short, long] = [8000, 64_000].map((length) => part.repeat(length / part.length)) as [string, string]
      // Eight times the text; 64 times if the cost were quadratic.
      expect(millis(long) / Math.max(millis(short), 0.2)).toBeLessThan(30)
    }
  })
  test("truncates a long text, and redacts a secret at the limit", () => {
    const token = `eyJ${"a".repeat(100)}.${"b".repeat(300)}.${"c".repeat(5000)}`
    expect(Secrecy.masked(`${"x ".repeat(40)}${token}`, 100)).toBe(`${"x ".repeat(40)}<redacted>…`)
    expect(Secrecy.masked("a ".repeat(500_000))).toBe(`${"a ".repeat(4096)}…`)
  })
  test("keeps all other texts", () => {
    for (const text of [
      "Basic authentication failed, a bearer authorization is missing",
      "PATCH /apis/apps/v1/namespaces/a/deployments/b: because Conflict",
      "registry.test/web@sha256:0123456789abcdef at https://registry.test/web@sha256:01",
      "https://registry.test:5000/web@sha256:01",
      "token: expired, secret: not found, Secret shop/x has no key password",
      "selector key=value, passwords=3",
      "mail to admin@example.com",
      "PWD=/home/me OLDPWD=/",
      "object.spec.token == '' && password != 'x'",
      "password: must be set, passphrase: Required value",
      "--password is required, --token-file FILE, --token 1",
      "xoxo-hugs, AIzawa, npm_config_cache=x"
    ]) {
      expect(Secrecy.masked(text)).toBe(text)
    }
  })
})
