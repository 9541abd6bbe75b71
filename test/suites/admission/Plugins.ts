/** MutatingAdmissionPolicies and the server's built-in admission plugins, which run again after a policy changed the object. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import type { Dialogue, Step } from "../comparison/Dialogue.ts"
import { constraints, make, merge, post, rule } from "./Objects.ts"

const name = "NAMESPACE"
const pods = "/api/v1/namespaces/NAMESPACE/pods"
const claims = "/api/v1/namespaces/NAMESPACE/persistentvolumeclaims"

const pod = (more: JsonObject = {}): JsonObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p" },
  spec: { containers: [{ name: "c", image: "i" }], ...more }
})

const claim: JsonObject = {
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name: "c" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } }
}

const account = post("/api/v1/namespaces/NAMESPACE/serviceaccounts", {
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: { name: "default" }
})

const annotation = (key: string, value: string): JsonObject => ({
  patchType: "ApplyConfiguration",
  applyConfiguration: { expression: `Object{metadata: Object.metadata{annotations: {'${key}': ${value}}}}` }
})

const patch = (...operations: ReadonlyArray<string>): JsonObject => ({
  patchType: "JSONPatch",
  jsonPatch: { expression: `[${operations.map((fields) => `JSONPatch{${fields}}`).join(", ")}]` }
})

const policy = (own: string, resource: string, mutations: ReadonlyArray<JsonObject>, more: JsonObject = {}) =>
  make("MutatingAdmissionPolicy", own, {
    spec: {
      matchConstraints: constraints([rule([resource], { operations: ["CREATE", "UPDATE"] })]),
      reinvocationPolicy: "Never",
      mutations,
      ...more
    }
  })

const bind = (own: string) => ({
  ...make("MutatingAdmissionPolicyBinding", own, { spec: { policyName: own } }),
  pauseMillis: 2_500
})

const dialogue = (about: string, ...steps: ReadonlyArray<Step>): Dialogue => ({
  name: `plugins: ${about}`,
  headers: ["warning"],
  steps
})

const shown =
  "string(object.spec.?priority.orValue(-1)) + ' ' + object.spec.?preemptionPolicy.orValue('-') + ' ' + object.spec.?priorityClassName.orValue('-') + ' ' + string(object.spec.?tolerations.orValue([]).size())"

/** All dialogues of this file. */
export const dialogues: ReadonlyArray<Dialogue> = [
  dialogue(
    "a policy reads the priority and the tolerations of a pod",
    account,
    policy(name, "pods", [annotation("seen", shown)], { reinvocationPolicy: "IfNeeded" }),
    bind(name),
    post(pods, pod()),
    { method: "PATCH", path: `${pods}/p`, ...merge({ metadata: { labels: { a: "b" } } }) },
    post(pods, { ...pod({ priorityClassName: "system-node-critical" }), metadata: { name: "critical" } }),
    post(pods, { ...pod({ priorityClassName: "none" }), metadata: { name: "none" } })
  ),
  dialogue(
    "a policy names a priority class",
    account,
    policy(name, "pods", [patch("op: 'add', path: '/spec/priorityClassName', value: 'system-node-critical'")]),
    bind(name),
    post(pods, pod())
  ),
  dialogue(
    "a policy names a priority class, and its priority",
    account,
    policy(name, "pods", [
      patch(
        "op: 'add', path: '/spec/priorityClassName', value: 'system-node-critical'",
        "op: 'add', path: '/spec/priority', value: 2000001000"
      )
    ]),
    bind(name),
    post(pods, pod())
  ),
  dialogue(
    "a policy names no class that exists",
    account,
    policy(name, "pods", [patch("op: 'add', path: '/spec/priorityClassName', value: 'none'")]),
    bind(name),
    post(pods, pod())
  ),
  dialogue(
    "a policy removes tolerations",
    account,
    policy(name, "pods", [
      patch(
        "op: 'add', path: '/metadata/annotations', value: {'seen': string(object.spec.tolerations.size())}",
        "op: 'remove', path: '/spec/tolerations'"
      )
    ]),
    bind(name),
    post(pods, pod())
  ),
  dialogue(
    "a policy reads and removes the finalizer of a claim",
    policy(name, "persistentvolumeclaims", [
      annotation("seen", "object.metadata.?finalizers.orValue(['none'])[0] + ' ' + string(has(object.status))"),
      patch("op: 'remove', path: '/metadata/finalizers'")
    ]),
    bind(name),
    post(claims, claim),
    { method: "PATCH", path: `${claims}/c`, ...merge({ metadata: { labels: { a: "b" } } }) }
  ),
  dialogue(
    "a plugin changes the object again before a policy that wants it",
    account,
    policy(
      name,
      "pods",
      [
        annotation(
          "seen",
          "object.metadata.?annotations['seen'].orValue('') + string(object.spec.?tolerations.orValue([]).size())"
        ),
        patch("op: 'remove', path: '/spec/tolerations'")
      ],
      { reinvocationPolicy: "IfNeeded" }
    ),
    bind(name),
    post(pods, pod())
  )
]
