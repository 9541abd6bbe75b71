/** Compares the decisions of the embedded server with those of a kube-apiserver. */
import { describe, expect } from "bun:test"
import * as BootstrapPolicy from "@homeostat/apiserver/access/BootstrapPolicy"
import { allows } from "@homeostat/apiserver/access/PolicyRule"
import * as RbacAuthorizer from "@homeostat/apiserver/access/RbacAuthorizer"
import * as ApiServer from "@homeostat/apiserver/http/ApiServer"
import type { Authorizer } from "@homeostat/apiserver/model/Authorizer"
import type { Json, JsonObject } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import * as Seed from "@homeostat/testkit/Seed.fixture"
import { real } from "@homeostat/testkit/Shared"
import { Effect, Schedule } from "effect"
import * as BootstrapRecording from "../../record/BootstrapRecording.ts"
import * as Server from "../comparison/Server.ts"
import * as Questions from "./Questions.ts"

const count = 600

const isBootstrapped = (object: JsonObject): boolean =>
  J.at(object, "metadata", "labels", "kubernetes.io/bootstrapping") === "rbac-defaults"

const path = "/apis/authorization.k8s.io/v1"

const review = (spec: Json): Server.Request => ({
  method: "POST",
  path: `${path}/subjectaccessreviews`,
  body: { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec }
})

const rulesReview = (group: string, namespace: string): Server.Request => ({
  method: "POST",
  path: `${path}/selfsubjectrulesreviews`,
  headers: { "impersonate-user": "nobody", "impersonate-group": group },
  body: { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectRulesReview", spec: { namespace } }
})

/** The bindings of a kube-apiserver have no order: the reason names any binding that allows the request. */
const reasonsOf = (authorizer: Authorizer, { groups, user, ...asked }: Questions.Question): ReadonlyArray<string> => {
  const { resourceAttributes: resource, nonResourceAttributes } = asked
  const textOf = (field: string) => J.text(resource?.[field]) ?? ""
  const request = {
    user: { name: user, groups },
    verb: J.text((resource ?? nonResourceAttributes)?.verb) ?? "",
    resource: resource && {
      group: textOf("group"),
      resource: textOf("resource"),
      subresource: textOf("subresource"),
      namespace: textOf("namespace"),
      name: textOf("name")
    },
    path: J.text(nonResourceAttributes?.path) ?? ""
  }
  return authorizer
    .grantsOf(request.user, textOf("namespace"))
    .grants.filter(({ rules }) => rules.some((rule) => allows(rule, request)))
    .map(({ source }) => `RBAC: allowed by ${source}`)
}

const sorted = (value: Json | undefined): ReadonlyArray<string> =>
  J.list(value)
    .map((one) => JSON.stringify(one))
    .sort()

describe("The embedded server and kube-apiserver", () => {
  real(
    "have the same bootstrap roles and bindings",
    (cluster) =>
      Effect.gen(function* () {
        const found = yield* BootstrapRecording.record(cluster)
        for (const [plural, objects] of Object.entries(BootstrapPolicy.objects)) {
          expect(found[plural]?.filter(isBootstrapped)).toEqual([...objects])
        }
      }),
    { controllers: true }
  )

  real(
    `agree about ${count} generated questions, and about the rules of each bootstrap role`,
    (cluster) =>
      Effect.gen(function* () {
        const namespace = yield* cluster.namespace("access")
        const names = { namespace, prefix: namespace }
        const embedded = yield* ApiServer.make({ seed: 1 })
        const servers = [Server.real(cluster.admin), Server.embedded(embedded)] as const
        const ask = (request: Server.Request) =>
          Effect.forEach(servers, (server) => Effect.map(server(request, 0), ({ body, status }) => ({ body, status })))
        yield* servers[1]({ method: "POST", path: "/api/v1/namespaces", body: { metadata: { name: namespace } } }, 0)
        const custom = Questions.objects(names)
        const bootstrapped = (plural: string) => BootstrapPolicy.objects[plural] ?? []
        const clusterRoles = bootstrapped("clusterroles").map((role) => J.text(J.at(role, "metadata", "name")) ?? "")
        const bootstrap = clusterRoles.map(
          (name): Questions.Placed => ({
            path: `/apis/${Questions.group}/v1/clusterrolebindings`,
            object: {
              metadata: { name: `${namespace}-${name}` },
              subjects: [{ kind: "Group", apiGroup: Questions.group, name: `${namespace}-${name}` }],
              roleRef: { apiGroup: Questions.group, kind: "ClusterRole", name }
            }
          })
        )
        const placed = [...custom, ...bootstrap]
        yield* Effect.addFinalizer(() =>
          Effect.forEach(
            placed,
            ({ object, path }) =>
              servers[0]({ method: "DELETE", path: `${path}/${J.text(J.at(object, "metadata", "name"))}` }, 0),
            { discard: true }
          )
        )
        for (const { object, path } of placed) {
          const answers = yield* ask({ method: "POST", path, body: object })
          expect(answers.map(({ status }) => status)).toEqual([201, 201])
        }

        // The authorizer of a kube-apiserver sees the last binding after a short delay.
        for (const name of clusterRoles) {
          const request = rulesReview(`${namespace}-${name}`, namespace)
          yield* ask(request).pipe(
            Effect.tap(([real, embedded]) =>
              Effect.sync(() => {
                const [one, other] = [real, embedded].map((answer) => J.object(J.at(answer?.body, "status")))
                expect(sorted(one?.resourceRules)).toEqual([...sorted(other?.resourceRules)])
                expect(sorted(one?.nonResourceRules)).toEqual([...sorted(other?.nonResourceRules)])
              })
            ),
            Effect.sandbox,
            Effect.retry({ schedule: Schedule.spaced("100 millis"), times: 30 })
          )
        }

        const made = placed.map(({ object }) => object)
        const stored = {
          roles: [...bootstrapped("clusterroles"), ...bootstrapped("roles"), ...made],
          bindings: [...bootstrapped("clusterrolebindings"), ...bootstrapped("rolebindings"), ...made]
        }
        const authorizer = RbacAuthorizer.make(embedded.store)
        const outcomes = { allowed: 0, denied: 0 }
        for (const question of Questions.generate(Seed.current(), count, names, stored)) {
          const [real, embedded] = (yield* ask(review({ ...question }))).map(({ body }) =>
            J.object(J.at(body, "status"))
          )
          const reasons = reasonsOf(authorizer, question)
          const reason = J.text(real?.reason) ?? ""
          outcomes[real?.allowed === true ? "allowed" : "denied"]++
          const known = { ...real, ...(reasons.includes(reason) && { reason: embedded?.reason }) }
          expect({ question, status: known as JsonObject }).toEqual({ question, status: embedded ?? {} })
        }
        expect(Math.min(outcomes.allowed, outcomes.denied)).toBeGreaterThan(count / 6)
      }),
    { controllers: true }
  )
})
