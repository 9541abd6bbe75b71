/** The names of serving certificates. */
import { expect, test } from "bun:test"
import * as ServerName from "./ServerName.ts"

const valid = [
  ["hooks.ns.svc", "DNS:other, DNS:hooks.ns.svc"],
  ["HOOKS.ns.svc.", "DNS:hooks.NS.svc"],
  ["hooks.ns.svc", "DNS:*.ns.svc"],
  ["my_hooks", "DNS:my_hooks"],
  ["-a", "DNS:-A"],
  ["127.0.0.1", "DNS:a, IP Address:127.0.0.1"],
  ["[::1]", "IP Address:0:0:0:0:0:0:0:1"]
] as const

test.each(valid)("%s is valid in %s", (host, subjectaltname) => {
  expect(ServerName.problemOf(host, { subjectaltname })).toBeUndefined()
})

const legacy = "x509: certificate relies on legacy Common Name field, use SANs instead"

const invalid = [
  ["hooks.ns.svc", { subject: { CN: "hooks.ns.svc" } }, legacy],
  ["hooks.ns.svc", { subject: { CN: ["a", "*.ns.svc"] } }, legacy],
  [
    "hooks.ns.svc",
    { subject: { CN: "hooks" } },
    "x509: certificate is not valid for any names, but wanted to match hooks.ns.svc"
  ],
  [
    "hooks.ns.svc",
    { subject: { CN: "hooks.ns.svc" }, subjectaltname: "URI:a" },
    "x509: certificate is not valid for any names, but wanted to match hooks.ns.svc"
  ],
  [
    "a.hooks.ns.svc",
    { subjectaltname: "DNS:*.ns.svc, DNS:b" },
    "x509: certificate is valid for *.ns.svc, b, not a.hooks.ns.svc"
  ],
  ["hooks.ns", { subjectaltname: "DNS:h*.ns" }, "x509: certificate is valid for h*.ns, not hooks.ns"],
  [
    "127.0.0.1",
    { subject: { CN: "127.0.0.2" }, subjectaltname: "DNS:127.0.0.1" },
    "x509: cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs"
  ],
  ["127.0.0.1", { subject: { CN: "127.0.0.1" } }, legacy],
  [
    "[::2]",
    { subjectaltname: "IP Address:0:0:0:0:0:0:0:1, IP Address:10.0.0.1" },
    "x509: certificate is valid for ::1, 10.0.0.1, not ::2"
  ]
] as const

test.each(invalid)("%s is not valid in %j", (host, names, problem) => {
  expect(ServerName.problemOf(host, names)).toBe(problem)
})

test("an error about a certificate with many names reports their number", () => {
  const subjectaltname = Array.from({ length: 100 }, (_, index) => `DNS:a${index}`).join(", ")
  expect(ServerName.problemOf("a", { subjectaltname })).toBe(
    "x509: certificate is valid for 100 names, but none matched a"
  )
})
