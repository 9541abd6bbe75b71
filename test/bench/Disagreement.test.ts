/** The message about managers that do not want the same objects. */
import { describe, expect, test } from "bun:test"
import * as Disagreement from "./Disagreement.ts"

const service = (selector: object, more: object = {}) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "w-000000", namespace: "bench-00", resourceVersion: "7", ...more },
  spec: { selector, ports: [{ port: 8080 }] }
})

const both = { app: "w-000000", "app.kubernetes.io/managed-by": "webapp-controller" }

const run = (writes: number, ...written: ReadonlyArray<object>) => ({
  manager_writes: writes,
  manager_requests: { "APPLY services": writes, "LIST deployments": 3 },
  written
})

describe("A manager that writes objects that others have converged", () => {
  test("is named with the object, the field, both values and the other writer", () => {
    const writers: Disagreement.Writers = new Map()
    Disagreement.note(writers, "homeostat", run(10_000))
    const written = { resource: "services", count: 10_000, before: service(both), after: service({ app: "w-000000" }) }
    expect(Disagreement.of(writers, "controller-runtime", run(10_000, written))).toBe(
      "controller-runtime wrote 10000 times, although all objects were converged (let all managers write the same); " +
        "10000 services, such as Service bench-00/w-000000: spec.selector[app.kubernetes.io/managed-by]: " +
        'controller-runtime wrote nothing, homeostat left "webapp-controller"'
    )
  })

  test("is named with each kind, and with the objects that it created", () => {
    const created = {
      resource: "poddisruptionbudgets",
      count: 2,
      before: null,
      after: { ...service(both), kind: "PodDisruptionBudget" }
    }
    const touched = {
      resource: "services",
      count: 1,
      before: service(both),
      after: service(both, { resourceVersion: "8" })
    }
    expect(Disagreement.of(new Map(), "kube-rs", run(3, created, touched))).toBe(
      "kube-rs wrote 3 times, although all objects were converged (let all managers write the same); " +
        "2 poddisruptionbudgets, such as PodDisruptionBudget bench-00/w-000000: kube-rs created it; " +
        "1 services, such as Service bench-00/w-000000: only metadata that the API server sets"
    )
  })

  test("is named with five fields at most", () => {
    const many = (value: number) =>
      Object.fromEntries(Array.from({ length: 7 }, (_, index) => [`key-${index}`, `${value}`]))
    const written = { resource: "services", count: 1, before: service(many(1)), after: service(many(2)) }
    const message = Disagreement.of(new Map([["services", "homeostat"]]), "kube-rs", run(1, written))
    expect(message).toContain('spec.selector.key-4: kube-rs wrote "2", homeostat left "1", and 2 more fields')
    expect(message).not.toContain("key-5")
  })

  test("is named if its writes changed no object", () => {
    expect(Disagreement.of(new Map(), "kube-rs", run(1))).toEndWith("; no object changed by APPLY services")
  })
})

test("A manager that writes nothing agrees, and reads are not writes", () => {
  const writers: Disagreement.Writers = new Map([["deployments", "homeostat"]])
  expect(Disagreement.of(writers, "kube-rs", run(0))).toBeUndefined()
  Disagreement.note(writers, "kube-rs", run(1))
  expect([...writers]).toEqual([
    ["deployments", "homeostat"],
    ["services", "kube-rs"]
  ])
})
