/** Creation of valid and invalid objects of admissionregistration.k8s.io. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import { type Kind, rule } from "./Objects.ts"

const hook = (more: JsonObject = {}): JsonObject => ({
  name: "a.example.com",
  clientConfig: { url: "https://example.com/validate" },
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
  rules: [rule(["pods"])],
  ...more
})

const hooks = (...more: ReadonlyArray<JsonObject>): JsonObject => ({ webhooks: more.map(hook) })
const service = (more: JsonObject): JsonObject =>
  hooks({ clientConfig: { service: { name: "s", namespace: "n", ...more } } })
const rules = (...given: ReadonlyArray<JsonObject>): JsonObject => hooks({ rules: given })
const url = (text: string): JsonObject => hooks({ clientConfig: { url: text } })
const condition = (expression: string, name = "a"): JsonObject => ({ name, expression })

const webhooks: { readonly [about: string]: JsonObject } = {
  "no webhooks": {},
  "a webhook": hooks({}),
  "a webhook without anything": { webhooks: [{}] },
  "a service": service({}),
  "a service with path and port": service({ path: "/a/b", port: 8443 }),
  "a service without a name": service({ name: "" }),
  "a service without a namespace": service({ namespace: "" }),
  "a service with a port of none": service({ port: 0 }),
  "a path without a slash": service({ path: "a" }),
  "a path of slashes": service({ path: "//" }),
  "a path with empty segments": service({ path: "/a//b" }),
  "a path with a bad segment": service({ path: "/A_b/" }),
  "an empty path": service({ path: "" }),
  "a URL and a service": hooks({
    clientConfig: { url: "https://a.example.com", service: { name: "s", namespace: "n" } }
  }),
  "no URL and no service": hooks({ clientConfig: {} }),
  "a URL of http": url("http://example.com"),
  "a URL without a host": url("https:///a"),
  "a URL with a user": url("https://me@example.com"),
  "a URL with a query": url("https://example.com?a=b"),
  "a URL with a fragment": url("https://example.com#a"),
  "a short name": hooks({ name: "a.b" }),
  "a bad name of a webhook": hooks({ name: "A_b" }),
  "two webhooks of one name": hooks({}, {}),
  "side effects": hooks({ sideEffects: "Some" }),
  "no sideEffects": hooks({ sideEffects: null }),
  "a timeout of none": hooks({ timeoutSeconds: 0 }),
  "a long timeout": hooks({ timeoutSeconds: 31 }),
  "a failure policy of its own": hooks({ failurePolicy: "Perhaps" }),
  "a match policy of its own": hooks({ matchPolicy: "Perhaps" }),
  "no review versions": hooks({ admissionReviewVersions: [] }),
  "strange review versions": hooks({ admissionReviewVersions: ["v2", "v2", "V3"] }),
  v1beta1: hooks({ admissionReviewVersions: ["v1beta1"] }),
  "invalid selectors": hooks({
    namespaceSelector: { matchLabels: { "a b": "c" } },
    objectSelector: { matchExpressions: [{ key: "a", operator: "Like" }] }
  }),
  "an empty rule": rules({}),
  "all operations and one": rules(rule(["pods"], { operations: ["*", "CREATE"] })),
  "an unknown operation": rules(rule(["pods"], { operations: ["WATCH"] })),
  "all groups and one": rules(rule(["pods"], { apiGroups: ["*", ""], apiVersions: ["*", "v1"] })),
  "an empty version": rules(rule(["pods"], { apiVersions: [""] })),
  "an empty resource": rules(rule([""])),
  "all resources and one": rules(rule(["*", "pods"])),
  "all subresources and one": rules(rule(["pods/*", "pods/status", "*/scale", "deployments/scale"])),
  "everything and more": rules(rule(["*/*", "pods"])),
  "a scope of its own": rules(rule(["pods"], { scope: "Wide" })),
  "match conditions": hooks({ matchConditions: [condition("request.operation == 'CREATE'")] }),
  "match conditions of one name": hooks({ matchConditions: [condition("true"), condition("false")] }),
  "an unnamed match condition": hooks({ matchConditions: [{ name: "", expression: " " }] }),
  "a match condition with a bad name": hooks({ matchConditions: [condition("true", "a b")] }),
  "a match condition of text": hooks({ matchConditions: [condition("'a'")] }),
  "a match condition with params": hooks({ matchConditions: [condition("params.a == 1")] }),
  "a match condition of a field that is not there": hooks({ matchConditions: [condition("request.nope == 1")] }),
  "too many match conditions": hooks({
    matchConditions: Array.from({ length: 65 }, (_, at) => condition("true", `a${at}`))
  }),
  "a rule without an effect": rules(rule(["tokenreviews", "pods"], { apiGroups: ["authentication.k8s.io"] }))
}

const spec = (more: JsonObject): JsonObject => ({
  spec: {
    matchConstraints: { resourceRules: [rule(["pods"])] },
    validations: [{ expression: "object.metadata.name != 'a'" }],
    ...more
  }
})
const validations = (...given: ReadonlyArray<JsonObject>): JsonObject => spec({ validations: given })
const valid = (expression: string): JsonObject => validations({ expression })
const paramKind = (apiVersion: string, kind: string): JsonObject => spec({ paramKind: { apiVersion, kind } })

const policies: { readonly [about: string]: JsonObject } = {
  "without anything": {},
  "a policy": spec({}),
  "no match constraints": spec({ matchConstraints: null }),
  "no rules": spec({ matchConstraints: {} }),
  "names of resources": spec({
    matchConstraints: { resourceRules: [rule(["pods"], { resourceNames: ["a", "a", "b/c"] })] }
  }),
  exclusions: spec({
    matchConstraints: { matchPolicy: "Exact", resourceRules: [rule(["pods"])], excludeResourceRules: [{}] }
  }),
  "no validations": spec({ validations: [] }),
  "an empty validation": validations({}),
  "a validation of text": valid("'a'"),
  "a validation of an unknown type": valid("object.a"),
  "a validation of a list": valid("['a']"),
  messages: validations({ expression: "true", message: "a", messageExpression: "'a' + object.metadata.name" }),
  "blank messages": validations({ expression: "true", message: " ", messageExpression: " " }),
  "a message of two lines": validations({ expression: "true", message: "a\nb" }),
  "a message expression of a number": validations({ expression: "true", messageExpression: "1" }),
  "a message expression with the authorizer": validations({
    expression: "true",
    messageExpression: "authorizer.group('').resource('pods').check('get').reason()"
  }),
  reasons: validations(
    ...["Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized", "Other"].map((reason) => ({
      expression: "true",
      reason
    }))
  ),
  variables: spec({
    variables: [
      { name: "a", expression: "object.metadata.name" },
      { name: "b", expression: "size(variables.a)" }
    ],
    validations: [{ expression: "variables.b > 3" }]
  }),
  "a variable before it is declared": spec({
    variables: [
      { name: "b", expression: "variables.a" },
      { name: "a", expression: "1" }
    ]
  }),
  "a variable of another type": spec({
    variables: [{ name: "a", expression: "1" }],
    validations: [{ expression: "variables.a" }]
  }),
  "bad names of variables": spec({
    variables: [{}, { name: "a-b", expression: "1" }, { name: "in", expression: " " }]
  }),
  "variables that are not there": valid("variables.a == 1"),
  "params without a kind": valid("params.a == 1"),
  params: spec({ paramKind: { apiVersion: "v1", kind: "ConfigMap" }, validations: [{ expression: "params.a == 1" }] }),
  "an empty kind of params": paramKind("", ""),
  "a kind of params of slashes": paramKind("a/b/c", "A b"),
  "a kind of params without a version": paramKind("a.example.com/", "A"),
  "a kind of params with a bad version": paramKind("a_b/1", "A"),
  "the namespace and the request": valid(
    "namespaceObject.metadata.labels['a'] == 'b' && request.userInfo.groups.exists(g, g == 'a') && request.options.kind == 'a'"
  ),
  "a field of the namespace that is not there": valid("namespaceObject.metadata.uid == 'a'"),
  "the authorizer": valid(
    "authorizer.group('').resource('pods').subresource('log').namespace('a').name('b').check('get').allowed() && authorizer.path('/a').check('get').allowed() && authorizer.requestResource.check('get').allowed() && authorizer.serviceAccount('a', 'b').group('').resource('pods').fieldSelector('a=b').labelSelector('a=b').check('get').reason() == ''"
  ),
  "audit annotations": spec({ validations: [], auditAnnotations: [{ key: "a", valueExpression: "'a'" }] }),
  "bad audit annotations": spec({
    auditAnnotations: [
      { key: "a b", valueExpression: "1" },
      { key: "a", valueExpression: "" },
      { key: "a", valueExpression: "null" }
    ]
  }),
  "match conditions with params": spec({
    paramKind: { apiVersion: "v1", kind: "ConfigMap" },
    matchConditions: [condition("params.a == 1")]
  }),
  "a failure policy of its own": spec({ failurePolicy: "Perhaps" })
}

const bound = (more: JsonObject): JsonObject => ({ spec: { policyName: "a", validationActions: ["Deny"], ...more } })
const reference = (paramRef: JsonObject): JsonObject => bound({ paramRef })

const bindings: { readonly [about: string]: JsonObject } = {
  "without anything": {},
  "a binding": bound({}),
  "a bad name of a policy": bound({ policyName: "A_b" }),
  "no actions": bound({ validationActions: [] }),
  "strange actions": bound({ validationActions: ["Deny", "Warn", "Deny", "Shout"] }),
  resources: bound({ matchResources: { resourceRules: [rule(["pods"]), {}] } }),
  "a param": reference({ name: "a", namespace: "b", parameterNotFoundAction: "Deny" }),
  "a selector of params": reference({ selector: { matchLabels: { a: "b" } }, parameterNotFoundAction: "Allow" }),
  "a name and a selector": reference({ name: "a/b", selector: {}, parameterNotFoundAction: "Perhaps" }),
  "an empty reference": reference({})
}

const mutations = (...given: ReadonlyArray<JsonObject>): JsonObject => ({
  spec: {
    matchConstraints: { resourceRules: [rule(["pods"])] },
    reinvocationPolicy: "Never",
    mutations: given
  }
})

const mutating: { readonly [about: string]: JsonObject } = {
  "without anything": {},
  "a mutation": mutations({
    patchType: "ApplyConfiguration",
    applyConfiguration: { expression: "Object{metadata: Object.metadata{labels: {'a': 'b'}}}" }
  }),
  "a JSON patch": mutations({
    patchType: "JSONPatch",
    jsonPatch: { expression: "[JSONPatch{op: 'add', path: '/metadata/labels', value: {'a': 'b'}}]" }
  }),
  "patches of other types": mutations(
    {},
    { patchType: "JSONPatch" },
    { patchType: "Other" },
    { patchType: "ApplyConfiguration", applyConfiguration: {}, jsonPatch: {} }
  ),
  deletions: {
    spec: {
      matchConstraints: { resourceRules: [rule(["pods"], { operations: ["CREATE", "DELETE"] })] },
      reinvocationPolicy: "Perhaps",
      mutations: []
    }
  }
}

const mutatingBindings: { readonly [about: string]: JsonObject } = {
  "without anything": {},
  "a binding": { spec: { policyName: "a" } },
  deletions: {
    spec: { policyName: "a", matchResources: { resourceRules: [rule(["pods"], { operations: ["DELETE"] })] } }
  }
}

/** The objects by kind and topic. */
export const objects: { readonly [kind in Kind]: { readonly [about: string]: JsonObject } } = {
  MutatingAdmissionPolicy: mutating,
  MutatingAdmissionPolicyBinding: mutatingBindings,
  MutatingWebhookConfiguration: {
    "a webhook": hooks({}),
    "no reinvocation": hooks({ reinvocationPolicy: "Perhaps" }),
    reinvocation: hooks({ reinvocationPolicy: "IfNeeded" }),
    "a webhook without anything": { webhooks: [{}] },
    "a rule without an effect": rules(rule(["subjectaccessreviews"], { apiGroups: ["authorization.k8s.io"] }))
  },
  ValidatingAdmissionPolicy: policies,
  ValidatingAdmissionPolicyBinding: bindings,
  ValidatingWebhookConfiguration: webhooks
}
