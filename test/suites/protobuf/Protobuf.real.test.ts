/** Compares the responses of the embedded server and of a kube-apiserver to requests in protobuf. */
import { describe, expect } from "bun:test"
import * as Protobuf from "@homeostat/apiserver/codec/Protobuf"
import * as ApiServer from "@homeostat/apiserver/http/ApiServer"
import * as Http from "@homeostat/apiserver/http/Http"
import type { Json, JsonObject } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import type { Access } from "@homeostat/testkit/envtest/Kubeconfig"
import { real } from "@homeostat/testkit/Shared"
import { Effect } from "effect"

const protobuf = "application/vnd.kubernetes.protobuf"

interface Request {
  readonly method?: string
  readonly path: string
  readonly accept?: string
  readonly contentType?: string
  readonly body?: Uint8Array | string
}

/** A server, and the credentials of a request. */
type Target = Pick<Access, "server"> & Partial<Access>

const ask = (access: Target, { accept, body, contentType, method = "GET", path }: Request) =>
  Effect.promise(async () => {
    const response = await fetch(`${access.server}${path}`, {
      method,
      keepalive: false,
      signal: AbortSignal.timeout(30_000),
      headers: {
        "user-agent": "test/1",
        ...(accept !== undefined && { accept }),
        ...(contentType !== undefined && { "content-type": contentType }),
        ...(access.token !== undefined && { authorization: `Bearer ${access.token}` })
      },
      ...(body !== undefined && { body }),
      tls: {
        ...(access.ca !== undefined && { ca: access.ca }),
        ...(access.cert !== undefined && { cert: access.cert }),
        ...(access.key !== undefined && { key: access.key })
      }
    })
    const bytes = Buffer.from(await response.arrayBuffer())
    const type = response.headers.get("content-type") ?? ""
    return { status: response.status, type, bytes, value: contentOf(type, bytes) }
  })

const contentOf = (type: string, bytes: Buffer): Json => {
  if (type === protobuf) return Protobuf.read(Protobuf.open(bytes))
  if (type.startsWith(`${protobuf};stream=watch`)) {
    const frames: Array<Json> = []
    for (let at = 0; at + 4 <= bytes.length; ) {
      const length = bytes.readUInt32BE(at)
      frames.push(Protobuf.readEvent(bytes.subarray(at + 4, at + 4 + length)))
      at += 4 + length
    }
    return frames
  }
  const text = bytes.toString()
  return type === "application/json" && !text.includes("}\n{") ? JSON.parse(text) : text
}

/** Removes the parts that differ between two servers. */
const settled = (value: Json, namespace: string): Json => {
  if (typeof value === "string")
    return value
      .replaceAll(namespace, "NAMESPACE")
      .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, "UID")
      .replace(/127\.0\.0\.1:\d+|^eyJ.*/, "VALUE")
  if (J.isList(value)) return value.map((item) => settled(item, namespace))
  if (!J.isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) =>
      /^(uid|resourceVersion|time|.*Timestamp|continue)$/.test(name) || member === undefined
        ? []
        : [[name, settled(member, namespace)]]
    )
  )
}

const configMap = (namespace: string, name: string, more: JsonObject = {}): JsonObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { namespace, name },
  data: { a: "ü", b: "" },
  binaryData: { c: "AP8=" },
  ...more
})

const definition = (group: string): JsonObject => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `things.${group}` },
  spec: {
    group,
    names: { kind: "Thing", plural: "things", singular: "thing", listKind: "ThingList" },
    scope: "Namespaced",
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" } },
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } }
      }
    ]
  }
})

const requests = (namespace: string): ReadonlyArray<Request> => {
  const maps = `/api/v1/namespaces/${namespace}/configmaps`
  const group = `${namespace}.example.com`
  const things = `/apis/${group}/v1/namespaces/${namespace}/things`
  const write = { contentType: protobuf, accept: protobuf }
  const as = (view: string, more = "") => `${protobuf};as=${view};v=v1;g=meta.k8s.io${more}`
  const deployment: JsonObject = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace, name: "d" },
    spec: {
      selector: { matchLabels: { app: "d" } },
      template: {
        metadata: { labels: { app: "d" } },
        spec: {
          containers: [{ name: "c", image: "i", ports: [{ containerPort: 80 }], resources: { limits: { cpu: "0.5" } } }]
        }
      }
    }
  }
  const deployments = `/apis/apps/v1/namespaces/${namespace}/deployments`
  return [
    { ...write, method: "POST", path: maps, body: Protobuf.encode(configMap(namespace, "one")) },
    { ...write, method: "POST", path: maps, body: Protobuf.encode(configMap(namespace, "one")) },
    { ...write, method: "POST", path: maps, body: Protobuf.encode(configMap(namespace, "NO")) },
    { ...write, method: "POST", path: maps, body: Protobuf.encode(deployment) },
    { ...write, method: "POST", path: deployments, body: Protobuf.encode(deployment) },
    { ...write, path: `${deployments}/d` },
    { ...write, path: `${deployments}/d/scale` },
    {
      ...write,
      method: "PUT",
      path: `${deployments}/d/scale`,
      body: Protobuf.encode({
        apiVersion: "autoscaling/v1",
        kind: "Scale",
        metadata: { name: "d", namespace },
        spec: { replicas: 3 }
      })
    },
    { accept: "application/json", path: `${deployments}/d` },
    { ...write, method: "PUT", path: `${maps}/one`, body: Protobuf.encode(configMap(namespace, "one", { data: {} })) },
    {
      ...write,
      method: "PATCH",
      path: `${maps}/one`,
      contentType: "application/merge-patch+json",
      body: '{"data":{"x":"y"}}'
    },
    { ...write, method: "PATCH", path: `${maps}/one`, body: Protobuf.encode(configMap(namespace, "one")) },
    ...[
      "",
      "{}",
      "k8s",
      "k8s\0",
      "k8s\0\u0001",
      "k8s\0\u000a\u0005",
      "k8s\0\u0012\u0000",
      "k8s\0\u0012\u0002\u000a\u00ff"
    ].map((body) => ({
      ...write,
      method: "POST",
      path: maps,
      body: Buffer.from(body, "latin1")
    })),
    { accept: protobuf, path: `${maps}/one` },
    { accept: protobuf, path: `${maps}/two` },
    { accept: `${protobuf},application/json`, path: `${maps}/two` },
    { accept: "application/yaml", path: `${maps}/two` },
    { accept: `${protobuf}, application/json`, path: maps },
    { accept: protobuf, path: `${maps}?limit=1` },
    { accept: as("Table"), path: maps },
    { accept: as("Table", ",application/json"), path: `${maps}/one` },
    { accept: as("PartialObjectMetadata"), path: `${maps}/one` },
    { accept: as("PartialObjectMetadata"), path: maps },
    { accept: as("PartialObjectMetadataList"), path: maps },
    { accept: as("PartialObjectMetadataList"), path: `${maps}/one` },
    { accept: `${protobuf};as=PartialObjectMetadataList;v=v1beta1;g=meta.k8s.io`, path: maps },
    { accept: `${protobuf};stream=watch`, path: `${maps}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Done` },
    { accept: protobuf, path: `${maps}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Done` },
    {
      accept: `${protobuf},application/json`,
      path: `${maps}?watch=1&timeoutSeconds=1&resourceVersion=0&fieldSelector=metadata.name%3Done`
    },
    {
      accept: as("PartialObjectMetadata", ";stream=watch"),
      path: `${maps}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Done`
    },
    { accept: as("Table"), path: `${maps}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Done` },
    { accept: protobuf, path: `${maps}?watch=1&timeoutSeconds=1&resourceVersion=foo` },
    {
      ...write,
      method: "POST",
      path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      body: Protobuf.encode(definition(group))
    },
    { accept: protobuf, path: `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.${group}` },
    {
      method: "POST",
      path: things,
      contentType: "application/json",
      body: JSON.stringify({ apiVersion: `${group}/v1`, kind: "Thing", metadata: { name: "t" }, spec: { replicas: 2 } })
    },
    { accept: protobuf, path: `${things}/t` },
    { accept: protobuf, path: `${things}/u` },
    { accept: `${protobuf},application/json`, path: `${things}/t` },
    { accept: protobuf, path: things },
    { accept: as("PartialObjectMetadata"), path: `${things}/t` },
    { accept: as("PartialObjectMetadataList"), path: things },
    { accept: as("PartialObjectMetadata", ";stream=watch"), path: `${things}?watch=1&timeoutSeconds=1` },
    { accept: protobuf, path: `${things}?watch=1&timeoutSeconds=1` },
    { accept: protobuf, path: `${things}/t/scale` },
    {
      ...write,
      method: "PUT",
      path: `${things}/t/scale`,
      body: Protobuf.encode({
        apiVersion: "autoscaling/v1",
        kind: "Scale",
        metadata: { name: "t", namespace },
        spec: { replicas: 3 }
      })
    },
    {
      ...write,
      method: "DELETE",
      path: `${things}/t`,
      body: Protobuf.encode({ apiVersion: "v1", kind: "DeleteOptions", propagationPolicy: "Background" })
    },
    {
      ...write,
      method: "POST",
      path: `/api/v1/namespaces/${namespace}/serviceaccounts/default/token`,
      body: Protobuf.encode({
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: { audiences: ["a"], expirationSeconds: 10 }
      })
    },
    {
      ...write,
      method: "POST",
      path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
      body: Protobuf.encode({
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectAccessReview",
        spec: { resourceAttributes: { verb: "get", resource: "pods" } }
      })
    },
    {
      ...write,
      method: "DELETE",
      path: `${maps}/one`,
      body: Protobuf.encode({ apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid: "no" } })
    },
    {
      ...write,
      method: "DELETE",
      path: `${maps}/one`,
      body: Protobuf.encode({ apiVersion: "meta.k8s.io/v1", kind: "DeleteOptions", gracePeriodSeconds: 0 })
    },
    { ...write, method: "DELETE", path: `${maps}/one` },
    { ...write, method: "DELETE", path: maps },
    { accept: protobuf, path: "/apis/apps" },
    { accept: protobuf, path: "/apis/apps/v1" },
    { accept: protobuf, path: "/nothing" },
    { accept: protobuf, path: "/api/v1/nothing" }
  ]
}

/** Requests to an embedded server. */
const embedded = Effect.gen(function* () {
  const { url } = yield* Http.serve(yield* ApiServer.make({ seed: 1 }))
  const target: Target = { server: url }
  return target
})

/** The paths of the lists that a server serves. */
const listsOf = (access: Target) =>
  Effect.gen(function* () {
    const { value: groups } = yield* ask(access, { path: "/apis" })
    const versions = J.objects(J.at(groups, "groups")).flatMap(({ versions }) =>
      J.objects(versions).map(({ groupVersion }) => `/apis/${groupVersion}`)
    )
    // The types of the API server's aggregator are not in client-go.
    const known = versions.filter((path) => !path.startsWith("/apis/apiregistration.k8s.io/"))
    const found = yield* Effect.forEach(["/api/v1", ...known], (path) =>
      Effect.map(ask(access, { path }), ({ value }) =>
        J.objects(J.at(value, "resources"))
          .filter(({ verbs }) => J.list(verbs).includes("list"))
          .map(({ name }) => `${path}/${name}`)
      )
    )
    return found.flat()
  })

describe("The embedded server and kube-apiserver", () => {
  real("give the same answers in protobuf", (cluster) =>
    Effect.gen(function* () {
      const namespace = yield* cluster.namespace("protobuf")
      const servers = [cluster.admin, yield* embedded] as const
      const body = JSON.stringify({ metadata: { name: namespace } })
      yield* ask(servers[1], { method: "POST", path: "/api/v1/namespaces", contentType: "application/json", body })
      for (const request of requests(namespace)) {
        // A kube-apiserver serves a custom kind a moment after it has responded to the creation of the CRD.
        if (request.path.includes("/things")) yield* Effect.sleep("300 millis")
        const [expected, found] = yield* Effect.forEach(servers, (access) =>
          Effect.map(ask(access, request), ({ status, type, value }) => ({
            request: { ...request, body: undefined },
            answer: { status, type, value: settled(value, namespace) }
          }))
        )
        expect(found).toEqual(expected)
      }
    })
  )

  real("write all objects with the same bytes", (cluster) =>
    Effect.gen(function* () {
      for (const [server, access] of [
        ["kube-apiserver", cluster.admin],
        ["embedded", yield* embedded]
      ] as const) {
        let objects = 0
        for (const path of yield* listsOf(access)) {
          const { type, value } = yield* ask(access, { path })
          const binary = yield* ask(access, { path, accept: protobuf })
          const list = J.object(value)
          // Custom kinds have no protobuf, and a list without a version, such as that of ComponentStatuses, is new for each request.
          const version = J.text(J.at(list, "metadata", "resourceVersion"))
          if (binary.status === 406 || version === undefined) continue
          if (version !== J.at(binary.value, "metadata", "resourceVersion")) continue
          objects += J.list(list.items).length
          expect([server, path, type, binary.type]).toEqual([server, path, "application/json", protobuf])
          expect([path, Protobuf.encode(list).toHex()]).toEqual([path, binary.bytes.toHex()])
        }
        // The bootstrap roles and bindings alone exceed this number.
        expect([server, objects > 100]).toEqual([server, true])
      }
    })
  )
})
