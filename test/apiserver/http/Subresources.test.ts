import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Json from "../model/Json.ts"
import { ask, make, merge, thing, things } from "./Client.fixture.ts"

const pods = "/api/v1/namespaces/default/pods"

const pod = (name: string, more: Json.JsonObject = {}): Json.JsonObject => ({
  metadata: { name, labels: { app: "x" } },
  spec: { containers: [{ name: "c", image: "i" }] },
  ...more
})

describe("/status", () => {
  effect("changes only the status", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const { body } = yield* ask(server, "POST", things, thing("a", { spec: { color: "red" } }))
      const changed = yield* ask(server, "PUT", `${things}/a/status`, {
        ...body,
        spec: { color: "blue" },
        status: { phase: "up" },
        metadata: { ...Json.object(body.metadata), labels: { a: "b" } }
      })
      expect(changed.body).toMatchObject({
        spec: { color: "red" },
        status: { phase: "up" },
        metadata: { generation: 1 }
      })
      expect(Json.at(changed.body, "metadata", "labels")).toBeUndefined()
    })
  )
})

describe("/scale", () => {
  effect("reads and sets the replicas of an object", () =>
    Effect.gen(function* () {
      const server = yield* make()
      yield* ask(server, "POST", things, thing("a", { spec: { replicas: 1 } }))
      yield* merge(server, `${things}/a/status`, { status: { replicas: 1, selector: "a=b" } })
      const { body } = yield* ask(server, "GET", `${things}/a/scale`)
      expect(body).toMatchObject({
        kind: "Scale",
        apiVersion: "autoscaling/v1",
        metadata: { name: "a", namespace: "default" },
        spec: { replicas: 1 },
        status: { replicas: 1, selector: "a=b" }
      })
      const scaled = yield* ask(server, "PUT", `${things}/a/scale`, { ...body, spec: { replicas: 4 } })
      expect(scaled.body.spec).toEqual({ replicas: 4 })
      expect((yield* ask(server, "PUT", `${things}/a/scale`, { ...body, spec: { replicas: 5 } })).status).toBe(409)
      const after = yield* ask(server, "GET", `${things}/a`)
      expect(after.body).toMatchObject({ spec: { replicas: 4 }, metadata: { generation: 2 } })
      const [owner] = Json.objects(Json.at(after.body, "metadata", "managedFields")).filter(
        ({ subresource }) => subresource === "scale"
      )
      expect(owner?.fieldsV1).toEqual({ "f:spec": { "f:replicas": {} } })
    })
  )

  effect("sets replicas in a nested field", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const replicas = { type: "object", properties: { replicas: { type: "integer" } } }
      yield* ask(server, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
        apiVersion: "apiextensions.k8s.io/v1",
        kind: "CustomResourceDefinition",
        metadata: { name: "racks.probe.io" },
        spec: {
          group: "probe.io",
          scope: "Namespaced",
          names: { plural: "racks", kind: "Rack" },
          versions: [
            {
              name: "v1",
              served: true,
              storage: true,
              subresources: {
                scale: { specReplicasPath: ".spec.shelf.replicas", statusReplicasPath: ".status.replicas" }
              },
              schema: {
                openAPIV3Schema: {
                  type: "object",
                  properties: { spec: { type: "object", properties: { shelf: replicas } }, status: replicas }
                }
              }
            }
          ]
        }
      })
      const racks = "/apis/probe.io/v1/namespaces/default/racks"
      const rack = {
        apiVersion: "probe.io/v1",
        kind: "Rack",
        metadata: { name: "a" },
        spec: { shelf: { replicas: 1 } }
      }
      yield* ask(server, "POST", racks, rack)
      const { body } = yield* ask(server, "GET", `${racks}/a/scale`)
      yield* ask(server, "PUT", `${racks}/a/scale`, { ...body, spec: { replicas: 4 } })
      expect((yield* ask(server, "GET", `${racks}/a`)).body.spec).toEqual({ shelf: { replicas: 4 } })
    })
  )

  effect("of a custom object without replicas requires a number of replicas in each change", () =>
    Effect.gen(function* () {
      const server = yield* make()
      yield* ask(server, "POST", things, thing("a"))
      const unsaid = yield* merge(server, `${things}/a/scale`, {})
      expect([unsaid.status, unsaid.body.message]).toEqual([
        400,
        'the spec replicas field ".spec.replicas" cannot be empty'
      ])
      const unknown = yield* ask(server, "PUT", `${things}/a/scale?fieldValidation=Strict`, {
        apiVersion: "autoscaling/v1",
        kind: "Scale",
        metadata: { name: "a" },
        foo: 1
      })
      expect(unknown.body.message).toBe(
        'no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"'
      )
    })
  )
})

describe("pods/binding", () => {
  effect("assigns a pod to a node, once", () =>
    Effect.gen(function* () {
      const server = yield* make()
      yield* ask(server, "POST", pods, pod("a"))
      const bind = (node: string) =>
        ask(server, "POST", `${pods}/a/binding`, { metadata: { name: "a" }, target: { kind: "Node", name: node } })
      expect(yield* bind("n")).toMatchObject({ status: 201, body: { kind: "Status", status: "Success", code: 201 } })
      const { body } = yield* ask(server, "GET", `${pods}/a`)
      expect(Json.at(body, "spec", "nodeName")).toBe("n")
      expect(Json.objects(Json.at(body, "status", "conditions"))).toMatchObject([
        { type: "PodScheduled", status: "True" }
      ])
      expect((yield* bind("m")).body).toMatchObject({
        code: 409,
        message: 'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "n"'
      })
    })
  )

  effect("requires the name of the pod in the path and in the body", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const { body } = yield* ask(server, "POST", `${pods}/a/binding`, { target: { name: "n" } })
      expect(body).toMatchObject({ code: 400, message: "name in URL does not match name in Binding object" })
    })
  )
})

describe("pods/eviction", () => {
  const budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
  const evict = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "a" } }
  const running = { status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } }

  effect("deletes a pod if its budget allows it, and decreases the budget", () =>
    Effect.gen(function* () {
      const server = yield* make()
      yield* ask(server, "POST", pods, pod("a", running))
      const budget = (allowed: number) => ({
        metadata: { name: "b" },
        spec: { selector: { matchLabels: { app: "x" } } },
        status: { disruptionsAllowed: allowed, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 }
      })
      yield* ask(server, "POST", budgets, budget(0))
      const refused = yield* ask(server, "POST", `${pods}/a/eviction`, evict)
      expect(refused.body).toMatchObject({
        code: 429,
        reason: "TooManyRequests",
        message: "Cannot evict pod as it would violate the pod's disruption budget.",
        details: {
          causes: [
            { reason: "DisruptionBudget", message: "The disruption budget b needs 1 healthy pods and has 1 currently" }
          ]
        }
      })
      yield* ask(server, "PUT", `${budgets}/b`, budget(1))
      expect((yield* ask(server, "POST", `${pods}/a/eviction`, evict)).status).toBe(201)
      expect((yield* ask(server, "GET", `${pods}/a`)).status).toBe(404)
      const { body } = yield* ask(server, "GET", `${budgets}/b`)
      expect(body).toMatchObject({ status: { disruptionsAllowed: 0 } })
      expect(Json.at(body, "status", "disruptedPods", "a")).toBeDefined()
    })
  )
})

describe("pods/log", () => {
  effect("comes from the registered source", () =>
    Effect.gen(function* () {
      const server = yield* make()
      yield* ask(server, "POST", pods, pod("a"))
      expect((yield* ask(server, "GET", `${pods}/a/log`)).body).toMatchObject({
        code: 400,
        message: "pod a does not have a host assigned"
      })
      yield* ask(server, "POST", pods, pod("b", { spec: { containers: [{ name: "c", image: "i" }], nodeName: "n" } }))
      expect((yield* ask(server, "GET", `${pods}/b/log`)).body).toMatchObject({ code: 501 })
      server.serveLogs((of, options) =>
        Effect.succeed(`${String(Json.at(of, "metadata", "name"))} ${JSON.stringify(options)}`)
      )
      const { headers, text } = yield* ask(server, "GET", `${pods}/b/log?tailLines=2`)
      expect(text).toBe('b {"container":"c","follow":false,"tailLines":2}')
      expect(headers["content-type"]).toStartWith("text/plain")
      server.serveLogs(() => Effect.succeed({ next: Effect.succeed(undefined), close: Effect.void }))
      const followed = yield* ask(server, "GET", `${pods}/b/log?follow=true`)
      expect(followed.headers["content-type"]).toStartWith("text/plain")
    })
  )
})

describe("CustomResourceDefinition", () => {
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

  effect("is served from the step that stores it until it and its objects are gone", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const { body } = yield* ask(server, "GET", `${definitions}/things.probe.io`)
      expect(
        Json.objects(Json.at(body, "status", "conditions")).map(({ reason, status, type }) => [type, status, reason])
      ).toEqual([
        ["NamesAccepted", "True", "NoConflicts"],
        ["Established", "True", "InitialNamesAccepted"]
      ])
      yield* ask(server, "POST", things, thing("kept", {}, { finalizers: ["x.io/y"] }))
      yield* ask(server, "POST", things, thing("free"))
      const deleted = yield* ask(server, "DELETE", `${definitions}/things.probe.io`)
      expect(Json.at(deleted.body, "metadata", "finalizers")).toEqual(["customresourcecleanup.apiextensions.k8s.io"])
      const left = yield* ask(server, "GET", things)
      expect(Json.objects(left.body.items).map((one) => Json.at(one, "metadata", "name"))).toEqual(["kept"])
      expect((yield* ask(server, "POST", things, thing("late"))).body).toMatchObject({
        code: 403,
        message:
          'things.probe.io "late" is forbidden: create not allowed while custom resource definition is terminating'
      })
      yield* merge(server, `${things}/kept`, { metadata: { finalizers: null } })
      expect((yield* ask(server, "GET", `${definitions}/things.probe.io`)).status).toBe(404)
      expect((yield* ask(server, "GET", things)).text).toBe("404 page not found\n")
    })
  )
})
