/** Users, permissions, reviews, tokens and impersonation, as dialogues. */
import type { Json, JsonObject } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import type { Dialogue, Step } from "../comparison/Dialogue.ts"
import type { Suite } from "../comparison/Dialogues.ts"
import type { Request } from "../comparison/Server.ts"

const group = "rbac.authorization.k8s.io"
const rbac = `/apis/${group}/v1`
const inNamespace = `${rbac}/namespaces/NAMESPACE`
const authentication = "/apis/authentication.k8s.io/v1"
const authorization = "/apis/authorization.k8s.io/v1"

/** Each dialogue has a new user. Names of cluster-scoped objects must differ between dialogues as well. */
const bob = "bob-NAMESPACE"

const as = (user: string, request: Request, more: Request["headers"] = {}): Request => ({
  ...request,
  headers: { ...request.headers, "impersonate-user": user, ...more }
})

const get = (path: string): Request => ({ method: "GET", path })
const post = (path: string, body: Json): Request => ({ method: "POST", path, body })
const put = (path: string, body: Json): Request => ({ method: "PUT", path, body })
const apply = (path: string, body: Json): Request => ({
  method: "PATCH",
  path: `${path}?fieldManager=test`,
  body,
  contentType: "application/apply-patch+yaml"
})

const rule = (apiGroup: string, resource: string, verbs: ReadonlyArray<string>, more: JsonObject = {}): JsonObject => ({
  apiGroups: [apiGroup],
  resources: [resource],
  verbs,
  ...more
})

const roleRef = (name: string, kind = "ClusterRole"): JsonObject => ({ apiGroup: group, kind, name })
const toBob: JsonObject = { kind: "User", name: bob, apiGroup: group }

/** Binds the user to a new ClusterRole, and waits until both have an effect. */
const granted = (name: string, rules: ReadonlyArray<JsonObject>): ReadonlyArray<Step> => [
  post(`${rbac}/clusterroles`, { metadata: { name: `${name}-NAMESPACE` }, rules }),
  bound(name),
  ...rules.slice(-1).map((last) => ({ ...review(bob, effectOf(last)), until: { body: { status: { allowed: true } } } }))
]

const bound = (name: string, subject: JsonObject = toBob): Request =>
  post(`${rbac}/clusterrolebindings`, {
    metadata: { name: `${name}-NAMESPACE` },
    subjects: [subject],
    roleRef: roleRef(`${name}-NAMESPACE`)
  })

/** A request that the rule allows. */
const effectOf = (rule: JsonObject): JsonObject => {
  const first = (field: string): string => J.text(J.list(rule[field])[0]) ?? ""
  const [resource = "", subresource = ""] = first("resources").split("/")
  return {
    resourceAttributes: {
      verb: first("verbs"),
      group: first("apiGroups"),
      resource,
      subresource,
      name: first("resourceNames")
    }
  }
}

const review = (user: string, spec: JsonObject): Request =>
  post(`${authorization}/subjectaccessreviews`, {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: { user, ...spec }
  })

const selfReview = (kind: string, spec: JsonObject): Request =>
  post(`${authorization}/${kind.toLowerCase()}s`, { apiVersion: "authorization.k8s.io/v1", kind, spec })

const whoAmI = post(`${authentication}/selfsubjectreviews`, {
  apiVersion: "authentication.k8s.io/v1",
  kind: "SelfSubjectReview"
})

const resources = (attributes: JsonObject): JsonObject => ({ resourceAttributes: attributes })

const denied: Dialogue = {
  name: "requests that no role allows",
  headers: ["content-type"],
  steps: [
    get("/api/v1/pods"),
    get("/api/v1/namespaces/NAMESPACE/pods/x/log"),
    get("/api/v1/namespaces/NAMESPACE"),
    get("/api/v1/pods?watch=true&fieldSelector=metadata.name%3Dx"),
    get("/api/v1/pods?watch=false&fieldSelector=metadata.name%21%3Dx"),
    get("/api/v1/watch/namespaces/NAMESPACE/pods/x"),
    get("/apis/nope/v1/things"),
    get("/metrics"),
    get("/nothing"),
    { method: "DELETE", path: "/apis/apps/v1/namespaces/NAMESPACE/deployments/x%3Cy" },
    { method: "DELETE", path: "/apis/apps/v1/namespaces/NAMESPACE/deployments" },
    post("/api/v1/namespaces/NAMESPACE/pods", {}),
    put("/api/v1/namespaces/NAMESPACE/pods/p/status", {}),
    apply("/api/v1/nodes/n", {}),
    get("/apis"),
    get("/version/")
  ].map((request) => as(bob, request)),
  compared: (_, body) => (J.at(body, "kind") === "Status" ? body : "SOMETHING")
}

const impersonation: ReadonlyArray<Dialogue> = [
  {
    name: "impersonated users have the groups of their kind",
    steps: [
      as(bob, whoAmI),
      as(bob, whoAmI, { "impersonate-group": "devs", "impersonate-uid": "u1", "impersonate-extra-some%2fThing": "v1" }),
      as(bob, whoAmI, { "impersonate-group": "system:authenticated" }),
      as("system:serviceaccount:default:robot", whoAmI),
      as("system:node:n1", whoAmI),
      as("system:anonymous", whoAmI),
      as("system:anonymous", get("/healthz")),
      as(bob, whoAmI, { "impersonate-group": "system:unauthenticated" })
    ]
  },
  {
    name: "headers of impersonation without a user",
    steps: [
      { ...get("/version"), headers: { "impersonate-group": "devs" } },
      { ...get("/version"), headers: { "impersonate-uid": "u1" } },
      { ...get("/version"), headers: { "impersonate-extra-x": "y" } }
    ]
  }
]

const lost: ReadonlyArray<Step> = [
  bound("lost"),
  post(`${inNamespace}/rolebindings`, {
    metadata: { name: "lost" },
    subjects: [toBob],
    roleRef: roleRef("lost", "Role")
  }),
  {
    ...review(bob, resources({ verb: "get", resource: "pods", namespace: "NAMESPACE" })),
    until: {
      body: {
        status: {
          reason: `rbac: RBAC: [clusterrole.${group} "lost-NAMESPACE" not found, role.${group} "lost" not found]`
        }
      }
    }
  },
  as(bob, get("/api/v1/namespaces/NAMESPACE/pods")),
  as(bob, get("/api/v1/pods")),
  as(bob, selfReview("SelfSubjectAccessReview", resources({ verb: "get", resource: "pods" })))
]

const reviews: ReadonlyArray<Dialogue> = [
  {
    name: "reviews of access",
    steps: [
      review(bob, resources({ verb: "get", resource: "pods", namespace: "NAMESPACE" })),
      review(bob, { groups: ["system:masters"], ...resources({ verb: "get", resource: "pods" }) }),
      review("", { groups: ["system:authenticated"], nonResourceAttributes: { verb: "get", path: "/openapi/v2" } }),
      review("system:serviceaccount:kube-system:job-controller", resources({ verb: "create", resource: "pods" })),
      review(bob, {}),
      review(
        bob,
        resources({
          verb: "get",
          resource: "pods",
          fieldSelector: { rawSelector: "a=b" },
          labelSelector: { requirements: [{ key: "a", operator: "Nope" }] }
        })
      ),
      as(bob, selfReview("SelfSubjectAccessReview", resources({ verb: "get", resource: "pods" }))),
      as(bob, selfReview("SelfSubjectRulesReview", {})),
      ...[
        { user: bob, ...resources({ verb: "get", resource: "pods", namespace: "NAMESPACE" }) },
        { user: bob, ...resources({ verb: "get", resource: "pods", namespace: "other" }) },
        { user: bob, ...resources({ verb: "get", resource: "pods" }) },
        { user: bob, nonResourceAttributes: { verb: "get", path: "/x" } },
        resources({ verb: "get", resource: "pods", namespace: "NAMESPACE" }),
        { user: bob }
      ].map((spec) =>
        post(`${authorization}/namespaces/NAMESPACE/localsubjectaccessreviews`, {
          apiVersion: "authorization.k8s.io/v1",
          kind: "LocalSubjectAccessReview",
          spec
        })
      )
    ]
  },
  { name: "bindings to roles that do not exist", steps: lost },
  {
    name: "the reason of an allowed request",
    steps: [
      ...granted("reader", [rule("", "configmaps", ["get"], { resourceNames: ["one"] })]),
      post(`${inNamespace}/roles`, { metadata: { name: "in" }, rules: [rule("", "pods/log", ["get"])] }),
      post(`${inNamespace}/rolebindings`, {
        metadata: { name: "in" },
        subjects: [{ kind: "ServiceAccount", name: "robot" }],
        roleRef: roleRef("in", "Role")
      }),
      {
        ...review(
          "system:serviceaccount:NAMESPACE:robot",
          resources({ verb: "get", resource: "pods", subresource: "log", namespace: "NAMESPACE" })
        ),
        until: { body: { status: { allowed: true } } }
      },
      review(bob, resources({ verb: "get", resource: "configmaps", name: "two" })),
      as(bob, get("/api/v1/namespaces/NAMESPACE/configmaps/one")),
      as(bob, get("/api/v1/namespaces/NAMESPACE/configmaps/two"))
    ]
  }
]

const escalating: ReadonlyArray<JsonObject> = [
  { apiGroups: ["", "apps"], resources: ["pods", "pods/log"], verbs: ["get", "list"] },
  { apiGroups: [""], resources: ["secrets"], resourceNames: ["a", "b"], verbs: ["get"] }
]

const role = (name: string, rules: ReadonlyArray<JsonObject>): JsonObject => ({
  apiVersion: `${group}/v1`,
  kind: "Role",
  metadata: { name },
  rules
})

const binding = (kind: string, name: string): JsonObject => ({
  metadata: { name: "x-NAMESPACE" },
  subjects: [toBob],
  roleRef: roleRef(name, kind)
})

const writer: ReadonlyArray<Step> = granted("writer", [
  rule(group, "*", ["create", "update", "patch", "get", "delete"]),
  rule("", "configmaps", ["get", "update"])
])

const escalation: ReadonlyArray<Dialogue> = [
  {
    name: "roles with more permissions than their author has",
    steps: [
      ...writer,
      as(
        bob,
        post(`${rbac}/clusterroles`, {
          metadata: { name: "x-NAMESPACE" },
          rules: [...escalating, { nonResourceURLs: ["/metrics", "/x/*"], verbs: ["get", "post"] }]
        })
      ),
      as(bob, post(`${inNamespace}/roles`, role("x", escalating))),
      as(bob, post(`${inNamespace}/roles`, role("ok", [rule("", "configmaps", ["get"])]))),
      as(bob, put(`${inNamespace}/roles/ok`, role("ok", [rule("", "configmaps", ["get", "delete"])]))),
      as(bob, put(`${inNamespace}/roles/new`, role("new", [rule("", "configmaps", ["get", "delete"])]))),
      as(bob, apply(`${inNamespace}/roles/new`, role("new", [rule("", "configmaps", ["*"])]))),
      as(bob, { ...apply(`${inNamespace}/roles/ok`, role("ok", [rule("", "*", ["get"])])) }),
      as(
        bob,
        post(`${rbac}/clusterroles`, {
          metadata: { name: "x-NAMESPACE" },
          aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] }
        })
      )
    ]
  },
  {
    name: "bindings of roles with more permissions than their author has",
    steps: [
      ...writer,
      as(bob, post(`${rbac}/clusterrolebindings`, binding("ClusterRole", "system:node-bootstrapper"))),
      as(bob, post(`${rbac}/clusterrolebindings`, binding("ClusterRole", "none"))),
      as(bob, post(`${inNamespace}/rolebindings`, binding("Role", "none"))),
      as(bob, post(`${inNamespace}/rolebindings`, binding("Nope", "none"))),
      as(bob, post(`${inNamespace}/rolebindings`, binding("ClusterRole", "system:basic-user")))
    ]
  },
  {
    name: "the verbs escalate and bind",
    steps: [
      ...granted("escalating", [
        rule(group, "roles", ["create"]),
        rule(group, "rolebindings", ["create"]),
        rule(group, "clusterroles", ["bind"], { resourceNames: ["view"] }),
        rule(group, "roles", ["escalate"])
      ]),
      as(bob, post(`${inNamespace}/roles`, role("x", escalating))),
      as(bob, post(`${inNamespace}/rolebindings`, binding("ClusterRole", "view"))),
      as(bob, post(`${inNamespace}/rolebindings`, binding("ClusterRole", "system:node-bootstrapper")))
    ]
  },
  {
    name: "a PUT and an apply that would create",
    steps: [
      ...granted("updater", [
        rule("", "configmaps", ["patch", "update"]),
        rule("coordination.k8s.io", "leases", ["patch", "update"])
      ]),
      as(bob, put("/api/v1/namespaces/NAMESPACE/configmaps/new", { metadata: { name: "new" } })),
      as(
        bob,
        put("/apis/coordination.k8s.io/v1/namespaces/NAMESPACE/leases/new", {
          apiVersion: "coordination.k8s.io/v1",
          kind: "Lease",
          metadata: { name: "new" }
        })
      ),
      as(
        bob,
        apply("/api/v1/namespaces/NAMESPACE/configmaps/new", {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { name: "new" }
        })
      )
    ]
  }
]

const account = "/api/v1/namespaces/NAMESPACE/serviceaccounts"

const tokenRequest = (spec: Json, name = "robot"): Request =>
  post(`${account}/${name}/token`, { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec })

const tokenReview =
  (index: number, audiences?: ReadonlyArray<string>): Step =>
  ({ answers }) =>
    post(`${authentication}/tokenreviews`, {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      spec: { token: tokenOf(answers[index]?.body), ...(audiences && { audiences }) }
    })

const tokenOf = (body: Json | undefined): string => J.text(J.at(body, "status", "token")) ?? ""

const withToken =
  (index: number, request: Request): Step =>
  ({ answers }) => ({ ...request, headers: { authorization: `Bearer ${tokenOf(answers[index]?.body)}` } })

/** The response without the issuer, which differs between servers. */
const withoutIssuer = (_: string, body: Json): Json =>
  JSON.parse(
    JSON.stringify(body).replaceAll(
      /https:\/\/(?:127\.0\.0\.1:\d+\/|kubernetes\.default\.svc\.cluster\.local)/g,
      "ISSUER"
    )
  ) as Json

const robot = post(account, { metadata: { name: "robot" } })

const boundTo = (kind: string, name: string, more: JsonObject = {}): JsonObject => ({
  boundObjectRef: { apiVersion: "v1", kind, name, ...more }
})

const secret = post("/api/v1/namespaces/NAMESPACE/secrets", { metadata: { name: "s" } })

const pod = (name: string, serviceAccountName: string): Request =>
  post("/api/v1/namespaces/NAMESPACE/pods", {
    metadata: { name },
    spec: { containers: [{ name: "c", image: "x" }], nodeName: "n1", serviceAccountName }
  })

const tokens: ReadonlyArray<Dialogue> = [
  {
    name: "requests for tokens",
    compared: withoutIssuer,
    steps: [
      robot,
      tokenRequest({}),
      tokenRequest(null),
      tokenRequest({ audiences: ["x", "y"], expirationSeconds: 600 }),
      tokenRequest({ expirationSeconds: 10 }),
      tokenRequest({ expirationSeconds: 5_000_000_000 }),
      tokenRequest({}, "none"),
      { ...tokenRequest({}), body: { metadata: { name: "other" } } },
      { ...tokenRequest({}), body: { metadata: { namespace: "other" } } },
      tokenRequest(boundTo("Pod", "none")),
      tokenRequest(boundTo("Node", "none")),
      tokenRequest(boundTo("Foo", "none")),
      tokenRequest(boundTo("Secret", "")),
      { ...tokenRequest({}), method: "GET", body: undefined },
      as(bob, tokenRequest({}))
    ]
  },
  {
    name: "tokens that are bound to objects",
    compared: withoutIssuer,
    steps: [
      robot,
      secret,
      tokenRequest(boundTo("Secret", "s")),
      tokenRequest(boundTo("Secret", "s", { uid: "other" })),
      pod("mine", "robot"),
      tokenRequest(boundTo("Pod", "mine")),
      withToken(5, whoAmI),
      withToken(2, whoAmI)
    ]
  },
  {
    name: "users of tokens",
    compared: withoutIssuer,
    steps: [
      robot,
      tokenRequest({}),
      withToken(1, whoAmI),
      withToken(1, get("/api/v1/namespaces/NAMESPACE/pods")),
      tokenReview(1),
      tokenReview(1, ["x"]),
      tokenRequest({ audiences: ["x", "y"] }),
      tokenReview(6),
      tokenReview(6, ["z", "x"]),
      withToken(6, get("/api/v1/namespaces/NAMESPACE/pods")),
      { ...get("/api/v1/pods"), headers: { authorization: "Bearer nonsense" } },
      { ...get("/api/v1/pods"), headers: { authorization: "bearer a.b.c" } },
      post(`${authentication}/tokenreviews`, {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenReview",
        spec: { token: "nonsense" }
      })
    ]
  },
  {
    name: "a token of a deleted secret",
    compared: withoutIssuer,
    steps: [
      robot,
      secret,
      tokenRequest(boundTo("Secret", "s")),
      { method: "DELETE", path: "/api/v1/namespaces/NAMESPACE/secrets/s", pauseMillis: 300 },
      tokenReview(2),
      withToken(2, whoAmI)
    ]
  }
]

/** Impersonation by the service account, which has its own permissions. */
const byRobot = (name: string, rules: ReadonlyArray<JsonObject>, ...steps: ReadonlyArray<Request>): Dialogue => ({
  name,
  compared: withoutIssuer,
  steps: [
    robot,
    tokenRequest({}),
    post(`${rbac}/clusterroles`, { metadata: { name: "robot-NAMESPACE" }, rules }),
    bound("robot", { kind: "ServiceAccount", name: "robot", namespace: "NAMESPACE" }),
    {
      ...review("system:serviceaccount:NAMESPACE:robot", effectOf(rules[0] ?? {})),
      until: { body: { status: { allowed: true } } }
    },
    ...steps.map(
      (step): Step =>
        (seen) => {
          const request = withToken(1, step)
          const { headers } = typeof request === "function" ? request(seen) : request
          return { ...step, headers: { ...headers, ...step.headers } }
        }
    )
  ]
})

const accountName = "system:serviceaccount:default:default"
const everybody: Request["headers"] = {
  "impersonate-group": "devs",
  "impersonate-uid": "u1",
  "impersonate-extra-example.com%2Fx": "y"
}

const wanted: ReadonlyArray<Request> = [
  as("carl", whoAmI),
  as("carl", whoAmI, everybody),
  as("carl", whoAmI, { "impersonate-uid": "u1" }),
  as("carl", whoAmI, { "impersonate-extra-x": "y" }),
  as("carl", whoAmI, { "impersonate-group": "system:masters" }),
  as(accountName, whoAmI),
  as(accountName, whoAmI, { "impersonate-group": "devs" }),
  as("system:node:n1", whoAmI),
  as("system:node:n1", whoAmI, { "impersonate-group": "devs" }),
  as("system:anonymous", get("/healthz")),
  as("carl", get("/healthz"))
]

const constrainedOn = rule("*", "*", [
  "impersonate-on:user-info:create",
  "impersonate-on:serviceaccount:create",
  "impersonate-on:arbitrary-node:create"
])

const impersonators: ReadonlyArray<Dialogue> = [
  byRobot("impersonation without a permission", [rule("", "configmaps", ["get"])], ...wanted),
  byRobot(
    "impersonation with the verb impersonate",
    [
      {
        apiGroups: ["", "authentication.k8s.io"],
        resources: ["users", "groups", "uids", "userextras/example.com/x", "serviceaccounts"],
        verbs: ["impersonate"]
      }
    ],
    ...wanted
  ),
  byRobot(
    "impersonation of one user",
    [rule("", "users", ["impersonate"], { resourceNames: ["carl"] })],
    ...wanted,
    as("dora", whoAmI)
  ),
  byRobot("constrained impersonation on the request alone", [constrainedOn], ...wanted),
  byRobot(
    "constrained impersonation",
    [
      constrainedOn,
      {
        apiGroups: ["authentication.k8s.io"],
        resources: ["users", "serviceaccounts", "nodes"],
        verbs: ["impersonate:user-info", "impersonate:serviceaccount", "impersonate:arbitrary-node"]
      }
    ],
    ...wanted
  ),
  byRobot(
    "constrained impersonation of all users",
    [constrainedOn, rule("authentication.k8s.io", "*", ["impersonate:user-info"])],
    ...wanted
  )
]

export const access: Suite = {
  name: "access",
  dialogues: [denied, ...impersonation, ...reviews, ...escalation, ...tokens, ...impersonators]
}
