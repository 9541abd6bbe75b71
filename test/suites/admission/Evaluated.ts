/** Expressions of ValidatingAdmissionPolicies: errors beside `||` and `&&`, and the options of a request. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import { type Dialogue, type Step, withoutRevision } from "../comparison/Dialogue.ts"
import {
  bind,
  config,
  configMap,
  constraints,
  deployment,
  deployments,
  make,
  merge,
  ofConfig,
  policy,
  post,
  rule
} from "./Objects.ts"

const name = "NAMESPACE"

const dialogue = (about: string, ...steps: ReadonlyArray<Step>): Dialogue => ({
  name: `expressions: ${about}`,
  headers: ["warning"],
  steps
})

/** Conditions with errors. `object.data.one` and `object.data.two` do not exist; `object.data.text` is not a boolean. */
const conditions: ReadonlyArray<string> = [
  "object.data.one == 'a' || true",
  "object.data.one == 'a' || false",
  "true || object.data.one == 'a'",
  "false || object.data.one == 'a'",
  "object.data.one == 'a' && false",
  "object.data.one == 'a' && true",
  "false && object.data.one == 'a'",
  "true && object.data.one == 'a'",
  "object.data.one == 'a' || object.data.two == 'a'",
  "object.data.one == 'a' && object.data.two == 'a'",
  "object.data.one == 'a' || object.data.two == 'a' || true",
  "object.data.one == 'a' && (object.data.two == 'a' && false)",
  "object.data.one == 'a' || object.data.two == 'a' && false",
  "(object.data.one == 'a' || false) && object.data.two == 'a'",
  "1 / int(object.data.zero) == 1 || object.data.one == 'a'",
  "object.data.one == 'a' || 1 / int(object.data.zero) == 1",
  "object.data.text || true",
  "object.data.text || false",
  "false || object.data.text",
  "object.data.text && false",
  "true && object.data.text",
  "object.data.one == 'a' || object.data.text",
  "object.data.text || object.data.one == 'a'",
  "(object.data.text > 1) || true",
  "!(object.data.one == 'a') || true",
  "(object.data.one == 'a' ? true : false) || true",
  "object.data.one == 'a' ? true : true",
  "[1, 0].exists(one, 1 / one == 1)",
  "[0, 1].exists(one, 1 / one == 1)",
  "[0, 2].exists(one, 1 / one == 1)",
  "[0, 2].all(one, 1 / one == 0)",
  "[2, 0].all(one, 1 / one == 1)",
  "[0, 2].all(one, 1 / one == 1)",
  "[0, 1].exists_one(one, 1 / one == 1)",
  "['one', 'two'].exists(one, object.data[one] == 'a')",
  "['one', 'two'].all(one, object.data[one] == 'a')",
  "object.data.exists(key, object.data[key] == 't' || object.none)",
  "object.data.all(key, value, value == 't' || object.none)",
  "[0, 1].filter(one, 1 / one == 1).size() == 1",
  "variables.one == 'a' || true",
  "variables.one == 'a' && object.data.two == 'a'",
  "variables.one == 'a' && false"
]

const logic = dialogue(
  "errors beside || and &&",
  policy(name, {
    variables: [{ name: "one", expression: "object.data.one" }],
    validations: conditions.map((condition, index) => ({
      expression: `object.metadata.name == 'c${index}' ? (${condition}) : true`,
      message: "false"
    }))
  }),
  bind(name),
  ...conditions.map((_, index) => config(`c${index}`, { data: { text: "t", zero: "0" } }))
)

/** The options of a request as a text. */
const shown = [
  "request.operation + ' ' + request.options.kind",
  "' dryRun=' + (has(request.options.dryRun) ? request.options.dryRun[0] : '') + ',' + string(request.?dryRun.orValue(false))",
  ...["fieldManager", "fieldValidation", "propagationPolicy"].map(
    (field) => `' ${field}=' + request.options.?${field}.orValue('-')`
  ),
  ...["gracePeriodSeconds", "force", "orphanDependents", "limit"].map(
    (field) => `' ${field}=' + (has(request.options.${field}) ? string(request.options.${field}) : '-')`
  ),
  "' uid=' + request.options.?preconditions.?uid.orValue('-')"
].join(" + ")

const watched: JsonObject = {
  matchConstraints: constraints([
    rule(["configmaps", "deployments/*", "deployments", "pods/eviction", "pods/binding", "leases"])
  ]),
  validations: [{ expression: "false", messageExpression: shown }]
}

const apply = "application/apply-patch+yaml"
const configMaps = "/api/v1/namespaces/NAMESPACE/configmaps"
const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "l" } }

const pods = "/api/v1/namespaces/NAMESPACE/pods"
const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p" },
  spec: { containers: [{ name: "c", image: "i" }] }
}
const about = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "p" } }

const options: Dialogue = {
  compared: withoutRevision,
  ...dialogue(
    "the options of a request",
    policy(name, watched),
    bind(name, { validationActions: ["Warn"] }),
    config("a"),
    config("b", {}, "?fieldManager=me&fieldValidation=Strict"),
    config("c", {}, "?dryRun=All&pretty=true"),
    ofConfig("PUT", "a", { body: configMap("a", { data: { a: "1" } }) }),
    ofConfig("PUT", "a?fieldManager=me&fieldValidation=Warn&dryRun=All", {
      body: configMap("a", { data: { a: "2" } })
    }),
    ofConfig("PATCH", "a", merge({ data: { a: "3" } })),
    ofConfig("PATCH", "a?fieldManager=me&fieldValidation=Ignore&dryRun=All", merge({ data: { a: "4" } })),
    ofConfig("PATCH", "a?fieldManager=me&force=true", {
      body: configMap("a", { data: { a: "5" } }),
      contentType: apply
    }),
    ofConfig("PATCH", "d?fieldManager=me&force=true", {
      body: configMap("d", { data: { a: "5" } }),
      contentType: apply
    }),
    { method: "PUT", path: "/apis/coordination.k8s.io/v1/namespaces/NAMESPACE/leases/l?fieldManager=me", body: lease },
    post(deployments, deployment),
    { method: "PATCH", path: `${deployments}/web/scale?fieldManager=me`, ...merge({ spec: { replicas: 0 } }) },
    { method: "PATCH", path: `${deployments}/web/status?dryRun=All`, ...merge({ status: { replicas: 1 } }) },
    ofConfig("DELETE", "a?dryRun=All"),
    ofConfig("DELETE", "a", { body: { kind: "DeleteOptions", apiVersion: "v1", preconditions: { uid: "x" } } }),
    ofConfig("DELETE", "a", {
      body: { kind: "DeleteOptions", apiVersion: "v1", gracePeriodSeconds: 3, propagationPolicy: "Background" }
    }),
    ofConfig("DELETE", "b?gracePeriodSeconds=4&propagationPolicy=Orphan&fieldManager=me"),
    ofConfig("DELETE", "b?orphanDependents=true"),
    {
      method: "DELETE",
      path: `${configMaps}?fieldSelector=metadata.name%3Dd&limit=5`,
      body: { gracePeriodSeconds: 0 }
    },
    post("/api/v1/namespaces/NAMESPACE/serviceaccounts", {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "default" }
    }),
    post(pods, pod),
    post(`${pods}/p/eviction?fieldManager=me`, { ...about, deleteOptions: { dryRun: ["All"], gracePeriodSeconds: 1 } }),
    post(`${pods}/p/eviction?dryRun=All`, about),
    post(`${pods}/p/binding?fieldManager=me`, {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { name: "p" },
      target: { kind: "Node", name: "n" }
    })
  )
}

/** Writes the options to a ConfigMap. */
const mutated = dialogue(
  "the options of a request in mutations",
  make("MutatingAdmissionPolicy", name, {
    spec: {
      matchConstraints: constraints([rule(["configmaps"], { operations: ["CREATE", "UPDATE"] })]),
      reinvocationPolicy: "Never",
      matchConditions: [{ name: "own", expression: "request.options.?fieldManager.orValue('') != 'other'" }],
      mutations: [
        { patchType: "ApplyConfiguration", applyConfiguration: { expression: `Object{data: {'options': ${shown}}}` } }
      ]
    }
  }),
  { ...make("MutatingAdmissionPolicyBinding", name, { spec: { policyName: name } }), pauseMillis: 2_500 },
  config("a", {}, "?fieldManager=me"),
  config("b", {}, "?fieldManager=other"),
  ofConfig("PATCH", "a?dryRun=All&fieldValidation=Warn", merge({ data: { a: "1" } })),
  ofConfig("PATCH", "b?fieldManager=me", { body: configMap("b", { data: { a: "5" } }), contentType: apply })
)

/** All dialogues of this file. */
export const dialogues: ReadonlyArray<Dialogue> = [logic, options, mutated]
