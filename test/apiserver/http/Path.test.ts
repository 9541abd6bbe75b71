import { expect, test } from "bun:test"
import * as Path from "./Path.ts"

const cases: ReadonlyArray<readonly [path: string, read: Partial<Path.ResourcePath> | undefined]> = [
  ["/api/v1/pods", { group: "", version: "v1", namespace: "", plural: "pods", name: "" }],
  ["/api/v1/namespaces/a/pods/b/log", { namespace: "a", plural: "pods", name: "b", subresource: "log" }],
  ["/api/v1/namespaces", { plural: "namespaces", name: "", namespace: "" }],
  ["/api/v1/namespaces/a", { plural: "namespaces", name: "a", namespace: "" }],
  ["/api/v1/namespaces/a/finalize", { plural: "namespaces", name: "a", subresource: "finalize" }],
  ["/apis/apps/v1/deployments/", { group: "apps", plural: "deployments", name: "" }],
  ["/apis/apps/v1/namespaces/a/deployments/b/status/x", { name: "b", subresource: "status", rest: ["x"] }],
  ["/api/v1/watch/namespaces/a/pods", { watch: true, namespace: "a", plural: "pods" }],
  ["/api/v1/namespaces//pods", { namespace: "", plural: "pods", name: "" }],
  ["/api/v1/namespaces/a/pods/b%2Fc", { name: "b", subresource: "c" }],
  ["/api/v1/namespaces/a/pods/b//", { name: "b", subresource: "", rest: [] }],
  ["//api/v1/pods", undefined],
  ["*", undefined],
  ["/api/v1", undefined],
  ["/apis/apps/v1", undefined],
  ["/apis//v1/x", undefined],
  ["/version", undefined]
]

for (const [path, read] of cases) {
  test(`${path} is ${read === undefined ? "no path to objects" : JSON.stringify(read)}`, () => {
    const found = Path.resource(Path.parts(path) ?? [])
    if (read === undefined) expect(found).toBeUndefined()
    else expect(found).toMatchObject(read)
  })
}

test.each([
  ["/", []],
  ["//", ["", ""]],
  ["*", ["", "*"]],
  ["/api/", ["api"]],
  ["/apis//", ["apis", "", ""]]
])("%s has the parts %j", (path, parts) => expect(Path.parts(path)).toEqual(parts))

test("a path that cannot be decoded is rejected", () => expect(Path.parts("/api/%zz")).toBeUndefined())
