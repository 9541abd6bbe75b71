/**
 * Kinds for the tests of what reads and shows objects: nothing is done to their objects.
 */
import type { Kind, Strategy } from "../Kind.ts"
import * as Documents from "../openapi/Documents.ts"
import type { Schema } from "../Schema.ts"
import * as CustomCell from "./CustomCell.ts"

const nothing: Strategy = {
  default: () => {},
  prepareForCreate: () => {},
  prepareForUpdate: () => {},
  validate: () => [],
  validateUpdate: () => [],
  resetFields: []
}

const make = (group: string, kind: string, schema: Schema, given: Partial<Kind> = {}): Kind => ({
  group,
  version: "v1",
  kind,
  listKind: `${kind}List`,
  plural: `${kind.toLowerCase()}s`,
  singular: kind.toLowerCase(),
  shortNames: [],
  categories: [],
  namespaced: true,
  verbs: [],
  storage: `${group}/${kind.toLowerCase()}s`,
  schema,
  custom: false,
  strategy: nothing,
  status: undefined,
  scale: undefined,
  columns: [],
  selectableFields: () => ({}),
  unconditionalUpdate: true,
  createOnUpdate: false,
  gracePeriod: () => 0,
  deletedAs: "status",
  fromStorage: (object) => object,
  toStorage: (object) => object,
  deprecation: undefined,
  ...given
})

const builtIn = (group: string, kind: string, given?: Partial<Kind>): Kind =>
  make(group, kind, Documents.schemaOf(group, "v1", kind) ?? {}, given)

/** A kind whose fields are texts. */
export const configMap = builtIn("", "ConfigMap")
/** A kind with bytes. */
export const secret = builtIn("", "Secret")
/** A kind that nests deeply, with lists that are merged. */
export const deployment = builtIn("apps", "Deployment")
/** A kind whose list is merged by a number. */
export const service = builtIn("", "Service")
/** A kind with a time in microseconds. */
export const lease = builtIn("coordination.k8s.io", "Lease")
/** A kind that refuses fields in words of its own. */
export const job = builtIn("batch", "Job", { selectableFields: () => ({ "status.successful": "" }) })
/** A kind without namespaces. */
export const node = builtIn("", "Node", {
  namespaced: false,
  selectableFields: () => ({ "spec.unschedulable": "" })
})
/** A kind of which some fields can be selected. */
export const pod = builtIn("", "Pod", {
  selectableFields: (object) => ({ "spec.nodeName": "", "status.phase": String(object.phase ?? "") })
})

const text: Schema = { type: "string" }

/** A custom kind. */
export const webApp = make(
  "example.com",
  "WebApp",
  {
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
  {
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
  }
)

/** Whether there is such a built-in kind. */
export const knows = (apiVersion: string, kind: string): boolean => {
  const [version = "", group = ""] = apiVersion.split("/").reverse()
  return Documents.schemaOf(group, version, kind) !== undefined
}
