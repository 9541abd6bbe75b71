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
  /** The same object with the fields of another manager. */
  readonly foreign: Fields
}

const labels = { app: "a" }
const containers = [{ name: "app", image: "registry.test/a" }]
const template = {
  metadata: { labels },
  spec: { containers, volumes: [{ name: "scratch", emptyDir: {} }] }
}
const workload = { spec: { selector: { matchLabels: labels }, template } }
const webhooks = [{ name: "a.example.com", clientConfig: {}, sideEffects: "None", admissionReviewVersions: ["v1"] }]

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
  "ingresses.networking.k8s.io": { spec: { rules: [{ host: "a.example.com" }] } },
  "ingressclasses.networking.k8s.io": {
    spec: { controller: "example.com/a", parameters: { kind: "Settings", apiGroup: "example.com", name: "a" } }
  },
  "mutatingwebhookconfigurations.admissionregistration.k8s.io": { webhooks },
  "validatingwebhookconfigurations.admissionregistration.k8s.io": { webhooks }
}

/** Kinds with the same pod template as a Deployment: one row for each of its unions is enough. */
const alike: ReadonlyArray<string> = ["cronjobs.batch", "daemonsets.apps", "replicasets.apps", "statefulsets.apps"]

/**
 * The kinds without a row: the unions of an existing object are immutable, or each object is a kind, which the other tests would see.
 */
const left: ReadonlyArray<string> = [
  "pods",
  "jobs.batch",
  "persistentvolumes",
  "customresourcedefinitions.apiextensions.k8s.io"
]

/** Fields that an item of a list needs beside those of its union. */
const items: { readonly [list: string]: Fields } = {
  containers: { name: "app" },
  initContainers: { name: "first", image: "registry.test/a", restartPolicy: "Always" },
  env: { name: "A" },
  volumeMounts: { name: "scratch", mountPath: "/scratch" },
  volumes: { name: "a" },
  resourceClaims: { name: "a" },
  webhooks: { name: "a.example.com" }
}

/** Sets fields in a struct, and removes those of the value `null`. */
const put = (value: Json | undefined, [step, ...others]: ReadonlyArray<Step>, fields: Fields): Json => {
  if (step === undefined) {
    const all = Object.entries({ ...(Drift.isRecord(value) ? value : {}), ...fields })
    return Object.fromEntries(
      all.filter((entry): entry is [string, Json] => entry[1] !== undefined && entry[1] !== null)
    )
  }
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

const sampleOf = (member: string, struct: string): Fields => {
  const sample = Members.samples[`${struct}.${member}`] ?? Members.samples[member]
  if (sample === undefined) throw new Error(`no sample of ${struct}.${member} (add one to Members.ts)`)
  return { [member]: sample, ...Members.partners[member] }
}

/** The fields of both managers for each sibling of a union. */
const pairsOf = (union: Unions.Union, struct: string): ReadonlyArray<readonly [own: Fields, rival: Fields]> => {
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
      return [sampleOf(name, struct), sampleOf(next, struct)]
    })
  }
  const decider = Members.deciders[union.field === "type" ? struct : union.field]
  if (decider === undefined) throw new Error(`no values of ${struct}.${union.field} (add them to Members.ts)`)
  return union.excludes.map((name) => {
    const sibling = Members.excluded[name]
    if (sibling === undefined) throw new Error(`no value of ${name} (add one to Members.ts)`)
    return [{ [union.field]: decider[0] }, { [union.field]: decider[1], [name]: sibling }]
  })
}

const rowsOf = (kind: Kind): ReadonlyArray<Row> => {
  const shape = Unions.of(kind)
  const base = bases[Resource.nameOf(kind)]
  if (shape === undefined || left.includes(Resource.nameOf(kind))) return []
  const isAlike = alike.includes(Resource.nameOf(kind))
  if (base === undefined) throw new Error(`no valid ${kind.kind} (add one to Table.ts)`)
  return places(shape).flatMap(({ steps, union }) =>
    pairsOf(union, lastOf(steps))
      .slice(0, isAlike ? 1 : undefined)
      .map(([own, rival]) => {
        const path = steps
          .map((step) => (typeof step === "string" ? step : `[${step.mountPath ?? step.name}]`))
          .join(".")
        const change = `${Object.keys(own).join()} → ${Object.keys(rival).join()}`
        return rowOf(`${kind.kind} ${path} ${change}`.replaceAll(".[", "["), kind, base, steps, own, rival)
      })
  )
}

const rowOf = (
  name: string,
  kind: Kind,
  base: Json | undefined,
  steps: ReadonlyArray<Step>,
  own: Fields,
  rival: Fields
): Row => {
  const intent = put(base, steps, own) as Fields
  const removed = Object.fromEntries(Object.keys(own).map((field) => [field, null]))
  return { name, kind, steps, intent, own, rival, foreign: put(intent, steps, { ...removed, ...rival }) as Fields }
}

const types: ReadonlyArray<Fields> = [
  { type: "ClusterIP" },
  { type: "NodePort" },
  {
    type: "LoadBalancer",
    loadBalancerSourceRanges: ["10.0.0.0/8"],
    loadBalancerClass: "example.com/a",
    allocateLoadBalancerNodePorts: false
  },
  { type: "ExternalName", externalName: "example.com" }
]

/** The API server assigns and wipes other fields of a Service when its type changes. */
const changesOfType: ReadonlyArray<Row> = [
  ...types.flatMap((own) => types.filter((rival) => rival !== own).map((rival) => [own, rival] as const)),
  [{ type: "ClusterIP" }, { type: "LoadBalancer", externalTrafficPolicy: "Local" }] as const,
  [
    { sessionAffinity: "None" },
    { sessionAffinity: "ClientIP", sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } } }
  ] as const,
  [
    { type: "ClusterIP", clusterIP: "None" },
    { type: "ExternalName", externalName: "example.com" }
  ] as const
].map(([own, rival]) =>
  rowOf(
    `Service spec ${Object.values(own)} → ${Object.values(rival)}`,
    BuiltIn.Service,
    bases.services,
    ["spec"],
    own,
    rival
  )
)

const all: ReadonlyArray<Kind> = Object.values(BuiltIn)

/** The rows of unions. */
export const unions: ReadonlyArray<Row> = all.flatMap(rowsOf)

export const rows: ReadonlyArray<Row> = [...unions, ...changesOfType]

/** The kinds of the rows. */
export const kinds: ReadonlyArray<Kind> = [...new Set(rows.map(({ kind }) => kind))]
