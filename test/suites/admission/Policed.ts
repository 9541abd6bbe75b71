/** Requests that ValidatingAdmissionPolicies evaluate. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import type { Dialogue, Part, Step } from "../comparison/Dialogue.ts"
import type { Request } from "../comparison/Server.ts"
import {
  bind,
  config,
  configMap,
  constraints,
  deployment,
  deployments,
  merge,
  ofConfig,
  policy,
  post,
  rule
} from "./Objects.ts"

/** The policies of a dialogue are named after its namespace. */
const name = "NAMESPACE"

const dialogue = (about: string, ...steps: ReadonlyArray<Step>): Dialogue => ({
  name: `policies: ${about}`,
  headers: ["warning"],
  steps
})

/** A dialogue with one policy and one binding. */
const policed = (about: string, spec: JsonObject, binding: JsonObject, ...steps: ReadonlyArray<Step>): Dialogue =>
  dialogue(about, policy(name, spec), bind(name, binding), ...steps)

const valid = (expression: string, more: JsonObject = {}): JsonObject => ({ validations: [{ expression, ...more }] })
const named = (wanted: string, more: JsonObject = {}): JsonObject => valid(`object.metadata.name != '${wanted}'`, more)
const labelled = (label: string, more: JsonObject = {}): JsonObject =>
  configMap(label, { metadata: { name: label, labels: { [label]: "yes" } }, ...more })

const dry = "?dryRun=All"
const data = (value: string): JsonObject => ({ data: { a: value } })
const remove = (names: ReadonlyArray<string>): ReadonlyArray<Request> => names.map((one) => ofConfig("DELETE", one))

const never = { validations: [{ expression: "false", message: "never" }] }

const writes = policed(
  "all verbs",
  {
    matchConstraints: constraints([rule(["configmaps"], { operations: ["CREATE", "UPDATE"] })]),
    ...valid("!has(object.data) || object.data.a != 'bad'", { message: "bad data" })
  },
  {},
  config("bad", data("bad")),
  config("bad", data("bad"), dry),
  config("good", data("good")),
  ofConfig("PUT", "good", { body: configMap("good", data("bad")) }),
  ofConfig("PUT", "good", { body: configMap("good", data("better")) }),
  ofConfig("PATCH", "good", merge(data("bad"))),
  ofConfig("PATCH", `good${dry}`, merge(data("bad"))),
  ofConfig("PATCH", "good", {
    body: [{ op: "replace", path: "/data/a", value: "bad" }],
    contentType: "application/json-patch+json"
  }),
  ofConfig("PATCH", "good", { body: data("bad"), contentType: "application/strategic-merge-patch+json" }),
  ofConfig("PATCH", "applied?fieldManager=me", {
    body: configMap("applied", data("bad")),
    contentType: "application/apply-patch+yaml"
  }),
  ofConfig("PATCH", "good?fieldManager=me&force=true", {
    body: configMap("good", data("bad")),
    contentType: "application/apply-patch+yaml"
  }),
  config("good", data("bad")),
  ...remove(["good"])
)

/** Generated names differ. */
const suffixes = /(?<=x-)[a-z0-9]{5}/g
const generated: Dialogue = {
  ...policed(
    "a generated name",
    {
      validations: [
        { expression: "!has(request.name)" },
        { expression: "object.metadata.name.size() != 7", message: "seven letters" }
      ]
    },
    {},
    post("/api/v1/namespaces/NAMESPACE/configmaps", {
      ...configMap(""),
      metadata: { generateName: "x-" },
      ...data("bad")
    })
  ),
  compared: (_, body) => JSON.parse(JSON.stringify(body).replaceAll(suffixes, "SUFFIX"))
}

const deletions = policed(
  "deletions",
  {
    matchConstraints: constraints([rule(["configmaps"], { operations: ["DELETE"] })]),
    ...valid("oldObject.metadata.name != 'kept' && object == null", { message: "keep it", reason: "Forbidden" })
  },
  {},
  config("kept"),
  config("free"),
  ofConfig("DELETE", "kept"),
  ofConfig("DELETE", `kept${dry}`),
  ofConfig("DELETE", "free"),
  { method: "DELETE", path: "/api/v1/namespaces/NAMESPACE/configmaps?fieldSelector=metadata.name%3Dkept" },
  ofConfig("DELETE", "none")
)

const reasons = dialogue(
  "reasons and messages",
  policy(name, {
    validations: [
      { expression: "object.metadata.name != 'plain'" },
      { expression: "object.metadata.name != 'forbidden'", reason: "Forbidden", message: " said " },
      { expression: "object.metadata.name != 'large'", reason: "RequestEntityTooLarge" },
      { expression: "object.metadata.name != 'invalid'", reason: "Invalid", message: "said" },
      {
        expression: "object.metadata.name != 'expressed'",
        message: "not this",
        messageExpression: "'no ' + object.metadata.name + ' in ' + request.namespace"
      },
      { expression: "object.metadata.name != 'failing'", message: "instead", messageExpression: "string(object.nope)" },
      { expression: "object.metadata.name != 'lines'", message: "one line", messageExpression: "'a\\nb'" },
      { expression: "object.metadata.name != 'two'", message: "first" },
      { expression: "object.metadata.name != 'two'", message: "second" }
    ]
  }),
  bind(name),
  ...["plain", "forbidden", "large", "invalid", "expressed", "failing", "lines", "two", "fine"].map((one) =>
    config(one)
  )
)

const actions = dialogue(
  "actions",
  policy(name, { validations: [{ expression: "object.metadata.name != 'a'", message: "no a" }, ...never.validations] }),
  bind(name, { validationActions: ["Warn", "Audit"] }),
  config("a"),
  config("b"),
  policy(`${name}-two`, named("c", { message: "no c" })),
  bind(`${name}-two`, { validationActions: ["Audit"] }),
  config("c")
)

const errors = (failurePolicy: string): Dialogue =>
  policed(
    `errors with the failure policy ${failurePolicy}`,
    {
      failurePolicy,
      variables: [
        { name: "missing", expression: "object.data.missing" },
        { name: "size", expression: "size(object.data.missing)" }
      ],
      validations: [
        { expression: "object.metadata.name != 'denied'" },
        { expression: "object.metadata.name != 'member' || object.data.nope == 'a'" },
        { expression: "object.metadata.name != 'null' || oldObject.data.nope == 'a'" },
        { expression: "object.metadata.name != 'has' || has(oldObject.data.nope)" },
        { expression: "object.metadata.name != 'index' || [1, 2][5] == 1" },
        { expression: "object.metadata.name != 'key' || object.data['nope'] == 'a'" },
        { expression: "object.metadata.name != 'zero' || 1 / 0 == 1" },
        { expression: "object.metadata.name != 'types' || object.data.a + 1 == 2" },
        { expression: "object.metadata.name != 'variable' || variables.missing == 'a'" },
        { expression: "object.metadata.name != 'nested' || variables.size == 1" },
        { expression: "object.metadata.name != 'request' || request.subResource == 'a'" }
      ]
    },
    {},
    ...["denied", "member", "null", "has", "index", "key", "zero", "types", "variable", "nested", "request"].map(
      (one) => config(one, data("text"))
    )
  )

const warned = policed(
  "errors that only warn",
  { validations: [{ expression: "object.metadata.name != 'a' || object.nope == 1" }] },
  { validationActions: ["Warn"] },
  config("a")
)

const conditions = (failurePolicy: string): Dialogue =>
  policed(
    `match conditions with the failure policy ${failurePolicy}`,
    {
      failurePolicy,
      ...never,
      matchConditions: [
        { name: "labels", expression: "has(object.metadata.labels)" },
        { name: "error", expression: "object.metadata.name != 'error' || object.nope == 1" },
        { name: "other", expression: "object.metadata.name != 'error' || object.never == 1" },
        { name: "namespace", expression: "namespaceObject == null || true" },
        { name: "skipped", expression: "!('skipped' in object.metadata.labels)" }
      ]
    },
    {},
    post("/api/v1/namespaces/NAMESPACE/configmaps", labelled("denied")),
    post("/api/v1/namespaces/NAMESPACE/configmaps", labelled("error")),
    post("/api/v1/namespaces/NAMESPACE/configmaps", labelled("skipped")),
    config("unlabelled")
  )

const expressions = policed(
  "the variables of expressions",
  {
    variables: [
      { name: "team", expression: "object.metadata.?labels['team'].orValue('none')" },
      { name: "labels", expression: "has(object.metadata.labels) ? object.metadata.labels : {}" },
      { name: "long", expression: "variables.team.size() > 3" }
    ],
    validations: [
      "request.kind.kind == 'ConfigMap' && request.kind.group == '' && request.kind.version == 'v1'",
      "request.requestKind.kind == 'ConfigMap' && request.requestResource.resource == 'configmaps'",
      "request.resource.resource == 'configmaps'",
      "request.operation == 'CREATE' && !request.dryRun",
      "request.name == object.metadata.name",
      "request.namespace == object.metadata.namespace",
      "request.userInfo.groups.exists(one, one == 'system:masters')",
      "request.options.kind == 'CreateOptions' && request.options.apiVersion == 'meta.k8s.io/v1'",
      "namespaceObject.metadata.name == request.namespace && namespaceObject.status.phase == 'Active'",
      "namespaceObject.metadata.labels['kubernetes.io/metadata.name'] == request.namespace",
      "object.kind == 'ConfigMap' && object.apiVersion == 'v1'",
      "has(object.metadata.uid) && has(object.metadata.creationTimestamp)",
      "!has(object.metadata.resourceVersion)",
      "oldObject == null",
      "authorizer.group('').resource('pods').namespace('default').check('get').allowed()",
      "authorizer.requestResource.check('create').allowed()",
      "authorizer.path('/healthz').check('get').allowed()",
      "variables.team == 'none' && variables.long",
      "variables.labels.size() == 0",
      "object.data.all(key, key.startsWith('k'))",
      "object.data == {'k1': 'a', 'k2': 'b'}",
      "quantity(object.data.k2.replace('b', '1Gi')).isGreaterThan(quantity('1Mi'))",
      "object.data.k1.matches('^a$') && object.data.k1 in ['a', 'b']",
      "object.metadata.name != 'denied'"
    ].map((expression) => ({ expression }))
  },
  {},
  config("denied", { data: { k1: "a", k2: "b" } }),
  config("seen", { data: { k1: "a", k2: "b" } })
)

const updates = policed(
  "the variables of expressions for an update",
  {
    matchConstraints: constraints([rule(["configmaps"], { operations: ["UPDATE"] })]),
    validations: [
      "request.operation == 'UPDATE' && request.options.kind == 'UpdateOptions'",
      "oldObject.data.a == 'old'",
      "object.metadata.resourceVersion == oldObject.metadata.resourceVersion",
      "object.data.a != 'denied'"
    ].map((expression) => ({ expression }))
  },
  {},
  config("a", data("old")),
  ofConfig("PATCH", "a", merge(data("denied"))),
  ofConfig("PATCH", "a", merge(data("fine")))
)

/** The manager of a namespace's labels depends on the creator of the namespace. */
const withoutNamespace: Part = (_, body) =>
  J.at(body, "kind") === "Namespace" ? (J.at(body, "metadata", "labels") ?? null) : body

const selectors: Dialogue = {
  compared: withoutNamespace,
  ...dialogue(
    "selectors",
    policy(name, {
      matchConstraints: constraints([rule(["configmaps"])], {
        objectSelector: { matchExpressions: [{ key: "checked", operator: "Exists" }] }
      }),
      ...never
    }),
    bind(name),
    post("/api/v1/namespaces/NAMESPACE/configmaps", labelled("checked")),
    post("/api/v1/namespaces/NAMESPACE/configmaps", labelled("free")),
    ofConfig("PATCH", "free", merge({ metadata: { labels: { checked: "now" } } })),
    policy(`${name}-two`, {
      matchConstraints: constraints([rule(["configmaps"])], {
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "NAMESPACE", other: "label" } }
      }),
      validations: [{ expression: "false", message: "by the namespace" }]
    }),
    bind(`${name}-two`),
    config("a"),
    {
      method: "PATCH",
      path: "/api/v1/namespaces/NAMESPACE",
      ...merge({ metadata: { labels: { other: "label" } } }),
      pauseMillis: 1_000
    },
    config("b")
  )
}

const labelsBefore = policed(
  "the labels of an object and of a namespace, before and after",
  {
    matchConstraints: constraints([rule(["configmaps"], { operations: ["UPDATE"] })], {
      objectSelector: { matchLabels: { old: "yes" } }
    }),
    ...never
  },
  {},
  post("/api/v1/namespaces/NAMESPACE/configmaps", labelled("old")),
  ofConfig("PATCH", "old", merge({ metadata: { labels: { old: null } } })),
  policy(`${name}-two`, {
    matchConstraints: {
      resourceRules: [rule(["namespaces"])],
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "NAMESPACE", fresh: "yes" } }
    },
    ...never
  }),
  bind(`${name}-two`),
  { method: "PATCH", path: "/api/v1/namespaces/NAMESPACE", ...merge({ metadata: { labels: { fresh: "yes" } } }) }
)

const rulesOf = (about: string, resources: JsonObject, ...steps: ReadonlyArray<Step>): Dialogue =>
  policed(`rules: ${about}`, { matchConstraints: resources, ...never }, {}, ...steps)

/** The policy denies objects without a namespace everywhere, such as the IP addresses of the Services of other dialogues. */
const alone = (dialogue: Dialogue): Dialogue => ({ ...dialogue, alone: true })

const autoscaler: JsonObject = {
  apiVersion: "autoscaling/v2",
  kind: "HorizontalPodAutoscaler",
  metadata: { name: "web" },
  spec: { minReplicas: 1, maxReplicas: 3, scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" } }
}
const autoscalers = "/apis/autoscaling/v2/namespaces/NAMESPACE/horizontalpodautoscalers"

const rules: ReadonlyArray<Dialogue> = [
  rulesOf(
    "a subresource only",
    constraints([rule(["deployments/scale", "deployments/status"])]),
    post(deployments, deployment),
    { method: "PATCH", path: `${deployments}/web/scale`, ...merge({ spec: { replicas: 2 } }) },
    { method: "PATCH", path: `${deployments}/web/status`, ...merge({ status: { replicas: 2 } }) },
    { method: "PATCH", path: `${deployments}/web`, ...merge({ spec: { replicas: 2 } }) }
  ),
  policed(
    "the object of a scale",
    {
      matchConstraints: constraints([rule(["deployments/scale"])]),
      validations: [
        { expression: "request.subResource == 'scale' && request.kind.kind == 'Scale'" },
        { expression: "request.kind.group == 'autoscaling' && request.resource.resource == 'deployments'" },
        { expression: "oldObject.spec.replicas == 1" },
        { expression: "object.spec.replicas < 3", messageExpression: "'not ' + string(object.spec.replicas)" }
      ]
    },
    {},
    post(deployments, deployment),
    { method: "PATCH", path: `${deployments}/web/scale`, ...merge({ spec: { replicas: 5 } }) },
    {
      method: "PUT",
      path: `${deployments}/web/scale`,
      body: {
        apiVersion: "autoscaling/v1",
        kind: "Scale",
        metadata: { name: "web", namespace: "NAMESPACE" },
        spec: { replicas: 2 }
      }
    }
  ),
  alone(
    rulesOf("everything", constraints([rule(["*/*"])]), config("a"), post(deployments, deployment), {
      method: "DELETE",
      path: `${deployments}/none`
    })
  ),
  alone(
    rulesOf("resources without subresources", constraints([rule(["*"])]), config("a"), post(deployments, deployment))
  ),
  alone(
    rulesOf(
      "exclusions",
      constraints([rule(["*"])], { excludeResourceRules: [rule(["deployments"], { apiGroups: ["apps"] })] }),
      config("a"),
      post(deployments, deployment)
    )
  ),
  rulesOf("names", constraints([rule(["configmaps"], { resourceNames: ["a", "b"] })]), config("a"), config("c")),
  rulesOf(
    "a scope",
    constraints([rule(["configmaps"], { scope: "Namespaced" }), rule(["deployments"], { scope: "Cluster" })]),
    config("a"),
    post(deployments, deployment)
  ),
  rulesOf(
    "another version that is equivalent",
    constraints([rule(["horizontalpodautoscalers"], { apiGroups: ["autoscaling"], apiVersions: ["v1"] })]),
    post(autoscalers, autoscaler)
  ),
  policed(
    "an object in the matched version",
    {
      matchConstraints: constraints([
        rule(["horizontalpodautoscalers"], { apiGroups: ["autoscaling"], apiVersions: ["v1"] })
      ]),
      validations: [
        { expression: "request.kind.version == 'v1' && request.requestKind.version == 'v2'" },
        { expression: "request.resource.version == 'v1' && request.requestResource.version == 'v2'" },
        { expression: "object.apiVersion == 'autoscaling/v1'" },
        { expression: "object.spec.maxReplicas < 3" }
      ]
    },
    {},
    post(autoscalers, autoscaler)
  ),
  rulesOf(
    "another version with an exact match",
    constraints(
      [rule(["horizontalpodautoscalers"], { apiGroups: ["autoscaling"], apiVersions: ["v1"] }), rule(["configmaps"])],
      { matchPolicy: "Exact" }
    ),
    config("a"),
    post(autoscalers, autoscaler)
  )
]

const pod: JsonObject = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web" },
  spec: { containers: [{ name: "web", image: "nginx" }] }
}
const pods = "/api/v1/namespaces/NAMESPACE/pods"

const subresources = policed(
  "evictions and bindings",
  {
    matchConstraints: constraints([
      rule(["pods/eviction", "pods/binding"]),
      rule(["pods"], { operations: ["DELETE"] })
    ]),
    validations: [
      {
        expression: "request.operation != 'CREATE' || object.kind in ['Eviction', 'Binding'] && oldObject == null",
        messageExpression: "request.subResource"
      },
      {
        expression: "request.operation != 'CREATE' || object.metadata.name != 'web'",
        messageExpression: "request.subResource + ' ' + request.kind.kind + ' ' + request.operation"
      },
      { expression: "request.operation != 'DELETE'", message: "stays" }
    ]
  },
  {},
  post("/api/v1/namespaces/NAMESPACE/serviceaccounts", {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "default" }
  }),
  post(pods, pod),
  post(`${pods}/web/eviction`, { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "web" } }),
  post(`${pods}/web/binding`, {
    apiVersion: "v1",
    kind: "Binding",
    metadata: { name: "web" },
    target: { kind: "Node", name: "n" }
  }),
  { method: "DELETE", path: `${pods}/web` },
  post(pods, { ...pod, metadata: { name: "free" } }),
  post(`${pods}/free/eviction`, { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "free" } }),
  {
    method: "DELETE",
    path: "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/NAMESPACE-binding",
    pauseMillis: 2_000
  }
)

const namespaces: Dialogue = {
  compared: withoutNamespace,
  ...dialogue(
    "a namespace",
    policy(name, {
      matchConstraints: {
        resourceRules: [rule(["namespaces"])],
        objectSelector: { matchLabels: { "kubernetes.io/metadata.name": "NAMESPACE" } }
      },
      validations: [
        { expression: "request.namespace == object.metadata.name" },
        { expression: "namespaceObject == null" },
        { expression: "!has(object.metadata.annotations) || object.metadata.annotations['a'] != 'b'" }
      ]
    }),
    bind(name),
    { method: "PATCH", path: "/api/v1/namespaces/NAMESPACE", ...merge({ metadata: { annotations: { a: "b" } } }) },
    { method: "PATCH", path: "/api/v1/namespaces/NAMESPACE", ...merge({ metadata: { annotations: { a: "c" } } }) },
    {
      method: "DELETE",
      path: "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/NAMESPACE-binding",
      pauseMillis: 2_000
    }
  )
}

const paramKind = { apiVersion: "v1", kind: "ConfigMap" }
const limited = valid(
  "params == null || object.metadata.name == params.metadata.name || object.data.a != params.data.forbidden",
  {
    messageExpression: "'not ' + params.data.forbidden"
  }
)
const limit = (one: string, forbidden: string): Request =>
  post("/api/v1/namespaces/NAMESPACE/configmaps", {
    ...configMap(one),
    metadata: { name: one, labels: { limit: "yes" } },
    data: { forbidden, a: "" }
  })

/** Params in another namespace, which no other dialogue selects. */
const elsewhere = post("/api/v1/namespaces/default/configmaps", {
  ...configMap("NAMESPACE"),
  metadata: { name: "NAMESPACE", labels: { limit: "NAMESPACE" } },
  data: { forbidden: "bad", a: "" }
})
const selected = { selector: { matchLabels: { limit: "NAMESPACE" } } }

const params: ReadonlyArray<Dialogue> = [
  dialogue(
    "params of another namespace",
    elsewhere,
    policy(name, { paramKind, ...limited }),
    bind(name, { paramRef: { name: "NAMESPACE", namespace: "default", parameterNotFoundAction: "Deny" } }),
    config("a", data("bad")),
    config("b", data("good"))
  ),
  dialogue(
    "params that a selector finds only in another namespace",
    elsewhere,
    policy(name, { paramKind, ...limited }),
    bind(name, { paramRef: { ...selected, parameterNotFoundAction: "Deny" } }),
    config("a", data("good"))
  ),
  dialogue(
    "params by name",
    limit("limits", "bad"),
    policy(name, { paramKind, ...limited }),
    bind(name, { paramRef: { name: "limits", parameterNotFoundAction: "Deny" } }),
    config("a", data("bad")),
    config("b", data("good")),
    ofConfig("PATCH", "limits", { ...merge({ data: { forbidden: "worse" } }), pauseMillis: 1_000 }),
    config("c", data("bad")),
    config("d", data("worse"))
  ),
  dialogue(
    "params in a namespace",
    limit("limits", "bad"),
    policy(name, { paramKind, ...limited }),
    bind(name, { paramRef: { name: "limits", namespace: "NAMESPACE", parameterNotFoundAction: "Deny" } }),
    config("a", data("bad"))
  ),
  dialogue(
    "params by selector",
    limit("limits-a", "bad"),
    limit("limits-b", "worse"),
    policy(name, { paramKind, ...limited }),
    bind(name, { paramRef: { selector: { matchLabels: { limit: "yes" } }, parameterNotFoundAction: "Deny" } }),
    config("a", data("bad")),
    config("b", data("worse")),
    config("c", data("good"))
  ),
  dialogue(
    "params that are not found",
    policy(name, { paramKind, ...limited }),
    bind(name, { paramRef: { name: "none", parameterNotFoundAction: "Deny" } }),
    config("a", data("bad"))
  ),
  dialogue(
    "params that are not found, which is allowed",
    policy(`${name}-other`, never),
    bind(`${name}-other`, { validationActions: ["Warn"] }),
    policy(name, { paramKind, ...limited }),
    bind(name, { paramRef: { name: "none", parameterNotFoundAction: "Allow" } }),
    config("a", data("bad"))
  ),
  dialogue(
    "params that are not selected, with the failure policy Ignore",
    policy(`${name}-other`, never),
    bind(`${name}-other`, { validationActions: ["Warn"] }),
    policy(name, { failurePolicy: "Ignore", paramKind, ...limited }),
    bind(name, { paramRef: { selector: { matchLabels: { a: "b" } }, parameterNotFoundAction: "Deny" } }),
    config("a", data("bad"))
  ),
  dialogue(
    "params without a reference",
    policy(name, { paramKind, ...valid("params != null || object.metadata.name != 'a'", { message: "no params" }) }),
    bind(name),
    config("a"),
    config("b")
  ),
  dialogue(
    "params of an unknown kind",
    policy(name, { paramKind: { apiVersion: "example.com/v1", kind: "Unknown" }, ...limited }),
    bind(name, { paramRef: { name: "none", parameterNotFoundAction: "Deny" } }),
    config("a")
  ),
  dialogue(
    "params of the cluster in a namespace",
    policy(name, { paramKind: { apiVersion: "v1", kind: "Namespace" }, ...never }),
    bind(name, { paramRef: { name: "default", namespace: "default", parameterNotFoundAction: "Deny" } }),
    config("a")
  ),
  dialogue(
    "params of the cluster",
    policy(name, {
      paramKind: { apiVersion: "v1", kind: "Namespace" },
      ...valid("object.metadata.name != 'a' || params.kind != 'Namespace'", {
        messageExpression: "string(params.metadata.name)"
      })
    }),
    bind(name, { paramRef: { name: "default", parameterNotFoundAction: "Deny" } }),
    config("a"),
    config("b")
  )
]

const bindings = dialogue(
  "bindings",
  policy(name, never),
  bind(name, {
    matchResources: constraints([rule(["configmaps"])], { objectSelector: { matchLabels: { checked: "yes" } } })
  }),
  post("/api/v1/namespaces/NAMESPACE/configmaps", labelled("checked")),
  post("/api/v1/namespaces/NAMESPACE/configmaps", labelled("free")),
  policy(`${name}-unbound`, { validations: [{ expression: "false", message: "unbound" }] }),
  { ...config("a"), pauseMillis: 0 }
)

const annotations = policed(
  "audit annotations",
  {
    validations: [],
    auditAnnotations: [
      { key: "name", valueExpression: "'is ' + object.metadata.name" },
      { key: "error", valueExpression: "string(object.data.a)" }
    ]
  },
  { validationActions: ["Warn"] },
  config("error"),
  config("fine", data("a"))
)

const exempt: Dialogue = dialogue(
  "policies and reviews are exempt",
  policy(name, {
    matchConstraints: {
      resourceRules: [
        rule(["*"], { apiGroups: ["admissionregistration.k8s.io", "authorization.k8s.io", "authentication.k8s.io"] }),
        rule(["configmaps"])
      ]
    },
    matchConditions: [
      { name: "mine", expression: "!has(object.metadata.name) || object.metadata.name.startsWith('NAMESPACE')" }
    ],
    ...never
  }),
  bind(name),
  config("NAMESPACE"),
  policy(`${name}-other`, never),
  post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SelfSubjectAccessReview",
    spec: { resourceAttributes: { verb: "get", resource: "pods" } }
  })
)

const lifecycle = dialogue(
  "a policy that is changed and deleted",
  policy(name, named("a", { message: "first" })),
  bind(name),
  config("a"),
  {
    method: "PATCH",
    path: "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/NAMESPACE",
    ...merge({ spec: { validations: [{ expression: "object.metadata.name != 'a'", message: "second" }] } }),
    pauseMillis: 2_500
  },
  config("a"),
  {
    method: "DELETE",
    path: "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/NAMESPACE-binding",
    pauseMillis: 2_500
  },
  config("a")
)

/** All dialogues of this file. */
export const dialogues: ReadonlyArray<Dialogue> = [
  writes,
  generated,
  deletions,
  reasons,
  actions,
  errors("Fail"),
  errors("Ignore"),
  warned,
  conditions("Fail"),
  conditions("Ignore"),
  expressions,
  updates,
  selectors,
  labelsBefore,
  ...rules,
  subresources,
  namespaces,
  ...params,
  bindings,
  annotations,
  exempt,
  lifecycle
]
