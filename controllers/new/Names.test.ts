import { describe, expect, test } from "bun:test"
import * as Result from "effect/Result"
import * as Names from "./Names.ts"

const namesOf = (kind: string) => Names.of({ kind, group: "cache.example.com", version: "v1alpha1", plural: undefined })

const refusal = (checked: Result.Result<string, string>) => Result.getOrUndefined(Result.flip(checked))

describe("A new controller", () => {
  test("has names from its kind", () => {
    expect(namesOf("RedisCache")).toMatchObject({
      name: "rediscache",
      package: "@homeostat/rediscache",
      variable: "redisCache",
      one: "a RedisCache"
    })
    expect(["Cache", "DNSRecord", "DNS", "V2Ray", "Archive"].map((kind) => namesOf(kind).variable)).toEqual([
      "cache",
      "dnsRecord",
      "dns",
      "v2Ray",
      "archive"
    ])
    expect(namesOf("Archive").one).toBe("an Archive")
  })

  for (const kind of ["Cache", "RedisCache", "V1", "C".repeat(52)]) {
    test(`can have the kind ${kind}`, () => expect(Names.kindOf(kind)).toEqual(Result.succeed(kind)))
  }

  for (const kind of ["cache", "redis-cache", "Redis_Cache", "", "C".repeat(53), "1Cache", "Käse"]) {
    test(`cannot have the kind "${kind}", which is invalid`, () =>
      expect(refusal(Names.kindOf(kind))).toContain("PascalCase"))
  }

  for (const kind of ["Map", "Promise", "Deployment", "Effect", "Status", "CHILDREN"]) {
    test(`cannot have the kind ${kind}, because its modules use this name`, () =>
      expect(refusal(Names.kindOf(kind))).toEndWith("choose another kind"))
  }

  for (const group of ["example", "Example.com", "-a.com", "a..b", "a_b.com", `${"a".repeat(64)}.com`, "a.k8s.io"]) {
    test(`cannot have the group "${group}"`, () => expect(refusal(Names.groupOf(group))).toContain("cache.example.com"))
  }

  for (const version of ["1", "v0", "v1alpha", "v1gamma1", "V1"]) {
    test(`cannot have the version "${version}"`, () => expect(refusal(Names.versionOf(version))).toContain("v1alpha1"))
  }

  test("has a plural that is valid in a path", () => {
    expect(Names.pluralOf("caches")).toEqual(Result.succeed("caches"))
    expect(refusal(Names.pluralOf("Caches/"))).toContain("invalid plural")
  })
})
