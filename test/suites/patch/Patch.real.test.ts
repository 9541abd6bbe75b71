/**
 * Patches as a real kube-apiserver applies them and as the embedded one does: what our function makes of an object, sent to
 * the real server as a PUT, has to give what the patch gives there; and what it refuses, the real server refuses likewise.
 */
import { describe, expect } from "bun:test"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import { real } from "@homeostat/testkit/Shared"
import * as Failure from "@homeostat/testkit/server/Failure"
import type { Json, JsonObject } from "@homeostat/testkit/server/Json"
import * as J from "@homeostat/testkit/server/Json"
import { apiVersionOf, type Kind } from "@homeostat/testkit/server/Kind"
import * as Kinds from "@homeostat/testkit/server/Kinds.fixture"
import * as Patch from "@homeostat/testkit/server/patch/Patch"
import { Effect } from "effect"

const contentTypes = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json"
} as const

/** What came of a write, as far as it is the same each time. */
interface Outcome {
  readonly status: number
  readonly body: Json
}

const outcome = (status: number, body: JsonObject): Outcome => {
  if (status >= 300) {
    // How the refused object is shown depends on the order of its members.
    const message = (J.text(body.message) ?? "").replace(/(Invalid value: )"(?:\{.*\}|map\[.*\])": /s, "$1")
    return { status, body: { reason: body.reason ?? "", message } }
  }
  const { generation, managedFields, resourceVersion, ...metadata } = J.object(body.metadata)
  return { status, body: { ...body, metadata } }
}

const pathOf = (kind: Kind, namespace: string): string =>
  `/${kind.group === "" ? "api" : "apis"}/${apiVersionOf(kind)}/namespaces/${namespace}/${kind.plural}`

/** All patches of one object, one after the other, none of which stays. */
const patches = (
  kind: Kind,
  name: string,
  object: JsonObject,
  given: { readonly [type in Patch.Patch["type"]]?: ReadonlyArray<Json> }
) =>
  real(`patches of a ${kind.kind} do what they do in the real server`, (cluster) =>
    Effect.gen(function* () {
      const namespace = yield* cluster.namespace()
      const collection = pathOf(kind, namespace)
      const live = yield* send(cluster, "POST", collection, {
        ...object,
        metadata: { ...J.object(object.metadata), name }
      })
      expect(live.status).toBe(201)
      for (const type of ["json", "merge", "strategic"] as const) {
        for (const patch of given[type] ?? []) {
          const there = yield* send(cluster, "PATCH", `${collection}/${name}?dryRun=All`, patch, contentTypes[type])
          const here = yield* applied(
            cluster,
            kind,
            `${collection}/${name}?dryRun=All&fieldValidation=Strict`,
            type,
            patch,
            live.body
          )
          expect({ type, patch, ...here }).toEqual({ type, patch, ...outcome(there.status, there.body) })
        }
      }
      // Finalizers would keep the namespace.
      yield* send(cluster, "PATCH", `${collection}/${name}`, { metadata: { finalizers: null } }, contentTypes.merge)
    })
  )

const send = (cluster: ControlPlane, method: string, path: string, body: Json, contentType = "application/json") =>
  Effect.map(cluster.request(method, path, { body, contentType }), ({ body, status }) => ({
    status,
    body: J.object(JSON.parse(body))
  }))

const applied = (
  cluster: ControlPlane,
  kind: Kind,
  path: string,
  type: Patch.Patch["type"],
  patch: Json,
  live: JsonObject
) => {
  const made = attempt(() =>
    Patch.apply(kind, Patch.read(type, JSON.stringify(patch)), live, {
      fieldValidation: "Warn",
      warn: () => {},
      knows: Kinds.knows
    })
  )
  return made instanceof Failure.Failure
    ? Effect.succeed(outcome(made.code, Failure.status(made)))
    : Effect.map(send(cluster, "PUT", path, made), ({ body, status }) => outcome(status, body))
}

const attempt = (body: () => JsonObject): JsonObject | Failure.Failure => {
  try {
    return body()
  } catch (error) {
    if (error instanceof Failure.Failure) return error
    throw error
  }
}

const template = (spec: JsonObject): JsonObject => ({ spec: { template: { spec } } })
const containers = (...items: ReadonlyArray<Json>): JsonObject => template({ containers: items })
const list = "/spec/template/spec/containers"
const args = `${list}/0/args`

describe("patches", () => {
  patches(
    Kinds.deployment,
    "d",
    {
      metadata: { labels: { l: "1" }, annotations: { x: "y" }, finalizers: ["ex.com/a", "ex.com/b"] },
      spec: {
        selector: { matchLabels: { a: "b" } },
        template: {
          metadata: { labels: { a: "b" } },
          spec: {
            containers: [
              {
                name: "c",
                image: "i",
                args: ["1", "2"],
                ports: [{ containerPort: 80, name: "http" }, { containerPort: 81 }],
                env: ["A", "B", "C"].map((name) => ({ name, value: name })),
                volumeMounts: [{ name: "v", mountPath: "/v" }],
                resources: { limits: { cpu: "1", memory: "1Gi" } }
              },
              { name: "d", image: "j" },
              { name: "e", image: "k" }
            ],
            volumes: [
              { name: "v", emptyDir: {} },
              { name: "w", configMap: { name: "p" } }
            ],
            tolerations: [{ key: "a", operator: "Exists" }],
            imagePullSecrets: [{ name: "s" }],
            hostAliases: [{ ip: "1.2.3.4", hostnames: ["a"] }],
            nodeSelector: { n: "1" }
          }
        }
      }
    },
    {
      json: [
        ...["/-", "/0", "/2", "/3", "/-1", "/-4", "/x", "/+1"].map((index) => [
          { op: "add", path: args + index, value: "9" }
        ]),
        ...["/0", "/-1", "/2", "/-"].map((index) => [{ op: "remove", path: args + index }]),
        ...["/1", "/-1", "/2"].map((index) => [{ op: "replace", path: args + index, value: "9" }]),
        [{ op: "move", from: `${args}/0`, path: `${args}/1` }],
        [
          { op: "copy", from: `${list}/1`, path: `${list}/-` },
          { op: "replace", path: `${list}/3/name`, value: "z" }
        ],
        [{ op: "test", path: args, value: ["1", "2"] }],
        [{ op: "test", path: args, value: ["2", "1"] }],
        [{ op: "replace", path: "/spec/replicas", value: "3" }],
        [{ op: "remove", path: "/metadata/finalizers/0" }]
      ],
      merge: [
        containers({ name: "c", image: "x" }),
        template({
          volumes: [{ name: "v", emptyDir: null, configMap: { name: "p" } }],
          containers: [{ name: "c", image: "i", env: null }]
        }),
        { spec: { replicas: null } },
        { spec: { strategy: { type: "Recreate", rollingUpdate: null } } }
      ],
      strategic: [
        null,
        [],
        {},
        { kind: "Foo" },
        containers({ name: "c", image: "new" }),
        containers({ name: "z", image: "new" }),
        containers({ name: "d", image: "n" }, { name: "c", image: "x" }, { name: "z", image: "y" }),
        containers({ name: "d", $patch: "delete" }),
        containers({ $patch: "delete" }),
        containers({ name: "q", image: "x" }, { $patch: "replace" }, { name: "c", $patch: "delete" }),
        containers({ name: "c", $patch: "merge" }),
        containers({ name: "c", $patch: "grow" }),
        containers({ image: "x" }),
        containers("c"),
        containers(["c"]),
        containers({ name: "c", image: 5 }),
        containers({
          name: "c",
          env: [
            { name: "B", value: "9" },
            { name: "D", value: "4" }
          ]
        }),
        containers({ name: "c", env: [{ name: "A", $patch: "delete" }] }),
        containers({
          name: "c",
          env: [{ name: "A", value: null, valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }]
        }),
        containers({
          name: "c",
          "$setElementOrder/env": [{ name: "C" }, { name: "A" }],
          env: [{ name: "C", value: "x" }]
        }),
        containers({ name: "c", args: ["z"], ports: [{ containerPort: 81, name: "x" }] }),
        containers({ name: "c", ports: [{ containerPort: 80, $patch: "delete" }] }),
        containers({ name: "c", resources: { limits: { cpu: null } } }),
        containers({ name: "c", resources: { $patch: "replace", requests: { cpu: "1" } } }),
        containers({
          name: "new",
          image: "x",
          "$setElementOrder/env": [{ name: "A" }],
          env: [{ name: "A", value: null }]
        }),
        template({ "$setElementOrder/containers": [{ name: "e" }, { name: "c" }] }),
        template({
          "$setElementOrder/containers": [{ name: "e" }, { name: "z" }, { name: "c" }],
          containers: [
            { name: "z", image: "1" },
            { name: "c", image: "2" }
          ]
        }),
        template({
          "$setElementOrder/containers": [{ name: "c" }],
          containers: [
            { $patch: "delete", name: "d" },
            { $patch: "delete", name: "e" }
          ]
        }),
        template({ "$setElementOrder/containers": [{ name: "x" }], containers: [{ name: "c", image: "j" }] }),
        template({ "$setElementOrder/containers": "x" }),
        template({ "$setElementOrder/initContainers": [], initContainers: [] }),
        template({ $setElementOrder: [] }),
        template({ $deleteFromPrimitiveListx: [] }),
        template({ volumes: [{ name: "v", $retainKeys: ["name", "secret"], secret: { secretName: "s" } }] }),
        template({ volumes: [{ name: "v", emptyDir: null, secret: { secretName: "s" } }] }),
        template({ tolerations: [{ key: "b", operator: "Exists" }], nodeSelector: { m: "2", n: null } }),
        template({ imagePullSecrets: [{ name: "t" }], hostAliases: [{ ip: "1.2.3.5", hostnames: ["b"] }] }),
        template({
          initContainers: [
            { name: "i", image: "x" },
            { name: "j", image: "y", $patch: "delete" }
          ]
        }),
        { metadata: { finalizers: ["ex.com/c", "ex.com/a"] } },
        { metadata: { finalizers: ["ex.com/c", "ex.com/c", "ex.com/b"] } },
        { metadata: { finalizers: null } },
        { metadata: { "$setElementOrder/finalizers": ["ex.com/c", "ex.com/b"], finalizers: ["ex.com/c"] } },
        {
          metadata: { "$setElementOrder/finalizers": ["ex.com/b"], "$deleteFromPrimitiveList/finalizers": ["ex.com/a"] }
        },
        { metadata: { "$deleteFromPrimitiveList/finalizers": "ex.com/a" } },
        { metadata: { labels: { l: null, m: "2" }, annotations: { $patch: "replace", z: "1" } } },
        { metadata: { labels: { $patch: "delete" } } },
        { metadata: { labels: { l: { b: 1 } } } },
        { spec: { strategy: { $retainKeys: ["type"], type: "Recreate" } } },
        { spec: { strategy: { $retainKeys: ["type"], rollingUpdate: { maxSurge: 1 } } } },
        { spec: { strategy: { $retainKeys: "type" } } },
        { spec: { strategy: { rollingUpdate: { maxSurge: true } } } },
        { spec: { $patch: "merge" } },
        { spec: { replicas: "x" } },
        { spec: { replicas: 1.5 } },
        { spec: { replicas: 3_000_000_000 } },
        { spec: { selector: "x" } },
        {
          spec: {
            template: { metadata: { annotations: { "kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z" } } }
          }
        }
      ]
    }
  )

  patches(
    Kinds.service,
    "s",
    {
      spec: {
        ports: [
          { port: 80, name: "a" },
          { port: 81, name: "b" }
        ],
        selector: { a: "b" }
      }
    },
    {
      merge: [{ spec: { ports: [{ port: 82 }], selector: null } }],
      strategic: [
        { spec: { ports: [{ port: 80, targetPort: 8080 }] } },
        { spec: { ports: [{ port: 82, name: "c" }] } },
        { spec: { ports: [{ port: 81, $patch: "delete" }] } },
        { spec: { ports: [{ name: "a" }] } },
        { spec: { "$setElementOrder/ports": [{ port: 81 }, { port: 80 }] } },
        { spec: { selector: { $patch: "replace", z: "1" } } }
      ]
    }
  )

  patches(
    Kinds.pod,
    "p",
    { spec: { containers: [{ name: "c", image: "i" }] } },
    {
      strategic: [
        { metadata: { labels: { a: "b" } } },
        { spec: { containers: [{ name: "c", image: "x" }] } },
        { spec: { activeDeadlineSeconds: 5 } }
      ]
    }
  )

  patches(
    Kinds.configMap,
    "c",
    { data: { a: "b" } },
    {
      json: [
        null,
        {},
        "x",
        [1],
        [null],
        [{}],
        [{ op: 1, path: "/a" }],
        [{ op: "add", path: 5, value: 1 }],
        [{ op: "add", path: "/data/z" }],
        [{ op: "add", path: "data/z", value: "1" }],
        [{ op: "add", path: "/data/a/b", value: "1" }],
        [{ op: "add", path: "/metadata/labels/x", value: "1" }],
        [{ op: "add", path: "", value: {} }],
        [{ op: "replace", path: "/data/zz", value: "q" }],
        [{ op: "replace", path: "", value: [] }],
        [{ op: "replace", path: "", value: 1 }],
        [{ op: "replace", path: "/kind", value: 5 }],
        [{ op: "replace", path: "/kind", value: "Foo" }],
        [{ op: "remove", path: "/kind" }],
        [{ op: "remove", path: "/data/zz" }],
        [{ op: "test", path: "/data/zz", value: null }],
        [{ op: "test", path: "/data/a", value: "x" }],
        [{ op: "copy", from: "/data/zz", path: "/data/y" }],
        [{ op: "move", from: "/data/zz", path: "/data/y" }],
        [{ op: "grow", path: "/data" }],
        Array.from({ length: 10_001 }, () => ({ op: "test", path: "/kind", value: "ConfigMap" }))
      ],
      merge: [
        null,
        [],
        1,
        {},
        { data: { a: null, n: null } },
        { data: null },
        { data: [1] },
        { data: { a: { b: null } } },
        { apiVersion: "v2" },
        { apiVersion: "apps/v1", kind: "Deployment" },
        { metadata: { creationTimestamp: "bad" } }
      ],
      strategic: [
        { data: { a: null } },
        { data: { $patch: "replace", q: "r" } },
        { data: null },
        { data: [1] },
        { data: { x: 1 } },
        { binaryData: { x: "!" } },
        { immutable: "x" },
        { metadata: { finalizers: ["ex.com/z"] } }
      ]
    }
  )
})
