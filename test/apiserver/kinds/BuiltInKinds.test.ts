import { expect, test } from "bun:test"
import * as Json from "../model/Json.ts"
import { apiVersionOf, type Writing } from "../model/Kind.ts"
import * as ObjectIndex from "../model/ObjectIndex.ts"
import { kinds } from "./BuiltInKinds.ts"
import { names } from "./Names.ts"

const kindOf = (apiVersion: string, name: string) => {
  const found = kinds.find((kind) => kind.kind === name && apiVersionOf(kind) === apiVersion)
  if (found === undefined) throw new Error(name)
  return found
}

const writing = (stored: { readonly [storage: string]: ReadonlyArray<Json.JsonObject> } = {}): Writing => ({
  now: 0,
  warn: () => {},
  user: { name: "u", groups: ["g"] },
  stored: (storage) => stored[storage] ?? [],
  values: (_, valuesOf) => ObjectIndex.make(valuesOf, [])
})

const created = (apiVersion: string, kind: string, object: Json.JsonObject, state = writing()): Json.JsonObject => {
  const draft = Json.copy({ ...object, apiVersion, kind })
  const { strategy } = kindOf(apiVersion, kind)
  strategy.default(draft)
  strategy.admit?.(draft, null, state)
  strategy.prepareForCreate(draft, state)
  return draft
}

test("each named kind exists, and has a schema", () => {
  expect(kinds.map((kind) => `${apiVersionOf(kind)} ${kind.kind}`).toSorted()).toEqual(
    names.map((name) => `${apiVersionOf(name)} ${name.kind}`).toSorted()
  )
  expect(
    kinds.filter(({ schema }) => Object.keys(schema.properties ?? {}).length === 0).map(({ kind }) => kind)
  ).toEqual([])
})

test("defaulting is idempotent", () => {
  for (const { group, kind, strategy, version } of kinds) {
    const draft: Json.DraftObject = { apiVersion: apiVersionOf({ group, version }), kind, metadata: { name: "x" } }
    strategy.default(draft)
    const once = Json.copy(draft)
    strategy.default(draft)
    expect(draft).toEqual(once)
  }
})

test("an Event is the same in both API groups", () => {
  const event = created("v1", "Event", {
    metadata: { name: "e", namespace: "n" },
    involvedObject: { kind: "Pod", name: "p", namespace: "n" },
    message: "M",
    count: 2,
    source: { component: "c" }
  })
  const newer = kindOf("events.k8s.io/v1", "Event")
  const shown = newer.fromStorage(event)
  expect(shown).toMatchObject({
    apiVersion: "events.k8s.io/v1",
    regarding: { kind: "Pod", name: "p", namespace: "n" },
    note: "M",
    deprecatedCount: 2,
    deprecatedSource: { component: "c" }
  })
  expect(shown).not.toHaveProperty("reportingController")
  expect(newer.toStorage(shown)).toEqual(event)
})

test("an autoscaler is the same in both versions", () => {
  const autoscaler = created("autoscaling/v2", "HorizontalPodAutoscaler", {
    metadata: { name: "h" },
    spec: { maxReplicas: 2, scaleTargetRef: { kind: "Deployment", name: "d", apiVersion: "apps/v1" } }
  })
  const older = kindOf("autoscaling/v1", "HorizontalPodAutoscaler")
  const shown = older.fromStorage(autoscaler)
  expect(Json.at(shown, "spec", "targetCPUUtilizationPercentage")).toBe(80)
  expect(Json.at(older.toStorage(shown), "spec")).toEqual(autoscaler.spec)
})

test("a pod gets the priority of its class, or of the default one", () => {
  const stored = {
    "scheduling.k8s.io/priorityclasses": [
      { metadata: { name: "high" }, value: 10, preemptionPolicy: "Never" },
      { metadata: { name: "usual" }, value: 5, globalDefault: true }
    ]
  }
  const priority = (spec: Json.JsonObject) => {
    const pod = created("v1", "Pod", { metadata: { name: "p" }, spec: { containers: [], ...spec } }, writing(stored))
    const { preemptionPolicy, priority, priorityClassName } = Json.object(pod.spec)
    return [priorityClassName, priority, preemptionPolicy]
  }
  expect(priority({ priorityClassName: "high" })).toEqual(["high", 10, "Never"])
  expect(priority({})).toEqual(["usual", 5, "PreemptLowerPriority"])
})

test("a claim gets the newest default class", () => {
  const annotations = { "storageclass.kubernetes.io/is-default-class": "true" }
  const claim = created(
    "v1",
    "PersistentVolumeClaim",
    { metadata: { name: "c" }, spec: {} },
    writing({
      "storage.k8s.io/storageclasses": [
        { metadata: { name: "old", annotations, creationTimestamp: "2026-01-01T00:00:00Z" } },
        { metadata: { name: "new", annotations, creationTimestamp: "2026-02-01T00:00:00Z" } },
        { metadata: { name: "other", creationTimestamp: "2026-03-01T00:00:00Z" } }
      ]
    })
  )
  expect(Json.at(claim, "spec", "storageClassName")).toBe("new")
})

test("a pod has a grace period only if it runs on a node", () => {
  const { gracePeriod } = kindOf("v1", "Pod")
  const running = { spec: { nodeName: "n", terminationGracePeriodSeconds: 30 }, status: { phase: "Running" } }
  expect(gracePeriod(running, undefined)).toBe(30)
  expect(gracePeriod(running, 5)).toBe(5)
  expect(gracePeriod(running, -1)).toBe(1)
  expect(gracePeriod({ ...running, status: { phase: "Failed" } }, 5)).toBe(0)
  expect(gracePeriod({ ...running, spec: {} }, 5)).toBe(0)
})

test("a SelfSubjectReview returns the name of the user, and an access review allows everything", () => {
  expect(
    created("authorization.k8s.io/v1", "SelfSubjectAccessReview", { spec: { resourceAttributes: { verb: "get" } } })
      .status
  ).toEqual({ allowed: true })
  expect(created("authentication.k8s.io/v1", "SelfSubjectReview", {}).status).toEqual({
    userInfo: { username: "u", groups: ["g"] }
  })
})
