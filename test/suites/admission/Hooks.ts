/** Configurations of admission webhooks of one test, which concern only its namespace. */

import { expect } from "bun:test"
import * as Json from "@homeostat/apiserver/model/Json"
import { Effect, type Scope } from "effect"
import { eventually } from "../conformance/Case.ts"
import type * as Raw from "../conformance/Raw.ts"
import type { Scene } from "../conformance/Scene.ts"
import type * as Webhook from "./Webhook.ts"

type Kind = "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration"

const root = "/apis/admissionregistration.k8s.io/v1"

const pathOf = (kind: Kind): string => `${root}/${kind.toLowerCase()}s`

const probe = "probe.example.com"

/** A rule for a resource: `rule("configmaps", "CREATE")`. */
export const rule = (resource: string, ...operations: ReadonlyArray<string>): Json.JsonObject => ({
  apiGroups: ["*"],
  apiVersions: ["*"],
  resources: [resource],
  operations
})

/** A webhook with the required fields of a configuration. */
export const hook = (
  name: string,
  clientConfig: Json.JsonObject,
  rules: ReadonlyArray<Json.JsonObject>,
  more: Json.JsonObject = {}
): Json.JsonObject => ({
  name: `${name}.example.com`,
  clientConfig,
  rules,
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
  ...more
})

/** The response of a webhook that allows the request. */
export const allowed = ({ apiVersion, kind, request }: Json.JsonObject, more: Json.JsonObject = {}) => ({
  apiVersion,
  kind,
  response: { uid: Json.at(request, "uid"), allowed: true, ...more }
})

/** The response of a webhook that changes the object. */
export const patching = (review: Json.JsonObject, ...patch: ReadonlyArray<Json.JsonObject>) =>
  allowed(review, { patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(patch)).toString("base64") })

/** The response of a webhook that denies the request. */
export const denied = (review: Json.JsonObject, status?: Json.JsonObject) =>
  allowed(review, { allowed: false, ...(status !== undefined && { status }) })

/**
 * Installs a configuration until the end of the Scope, and waits until the server calls its webhooks.
 *
 * @param prefix the start of the configuration's name; the server sorts configurations by name
 */
export const install = (
  scene: Scene,
  webhook: Webhook.Webhook,
  kind: Kind,
  hooks: ReadonlyArray<Json.JsonObject>,
  prefix = ""
): Effect.Effect<string, Raw.NoAnswer, Scope.Scope> =>
  Effect.gen(function* () {
    const name = `${prefix}${scene.namespace}-${crypto.randomUUID().slice(0, 8)}`
    const selector = { matchLabels: { "kubernetes.io/metadata.name": scene.namespace } }
    const label = { "example.com/probe": name }
    const all = hooks.map((one) => ({ namespaceSelector: selector, ...one }))
    const probing = hook("probe", webhook.at(`/probe/${name}`), [rule("configmaps", "CREATE")], {
      namespaceSelector: selector,
      objectSelector: { matchLabels: label }
    })
    yield* Effect.addFinalizer(() => Effect.ignore(scene.request("DELETE", `${pathOf(kind)}/${name}`)))
    yield* scene.done("POST", pathOf(kind), {
      json: {
        apiVersion: "admissionregistration.k8s.io/v1",
        kind,
        metadata: { name },
        webhooks: [probing, ...all]
      }
    })
    yield* eventually(
      Effect.map(
        scene.request("POST", `${scene.path("configmaps")}?dryRun=All`, {
          json: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "probe", labels: label } }
        }),
        ({ body }) => expect(String(Json.at(body, "message"))).toContain(probe)
      )
    )
    webhook.reviews.length = 0
    return name
  })

/** Installs a MutatingAdmissionPolicy that appends the number of data to `data.policy`, until the end of the Scope. */
export const policy = (
  scene: Scene,
  reinvocationPolicy: string,
  rules: ReadonlyArray<Json.JsonObject>,
  more: Json.JsonObject
): Effect.Effect<void, Raw.NoAnswer, Scope.Scope> =>
  Effect.gen(function* () {
    const name = `${scene.namespace}-${reinvocationPolicy.toLowerCase()}`
    const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": scene.namespace } }
    const expression = "Object{data: {'policy': object.data.?policy.orValue('') + string(object.data.size())}}"
    const objects = [
      [
        "MutatingAdmissionPolicy",
        "mutatingadmissionpolicies",
        {
          matchConstraints: { resourceRules: rules, namespaceSelector, ...more },
          reinvocationPolicy,
          mutations: [{ patchType: "ApplyConfiguration", applyConfiguration: { expression } }]
        }
      ],
      ["MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", { policyName: name }]
    ] as const
    for (const [kind, plural, spec] of objects) {
      yield* Effect.addFinalizer(() => Effect.ignore(scene.request("DELETE", `${root}/${plural}/${name}`)))
      yield* scene.done("POST", `${root}/${plural}`, {
        json: { apiVersion: "admissionregistration.k8s.io/v1", kind, metadata: { name }, spec }
      })
    }
  })

/** Denies the requests of `install`, and answers all others with `answer`. */
export const answering =
  (answer: Webhook.Answer): Webhook.Answer =>
  (review, path) =>
    path.startsWith("/probe") ? denied(review) : answer(review, path)

/** A ConfigMap. */
export const configMap = (name: string, more: Json.JsonObject = {}): Json.JsonObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  ...more,
  metadata: { name, ...Json.object(more.metadata) }
})
