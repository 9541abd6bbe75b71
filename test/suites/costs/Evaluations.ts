/** Objects whose rules exceed the cost limit during evaluation, and requests whose policies exceed it. */

import type { JsonObject } from "@homeostat/apiserver/model/Json"
import type { CustomResourceDefinition } from "@homeostat/testkit/envtest/Crds"
import type { Dialogue } from "../comparison/Dialogue.ts"
import type { Request } from "../comparison/Server.ts"

const texts = { type: "array", maxItems: 800, items: { type: "string", maxLength: 10 } }

const pairs = "self.all(x, self.exists(y, y == x))"

/** A kind whose rules compare each item of a list with the others. */
export const pricey: CustomResourceDefinition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "expensives.costs.example.com" },
  spec: {
    group: "costs.example.com",
    scope: "Namespaced",
    names: { plural: "expensives", singular: "expensive", kind: "Expensive", listKind: "ExpensiveList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              pairs: { ...texts, "x-kubernetes-validations": [{ rule: pairs }] },
              absorbed: {
                ...texts,
                "x-kubernetes-validations": [{ rule: `${pairs} || true`, message: "an operator" }]
              },
              unbounded: {
                type: "array",
                items: { type: "string" },
                "x-kubernetes-validations": [{ rule: "self.all(x, x != 'a')" }]
              },
              told: {
                ...texts,
                "x-kubernetes-validations": [
                  { rule: "self.size() < 2", messageExpression: `${pairs} ? 'pairs' : 'none'` }
                ]
              },
              repeated: {
                ...texts,
                maxItems: 700,
                "x-kubernetes-validations": [
                  { rule: "self.size() != 1" },
                  ...Array.from({ length: 14 }, (_, index) => ({ rule: `self.size() != ${index + 701} && ${pairs}` }))
                ]
              },
              rows: {
                type: "array",
                maxItems: 30,
                items: { ...texts, maxItems: 150, "x-kubernetes-validations": [{ rule: pairs }] }
              }
            }
          }
        }
      }
    ]
  }
} as unknown as CustomResourceDefinition

const different = (count: number): ReadonlyArray<string> => Array.from({ length: count }, (_, index) => `t${index}`)

const expensive = (more: JsonObject): Request => ({
  method: "POST",
  path: "/apis/costs.example.com/v1/namespaces/NAMESPACE/expensives?dryRun=All",
  body: { apiVersion: "costs.example.com/v1", kind: "Expensive", metadata: { name: "a" }, ...more }
})

const objects: Readonly<Record<string, JsonObject>> = {
  "a rule that costs little": { pairs: different(100) },
  "a rule that costs much": { pairs: different(300) },
  "a rule that costs more than one evaluation may": { pairs: different(750) },
  "a rule whose operator does not absorb the limit": { absorbed: different(750) },
  "a rule of an unlimited list": { unbounded: different(2000) },
  "a message that costs much": { told: different(300) },
  "a message that costs more than one evaluation may": { told: different(750) },
  "rules that together cost much": { repeated: different(100) },
  "rules of which one is broken": { repeated: ["a"] },
  "rules that together cost too much": { repeated: different(500) },
  "a rule of many items": { rows: Array.from({ length: 15 }, () => different(50)) }
}

const registration = "/apis/admissionregistration.k8s.io/v1"

/** A policy for the ConfigMaps with a name, and its binding. */
const policed = (name: string, spec: JsonObject): ReadonlyArray<Request> => [
  {
    method: "POST",
    path: `${registration}/validatingadmissionpolicies`,
    body: {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata: { name: `costs-${name}` },
      spec: {
        failurePolicy: "Fail",
        matchConstraints: {
          namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "NAMESPACE" } },
          resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }]
        },
        ...spec
      }
    }
  },
  {
    method: "POST",
    path: `${registration}/validatingadmissionpolicybindings`,
    body: {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name: `costs-${name}` },
      spec: { policyName: `costs-${name}`, validationActions: ["Deny"] }
    },
    pauseMillis: 2_500
  }
]

const configMap = (count: number): Request => ({
  method: "POST",
  path: "/api/v1/namespaces/NAMESPACE/configmaps?dryRun=All",
  body: {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: `keys-${count}` },
    data: Object.fromEntries(different(count).map((key) => [key, "x"]))
  }
})

const keys = "object.data.all(k, object.data.exists(j, j == k))"

/** The specs of policies, each with the numbers of keys of the ConfigMaps that the policy validates. */
const policies: Readonly<Record<string, readonly [spec: JsonObject, ...keys: ReadonlyArray<number>]>> = {
  one: [{ validations: [{ expression: keys }] }, 100, 900],
  ignored: [{ failurePolicy: "Ignore", validations: [{ expression: keys }] }, 900],
  together: [{ validations: Array.from({ length: 20 }, () => ({ expression: keys })) }, 50, 480],
  variables: [
    {
      variables: [{ name: "pairs", expression: keys }],
      validations: [{ expression: "variables.pairs" }, { expression: "variables.pairs && size(object.data) > 0" }]
    },
    100,
    900
  ],
  conditions: [
    {
      matchConditions: Array.from({ length: 8 }, (_, index) => ({ name: `c${index}`, expression: keys })),
      validations: [{ expression: "size(object.data) < 2", message: "the conditions hold" }]
    },
    100,
    480
  ],
  messages: [
    { validations: [{ expression: "false", message: "plain", messageExpression: `${keys} ? 'pairs' : 'none'` }] },
    100,
    900
  ],
  authorizer: [
    {
      validations: [
        {
          expression:
            "[1, 2, 3].all(i, authorizer.group('').resource('pods').check('get').allowed() || i > 0 || size(object.data) > 0)"
        },
        { expression: "authorizer.group('').resource('pods').check('get').allowed() || size(object.data) > 0" }
      ]
    },
    50
  ]
}

/** All dialogues. */
export const evaluations: ReadonlyArray<Dialogue> = [
  ...Object.entries(objects).map(([about, more]) => ({ name: `an object with ${about}`, steps: [expensive(more)] })),
  ...Object.entries(policies).map(([name, [spec, ...counts]]) => ({
    name: `a policy: ${name}`,
    steps: [...policed(name, spec), ...counts.map(configMap)]
  }))
]
