/**
 * Minimal kinds for tests, without most of the behavior of the real ones.
 */

import * as Json from "../model/Json.ts"
import type { Kind, Strategy } from "../model/Kind.ts"
import { schemaOf } from "../model/OpenApiDefinitions.ts"
import type { Schema } from "../model/Schema.ts"
import * as CustomCell from "./crd/CustomCell.ts"
import { definition, definitionStatus } from "./crd/CustomKinds.ts"
import { type Name, names } from "./Names.ts"

/** A strategy without defaults and validation. */
const plain: Strategy = {
  default: () => undefined,
  prepareForCreate: () => undefined,
  prepareForUpdate: () => undefined,
  validate: () => [],
  validateUpdate: () => [],
  resetFields: []
}

const kind = (group: string, version: string, name: string, plural: string, more: Partial<Kind> = {}): Kind => ({
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

/** ConfigMap, without special behavior. */
export const configMap = kind("", "v1", "ConfigMap", "configmaps")

/** Namespace, with its label, its finalizer and its phase. */
const namespace = kind("", "v1", "Namespace", "namespaces", {
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

/** Pod, with a grace period of 30 seconds once it is scheduled, and with selectable fields. */
export const pod = kind("", "v1", "Pod", "pods", {
  deletedAs: "object",
  graceful: true,
  gracePeriod: (object, requested) => (Json.at(object, "spec", "nodeName") === undefined ? 0 : (requested ?? 30)),
  selectableFields: (object) => ({
    "spec.nodeName": "",
    "status.phase": String(Json.at(object, "status", "phase") ?? "")
  }),
  status: plain
})

/** PodDisruptionBudget, without special behavior. */
const budget = kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")

/** Lease, which a PUT creates. Its times have microseconds. */
export const lease = kind("coordination.k8s.io", "v1", "Lease", "leases", { createOnUpdate: true })

/** CustomResourceDefinition, with its real strategies. */
const customResourceDefinition = kind(
  "apiextensions.k8s.io",
  "v1",
  "CustomResourceDefinition",
  "customresourcedefinitions",
  { namespaced: false, strategy: definition, status: definitionStatus }
)

/** The kinds of a test server. */
export const kinds: ReadonlyArray<Kind> = [namespace, configMap, pod, budget, lease, customResourceDefinition]

/** Secret, whose schema has bytes. */
export const secret = kind("", "v1", "Secret", "secrets")

/** Deployment, whose schema is deeply nested and has lists that merge by key. */
export const deployment = kind("apps", "v1", "Deployment", "deployments")

/** Service, whose schema has a list that merges by a number. */
export const service = kind("", "v1", "Service", "services")

/** Job, which rejects unsupported field selectors with its own message. */
export const job = kind("batch", "v1", "Job", "jobs", { selectableFields: () => ({ "status.successful": "" }) })

/** Node, which is cluster-scoped. */
export const node = kind("", "v1", "Node", "nodes", {
  namespaced: false,
  selectableFields: () => ({ "spec.unschedulable": "" })
})

const text: Schema = { type: "string" }

/** WebApp, a custom kind. */
export const webApp = kind("example.com", "v1", "WebApp", "webapps", {
  schema: {
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: {
          a: text,
          any: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
          items: { type: "array", items: { type: "object", properties: { n: text } } }
        }
      }
    }
  },
  custom: true,
  unconditionalUpdate: false,
  selectableFields: () => ({ "spec.color": "" }),
  columns: [
    {
      name: "Color",
      type: "string",
      format: "",
      description: "its colour",
      priority: 1,
      cell: CustomCell.of("string", ".spec.a")
    }
  ]
})

/** True if the OpenAPI documents have the built-in kind. */
export const knows = (apiVersion: string, kind: string): boolean => {
  const [version = "", group = ""] = apiVersion.split("/").reverse()
  return schemaOf(group, version, kind) !== undefined
}

const named = (name: Name): Kind => {
  const has = (subresource: string) => name.subresources.some((one) => one.name === subresource)
  return kind(name.group, name.version, name.kind, name.plural, {
    ...name,
    schema: {},
    status: has("status") ? plain : undefined,
    scale: has("scale") ? { specReplicas: [], statusReplicas: [], selector: undefined } : undefined,
    otherSubresources: name.subresources.filter((one) => one.name !== "status" && one.name !== "scale"),
    subresources: {}
  })
}

/** All built-in kinds with names and subresources only, without schemas. Enough for discovery. */
export const builtIn: ReadonlyArray<Kind> = names.map(named)
