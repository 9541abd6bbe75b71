/** A custom kind in two versions, and policies about its objects. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import type { Dialogue } from "../comparison/Dialogue.ts"
import { bind, config, constraints, make, merge, policy, post, rule } from "./Objects.ts"

const group = "admission.example.com"
const name = "NAMESPACE"

const version = (version: string, storage: boolean) => ({
  name: version,
  served: true,
  storage,
  subresources: { status: {}, scale: { specReplicasPath: ".spec.size", statusReplicasPath: ".status.size" } },
  schema: {
    openAPIV3Schema: {
      type: "object",
      properties: {
        spec: {
          type: "object",
          properties: {
            size: { type: "integer" },
            ratio: { type: "number" },
            color: { type: "string", default: "red" },
            parts: {
              type: "array",
              "x-kubernetes-list-type": "map",
              "x-kubernetes-list-map-keys": ["name"],
              items: {
                type: "object",
                required: ["name"],
                properties: { name: { type: "string" }, size: { type: "integer", default: 1 } }
              }
            },
            tags: { type: "array", items: { type: "string" } }
          }
        },
        status: { type: "object", properties: { size: { type: "integer" } } }
      }
    }
  }
})

export const gadgets = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `gadgets.${group}` },
  spec: {
    group,
    scope: "Namespaced",
    names: { plural: "gadgets", singular: "gadget", kind: "Gadget", listKind: "GadgetList" },
    versions: [version("v1", true), version("v1beta1", false)]
  }
}

const path = (version: string): string => `/apis/${group}/${version}/namespaces/NAMESPACE/gadgets`
const gadget = (own: string, spec: JsonObject, version = "v1"): JsonObject => ({
  apiVersion: `${group}/${version}`,
  kind: "Gadget",
  metadata: { name: own },
  spec
})

const olderRule = rule(["gadgets"], { apiGroups: [group], apiVersions: ["v1beta1"] })
const anyRule = rule(["gadgets"], { apiGroups: [group], operations: ["CREATE", "UPDATE"] })

const mutating = (rules: ReadonlyArray<JsonObject>, expression: string) => [
  make("MutatingAdmissionPolicy", name, {
    spec: {
      matchConstraints: constraints(rules),
      reinvocationPolicy: "Never",
      mutations: [{ patchType: "ApplyConfiguration", applyConfiguration: { expression } }]
    }
  }),
  { ...make("MutatingAdmissionPolicyBinding", name, { spec: { policyName: name } }), pauseMillis: 2_500 }
]

/** All dialogues of this file. */
export const dialogues: ReadonlyArray<Dialogue> = [
  {
    name: "gadgets: a policy for an older version",
    steps: [
      policy(name, {
        matchConstraints: constraints([olderRule]),
        validations: [
          { expression: "object.apiVersion == 'admission.example.com/v1beta1'" },
          { expression: "request.kind.version == 'v1beta1' && request.requestKind.version in ['v1', 'v1beta1']" },
          { expression: "object.spec.color == 'red'", message: "not red" },
          { expression: "object.spec.size < 3 && object.spec.ratio < 0.5", message: "too large" }
        ]
      }),
      bind(name),
      post(path("v1"), gadget("a", { size: 1, ratio: 0.25, color: "blue" })),
      post(path("v1"), gadget("a", { size: 3, ratio: 0.25 })),
      post(path("v1"), gadget("a", { size: 1, ratio: 1 })),
      post(path("v1beta1"), gadget("a", { size: 1, ratio: 0.25 }, "v1beta1")),
      { method: "PATCH", path: `${path("v1")}/a/status`, ...merge({ status: { size: 5 } }) },
      { method: "PATCH", path: `${path("v1")}/a`, ...merge({ spec: { size: 9 } }) }
    ]
  },
  {
    name: "gadgets: a policy for status and scale",
    steps: [
      policy(name, {
        matchConstraints: constraints([rule(["gadgets/*"], { apiGroups: [group] })]),
        validations: [
          { expression: "has(request.subResource)", message: "the object itself" },
          { expression: "request.subResource != 'status' || object.status.size < 3", message: "status" },
          { expression: "request.subResource != 'scale' || object.spec.replicas < 3", message: "scale" },
          { expression: "request.subResource in ['status', 'scale']" }
        ]
      }),
      bind(name),
      post(path("v1"), gadget("a", { size: 1 })),
      { method: "PATCH", path: `${path("v1")}/a/status`, ...merge({ status: { size: 5 } }) },
      { method: "PATCH", path: `${path("v1")}/a/status`, ...merge({ status: { size: 2 } }) },
      { method: "PATCH", path: `${path("v1")}/a/scale`, ...merge({ spec: { replicas: 5 } }) },
      { method: "PATCH", path: `${path("v1")}/a/scale`, ...merge({ spec: { replicas: 2 } }) }
    ]
  },
  {
    name: "gadgets: params",
    steps: [
      post(path("v1"), gadget("limits", { size: 3 })),
      policy(name, {
        paramKind: { apiVersion: `${group}/v1beta1`, kind: "Gadget" },
        validations: [
          {
            expression: "object.metadata.name.size() < params.spec.size",
            messageExpression: "params.apiVersion + ' ' + params.kind + ' ' + string(params.spec.size)"
          }
        ]
      }),
      bind(name, { paramRef: { name: "limits", parameterNotFoundAction: "Deny" } }),
      config("long"),
      config("a")
    ]
  },
  {
    name: "gadgets: a mutation",
    steps: [
      ...mutating(
        [anyRule],
        "Object{spec: Object.spec{size: has(object.spec.size) ? object.spec.size + 1 : 10, ratio: 0.5, parts: [Object.spec.parts{name: 'extra'}]}}"
      ),
      post(path("v1"), gadget("a", { size: 1, parts: [{ name: "own", size: 3 }] })),
      post(path("v1"), gadget("b", {})),
      { method: "PATCH", path: `${path("v1beta1")}/a`, ...merge({ spec: { color: "blue" } }) },
      { method: "PATCH", path: `${path("v1")}/a/status`, ...merge({ status: { size: 2 } }) }
    ]
  },
  {
    name: "gadgets: a mutation of another version",
    steps: [
      ...mutating(
        [olderRule].map((one) => ({ ...one, operations: ["CREATE"] })),
        "Object{spec: Object.spec{color: 'green'}}"
      ),
      post(path("v1"), gadget("a", { size: 1 })),
      post(path("v1beta1"), gadget("b", { size: 1 }, "v1beta1"))
    ]
  },
  {
    name: "gadgets: an atomic list",
    steps: [...mutating([anyRule], "Object{spec: Object.spec{tags: ['a']}}"), post(path("v1"), gadget("a", {}))]
  }
]
