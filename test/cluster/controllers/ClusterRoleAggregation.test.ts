import { expect } from "bun:test"
import { at, type JsonObject, objects } from "@homeostat/apiserver/model/Json"
import { Effect } from "effect"
import { effect } from "../Test.ts"
import { start } from "./Running.fixture.ts"

const apiVersion = "rbac.authorization.k8s.io/v1"

const rule = (resource: string): JsonObject => ({ verbs: ["get"], apiGroups: ["example.com"], resources: [resource] })

const role = (name: string, ...rules: ReadonlyArray<JsonObject>): JsonObject => ({
  apiVersion,
  kind: "ClusterRole",
  metadata: { name, labels: { "rbac.authorization.k8s.io/aggregate-to-view": "true" } },
  rules
})

effect("An aggregated ClusterRole has the rules of the selected roles, each once, while they exist", () =>
  Effect.gen(function* () {
    const running = yield* start()
    const rules = (name: string) => objects(running.find(apiVersion, "ClusterRole", name)?.rules)
    const before = rules("view")
    expect(before.length).toBeGreaterThan(5)
    running.make(role("one", rule("ones")))
    running.make(role("zwei", rule("ones"), rule("twos")))
    yield* running.idle
    expect(rules("view")).toEqual([rule("ones"), ...before, rule("twos")])
    expect(rules("admin")).toContainEqual(rule("twos"))
    const managers = objects(at(running.find(apiVersion, "ClusterRole", "view"), "metadata", "managedFields"))
    expect(managers.map(({ manager, operation }) => `${String(manager)} ${String(operation)}`)).toContain(
      "clusterrole-aggregation-controller Apply"
    )
    running.remove(apiVersion, "ClusterRole", "zwei")
    running.remove(apiVersion, "ClusterRole", "one")
    yield* running.idle
    expect(rules("view")).toEqual([...before])
  })
)

effect("A cluster starts with aggregated roles, which the controller does not change", () =>
  Effect.gen(function* () {
    const running = yield* start()
    for (const name of ["admin", "edit", "view"]) {
      expect(at(running.find(apiVersion, "ClusterRole", name), "metadata", "resourceVersion")).toBe("100")
    }
  })
)
