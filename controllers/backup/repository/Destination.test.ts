import { describe, expect, test } from "bun:test"
import * as Seed from "@homeostat/testkit/Seed.fixture"
import * as Result from "effect/Result"
import * as FastCheck from "fast-check"
import * as Destination from "./Destination.ts"

const destination = (text: string): Destination.Destination =>
  Result.getOrThrowWith(Destination.parse(text), (message) => new Error(message))
const refusal = (text: string) => Result.getOrUndefined(Result.flip(Destination.parse(text)))
const place: Destination.Place = { namespace: "shop", path: "shop/cart", mountPath: "/repository" }

describe("Destination.repository returns the restic repository of", () => {
  const table: ReadonlyArray<readonly [string, Destination.Destination, string]> = [
    [
      "s3://my-backup-bucket",
      { _tag: "S3", bucket: "my-backup-bucket", path: "" },
      "s3:s3.amazonaws.com/my-backup-bucket/shop/cart"
    ],
    [
      "my-backup-bucket",
      { _tag: "S3", bucket: "my-backup-bucket", path: "" },
      "s3:s3.amazonaws.com/my-backup-bucket/shop/cart"
    ],
    ["s3://b.1/a/b/", { _tag: "S3", bucket: "b.1", path: "a/b" }, "s3:s3.amazonaws.com/b.1/a/b/shop/cart"],
    [
      "rest+https://backup.example.com:8000/team_a",
      { _tag: "Rest", url: "https://backup.example.com:8000", path: "team_a" },
      "rest:https://backup.example.com:8000/team_a/shop/cart/"
    ],
    [
      "rest+https://[::1]:8000",
      { _tag: "Rest", url: "https://[::1]:8000", path: "" },
      "rest:https://[::1]:8000/shop/cart/"
    ],
    ["gs://my_bucket/x", { _tag: "Gs", bucket: "my_bucket", path: "x" }, "gs:my_bucket:/x/shop/cart"],
    ["azure://con-tainer", { _tag: "Azure", container: "con-tainer", path: "" }, "azure:con-tainer:/shop/cart"],
    ["b2://My-Bucket/x", { _tag: "B2", bucket: "My-Bucket", path: "x" }, "b2:My-Bucket:x/shop/cart"],
    ["pvc://backups.v1/daily", { _tag: "Pvc", claim: "backups.v1", path: "daily" }, "/repository/daily/shop/cart"]
  ]
  for (const [text, expected, repository] of table) {
    test(text, () => {
      expect(destination(text)).toEqual(expected)
      expect(Destination.repository(expected, place)).toBe(repository)
    })
  }
  test("an S3 bucket at another endpoint, with or without a scheme", () => {
    const bucket = destination("s3://bucket")
    expect(Destination.repository(bucket, { ...place, endpoint: "https://minio.example.com:9000/" })).toBe(
      "s3:https://minio.example.com:9000/bucket/shop/cart"
    )
    expect(Destination.repository(bucket, { ...place, endpoint: "minio:9000" })).toBe("s3:minio:9000/bucket/shop/cart")
  })
  test("a volume, whose identity contains the namespace", () => {
    const volume = destination("pvc://backups")
    expect(Destination.identity(volume, place)).toBe("pvc:shop/backups/shop/cart")
    expect(Destination.identity(volume, { ...place, namespace: "bank" })).not.toBe(Destination.identity(volume, place))
    expect(Destination.identity(destination("s3://abc"), place)).toBe("s3:s3.amazonaws.com/abc/shop/cart")
  })
})

describe("Destination.parse rejects", () => {
  const all =
    "must be s3://bucket/path, rest+https://host/path, gs://bucket/path, azure://container/path, b2://bucket/path, pvc://claim/path, or the name of an S3 bucket"
  const path = "each part of the path must be letters, digits and . _ = + - only, and not . or .."
  const host = "the host must be a host name or address, and a port if it is not 443"
  const claim = "the claim must be the name of a PersistentVolumeClaim in the Backup's namespace"
  const table: ReadonlyArray<readonly [string, string]> = [
    ["", all],
    [" s3://bucket", all],
    ["https://backup.example.com/a", all],
    ["rest+http://host/a", all],
    ["rest:https://host/a", all],
    ["s3:s3.amazonaws.com/bucket", all],
    ["S3://bucket", all],
    ["file:///var/backups", all],
    ["/var/backups", all],
    ["bucket/path", all],
    ["Bucket", all],
    ["constructor://bucket", all],
    ["s3://https://minio:9000/bucket", "the bucket must be 3 to 63 lower-case letters, digits, dots and dashes"],
    ["s3://bucket_1", "the bucket must be 3 to 63 lower-case letters, digits, dots and dashes"],
    ["gs://b", "the bucket must be 3 to 222 lower-case letters, digits, dots, dashes and underscores"],
    ["azure://B", "the container must be 3 to 63 lower-case letters, digits and single dashes"],
    ["b2://short", "the bucket must be 6 to 50 letters, digits and dashes"],
    ["pvc://", claim],
    ["pvc:///a", claim],
    ["pvc://Claim", claim],
    ["rest+https://host:65536", host],
    ["rest+https://host:0", host],
    ["s3://bucket/../other", path],
    ["s3://bucket//a", path],
    ["s3://bucket/a b", "must not contain spaces, ? or #"]
  ]
  for (const [text, rule] of table) {
    test(JSON.stringify(text), () =>
      expect(refusal(text)).toBe(`invalid destination: ${JSON.stringify(text)} (${rule})`)
    )
  }

  test("a query or fragment, which it redacts in the message", () => {
    for (const [text, shown] of [
      ["s3://bucket?x=1", "s3://bucket?***"],
      ["s3://bucket/a#secret", "s3://bucket/a#***"],
      ["https://host/a?key=secret", "https://host/a?***"]
    ] as const) {
      expect(refusal(text)).toStartWith(`invalid destination: ${JSON.stringify(shown)} (`)
    }
    expect(refusal("s3://joe:se?cr/et@bucket?sec=ret@x")).toStartWith('invalid destination: "s3://***@x" (')
  })

  test("a password, which it redacts in the message", () => {
    for (const text of [
      "rest+https://joe:sec/ret@host/a",
      "rest:https://joe:secret@host/",
      "s3://key:secret@bucket",
      "secret@host:/a",
      "x:secret@y"
    ]) {
      const message = refusal(text) ?? ""
      expect(message).not.toMatch(/sec|ret@|joe|key/)
      expect(message).toEndWith("(must not contain a user or password, which belong in the Secret)")
    }
  })

  test("unsafe text: an accepted destination contains no space, quote or ..", () =>
    FastCheck.assert(
      FastCheck.property(
        FastCheck.constantFrom("s3://", "rest+https://", "gs://", "azure://", "b2://", "pvc://", ""),
        FastCheck.string({ unit: FastCheck.constantFrom(..."abc019/.-_:@ $'\"`\n%~") }),
        (scheme, rest) => {
          const parsed = Destination.parse(`${scheme}${rest}`)
          if (Result.isSuccess(parsed)) {
            const repository = Destination.repository(parsed.success, place)
            expect(repository).toMatch(/^[A-Za-z0-9.:/_=+[\]-]+$/)
            expect(repository.split("/")).not.toContain("..")
          }
        }
      ),
      { numRuns: 2000, seed: Seed.current() }
    ))
})

describe("The environment of a mover", () => {
  const table: ReadonlyArray<readonly [string, ReadonlyArray<string>, ReadonlyArray<string>]> = [
    ["s3://bucket", [], ["RESTIC_PASSWORD", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]],
    ["s3://bucket", ["RESTIC_PASSWORD", "AWS_ACCESS_KEY_ID"], ["AWS_SECRET_ACCESS_KEY"]],
    ["s3://bucket", ["RESTIC_PASSWORD", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"], []],
    ["rest+https://host", ["RESTIC_REST_USERNAME"], ["RESTIC_PASSWORD"]],
    ["gs://bucket", ["RESTIC_PASSWORD"], ["GOOGLE_APPLICATION_CREDENTIALS or GOOGLE_ACCESS_TOKEN"]],
    ["gs://bucket", ["RESTIC_PASSWORD", "GOOGLE_ACCESS_TOKEN"], []],
    ["azure://container", ["RESTIC_PASSWORD"], ["AZURE_ACCOUNT_NAME", "AZURE_ACCOUNT_KEY or AZURE_ACCOUNT_SAS"]],
    ["azure://container", ["RESTIC_PASSWORD", "AZURE_ACCOUNT_NAME", "AZURE_ACCOUNT_SAS"], []],
    ["b2://bucket", ["RESTIC_PASSWORD", "B2_ACCOUNT_KEY"], ["B2_ACCOUNT_ID"]],
    ["pvc://claim", ["RESTIC_PASSWORD"], []]
  ]
  for (const [text, keys, lacking] of table) {
    test(`for ${text} with ${keys.join(", ") || "nothing"} lacks ${lacking.join(", ") || "nothing"}`, () =>
      expect(Destination.missing(destination(text), keys)).toEqual(lacking))
  }
  test("needs no keys with a workload identity, but never only half of a pair of keys", () => {
    const bucket = destination("s3://bucket")
    const options = { ownIdentity: true }
    expect(Destination.missing(bucket, ["RESTIC_PASSWORD"], options)).toEqual([])
    expect(Destination.missing(bucket, ["RESTIC_PASSWORD", "AWS_ACCESS_KEY_ID"], options)).toEqual([
      "AWS_SECRET_ACCESS_KEY"
    ])
    expect(Destination.missing(destination("b2://bucket"), ["RESTIC_PASSWORD"], options)).toEqual([
      "B2_ACCOUNT_ID",
      "B2_ACCOUNT_KEY"
    ])
  })
  test("may contain the variables of restic, but none that selects a program or repository", () => {
    for (const text of [
      "s3://bucket",
      "rest+https://host",
      "gs://bucket",
      "azure://container",
      "b2://bucket",
      "pvc://claim"
    ]) {
      const names = Destination.allowed(destination(text))
      expect(names).toContain("RESTIC_PASSWORD")
      expect(new Set(names).size).toBe(names.length)
      expect(names.filter((name) => /COMMAND|REPOSITORY|^PATH$|^LD_|PROXY|_FILE$/.test(name))).toEqual([])
    }
  })
})

test("Destination.parse accepts REST ports from 1 to 65535", () => {
  for (const port of [1, 65_535]) expect(refusal(`rest+https://host:${port}`)).toBeUndefined()
})

test("Destination.variables returns the variables of each kind of destination", () => {
  const variables = (text: string) => Destination.variables(destination(text))
  const password = [["RESTIC_PASSWORD"]]
  expect(variables("s3://bucket")).toEqual({
    required: [password],
    identity: [[["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]]],
    optional: [
      "AWS_SESSION_TOKEN",
      "AWS_DEFAULT_REGION",
      "RESTIC_AWS_ASSUME_ROLE_ARN",
      "RESTIC_AWS_ASSUME_ROLE_EXTERNAL_ID",
      "RESTIC_AWS_ASSUME_ROLE_POLICY",
      "RESTIC_AWS_ASSUME_ROLE_REGION",
      "RESTIC_AWS_ASSUME_ROLE_SESSION_NAME",
      "RESTIC_AWS_ASSUME_ROLE_STS_ENDPOINT"
    ],
    files: []
  })
  expect(variables("rest+https://host/a")).toEqual({
    required: [password],
    identity: [],
    optional: ["RESTIC_REST_USERNAME", "RESTIC_REST_PASSWORD"],
    files: []
  })
  expect(variables("gs://bucket")).toEqual({
    required: [password],
    identity: [[["GOOGLE_APPLICATION_CREDENTIALS"], ["GOOGLE_ACCESS_TOKEN"]]],
    optional: ["GOOGLE_PROJECT_ID"],
    files: ["GOOGLE_APPLICATION_CREDENTIALS"]
  })
  expect(variables("azure://container")).toEqual({
    required: [password, [["AZURE_ACCOUNT_NAME"]]],
    identity: [[["AZURE_ACCOUNT_KEY"], ["AZURE_ACCOUNT_SAS"]]],
    optional: ["AZURE_ENDPOINT_SUFFIX"],
    files: []
  })
  expect(variables("pvc://claim")).toEqual({ required: [password], identity: [], optional: [], files: [] })
})
