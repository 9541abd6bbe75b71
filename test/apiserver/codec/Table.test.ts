import { describe, expect, test } from "bun:test"
import * as CustomCell from "../kinds/crd/CustomCell.ts"
import * as JsonPath from "../kinds/crd/JsonPath.ts"
import { configMap, webApp } from "../kinds/Kinds.fixture.ts"
import * as Duration from "../model/Duration.ts"
import * as PartialMetadata from "./PartialMetadata.ts"
import * as Table from "./Table.ts"
import * as Yaml from "./Yaml.ts"

const object = {
  apiVersion: "example.com/v1",
  kind: "WebApp",
  metadata: { name: "w", resourceVersion: "7" },
  spec: { a: "red" }
}
const options = {
  version: "v1",
  includeObject: "Metadata",
  now: 0,
  metadata: { resourceVersion: "9" },
  withColumns: true
} as const

describe("a table", () => {
  test("has the name first, and the metadata of the objects", () => {
    expect(Table.table(webApp, [object], options)).toEqual({
      kind: "Table",
      apiVersion: "meta.k8s.io/v1",
      metadata: { resourceVersion: "9" },
      columnDefinitions: [
        {
          name: "Name",
          type: "string",
          format: "name",
          description: expect.stringMatching(/^Name must be unique/),
          priority: 0
        },
        { name: "Color", type: "string", format: "", description: "its colour", priority: 1 }
      ],
      rows: [
        {
          cells: ["w", "red"],
          object: {
            kind: "PartialObjectMetadata",
            apiVersion: "meta.k8s.io/v1",
            metadata: { name: "w", resourceVersion: "7" }
          }
        }
      ]
    })
  })
  test("describes its columns only in the first event", () => {
    expect(Table.table(webApp, [object], { ...options, withColumns: false }).columnDefinitions).toBeNull()
  })
  const included = (includeObject: Table.IncludeObject, metadata = {}) =>
    Table.table(webApp, [{ ...object, metadata }], { ...options, includeObject }).rows
  test("includes in each row the part of the object that the client requests", () => {
    expect(included("Object")).toEqual([{ cells: ["", "red"], object: { ...object, metadata: {} } }])
    expect(included("None")).toEqual([{ cells: ["", "red"], object: null }])
  })
  test("always shows the bookmark that ends the initial events", () => {
    const metadata = { annotations: { "k8s.io/initial-events-end": "true" } }
    expect(included("None", metadata)).toEqual([
      { cells: ["", "red"], object: { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata } }
    ])
  })
  test("refuses to include anything else", () => {
    expect(Table.includeObjectOf(undefined)).toBe("Metadata")
    expect(() => Table.includeObjectOf("Bogus")).toThrow(
      `Unable to convert to Table as requested: includeObject: Invalid value: "Bogus": must be 'Metadata', 'Object', 'None', or empty`
    )
  })
})

describe("metadata alone", () => {
  test("of an empty list has no items at all, as in the real server", () => {
    expect(PartialMetadata.partialList([], {}, "v1").items).toBeNull()
  })
  test("is rejected for an object if the request expects a list, and for a list otherwise", () => {
    expect(PartialMetadata.isList(configMap).message).toBe(
      "you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)"
    )
    expect(PartialMetadata.isNoList(configMap)).toMatchObject({
      code: 406,
      message: "you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)"
    })
    expect(PartialMetadata.isNoList(webApp)).toMatchObject({ code: 500, message: "content is not a list" })
  })
})

const any = {
  f: 1234567.5,
  big: 12345678901234567000,
  l: [1, "a<b", 2.5],
  nul: null,
  b: true,
  "a.b/c": "dots",
  t: "1970-01-01T00:00:00Z",
  c: [
    { t: "A", s: "one", n: 1 },
    { t: "B", s: "two", n: 2, ok: true }
  ]
}

describe("the cell of a custom column", () => {
  const cells: ReadonlyArray<readonly [Parameters<typeof CustomCell.of>[0], string, string | number | boolean | null]> =
    [
      ["string", ".f", "1.2345675e+06"],
      ["string", ".big", "1.2345678901234567e+19"],
      ["string", ".l", '[1,"a\\u003cb",2.5]'],
      ["string", ".nul", "<no value>"],
      ["string", ".b", "true"],
      ["string", ".a\\.b/c", "dots"],
      ["string", ".c[?(@.t=='B')].s", "two"],
      ["string", ".c[?(@.n>=2)].s", "two"],
      ["string", ".c[?(@.ok==true)].t", "B"],
      ["string", ".c[?(@.ok)].t", "B"],
      ["string", ".c[*].t", "A"],
      ["string", ".c[-1].t", "B"],
      ["string", ".l[1:]", "a<b"],
      ["string", ".l[0,1]", "1"],
      ["string", "..s", "one"],
      ["string", ".l[7]", null],
      ["string", ".missing.deep", null],
      ["string", ".f[0]", null],
      ["integer", ".l[2]", 2],
      ["integer", ".b", null],
      ["number", ".l[2]", 2.5],
      ["boolean", ".b", true],
      ["boolean", ".f", null],
      ["date", ".t", "100s"],
      ["date", ".l[1]", "<invalid>"],
      ["date", ".f", null]
    ]
  for (const [type, path, cell] of cells) {
    test(`of type ${type} at ${path} is ${JSON.stringify(cell)}`, () => {
      expect(CustomCell.of(type, path)(any, 100_000)).toBe(cell)
    })
  }
})

test("an invalid path is rejected", () => {
  for (const wrong of ["[0", ".a[b]", ".a[?(@.b=='c']", "{.a}", "range .a"])
    expect(() => JsonPath.parse(wrong)).toThrow()
})

test("durations have two or three figures", () => {
  const seconds: ReadonlyArray<readonly [number, string]> = [
    [-5, "<invalid>"],
    [-1.5, "0s"],
    [0, "0s"],
    [119, "119s"],
    [120, "2m"],
    [125, "2m5s"],
    [600, "10m"],
    [10_799, "179m"],
    [10_860, "3h1m"],
    [86_400, "24h"],
    [172_800, "2d"],
    [180_000, "2d2h"],
    [691_200, "8d"],
    [63_072_000, "2y"],
    [63_158_400, "2y1d"],
    [315_360_000, "10y"]
  ]
  for (const [second, text] of seconds) expect(Duration.human(second * 1_000)).toBe(text)
  expect(Duration.age(undefined, 0)).toBe("<unknown>")
})

test("an object that is written as YAML is read without a change", () => {
  const words = [
    "yes",
    "0x10",
    "010",
    "~",
    "",
    "1e3",
    ".inf",
    "0o17",
    "2020-01-01",
    "- a",
    "a: b",
    "x\ny\n",
    "#",
    "é\u0001",
    "'\"",
    " a "
  ]
  const value = {
    z: words,
    a: Object.fromEntries(words.map((word) => [word, word])),
    n: null,
    t: true,
    d: 1.5,
    o: {},
    l: []
  }
  expect(Yaml.parse(Yaml.format(value)).value).toEqual(value)
  expect(Yaml.format({ kind: "X", items: [{ b: 1, a: "no" }] })).toBe('items:\n- a: "no"\n  b: 1\nkind: X\n')
})
