/** Requests that MutatingAdmissionPolicies change. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import type { Dialogue, Step } from "../comparison/Dialogue.ts"
import type { Request } from "../comparison/Server.ts"
import {
  config,
  configMap,
  constraints,
  deployment,
  deployments,
  make,
  merge,
  ofConfig,
  post,
  rule
} from "./Objects.ts"

const name = "NAMESPACE"
const written = { operations: ["CREATE", "UPDATE"] }

const apply = (expression: string): JsonObject => ({
  patchType: "ApplyConfiguration",
  applyConfiguration: { expression }
})
const patch = (expression: string): JsonObject => ({ patchType: "JSONPatch", jsonPatch: { expression } })

const policy = (own: string, mutations: ReadonlyArray<JsonObject>, more: JsonObject = {}): Request =>
  make("MutatingAdmissionPolicy", own, {
    spec: {
      matchConstraints: constraints([rule(["configmaps"], written)]),
      reinvocationPolicy: "Never",
      mutations,
      ...more
    }
  })

const bind = (policyName: string, more: JsonObject = {}): Request => ({
  ...make("MutatingAdmissionPolicyBinding", `${policyName}-binding`, { spec: { policyName, ...more } }),
  pauseMillis: 2_500
})

const mutated = (
  about: string,
  mutations: ReadonlyArray<JsonObject>,
  more: JsonObject,
  ...steps: ReadonlyArray<Step>
): Dialogue => ({
  name: `mutations: ${about}`,
  headers: ["warning"],
  steps: [policy(name, mutations, more), bind(name), ...steps]
})

const label = (key: string, value: string): JsonObject =>
  apply(`Object{metadata: Object.metadata{labels: {'${key}': ${value}}}}`)

const data = (value: string): JsonObject => ({ data: { a: value } })

/** All dialogues of this file. */
export const dialogues: ReadonlyArray<Dialogue> = [
  mutated(
    "an apply configuration",
    [label("a", "'b'"), label("name", "object.metadata.name")],
    {},
    config("new"),
    config("labelled", { metadata: { name: "labelled", labels: { a: "c", d: "e" } } }),
    ofConfig("PATCH", "new", merge({ metadata: { labels: { a: "changed" } } })),
    ofConfig("PUT", "new", { body: configMap("new", data("x")) }),
    ofConfig("PATCH", "applied?fieldManager=me", {
      body: configMap("applied", { metadata: { name: "applied", labels: { a: "mine" } } }),
      contentType: "application/apply-patch+yaml"
    }),
    config("dry", {}, "?dryRun=All")
  ),
  mutated(
    "a JSON patch",
    [
      patch(
        "has(object.data) ? [JSONPatch{op: 'replace', path: '/data/a', value: object.data.a + '!'}] : [JSONPatch{op: 'add', path: '/data', value: {'a': 'new'}}]"
      ),
      patch(
        "[JSONPatch{op: 'add', path: '/metadata/annotations', value: {}}, JSONPatch{op: 'add', path: '/metadata/annotations/' + jsonpatch.escapeKey('example.com/a'), value: 'b'}, JSONPatch{op: 'copy', from: '/data/a', path: '/data/copy'}]"
      ),
      patch("[JSONPatch{op: 'test', path: '/data/a', value: 'never'}, JSONPatch{op: 'remove', path: '/data'}]"),
      patch("object.metadata.name == 'none' ? [JSONPatch{op: 'remove', path: '/data'}] : []")
    ],
    {},
    config("new"),
    config("old", data("x")),
    config("none", data("x"))
  ),
  mutated(
    "objects within lists",
    [
      apply(
        "Object{spec: Object.spec{replicas: 3, template: Object.spec.template{spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: 'web', env: [Object.spec.template.spec.containers.env{name: 'A', value: 'b'}]}, Object.spec.template.spec.containers{name: 'side', image: 'side'}]}}}}"
      )
    ],
    { matchConstraints: constraints([rule(["deployments"], written)]) },
    post(deployments, deployment)
  ),
  ...["add", "remove", "replace", "move", "copy", "nope"].map((op) =>
    mutated(
      `a JSON patch that fails: ${op}`,
      [patch(`[JSONPatch{op: '${op}', from: '/data/no/a', path: '/data/no/b', value: 'a'}]`)],
      {},
      config("a", data("x")),
      config("b")
    )
  ),
  mutated(
    "a JSON patch with an unknown field or value",
    [
      patch(
        "object.metadata.name == 'field' ? [JSONPatch{op: 'add', path: '/nope', value: 'a'}] : object.metadata.name == 'type' ? [JSONPatch{op: 'add', path: '/data', value: 'a'}] : object.metadata.name == 'object' ? [JSONPatch{op: 'add', path: '/data', value: Object.data{a: 'b'}}] : []"
      )
    ],
    {},
    config("field"),
    config("type"),
    config("object"),
    config("fine")
  ),
  mutated(
    "a scale by an apply configuration",
    [apply("Object{spec: Object.spec{replicas: 3}}")],
    { matchConstraints: constraints([rule(["deployments/scale"], written)]) },
    post(deployments, deployment),
    { method: "PATCH", path: `${deployments}/web/scale`, ...merge({ spec: { replicas: 9 } }) }
  ),
  mutated(
    "a Deployment, but not by its scale",
    [label("seen", "request.operation")],
    { matchConstraints: constraints([rule(["deployments"], { operations: ["UPDATE"] })]) },
    post(deployments, deployment),
    { method: "PATCH", path: `${deployments}/web/scale`, ...merge({ spec: { replicas: 2 } }) },
    { method: "GET", path: `${deployments}/web` },
    { method: "PATCH", path: `${deployments}/web`, ...merge({ spec: { replicas: 3 } }) }
  ),
  mutated(
    "a status",
    [apply("Object{metadata: Object.metadata{labels: {'a': 'b'}}, status: Object.status{replicas: 7}}")],
    { matchConstraints: constraints([rule(["deployments/status"], written)]) },
    post(deployments, deployment),
    { method: "PATCH", path: `${deployments}/web/status`, ...merge({ status: { observedGeneration: 1 } }) }
  ),
  mutated(
    "an object in another version",
    [apply("Object{spec: Object.spec{targetCPUUtilizationPercentage: 70}}")],
    { matchConstraints: constraints([rule(["horizontalpodautoscalers"], { ...written, apiVersions: ["v1"] })]) },
    post("/apis/autoscaling/v2/namespaces/NAMESPACE/horizontalpodautoscalers", {
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      metadata: { name: "web" },
      spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" } }
    })
  ),
  mutated(
    "a scale",
    [patch("object.spec.replicas > 3 ? [JSONPatch{op: 'replace', path: '/spec/replicas', value: 3}] : []")],
    { matchConstraints: constraints([rule(["deployments/scale"], written)]) },
    post(deployments, deployment),
    { method: "PATCH", path: `${deployments}/web/scale`, ...merge({ spec: { replicas: 9 } }) },
    { method: "PATCH", path: `${deployments}/web/scale`, ...merge({ spec: { replicas: 2 } }) }
  ),
  mutated(
    "atomic values and wrong types",
    [
      apply(
        "object.metadata.name == 'atomic' ? Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {'a': 'b'}}}} : object.metadata.name == 'type' ? Object{spec: Object.spec{replicas: 'a'}} : object.metadata.name == 'field' ? Object{spec: Object.spec{nope: 1}} : object.metadata.name == 'place' ? Object{spec: Object.other{replicas: 1}} : Object{}"
      )
    ],
    { matchConstraints: constraints([rule(["deployments"], written)]) },
    ...["atomic", "type", "field", "place", "fine"].map((one) =>
      post(deployments, { ...deployment, metadata: { name: one } })
    )
  ),
  ...["Fail", "Ignore"].map((failurePolicy) =>
    mutated(
      `errors with the failure policy ${failurePolicy}`,
      [
        label("first", "'yes'"),
        apply(
          "object.metadata.name == 'member' ? Object{metadata: Object.metadata{labels: {'a': string(object.nope)}}} : Object{}"
        ),
        apply(
          "object.metadata.name == 'variable' ? Object{metadata: Object.metadata{labels: {'a': variables.bad}}} : Object{}"
        ),
        label("last", "'yes'")
      ],
      {
        failurePolicy,
        variables: [{ name: "bad", expression: "string(object.never)" }],
        matchConditions: [{ name: "condition", expression: "object.metadata.name != 'condition' || object.nope == 1" }]
      },
      config("member"),
      config("variable"),
      config("condition"),
      config("fine")
    )
  ),
  mutated(
    "conditions, optional fields and variables",
    [
      apply(
        "Object{metadata: Object.metadata{?labels: object.metadata.?annotations['copy'].hasValue() ? optional.of({'copied': object.metadata.annotations['copy']}) : optional.none(), annotations: {'text': variables.text, 'brace': '}{,: Object{'}}}"
      )
    ],
    {
      variables: [{ name: "text", expression: "request.operation + ' ' + object.metadata.name" }],
      matchConditions: [{ name: "wanted", expression: "object.metadata.name != 'skipped'" }]
    },
    config("plain"),
    config("copied", { metadata: { name: "copied", annotations: { copy: "me" } } }),
    config("skipped")
  ),
  {
    name: "mutations: reinvocation",
    steps: [
      policy(
        `${name}-a`,
        [
          apply(
            "Object{metadata: Object.metadata{annotations: {'saw': has(object.metadata.labels) && 'b' in object.metadata.labels ? 'b' : 'nothing'}}}"
          )
        ],
        { reinvocationPolicy: "IfNeeded" }
      ),
      bind(`${name}-a`),
      policy(`${name}-b`, [label("b", "'yes'")]),
      bind(`${name}-b`),
      config("a"),
      config("b", { metadata: { name: "b", labels: { b: "yes" } } })
    ]
  },
  {
    name: "mutations: params",
    steps: [
      config("params", data("from params")),
      policy(name, [apply("Object{data: {'given': params.data.a}}")], {
        paramKind: { apiVersion: "v1", kind: "ConfigMap" },
        matchConditions: [{ name: "other", expression: "object.metadata.name != params.metadata.name" }]
      }),
      bind(name, { paramRef: { name: "params", parameterNotFoundAction: "Deny" } }),
      config("a"),
      ofConfig("DELETE", "params", { pauseMillis: 1_000 }),
      config("b")
    ]
  },
  {
    name: "mutations: validation comes after them",
    steps: [
      policy(name, [label("a", "object.metadata.name == 'bad' ? 'not a label' : 'fine'")]),
      bind(name),
      make("ValidatingAdmissionPolicy", name, {
        spec: {
          matchConstraints: constraints([rule(["configmaps"])]),
          validations: [
            { expression: "object.metadata.labels['a'] == 'fine'" },
            { expression: "object.metadata.name != 'denied'" }
          ]
        }
      }),
      {
        ...make("ValidatingAdmissionPolicyBinding", name, {
          spec: { policyName: name, validationActions: ["Deny"] }
        }),
        pauseMillis: 2_500
      },
      config("bad"),
      config("fine"),
      config("denied")
    ]
  }
]
