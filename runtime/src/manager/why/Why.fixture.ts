/** Facts for the tests of explanations and for `docs/why.md`, case by case. */

import type { TriggerEvent } from "../../controller/Trigger.ts"
import type { KubernetesObject, ManagedFieldsEntry } from "../../resource/KubernetesObject.ts"
import * as ObjectState from "../../resource/ObjectState.ts"
import * as Resource from "../../resource/Resource.ts"
import type { Entry } from "./Admissions.ts"
import type { Facts } from "./Facts.ts"
import type { Run } from "./Journal.ts"

/** The time of all cases. */
export const now = Date.parse("2026-11-21T10:21:13Z")

const second = 1000
const minute = 60 * second
const hour = 60 * minute

/** A time in the past, in the format of the API server. */
const before = (millis: number): string => new Date(now - millis).toISOString().replace(".000Z", "Z")

const key = { namespace: "default", name: "shop" }

/** A condition of the WebApp with this age. */
const condition = (type: string, status: string, reason: string, message: string, age: number) => ({
  type,
  status,
  reason,
  message,
  observedGeneration: 3,
  lastTransitionTime: before(age)
})

const fought =
  "spec.replicas of Deployment default/shop was put back 5 times within 30 s: kubectl-scale keeps changing it. Give the field to one of the two: either kubectl-scale stops setting it, or WebApp default/shop stops asking for it."

const ready = [condition("Ready", "True", "AllReplicasReady", "3/3 ready", 2 * hour)]

const refusal =
  'The API server refuses PATCH /apis/apps/v1/namespaces/default/deployments/shop: admission webhook "images.example.com" denied the request: image web:latest has no digest'

const managed = (
  manager: string,
  operation: "Apply" | "Update",
  age: number,
  fieldsV1: object
): ManagedFieldsEntry => ({
  manager,
  operation,
  time: before(age),
  fieldsType: "FieldsV1",
  // A plain object satisfies the type of a field set.
  fieldsV1: { ...fieldsV1 }
})

/** The WebApp. */
export const shop = (
  metadata: Partial<KubernetesObject["metadata"]> = {},
  conditions: ReadonlyArray<object> = ready
): KubernetesObject & { readonly status: object } => ({
  apiVersion: "apps.kubedojo.io/v1beta1",
  kind: "WebApp",
  metadata: {
    ...key,
    uid: "8a0b1c2d-0000-4000-8000-000000000001",
    resourceVersion: "48213",
    generation: 3,
    creationTimestamp: before(26 * hour),
    managedFields: [
      { ...managed("webapp-controller", "Update", 2 * minute, { "f:status": {} }), subresource: "status" },
      managed("kubectl-client-side-apply", "Update", 26 * hour, {
        "f:spec": { ".": {}, "f:image": {}, "f:replicas": {} }
      })
    ],
    ...metadata
  },
  status: { observedGeneration: 3, conditions }
})

const fired = (kind: TriggerEvent["kind"], age: number, source?: TriggerEvent["source"]): TriggerEvent => ({
  kind,
  at: now - age,
  source
})

const itself = { kind: "WebApp", key: "default/shop", resourceVersion: "48190" }
const deployment = { kind: "Deployment", key: "default/shop", resourceVersion: "48201" }

const run = (age: number, over: Partial<Run> = {}): Run => ({
  id: "7f1d2a90-3c41-4f5e-9a6b-2d8c0e4b7a11",
  startedAt: now - age,
  finishedAt: now - age + 25,
  waitedMillis: 1,
  number: 1,
  uid: "8a0b1c2d-0000-4000-8000-000000000001",
  generation: 3,
  resourceVersion: "48190",
  outcome: "Done",
  message: undefined,
  next: { _tag: "Wait" },
  triggers: [fired("watch.modified", age, itself)],
  coalesced: 1,
  writes: [],
  moreWrites: 0,
  requests: 0,
  corrections: [],
  trace: undefined,
  times: 1,
  since: now - age,
  ...over
})

const child = (kind: string, managedFields: ReadonlyArray<ManagedFieldsEntry>) => ({
  kind,
  key: "default/shop",
  live: {
    _tag: "There" as const,
    object: {
      metadata: { ...key, uid: kind, resourceVersion: "1", creationTimestamp: before(26 * hour), managedFields }
    }
  }
})

const ours = managed("webapp-controller", "Apply", 2 * minute, { "f:spec": {} })

const wrote = (kind: string, subresource?: string): Run["writes"][number] => ({
  verb: "apply",
  what: kind,
  key: "default/shop",
  subresource,
  changed: true,
  error: undefined
})

const WebApp = Resource.make({ group: "apps.kubedojo.io", version: "v1beta1", kind: "WebApp", plural: "webapps" })

/** A WebApp without problems, and the differences of a case. */
export const facts = (over: Partial<Facts> = {}): Facts => {
  const cached = "cached" in over ? over.cached : shop()
  return {
    now,
    kind: "WebApp",
    resource: "webapps.apps.kubedojo.io",
    key,
    controller: { name: "webapp", fieldManager: "webapp-controller", finalizers: [], workers: 16 },
    since: now - 26 * hour,
    election: {
      leading: true,
      holder: "homeostat-7c9f_5d0e",
      identity: "homeostat-7c9f_5d0e",
      lease: { namespace: "homeostat-system", name: "homeostat" }
    },
    reachable: true,
    caches: ["webapps.apps.kubedojo.io", "deployments.apps", "services"].map((resource) => ({
      resource,
      synced: true,
      problem: undefined
    })),
    namespaces: [],
    labelSelector: undefined,
    live: cached === undefined ? { _tag: "NotThere" } : { _tag: "There", object: cached },
    elsewhere: [],
    entry: { runs: [run(2 * minute)], ignored: [], deleted: undefined },
    ignored: [],
    admissions: [],
    queue: { position: { _tag: "Absent" }, triggers: [], dropped: 0, busy: 0 },
    children: cached === undefined ? [] : [child("Deployment", [ours]), child("Service", [ours])],
    isOwn: () => false,
    state: cached === undefined ? "Unknown" : ObjectState.of(WebApp, cached),
    ...over,
    cached
  }
}

const failing = run(8 * second, {
  outcome: "Failed",
  message: refusal,
  number: 9,
  times: 9,
  since: now - 21 * second,
  next: { _tag: "Run", afterMillis: 20_480 },
  triggers: [fired("retry", 18 * second)],
  requests: 1,
  writes: [
    {
      verb: "patch",
      what: "deployments",
      key: "default/shop",
      subresource: undefined,
      changed: undefined,
      error: "Forbidden"
    }
  ]
})

const stalled = [
  condition("Ready", "False", "Forbidden", refusal, 21 * second),
  condition("Stalled", "True", "Forbidden", refusal, 21 * second)
]

const mismatch = "WebApp default/shop does not match its schema: spec.port: must be at most 65535, is 70000"
const invalid = [
  condition("Ready", "False", "InvalidSpec", mismatch, 3 * minute),
  condition("Stalled", "True", "InvalidSpec", mismatch, 3 * minute)
]

/** A response of an admission webhook, with the differences of a case. */
export const reviewed = (age: number, over: Partial<Entry> = {}): Entry => ({
  at: now - age,
  result: "denied",
  operation: "create",
  dryRun: false,
  username: "ann",
  unverified: undefined,
  message:
    'Backup.backup.example.com "shop" is invalid: spec.schedule: Invalid value: "61 * * * *": minute "61" must be 0 to 59',
  trace: undefined,
  times: 1,
  since: now - age,
  ...over
})

const crash = "0/3 ready: the container crashes again and again (exit code 1, Error)"

const repair = run(2 * minute, {
  triggers: [fired("owned.modified", 2 * minute, deployment)],
  corrections: [
    { kind: "Deployment", key: "default/shop", reason: "drift", fields: ["spec.replicas"], manager: "kubectl-scale" }
  ],
  writes: [wrote("Deployment")]
})

const gone = { cached: undefined, children: [] } as const

/** The cases, by their titles in `docs/why.md`. */
export const cases = {
  reconciled: facts({
    entry: {
      runs: [
        run(26 * hour, {
          triggers: [fired("watch.added", 26 * hour, itself)],
          corrections: [
            { kind: "Deployment", key: "default/shop", reason: "created", fields: [] },
            { kind: "Service", key: "default/shop", reason: "created", fields: [] }
          ],
          writes: [wrote("Deployment"), wrote("Service"), wrote("WebApp", "status")],
          finishedAt: now - 26 * hour + 41
        }),
        run(2 * minute, {
          triggers: [fired("owned.modified", 2 * minute, deployment)],
          coalesced: 2,
          corrections: [{ kind: "Deployment", key: "default/shop", reason: "intent", fields: ["spec.replicas"] }],
          writes: [wrote("Deployment"), wrote("WebApp", "status")],
          trace: { id: "7f1d2a903c414f5e9a6b2d8c0e4b7a11", exported: true }
        })
      ],
      ignored: [],
      deleted: undefined
    },
    children: [
      child("Deployment", [
        managed("kubectl-edit", "Update", 2 * minute, { "f:spec": { "f:minReadySeconds": {} } }),
        ours
      ]),
      child("Service", [ours])
    ]
  }),
  "not ready": facts({
    cached: shop({}, [
      condition("Ready", "False", "CrashLoopBackOff", crash, 3 * minute),
      condition("Reconciling", "True", "CrashLoopBackOff", crash, 3 * minute)
    ])
  }),
  "put back": facts({ entry: { runs: [repair], ignored: [], deleted: undefined } }),
  fight: facts({
    cached: shop({}, [condition("Ready", "False", "FieldFight", fought, 90 * second)]),
    entry: {
      runs: [{ ...repair, startedAt: now - 2 * second, finishedAt: now - 2 * second }],
      ignored: [],
      deleted: undefined
    },
    loop: {
      reason: "fight",
      manager: "kubectl-scale",
      note: fought,
      since: now - 90 * second,
      at: now - 2 * second
    }
  }),
  suspended: facts({
    cached: shop({}, [condition("Ready", "True", "Suspended", "Scheduled runs are suspended", 2 * hour)])
  }),
  backoff: facts({
    cached: shop({}, stalled),
    entry: { runs: [run(26 * hour), failing], ignored: [], deleted: undefined },
    queue: {
      position: { _tag: "Delayed", until: now + 12 * second, priority: 0 },
      triggers: [fired("retry", 8 * second)],
      dropped: 0,
      busy: 1
    }
  }),
  "failed permanently": facts({
    cached: shop({}, invalid),
    entry: {
      runs: [
        run(3 * minute, {
          outcome: "Terminal",
          message: mismatch
        })
      ],
      ignored: [],
      deleted: undefined
    },
    queue: {
      position: { _tag: "Delayed", until: Number.POSITIVE_INFINITY, priority: 0 },
      triggers: [fired("given_up", 3 * minute)],
      dropped: 0,
      busy: 0
    }
  }),
  queued: facts({
    queue: {
      position: { _tag: "Ready", index: 41, priority: 0, since: now - 3 * second },
      triggers: [fired("watch.modified", 3 * second, itself)],
      dropped: 0,
      busy: 16
    }
  }),
  filtered: facts({
    ignored: [
      {
        kind: "watch.modified",
        source: itself,
        uid: "",
        at: now - 5 * second,
        predicate: "generationChanged: its spec is unchanged",
        times: 1,
        own: false
      }
    ]
  }),
  "never seen": facts({ ...gone, elsewhere: ["prod"], entry: undefined }),
  denied: facts({
    ...gone,
    kind: "Backup",
    resource: "backups.backup.example.com",
    controller: { name: "backup", fieldManager: "backup-controller", finalizers: [], workers: 4 },
    caches: ["backups.backup.example.com", "jobs.batch"].map((resource) => ({
      resource,
      synced: true,
      problem: undefined
    })),
    entry: undefined,
    admissions: [
      reviewed(2 * minute, { dryRun: true }),
      reviewed(5 * second, {
        times: 2,
        since: now - 65 * second,
        trace: { id: "7f1d2a903c414f5e9a6b2d8c0e4b7a11", exported: true }
      })
    ]
  }),
  deleted: facts({
    ...gone,
    entry: { runs: [run(2 * hour)], ignored: [], deleted: { uid: "", at: now - 4 * minute } }
  }),
  "blocked by a finalizer": facts({
    cached: shop({
      deletionTimestamp: before(5 * minute),
      finalizers: ["example.com/hold"],
      managedFields: [
        managed("auditor", "Update", 2 * hour, {
          "f:metadata": { "f:finalizers": { ".": {}, 'v:"example.com/hold"': {} } }
        })
      ]
    }),
    entry: { runs: [run(5 * minute)], ignored: [], deleted: undefined }
  }),
  standby: facts({
    election: {
      leading: false,
      holder: "homeostat-7c9f_5d0e",
      identity: "homeostat-b2xk_91aa",
      lease: { namespace: "homeostat-system", name: "homeostat" }
    },
    entry: undefined,
    queue: undefined
  }),
  "cache not synced": facts({
    election: undefined,
    caches: [
      { resource: "webapps.apps.kubedojo.io", synced: true, problem: undefined },
      { resource: "deployments.apps", synced: true, problem: undefined },
      {
        resource: "services",
        synced: false,
        problem:
          'cannot list services in all namespaces: requires permission to list and watch services in all namespaces; GET /api/v1/services: services is forbidden: User "system:serviceaccount:homeostat-system:homeostat" cannot watch resource "services" in API group "" at the cluster scope'
      }
    ],
    entry: undefined
  }),
  "outside of what is looked at": facts({
    cached: undefined,
    live: { _tag: "There", object: shop({ labels: { team: "blue" } }) },
    labelSelector: "team=red",
    entry: undefined,
    children: []
  })
} as const satisfies { readonly [title: string]: Facts }
