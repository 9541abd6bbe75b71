/**
 * Incidents of operators. After each, the conditions or the Events of the WebApp name the cause in these words. The metric of the objects
 * counts the WebApp in this state.
 */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Manager from "@homeostat/runtime/manager/Manager"
import * as Rbac from "@homeostat/runtime/manager/Rbac"
import {
  Deployment,
  Event,
  LimitRange,
  Namespace,
  type Pod,
  PodDisruptionBudget,
  ResourceQuota,
  Secret,
  Service,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding
} from "@homeostat/runtime/resource/BuiltIn"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as ObjectState from "@homeostat/runtime/resource/ObjectState"
import * as Faults from "@homeostat/testkit/Faults"
import * as Harness from "@homeostat/testkit/Harness"
import { controller } from "@homeostat/webapp"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import { TestClock } from "effect/testing"

const key = { namespace: "default", name: "shop" }

type Seed = (cluster: Harness.Cluster) => Effect.Effect<unknown, unknown, Client.Client>

/** An incident with the words that name its cause. */
interface Incident {
  readonly spec?: object
  readonly before?: Seed
  /** Happens when the WebApp runs. */
  readonly after?: Seed
  /** The same, once in each second. */
  readonly often?: Seed
  /** Seconds from then until the user looks; 45 by default. */
  readonly seconds?: number
  readonly roles?: ReadonlyArray<object>
  readonly words: ReadonlyArray<string>
  readonly state: ObjectState.State
}

/** The controller's roles without this verb. */
const without = (verb: string): ReadonlyArray<object> =>
  JSON.parse(JSON.stringify(Rbac.of([controller])), (field, value) =>
    field === "verbs" ? value.filter((each: string) => each !== verb) : value
  )

const deploy = (spec: object, fieldManager: string) =>
  Client.patch(Deployment, key, Patch.merge({ spec }), { fieldManager })

const rollOut = Client.patch(WebApp, key, Patch.merge({ spec: { image: "deaf:1" } }))

const denying: Seed = () =>
  Effect.all([
    Client.create(ValidatingAdmissionPolicy, {
      metadata: { name: "netpol" },
      spec: {
        matchConstraints: {
          resourceRules: [
            {
              apiGroups: ["networking.k8s.io"],
              apiVersions: ["v1"],
              operations: ["CREATE", "UPDATE"],
              resources: ["networkpolicies"]
            }
          ]
        },
        validations: [{ expression: "false", message: "netops writes the NetworkPolicies" }]
      }
    }),
    Client.create(ValidatingAdmissionPolicyBinding, {
      metadata: { name: "netpol" },
      spec: { policyName: "netpol", validationActions: ["Deny"] }
    })
  ])

const incidents: { readonly [incident: string]: Incident } = {
  "01 an image does not exist": {
    spec: { image: "missing:1" },
    words: ["missing:1", "not found"],
    state: "Progressing"
  },
  "02 a wrong port": {
    spec: { image: "deaf:1" },
    words: ["check spec.port and spec.probes.readiness"],
    state: "Progressing"
  },
  "03 a crash loop": { spec: { image: "crash:1" }, words: ["no such table"], state: "Progressing" },
  "04 a quota": {
    before: () => Client.create(ResourceQuota, { metadata: { ...key, name: "pods" }, spec: { hard: { pods: "0" } } }),
    words: ["exceeded quota: pods"],
    state: "Progressing"
  },
  "05 a LimitRange": {
    spec: { resources: { requests: { cpu: "2" }, limits: { cpu: "2" } } },
    before: () =>
      Client.create(LimitRange, {
        metadata: { ...key, name: "limits" },
        spec: { limits: [{ type: "Container", max: { cpu: "1" } }] }
      }),
    words: ["maximum cpu usage per Container is 1"],
    state: "Progressing"
  },
  "06 Pod Security": {
    before: () =>
      Client.patch(
        Namespace,
        { name: key.namespace },
        Patch.merge({ metadata: { labels: { "pod-security.kubernetes.io/enforce": "restricted" } } })
      ),
    words: ['violates PodSecurity "restricted'],
    state: "Progressing"
  },
  "07 a key of a Secret is missing": {
    spec: { config: [{ secret: "database", keys: ["password"], env: {} }] },
    before: () => Client.create(Secret, { metadata: { ...key, name: "database" }, stringData: { user: "shop" } }),
    words: ["Secret database", "password"],
    state: "Progressing"
  },
  "08 a scaler fights over the replicas": {
    often: () => deploy({ replicas: 5 }, "scaler"),
    words: ["False FieldFight", "scaler keeps changing it", "spec.replicas"],
    state: "Failed"
  },
  "09 argocd-controller reverts the image": {
    often: () => deploy({ template: { spec: { containers: [{ name: "app", image: "old:1" }] } } }, "argocd-controller"),
    words: ["False FieldFight", "argocd-controller keeps changing", "image of Deployment"],
    state: "Failed"
  },
  "10 a manual edit comes back": {
    after: () => deploy({ replicas: 5 }, "kubectl-edit"),
    words: ["spec.replicas", "which kubectl-edit had changed"],
    state: "Ready"
  },
  "11 a second PodDisruptionBudget": {
    spec: { replicas: 2 },
    before: () =>
      Client.create(PodDisruptionBudget, {
        metadata: { ...key, name: "other" },
        spec: { minAvailable: 1, selector: { matchLabels: { app: "shop" } } }
      }),
    words: ["DisruptionBudgetReady False", "other"],
    state: "Ready"
  },
  "12 the webhook of another program is down": {
    before: ({ faults }) =>
      Effect.sync(() =>
        faults.on(
          { verb: "patch", kind: Deployment },
          Faults.answer(500, { message: 'failed calling webhook "policy.corp.example.com": connection refused' })
        )
      ),
    words: ["False Unavailable", 'webhook "policy.corp.example.com"', "Warning ServerError"],
    state: "Failed"
  },
  "13 a permission is missing": {
    roles: without("create"),
    words: ["False Forbidden", 'cannot create resource "'],
    state: "Failed"
  },
  "25 a finalizer of a child": {
    after: () =>
      Effect.andThen(
        Client.patch(Service, key, Patch.merge({ metadata: { finalizers: ["example.com/hold"] } })),
        Client.delete(WebApp, key, { propagation: "Foreground" })
      ),
    words: ["False Deleting", "Service shop (example.com/hold)"],
    state: "Deleting"
  },
  "26 a child of another owner": {
    before: () => Client.create(Service, { metadata: key, spec: { ports: [{ port: 80 }] } }),
    words: ["False NotOwned", "Service default/shop already exists"],
    state: "Failed"
  },
  "27 the Job before the rollout fails": {
    spec: { jobs: [{ name: "migrate", command: ["bin/fails"] }] },
    words: ["JobsComplete False JobFailed"],
    state: "Failed"
  },
  "28 a rollout is restored": {
    spec: { rollback: "Auto", progressDeadlineSeconds: 30 },
    after: () => rollOut,
    seconds: 180,
    words: ["RolledBack True", "Warning RolledBack"],
    state: "Failed"
  },
  "29 a policy refuses a child": {
    spec: { networkPolicy: { allowFrom: [{ namespace: "ingress" }] } },
    before: denying,
    words: ["False Forbidden", "netops writes the NetworkPolicies", "the next attempt is at"],
    state: "Failed"
  },
  "30 a rollout that makes no progress": {
    spec: { progressDeadlineSeconds: 30 },
    after: () => rollOut,
    seconds: 180,
    words: ["Stalled True ProgressDeadlineExceeded", "check spec.port"],
    state: "Failed"
  },
  "31 a pause that nobody ended": {
    after: () =>
      Client.patch(WebApp, key, Patch.merge({ metadata: { annotations: { "homeostat.dev/paused": "Anna tests" } } })),
    words: ["Paused True", "Anna tests"],
    state: "Paused"
  }
}

const pods = ({ spec }: Pod) => {
  const [container] = spec?.containers ?? []
  return container?.image === "crash:1" || container?.command?.[0] === "bin/fails"
    ? { ends: { after: "1 second" as const, exitCode: 1, message: "no such table" } }
    : container?.image === "deaf:1"
      ? { failingProbes: ["readiness" as const] }
      : undefined
}

/** The conditions and the Events, as a user sees them without the log and `why`. */
const shown = Effect.gen(function* () {
  const app = yield* Client.get(WebApp, key)
  const { items } = yield* Client.list(Event, { namespace: key.namespace })
  const conditions = (app.status?.conditions ?? []).map(
    (each) => `${each.type} ${each.status} ${each.reason}: ${each.message}`
  )
  const events = items.flatMap(({ note, reason, regarding, type }) =>
    regarding?.kind === "WebApp" ? [`${type} ${reason}: ${note}`] : []
  )
  return { text: [...conditions, ...events].join("\n"), state: ObjectState.of(WebApp, app) }
})

describe("A user sees the cause of the incident", () => {
  for (const [name, { after, before, often, roles, seconds = 45, spec, state, words }] of Object.entries(incidents)) {
    const test = Harness.make({
      crds: [Crd.of(WebApp)],
      manager: Manager.launch([controller]),
      kubelet: { pods, unpullable: ["missing:1"] },
      atRest: false,
      ...(roles !== undefined && { as: roles })
    })
    test(name, (cluster) =>
      Effect.gen(function* () {
        if (before !== undefined) yield* before(cluster)
        yield* Client.create(WebApp, { metadata: key, spec: { image: "nginx:1.27", replicas: 1, ...spec } })
        yield* TestClock.adjust("15 seconds")
        if (after !== undefined) yield* after(cluster)
        for (let second = 0; often !== undefined && second < 10; second++) {
          yield* often(cluster)
          yield* TestClock.adjust("1 second")
        }
        yield* TestClock.adjust(`${seconds} seconds`)
        const seen = yield* shown
        for (const word of words) expect(seen.text).toContain(word)
        expect(seen.state).toBe(state)
      })
    )
  }
})
