import { describe, expect, test } from "bun:test"
import { kindsOf } from "../../kinds/crd/CustomKinds.ts"
import { webApps } from "../../kinds/Definitions.fixture.ts"
import { builtIn } from "../../kinds/Kinds.fixture.ts"
import * as J from "../../model/Json.ts"
import * as OpenApi from "./OpenApi.ts"

const kinds = [...builtIn, ...kindsOf(webApps)]
const key = "apis/openapi.example.com/v1"

const ask = (path: string, more: Partial<OpenApi.Request> = {}) =>
  OpenApi.answer(kinds, { path, hash: undefined, accept: undefined, ifNoneMatch: undefined, now: 0, ...more })

const url = (list = kinds) => J.text(J.at(OpenApi.index(list), "paths", key, "serverRelativeURL")) ?? ""

describe("The index", () => {
  test("names the document of each group-version with its hash", () => {
    expect(url()).toMatch(/^\/openapi\/v3\/apis\/openapi\.example\.com\/v1\?hash=[0-9A-F]{128}$/)
    expect(Object.keys(J.object(OpenApi.index(kinds).paths))[0]).toBe("api/v1")
  })

  test("has another hash after a change of its kind, and the same hash after a change of another kind", () => {
    const [version, ...rest] = webApps.spec.versions.toReversed()
    const changed = {
      ...webApps,
      spec: { ...webApps.spec, versions: [{ ...version, subresources: { status: {} } }, ...rest] }
    }
    expect(url([...builtIn, ...kindsOf(changed)])).not.toBe(url())
    expect(url([...kinds, ...kindsOf({ ...webApps, spec: { ...webApps.spec, group: "other.example.com" } })])).toBe(
      url()
    )
  })
})

test("A document is rendered again when a kind of its group-version is added, removed or changed", () => {
  const [first, second] = kindsOf(webApps)
  if (first === undefined || second === undefined) throw new Error("two versions expected")
  const of = (...versions: ReadonlyArray<typeof first>) => {
    const same = versions.map((kind) => ({ ...kind, version: "v1" }))
    return (list: ReadonlyArray<number>) => url([...builtIn, ...list.flatMap((index) => same[index] ?? [])])
  }
  const hashOf = of(
    first,
    { ...second, plural: "others", kind: "Other" },
    { ...second, plural: "thirds", kind: "Third" }
  )
  const hashes = [[0], [0, 1], [0, 2], [0, 1, 2]].map(hashOf)
  expect(new Set(hashes).size).toBe(4)
  expect(hashOf([0, 1])).toBe(hashes[1] ?? "")
})

describe("A document", () => {
  test("may be cached without a limit if the request has its hash", () => {
    const [path = "", hash = ""] = url().split("?hash=")
    const { headers, status } = ask(path, { hash })
    expect(status).toBe(200)
    expect(headers["cache-control"]).toBe("public, immutable")
    expect(headers.expires).toBe("Fri, 01 Jan 1971 00:00:00 UTC")
    expect(headers.etag).toBe(`"${hash}"`)
    expect(ask(path, { hash: "0" }).headers.location).toBe(url())
    expect(ask(path, { ifNoneMatch: `"${hash}"` })).toMatchObject({ status: 304, body: "" })
  })

  test("has the operation that kubectl requires before a write: a PATCH of the kind with fieldValidation", () => {
    const document = OpenApi.groupVersionDocument(kinds, "openapi.example.com", "v1")
    const patch = J.at(document, "paths", `/${key}/namespaces/{namespace}/webapps/{name}`, "patch")
    expect(J.at(patch, "x-kubernetes-group-version-kind")).toEqual({
      group: "openapi.example.com",
      version: "v1",
      kind: "WebApp"
    })
    expect(J.objects(J.at(patch, "parameters")).map(({ name }) => name)).toContain("fieldValidation")
    expect(J.at(document, "components", "schemas", "com.example.openapi.v1.WebApp", "description")).toBe(
      "A web application."
    )
  })

  test("has only references to existing schemas", () => {
    for (const [group, version] of [
      ["", "v1"],
      ["apps", "v1"],
      ["openapi.example.com", "v1"]
    ] as const) {
      const document = OpenApi.groupVersionDocument(kinds, group, version)
      const schemas = J.object(J.at(document, "components", "schemas"))
      const names = Array.from(JSON.stringify(document).matchAll(/schemas\/([^"]+)"/g), ([, name = ""]) => name)
      expect(names.filter((name) => !Object.hasOwn(schemas, name) || J.equal(schemas[name], {}))).toEqual([])
    }
  })

  test("is available in JSON only", () => {
    const path = `/openapi/v3/${key}`
    const protobuf = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
    expect(ask(path, { accept: protobuf }).status).toBe(406)
    expect(ask(path, { accept: `${protobuf}, */*` }).status).toBe(200)
  })
})
