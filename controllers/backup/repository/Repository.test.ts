import { describe, expect, test } from "bun:test"
import { backup, understood } from "../run/Backups.fixture.ts"
import type * as Repository from "./Repository.ts"

const of = (
  destination: string,
  { name = "cart", ...repository }: { readonly name?: string; readonly path?: string; readonly endpoint?: string } = {}
): Repository.Repository => understood(backup({ destination, repository }, { name })).repository

describe("Repository.of", () => {
  for (const [destination, url] of [
    ["s3://bucket/pfx", "s3:s3.amazonaws.com/bucket/pfx/shop/cart"],
    ["bucket", "s3:s3.amazonaws.com/bucket/shop/cart"],
    ["rest+https://host:8000/a", "rest:https://host:8000/a/shop/cart/"],
    ["gs://bucket/a", "gs:bucket:/a/shop/cart"],
    ["azure://container", "azure:container:/shop/cart"],
    ["b2://bucket", "b2:bucket:shop/cart"],
    ["pvc://backups/a", "/repository/a/shop/cart"]
  ] as const) {
    test(`for ${destination} returns ${url}`, () => expect(of(destination).url).toBe(url))
  }
  test("appends the path of the spec", () => expect(of("s3://bucket", { path: "all" }).url).toEndWith("/bucket/all"))
  test("uses the endpoint of the spec", () =>
    expect(of("s3://bucket", { endpoint: "minio:9000" }).url).toBe("s3:minio:9000/bucket/shop/cart"))
})

describe("The hash of a repository", () => {
  test("is a valid label value", () => expect(of("s3://bucket").hash).toMatch(/^[0-9a-f]{32}$/))
  test("is equal for two Backups with the same location", () => {
    expect(of("s3://bucket", { path: "all" }).hash).toBe(of("bucket", { path: "all", name: "db" }).hash)
    expect(of("s3://bucket/all", { path: "a" }).hash).toBe(of("s3://bucket", { path: "all/a", name: "db" }).hash)
    expect(of("pvc://backups", { path: "all" }).hash).toBe(of("pvc://backups/", { path: "all", name: "db" }).hash)
  })
  test("is equal for all spellings of one server", () => {
    const s3 = ["minio:9000", "MinIO:9000", "https://minio:9000", "https://minio:9000/"]
    const plain = ["minio", "https://minio:443", "Minio:443/"]
    for (const spellings of [s3, plain]) {
      expect(new Set(spellings.map((endpoint) => of("s3://bucket", { endpoint }).hash)).size).toBe(1)
    }
    expect(of("s3://bucket", { endpoint: "minio" }).hash).not.toBe(of("s3://bucket", { endpoint: "minio:9000" }).hash)
    const rest = ["rest+https://host/a", "rest+https://host:443/a", "rest+https://HOST/a"]
    expect(new Set(rest.map((destination) => of(destination).hash)).size).toBe(1)
    expect(of("s3://bucket/A").hash).not.toBe(of("s3://bucket/a").hash)
  })
  test("differs for different locations", () => {
    const places = [
      of("s3://bucket"),
      of("s3://bucket", { name: "db" }),
      of("s3://other"),
      of("s3://bucket", { path: "all" }),
      of("s3://bucket", { endpoint: "minio:9000" }),
      of("gs://bucket"),
      of("pvc://backups"),
      // In a claim with another name, the path in the mover is the same.
      of("pvc://others")
    ]
    expect(new Set(places.map(({ hash }) => hash)).size).toBe(places.length)
  })
  test("differs for equally named volumes in two namespaces", () => {
    const shop = backup({ destination: "pvc://backups", repository: { path: "all" } })
    const other = { ...shop, metadata: { ...shop.metadata, namespace: "bar" } }
    expect(understood(other).repository.hash).not.toBe(understood(shop).repository.hash)
  })
})
