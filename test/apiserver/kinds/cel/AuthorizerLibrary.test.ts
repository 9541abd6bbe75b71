/** The variable `authorizer` checks the permissions of the user. */
import { expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Access from "@homeostat/runtime/controller/Access"
import { ConfigMap, Secret } from "@homeostat/runtime/resource/BuiltIn"
import * as Admission from "@homeostat/runtime/webhook/Admission"
import * as Harness from "@homeostat/testkit/Harness"
import { Effect } from "effect"
import { ask } from "../../http/Client.fixture.ts"

const expression = [
  "authorizer.requestResource.check('create').allowed() && !authorizer.requestResource.check('delete').allowed()",
  "authorizer.group('').resource('secrets').namespace('default').name('own').check('get').allowed()",
  "!authorizer.group('').resource('secrets').namespace('default').check('get').allowed()",
  "authorizer.group('apps').resource('deployments').check('get').reason() == ''",
  "!authorizer.serviceAccount('default', 'other').requestResource.check('create').allowed()",
  "authorizer.path('/healthz').check('get').allowed()"
].join(" && ")

const webhooks = [
  Admission.validate(ConfigMap, { cel: [{ name: "permitted", expression, message: "must be permitted" }] })
]

const test = Harness.make({ webhooks, manager: Effect.void })

const key = { namespace: "default", name: "page" }

const rolesOf = (access: ReadonlyArray<Access.Access>) => [
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "Role",
    metadata: { namespace: "default", name: "writer" },
    rules: access.map(({ names, resource, verbs }) => ({
      apiGroups: [resource.group],
      resources: [resource.plural],
      verbs,
      ...(names.length === 0 ? {} : { resourceNames: names })
    }))
  },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { namespace: "default", name: "writer" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "writer" },
    subjects: [{ kind: "ServiceAccount", namespace: "default", name: "writer" }]
  }
]

test("a policy sees exactly the permissions of the user", (cluster) =>
  Effect.gen(function* () {
    const access = [Access.create(ConfigMap), Access.of(Secret, ["get"], { names: ["own"] })]
    const writer = yield* cluster.bind(rolesOf(access))
    yield* Effect.provide(Client.create(ConfigMap, { metadata: key }), writer.client)
    // An administrator may also delete, which the expression forbids.
    const refused = yield* Effect.flip(Client.create(ConfigMap, { metadata: { ...key, name: "other" } }))
    expect(refused.message).toContain("must be permitted")
    expect((yield* ask(cluster.server, "GET", "/api/v1/namespaces/default/configmaps/page")).status).toBe(200)
  }))
