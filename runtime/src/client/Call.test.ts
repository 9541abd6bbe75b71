import { describe, expect, test } from "bun:test"
import * as Result from "effect/Result"
import * as Resource from "../resource/Resource.ts"
import * as Call from "./Call.ts"
import * as Patch from "./Patch.ts"
import type { Request } from "./Request.ts"
import { ClusterRole, ConfigMap, Deployment } from "./Scripted.fixture.ts"

const key = { namespace: "a", name: "b" }
const meta = { namespace: "a", name: "b" }
const manager = "me"

const right = (call: Call.Call): Request => Result.getOrThrow(call)

const line = (call: Call.Call | Request): string => {
  const request = Result.isResult(call) ? right(call) : call
  return `${request.method} ${request.path}`
}

const written = "fieldManager=me&fieldValidation=Strict"

describe("Call", () => {
  const deployments = "/apis/apps/v1/namespaces/a/deployments"
  const cases: ReadonlyArray<readonly [string, Call.Call | Request]> = [
    ["GET /api/v1/namespaces/a/configmaps/b", Call.get(ConfigMap, key, undefined, {})],
    [`GET ${deployments}/b`, Call.get(Deployment, key, undefined, {})],
    [`GET ${deployments}/b/scale`, Call.get(Deployment, key, "scale", {})],
    [
      "GET /apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode",
      Call.get(ClusterRole, { name: "system:node", namespace: "ignored" }, undefined, {})
    ],
    ["GET /api/v1/configmaps", Call.page(ConfigMap, {})],
    [
      "GET /api/v1/namespaces/a/configmaps?labelSelector=a%20in%20(b%2Cc)&fieldSelector=metadata.name%3Db&limit=500&continue=x%3D",
      Call.page(ConfigMap, {
        namespace: "a",
        labelSelector: "a in (b,c)",
        fieldSelector: "metadata.name=b",
        limit: 500,
        continue: "x="
      })
    ],
    ["GET /api/v1/configmaps?resourceVersion=0", Call.page(ConfigMap, { resourceVersion: "0" })],
    [`POST ${deployments}?${written}`, Call.create(Deployment, { metadata: meta }, manager, {})],
    [`PUT ${deployments}/b?${written}`, Call.replace(Deployment, { metadata: meta }, undefined, manager, {})],
    [`PUT ${deployments}/b/status?${written}`, Call.replace(Deployment, { metadata: meta }, "status", manager, {})],
    [
      `PATCH ${deployments}/b?fieldManager=other&fieldValidation=Ignore&dryRun=All`,
      Call.patch(Deployment, key, Patch.merge({}), undefined, manager, {
        fieldManager: "other",
        dryRun: true,
        fieldValidation: "Ignore"
      })
    ],
    [
      `PATCH ${deployments}/b?${written}`,
      Call.apply(Deployment, { metadata: meta }, undefined, manager, { force: false })
    ],
    [
      `PATCH ${deployments}/b/status?${written}&force=true`,
      Call.apply(Deployment, { metadata: meta }, "status", manager, { force: true })
    ],
    [`DELETE ${deployments}/b`, Call.remove(Deployment, key, {})],
    [
      `DELETE ${deployments}?labelSelector=a%3Db`,
      Call.removeAll(Deployment, { namespace: "a", labelSelector: "a=b" }, {})
    ],
    ["DELETE /apis/rbac.authorization.k8s.io/v1/clusterroles", Call.removeAll(ClusterRole, {}, {})],
    ["GET /readyz?verbose", Call.raw({ method: "GET", path: "/readyz?verbose" })]
  ]
  test.each(cases)("%s", (expected, call) => {
    expect(line(call)).toBe(expected)
  })

  test("the template of a URL contains no names", () => {
    expect(right(Call.get(Deployment, key, "status", {})).template).toBe(
      "/apis/apps/v1/namespaces/{ns}/deployments/{name}/status"
    )
    expect(Call.page(ConfigMap, { namespace: "a", limit: 5 }).template).toBe("/api/v1/namespaces/{ns}/configmaps")
    expect(right(Call.get(ClusterRole, key, undefined, {})).template).toBe(
      "/apis/rbac.authorization.k8s.io/v1/clusterroles/{name}"
    )
  })

  test.each(["", ".", "..", "b/c", "b%2f"])(
    "the name %p is rejected, because its path would be that of another resource",
    (name) => {
      for (const call of [
        Call.get(ConfigMap, { namespace: "a", name }, undefined, {}),
        Call.remove(ConfigMap, { namespace: "a", name }, {}),
        Call.apply(ConfigMap, { metadata: { namespace: "a", name } }, undefined, manager, {}),
        Call.remove(ClusterRole, { name }, {})
      ]) {
        expect(Result.isFailure(call)).toBe(true)
      }
      if (name !== "") expect(Result.isFailure(Call.removeAll(ConfigMap, { namespace: name }, {}))).toBe(true)
    }
  )

  test("a namespaced object without a namespace is rejected with the reason", () => {
    const error = Result.flip(Call.create(ConfigMap, { metadata: { name: "b" } }, manager, {}))
    expect(Result.getOrThrow(error).message).toBe(
      "POST /api/v1/configmaps: a ConfigMap is in a namespace: set metadata.namespace"
    )
    expect(Result.isFailure(Call.removeAll(ConfigMap, {}, {}))).toBe(true)
  })

  test("apiVersion and kind are filled in, and replace wrong ones", () => {
    const request = right(
      Call.create(Deployment, { metadata: meta, kind: "Pod", spec: {} } as Call.Placed, manager, {})
    )
    expect(JSON.parse(request.body ?? "")).toEqual({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: meta,
      spec: {}
    })
  })

  test("each type of patch has its content type", () => {
    const contentType = (patch: Patch.Patch) =>
      right(Call.patch(ConfigMap, key, patch, undefined, manager, {})).headers["content-type"]
    expect([Patch.merge({}), Patch.json([]), Patch.strategic({})].map(contentType)).toEqual([
      "application/merge-patch+json",
      "application/json-patch+json",
      "application/strategic-merge-patch+json"
    ])
    expect(right(Call.apply(ConfigMap, { metadata: meta }, undefined, manager, {})).headers["content-type"]).toBe(
      "application/apply-patch+yaml"
    )
  })

  test("metadata is requested by the Accept header, with the whole object as the fallback", () => {
    const partial = Resource.metadataOnly(Deployment)
    expect(right(Call.get(partial, key, undefined, {})).headers.accept).toBe(
      "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
    )
    expect(Call.page(partial, {}).headers.accept).toBe(
      "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
    )
    expect(Call.watch(partial, {}, 300).headers.accept).toBe(
      "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
    )
    expect(right(Call.remove(partial, key, {})).headers.accept).toBe("application/json")
  })

  test("the template of a raw request contains no names of objects", () => {
    const template = (path: string) => Call.raw({ method: "GET", path }).template
    expect(
      [
        "/version",
        "/readyz?verbose",
        "/readyz/poststarthook/a",
        "/api/v1/namespaces/a/pods/b/log?follow=true",
        "/api/v1/namespaces/a",
        "/api/v1/nodes/a/proxy/metrics/cadvisor",
        "/apis/apps/v1/deployments",
        "/apis/apps/v1",
        "/api"
      ].map(template)
    ).toEqual([
      "/version",
      "/readyz",
      "/readyz/{path}",
      "/api/v1/namespaces/{ns}/pods/{name}/log",
      "/api/v1/namespaces/{name}",
      "/api/v1/nodes/{name}/proxy/{path}",
      "/apis/apps/v1/deployments",
      "/apis/apps/v1",
      "/api"
    ])
  })

  test("the options of a deletion are in its body", () => {
    const body = (options: Parameters<typeof Call.remove>[2]) =>
      JSON.parse(right(Call.remove(ConfigMap, key, options)).body ?? "")
    expect(body({})).toEqual({ apiVersion: "v1", kind: "DeleteOptions" })
    expect(
      body({ uid: "u", resourceVersion: "7", propagation: "Orphan", gracePeriodSeconds: 0, dryRun: true })
    ).toEqual({
      apiVersion: "v1",
      kind: "DeleteOptions",
      preconditions: { uid: "u", resourceVersion: "7" },
      propagationPolicy: "Orphan",
      gracePeriodSeconds: 0,
      dryRun: ["All"]
    })
  })

  test("reads, applies, and replaces and deletes with a precondition are repeatable", () => {
    const repeatable = [
      Call.get(ConfigMap, key, undefined, {}),
      Call.remove(ConfigMap, key, { uid: "u" }),
      Call.remove(ConfigMap, key, { resourceVersion: "7" }),
      Call.apply(ConfigMap, { metadata: meta }, undefined, manager, {}),
      Call.replace(ConfigMap, { metadata: { ...meta, resourceVersion: "7" } }, undefined, manager, {}),
      Call.remove(ConfigMap, key, {}),
      Call.removeAll(ConfigMap, { namespace: key.namespace }, {}),
      Call.replace(ConfigMap, { metadata: meta }, undefined, manager, {}),
      Call.create(ConfigMap, { metadata: meta }, manager, {}),
      Call.patch(ConfigMap, key, Patch.merge({}), undefined, manager, {}),
      Call.patch(ConfigMap, key, Patch.json([]), undefined, manager, {})
    ].map((call) => right(call).repeatable)
    expect(repeatable).toEqual([...Array(5).fill(true), ...Array(6).fill(false)])
    expect((["GET", "DELETE", "POST"] as const).map((method) => Call.raw({ method, path: "/x" }).repeatable)).toEqual([
      true,
      false,
      false
    ])
  })

  test("Patch.pointer escapes a key", () => {
    expect(Patch.pointer("a.io/b~c")).toBe("a.io~1b~0c")
  })
})

test("a request has the timeout of its options", () => {
  const options = { timeoutMillis: 5 }
  const calls: ReadonlyArray<Call.Call | Request> = [
    Call.get(ConfigMap, key, undefined, options),
    Call.page(ConfigMap, options),
    Call.watch(ConfigMap, options, 300),
    Call.create(ConfigMap, { metadata: meta }, manager, options),
    Call.replace(ConfigMap, { metadata: meta }, undefined, manager, options),
    Call.patch(ConfigMap, key, Patch.merge({}), undefined, manager, options),
    Call.apply(ConfigMap, { metadata: meta }, undefined, manager, options),
    Call.remove(ConfigMap, key, options)
  ]
  for (const call of calls) expect((Result.isResult(call) ? right(call) : call).timeoutMillis).toBe(5)
})

test("a request has the name of its object, and whether it may be retried", () => {
  const calls: ReadonlyArray<readonly [call: Call.Call | Request, name: string | undefined]> = [
    [Call.get(ConfigMap, key, undefined, { retry: false }), "b"],
    [Call.page(ConfigMap, { namespace: "a", retry: false }), undefined],
    [Call.create(ConfigMap, { metadata: meta }, manager, { retry: false }), "b"],
    [Call.replace(ConfigMap, { metadata: meta }, undefined, manager, { retry: false }), "b"],
    [Call.patch(ConfigMap, key, Patch.merge({}), undefined, manager, { retry: false }), "b"],
    [Call.apply(ConfigMap, { metadata: meta }, undefined, manager, { retry: false }), "b"],
    [Call.remove(ConfigMap, key, { retry: false }), "b"]
  ]
  for (const [call, name] of calls) {
    expect(Result.isResult(call) ? right(call) : call).toMatchObject({ namespace: "a", name, once: true } as never)
  }
  for (const retry of [undefined, true]) {
    expect(right(Call.get(ConfigMap, key, undefined, retry === undefined ? {} : { retry })).once).toBe(false)
  }
})

test("a watch starts at the given resourceVersion, with initial events on request", () => {
  const query = (options: Parameters<typeof Call.watch>[1]) =>
    Object.fromEntries(new URLSearchParams(Call.watch(ConfigMap, options, 300).path.split("?")[1]))
  const watch = { watch: "true", allowWatchBookmarks: "true", timeoutSeconds: "300" }
  expect(query({ resourceVersion: "7" })).toEqual({ ...watch, resourceVersion: "7" })
  expect(query({ initialEvents: true, labelSelector: "a=b" })).toEqual({
    ...watch,
    labelSelector: "a=b",
    sendInitialEvents: "true",
    resourceVersionMatch: "NotOlderThan"
  })
  expect(Call.watch(ConfigMap, {}, 300)).toMatchObject({ repeatable: true, headers: { "accept-encoding": "gzip" } })
  expect(Call.page(ConfigMap, {}).repeatable).toBe(true)
})

test("a subresource of another kind is requested as a whole, even for metadata only", () => {
  const partial = Resource.metadataOnly(Deployment)
  const json = "application/json"
  const asPartial = `application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,${json}`
  const accepted = (call: Call.Call) => right(call).headers.accept
  expect(accepted(Call.get(partial, key, "scale", {}))).toBe(json)
  expect(accepted(Call.patch(partial, key, Patch.merge({}), "scale", manager, {}))).toBe(json)
  expect(accepted(Call.patch(partial, key, Patch.merge({}), "status", manager, {}))).toBe(asPartial)
  expect(accepted(Call.get(Deployment, key, undefined, {}))).toBe(json)
})

test("a deletion may have one precondition, and an empty resourceVersion is not a precondition", () => {
  const body = (options: Parameters<typeof Call.remove>[2]) =>
    JSON.parse(right(Call.remove(ConfigMap, key, options)).body ?? "").preconditions
  expect(body({ uid: "u" })).toEqual({ uid: "u" })
  expect(body({ resourceVersion: "7" })).toEqual({ resourceVersion: "7" })
  const metadata = { ...meta, resourceVersion: "" }
  expect(right(Call.replace(ConfigMap, { metadata }, undefined, manager, {})).repeatable).toBe(false)
})

test("an error has the method of the invalid request", () => {
  const method = (call: Call.Call) => Result.getOrThrow(Result.flip(call)).request.method
  const wrong = { namespace: "a", name: ".." }
  expect(method(Call.get(ConfigMap, wrong, undefined, {}))).toBe("GET")
  expect(method(Call.remove(ConfigMap, wrong, {}))).toBe("DELETE")
  expect(method(Call.removeAll(ConfigMap, {}, {}))).toBe("DELETE")
  expect(method(Call.patch(ConfigMap, wrong, Patch.merge({}), undefined, manager, {}))).toBe("PATCH")
  expect(method(Call.apply(ConfigMap, { metadata: wrong }, undefined, manager, {}))).toBe("PATCH")
  expect(method(Call.replace(ConfigMap, { metadata: wrong }, undefined, manager, {}))).toBe("PUT")
})

test("a raw request with a body has the content type of JSON, and is retried only on request", () => {
  const path = "/x"
  expect(Call.raw({ method: "GET", path })).toMatchObject({ headers: { accept: "application/json" }, once: true })
  expect(Call.raw({ method: "GET", path }).headers).not.toHaveProperty("content-type")
  expect(Call.raw({ method: "POST", path, body: "{}", retry: true })).toMatchObject({
    headers: { "content-type": "application/json" },
    once: false
  })
})
