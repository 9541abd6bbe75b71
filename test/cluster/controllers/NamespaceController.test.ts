import { expect } from "bun:test"
import { Failure } from "@homeostat/apiserver/model/Failure"
import { at, type JsonObject, objects } from "@homeostat/apiserver/model/Json"
import { Effect } from "effect"
import { effect } from "../Test.ts"
import { start } from "./Running.fixture.ts"

const messages = (namespace: JsonObject | undefined) =>
  objects(at(namespace, "status", "conditions"))
    .filter(({ status }) => status === "True")
    .map(({ message, type }) => `${String(type)}: ${String(message)}`)

effect("A namespace is removed after its content, and reports the remaining content until then", () =>
  Effect.gen(function* () {
    const running = yield* start()
    running.make({ apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } })
    yield* running.idle
    const held = { name: "held", finalizers: ["example.com/held"] }
    const keep = running.make({ apiVersion: "v1", kind: "ConfigMap", metadata: held }, "team")
    running.make({ apiVersion: "v1", kind: "Secret", metadata: { name: "secret" } }, "team")
    running.remove("v1", "Namespace", "team")
    const inIt = () => running.make({ apiVersion: "v1", kind: "Secret", metadata: { name: "late" } }, "team")
    expect(inIt).toThrow(Failure)
    yield* running.idle
    expect(running.find("v1", "Secret", "secret", "team")).toBeUndefined()
    expect(messages(running.find("v1", "Namespace", "team"))).toEqual([
      "NamespaceContentRemaining: Some resources are remaining: configmaps. has 1 resource instances",
      "NamespaceFinalizersRemaining: Some content in the namespace has finalizers remaining: example.com/held in 1 resource instances"
    ])
    const kind = running.registry.named("v1", "ConfigMap")
    if (kind !== undefined) {
      const patch = { type: "merge" as const, text: JSON.stringify({ metadata: { finalizers: null } }) }
      running.verbs.patch(kind, "", "team", String(at(keep, "metadata", "name")), patch, { now: 0 })
    }
    yield* running.idle
    expect(running.find("v1", "Namespace", "team")).toBeUndefined()
  })
)

effect("Each namespace has its ServiceAccount and CA certificate, which are recreated", () =>
  Effect.gen(function* () {
    const running = yield* start()
    running.make({ apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } })
    yield* running.idle
    const there = () => [
      running.find("v1", "ServiceAccount", "default", "team") !== undefined,
      running.find("v1", "ConfigMap", "kube-root-ca.crt", "team") !== undefined
    ]
    expect(there()).toEqual([true, true])
    running.remove("v1", "ServiceAccount", "default")
    running.remove("v1", "ConfigMap", "kube-root-ca.crt")
    yield* running.idle
    expect(running.find("v1", "ServiceAccount", "default")).toBeDefined()
    expect(running.find("v1", "ConfigMap", "kube-root-ca.crt")).toBeDefined()
  })
)
