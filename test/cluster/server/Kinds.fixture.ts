/**
 * Hand-made kinds for the tests of the core: as little as it takes to be one.
 */
import { definition, definitionStatus } from "./crd/CustomKinds.ts"
import * as Json from "./Json.ts"
import type { Kind, Strategy } from "./Kind.ts"
import { schemaOf } from "./openapi/Documents.ts"

/** A strategy that wants nothing. */
export const plain: Strategy = {
  default: () => undefined,
  prepareForCreate: () => undefined,
  prepareForUpdate: () => undefined,
  validate: () => [],
  validateUpdate: () => [],
  resetFields: []
}

const kind = (group: string, version: string, name: string, plural: string, more: Partial<Kind>): Kind => ({
  group,
  version,
  kind: name,
  listKind: `${name}List`,
  plural,
  singular: name.toLowerCase(),
  shortNames: [],
  categories: [],
  namespaced: true,
  verbs: ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
  storage: `${group}/${plural}`,
  get schema() {
    return schemaOf(group, version, name) ?? {}
  },
  custom: false,
  strategy: plain,
  status: undefined,
  scale: undefined,
  columns: [],
  selectableFields: () => ({}),
  unconditionalUpdate: true,
  createOnUpdate: false,
  gracePeriod: () => 0,
  deletedAs: "status",
  fromStorage: (stored) => stored,
  toStorage: (object) => object,
  deprecation: undefined,
  ...more
})

/** ConfigMap. */
export const configMap = kind("", "v1", "ConfigMap", "configmaps", {})

/** Namespace, with its finalizer and its phase. */
export const namespace = kind("", "v1", "Namespace", "namespaces", {
  namespaced: false,
  deletedAs: "object",
  verbs: ["create", "delete", "get", "list", "patch", "update", "watch"],
  strategy: {
    ...plain,
    default: (draft) => {
      const metadata = Json.member(draft, "metadata")
      const name = metadata.name
      if (name !== undefined) Json.member(metadata, "labels")["kubernetes.io/metadata.name"] = name
    },
    prepareForCreate: (draft) => {
      draft.spec = { finalizers: ["kubernetes"] }
      draft.status = { phase: "Active" }
    }
  },
  subresources: { finalize: plain }
})

/** Pod: one that runs on a node is given time to end. */
export const pod = kind("", "v1", "Pod", "pods", {
  deletedAs: "object",
  graceful: true,
  gracePeriod: (object, asked) => (Json.at(object, "spec", "nodeName") === undefined ? 0 : (asked ?? 30)),
  status: plain
})

/** PodDisruptionBudget. */
export const budget = kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", {})

/** Lease: a PUT makes it. */
export const lease = kind("coordination.k8s.io", "v1", "Lease", "leases", { createOnUpdate: true })

/** CustomResourceDefinition. */
export const customResourceDefinition = kind(
  "apiextensions.k8s.io",
  "v1",
  "CustomResourceDefinition",
  "customresourcedefinitions",
  { namespaced: false, strategy: definition, status: definitionStatus }
)

/** All of them. */
export const kinds: ReadonlyArray<Kind> = [namespace, configMap, pod, budget, lease, customResourceDefinition]

/** A definition of the custom kind Thing, with status and scale. */
export const thingDefinition: Json.JsonObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "things.probe.io" },
  spec: {
    group: "probe.io",
    scope: "Namespaced",
    names: { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: {
          status: {},
          scale: {
            specReplicasPath: ".spec.replicas",
            statusReplicasPath: ".status.replicas",
            labelSelectorPath: ".status.selector"
          }
        },
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                properties: { color: { type: "string" }, replicas: { type: "integer" } }
              },
              status: {
                type: "object",
                properties: {
                  phase: { type: "string" },
                  replicas: { type: "integer" },
                  selector: { type: "string" }
                }
              }
            }
          }
        }
      }
    ]
  }
}
