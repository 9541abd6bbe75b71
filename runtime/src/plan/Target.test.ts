import { expect, test } from "bun:test"
import * as Target from "./Target.ts"

const cases: ReadonlyArray<readonly [path: string, target: Partial<Target.Target> | undefined]> = [
  ["/version", undefined],
  ["/apis", undefined],
  ["/api/v1/pods?limit=1", { group: "", version: "v1", plural: "pods", namespace: "", name: "", subresource: "" }],
  ["/api/v1/namespaces/shop", { plural: "namespaces", namespace: "", name: "shop" }],
  ["/api/v1/namespaces/shop/status", { plural: "namespaces", name: "shop", subresource: "status" }],
  ["/api/v1/namespaces/shop/pods/a%2Fb/log", { plural: "pods", namespace: "shop", name: "a/b", subresource: "log" }],
  [
    "/apis/apps/v1/namespaces/a/deployments/b/scale",
    { group: "apps", plural: "deployments", name: "b", subresource: "scale" }
  ],
  ["/apis/example.com/v1/things/b", { group: "example.com", version: "v1", plural: "things", namespace: "", name: "b" }]
]

for (const [path, target] of cases) {
  test(`the target of ${path}`, () => {
    if (target === undefined) expect(Target.of({ path })).toBeUndefined()
    else expect(Target.of({ path })).toMatchObject(target)
  })
}

test("Target.objectPath is the inverse of Target.of", () => {
  const target = Target.of({ path: "/apis/apps/v1/namespaces/a/deployments/b%20c" })
  expect(target && Target.objectPath(target)).toBe("/apis/apps/v1/namespaces/a/deployments/b%20c")
  expect(target && Target.collectionPath({ ...target, namespace: "" })).toBe("/apis/apps/v1/deployments")
  const core = Target.of({ path: "/api/v1/nodes/n" })
  expect(core && Target.objectPath(core)).toBe("/api/v1/nodes/n")
})

test("Target.keyOf is equal for all versions of an object", () => {
  const keys = ["v1", "v2"].map((version) =>
    Target.of({ path: `/apis/autoscaling/${version}/namespaces/a/horizontalpodautoscalers/b` })
  )
  expect(new Set(keys.map((target) => target && Target.keyOf(target))).size).toBe(1)
})
