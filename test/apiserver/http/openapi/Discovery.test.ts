import { describe, expect, test } from "bun:test"
import { kindsOf } from "../../kinds/crd/CustomKinds.ts"
import { webApps } from "../../kinds/Definitions.fixture.ts"
import { builtIn } from "../../kinds/Kinds.fixture.ts"
import * as J from "../../model/Json.ts"
import * as Discovery from "./Discovery.ts"

const kinds = [...kindsOf(webApps), ...builtIn]

const groups = (list: J.JsonObject) => J.objects(list.items).map((item) => J.at(item, "metadata", "name"))

describe("Discovery", () => {
  test("has the core group at /api and the other groups at /apis, custom groups last", () => {
    expect(groups(Discovery.aggregated(kinds, "api"))).toEqual([undefined])
    const others = groups(Discovery.aggregated(kinds, "apis"))
    expect(others.slice(0, 2)).toEqual(["apps", "events.k8s.io"])
    expect(others.at(-1)).toBe("openapi.example.com")
  })

  test("has the preferred version of a group first", () => {
    const group = (name: string) => J.at(Discovery.apiGroup(kinds, name), "preferredVersion", "version")
    expect(group("autoscaling")).toBe("v2")
    expect(group("openapi.example.com")).toBe("v1")
    expect(Discovery.apiGroup(kinds, "nope")).toBeUndefined()
    expect(Discovery.apiGroup(kinds, "")).toBeUndefined()
  })

  test("has a custom kind in its version with its subresources", () => {
    const list = Discovery.apiResourceList(kinds, "openapi.example.com", "v1")
    expect(J.objects(list?.resources).map(({ kind, name }) => `${name} ${kind}`)).toEqual([
      "webapps WebApp",
      "webapps/status WebApp",
      "webapps/scale Scale"
    ])
    expect(Discovery.apiResourceList(kinds, "openapi.example.com", "v2")).toBeUndefined()
  })

  test("has the hash of the stored version, which is the same for all versions", () => {
    const hash = (version: string) =>
      J.objects(Discovery.apiResourceList(kinds, "openapi.example.com", version)?.resources)[0]?.storageVersionHash
    expect(hash("v1beta1")).toBe(hash("v1") ?? null)
    const [review] = J.objects(Discovery.apiResourceList(kinds, "authentication.k8s.io", "v1")?.resources)
    expect(review).not.toHaveProperty("storageVersionHash")
  })

  test("has an ETag that changes with the kinds", () => {
    const tag = (list: typeof kinds) => Discovery.etag(Discovery.aggregated(list, "apis"))
    expect(tag(kinds)).toBe(tag([...kinds]))
    expect(tag(kinds)).not.toBe(tag(builtIn.slice()))
    expect(tag(kinds)).toMatch(/^"[0-9A-F]{128}"$/)
  })
})
