/** The table of all unions of the built-in kinds: for each, what a controller sets, and what another manager sets instead. */
import * as Drift from "@homeostat/runtime/controller/Drift"
import * as BuiltIn from "@homeostat/runtime/resource/BuiltIn"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import * as Resource from "@homeostat/runtime/resource/Resource"
import * as Unions from "@homeostat/runtime/resource/Unions"
import * as Members from "./Members.ts"

type Json = Drift.Json
type Fields = { readonly [name: string]: Json }

export type Kind = Resource.Resource<KubernetesObject, never>

/** A step into an object: a field, or the item of a list with this field. */
type Step = string | Fields

/** A row of the table. */
export interface Row {
  readonly name: string
  readonly kind: Kind
  /** The struct with the union. */
  readonly steps: ReadonlyArray<Step>
  /** The object of the controller, without metadata. */
  readonly intent: Fields
  /** The fields of the controller in the struct. */
  readonly own: Fields
  /** The fields that another manager sets in the struct instead; `null` for no value. */
  readonly rival: Fields
}

const labels = { app: "a" }
const containers = [{ name: "app", image: "registry.test/a" }]
const template = {
  metadata: { labels },
  spec: { containers, volumes: [{ name: "scratch", emptyDir: {} }] }
}
const workload = { spec: { selector: { matchLabels: labels }, template } }
const service = { name: "a", namespace: "default" }
const webhooks = [
  { name: "a.example.com", clientConfig: { service }, sideEffects: "None", admissionReviewVersions: ["v1"] }
]

/** A valid object of each kind with unions. */
const bases: { readonly [name: string]: Fields } = {
  "deployments.apps": workload,
  "daemonsets.apps": workload,
  "statefulsets.apps": workload,
  "replicasets.apps": workload,
  "cronjobs.batch": {
    spec: {
      schedule: "0 0 1 1 *",
      suspend: true,
      jobTemplate: { spec: { template: { ...template, spec: { ...template.spec, restartPolicy: "Never" } } } }
    }
  },
  configmaps: {},
  services: { spec: { type: "ClusterIP", selector: labels, ports: [{ port: 80 }] } },
  "poddisruptionbudgets.policy": { spec: { selector: { matchLabels: labels } } },
  "ingresses.networking.k8s.io": { spec: {} },
  "ingressclasses.networking.k8s.io": {
    spec: { controller: "example.com/a", parameters: { kind: "Settings", apiGroup: "example.com", name: "a" } }
  },
  "mutatingwebhookconfigurations.admissionregistration.k8s.io": { webhooks },
  "validatingwebhookconfigurations.admissionregistration.k8s.io": { webhooks },
  "validatingadmissionpolicybindings.admissionregistration.k8s.io": {
    spec: { policyName: "a", validationActions: ["Deny"], paramRef: { parameterNotFoundAction: "Deny" } }
  }
}

/** The kinds whose unions nobody can change in an existing object. */
export const immutable: ReadonlyArray<string> = ["pods", "jobs.batch", "persistentvolumes"]

/** Fields that an item or a struct needs beside those of its union. */
const items: { readonly [list: string]: Fields } = {
  containers: { name: "app" },
  initContainers: { name: "first", image: "registry.test/a", restartPolicy: "Always" },
  env: { name: "A" },
  volumeMounts: { name: "scratch", mountPath: "/scratch" },
  volumes: { name: "a" },
  resourceClaims: { name: "a" },
  webhooks: { name: "a.example.com" }
}

/** Sets fields in a struct. */
const put = (value: Json | undefined, [step, ...others]: ReadonlyArray<Step>, fields: Fields): Json => {
  if (step === undefined) return { ...(Drift.isRecord(value) ? value : {}), ...fields } as Fields
  if (typeof step === "string") {
    const record = Drift.isRecord(value) ? value : {}
    return { ...record, [step]: put(record[step], others, fields) } as Fields
  }
  const list: ReadonlyArray<Json> = Array.isArray(value) ? value : []
  const at = list.findIndex((item) => Drift.isRecord(item) && item.name === step.name)
  const item = put(at < 0 ? step : list[at], others, fields)
  return at < 0 ? [...list, item] : list.with(at, item)
}

/** The structs of a kind with unions. */
const places = (
  shape: Unions.Shape,
  steps: ReadonlyArray<Step> = []
): ReadonlyArray<{ readonly steps: ReadonlyArray<Step>; readonly union: Unions.Union }> => [
  ...(shape.unions ?? []).map((union) => ({ steps, union })),
  ...Object.entries(shape.fields ?? {}).flatMap(([name, inner]) => {
    const item = items[name]
    return places(inner, item === undefined ? [...steps, name] : [...steps, name, item])
  })
]

const lastOf = (steps: ReadonlyArray<Step>): string => String(steps.findLast((step) => typeof step === "string") ?? "")

const sampleOf = (member: string): Fields => {
  const sample = Members.samples[member]
  if (sample === undefined) throw new Error(`no sample of ${member} (add one to Members.ts)`)
  return { [member]: sample, ...Members.partners[member] }
}

/** The fields of both managers for each sibling of a union. */
const pairs = (union: Unions.Union, struct: string): ReadonlyArray<readonly [own: Fields, rival: Fields]> => {
  if ("disjoint" in union) {
    const [one, other] = union.disjoint
    const values: Fields = { data: { a: "b" }, binaryData: { a: "Yg==" } }
    const set = (name: string): Fields => ({ [name]: values[name] ?? null })
    return [
      [set(one), set(other)],
      [set(other), set(one)]
    ]
  }
  if ("oneOf" in union) {
    // Each member is a sibling once, and the controller's once.
    return union.oneOf.map((name, at) => {
      const next = union.oneOf[(at + 1) % union.oneOf.length] ?? name
      return [sampleOf(name), sampleOf(next)]
    })
  }
  const decider = Members.deciders[union.field === "type" ? struct : union.field]
  if (decider === undefined) throw new Error(`no values of ${struct}.${union.field} (add them to Members.ts)`)
  return union.excludes.map((name) => {
    const sibling = Members.excluded[name]
    if (sibling === undefined) throw new Error(`no value of ${name} (add one to Members.ts)`)
    return [{ [union.field]: decider[0] }, { [union.field]: decider[1], ...sibling.with, [name]: sibling.value }]
  })
}

const rowsOf = (kind: Kind): ReadonlyArray<Row> => {
  const shape = Unions.of(kind)
  const base = bases[Resource.nameOf(kind)]
  if (shape === undefined || immutable.includes(Resource.nameOf(kind))) return []
  if (base === undefined) throw new Error(`no valid ${kind.kind} (add one to Table.ts)`)
  return places(shape).flatMap(({ steps, union }) =>
    pairs(union, lastOf(steps)).map(([own, rival]) => {
      const path = steps.map((step) => (typeof step === "string" ? step : `[${step.mountPath ?? step.name}]`)).join(".")
      const change = `${Object.keys(own).join()} → ${Object.keys(rival).join()}`
      const intent = put(base, steps, own) as Fields
      return { name: `${kind.kind} ${path} ${change}`.replaceAll(".[", "["), kind, steps, intent, own, rival }
    })
  )
}

const types: ReadonlyArray<Fields> = [
  { type: "ClusterIP" },
  { type: "ClusterIP", clusterIP: "None" },
  { type: "NodePort" },
  { type: "LoadBalancer", externalTrafficPolicy: "Local" },
  { type: "ExternalName", externalName: "example.com" }
]

/** The API server assigns and wipes other fields of a Service when its type changes. */
const changesOfType: ReadonlyArray<Row> = types.flatMap((own) =>
  types.flatMap((rival): ReadonlyArray<Row> => {
    if (own.type === rival.type) return []
    const kind: Kind = BuiltIn.Service
    const name = `Service spec ${Object.values(own).join()} → ${Object.values(rival).join()}`
    return [{ name, kind, steps: ["spec"], intent: put(bases.services, ["spec"], own) as Fields, own, rival }]
  })
)

const all: ReadonlyArray<Kind> = Object.values(BuiltIn)

export const rows: ReadonlyArray<Row> = [...all.flatMap(rowsOf), ...changesOfType]

/** The kinds of the rows. */
export const kinds: ReadonlyArray<Kind> = [...new Set(rows.map(({ kind }) => kind))]
