/** Webhook configurations and policies of replicas of two versions, for a kind that no cluster has. */
import { describe, expect } from "bun:test"
import * as Eventually from "@homeostat/testkit/Eventually"
import * as Shared from "@homeostat/testkit/Shared"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Client from "../client/Client.ts"
import * as Cluster from "../client/Cluster.ts"
import * as Patch from "../client/Patch.ts"
import * as Transport from "../client/Transport.ts"
import * as BuiltIn from "../resource/BuiltIn.ts"
import * as Resource from "../resource/Resource.ts"
import * as Admission from "./Admission.ts"
import * as Registration from "./Registration.ts"

const Relic = Resource.make({ group: "relics.example.com", version: "v1", kind: "Relic", plural: "relics" })

const validate = Admission.validate(Relic, {
  write: () => [],
  cel: [{ name: "named", expression: "object.metadata.name.size() < 100", message: "must have a short name" }]
})
const deletions = Admission.validate(Relic, { delete: () => [] })
const defaults = Admission.default(Relic, () => undefined)

const certificate = (text: string): string => `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`
const [one, two] = [certificate("one"), certificate("two")]

/** A test with a program of its own name. */
const test = <A, E>(
  name: string,
  body: (
    program: string,
    start: (
      ...declared: ReadonlyArray<Admission.Admission>
    ) => Effect.Effect<Registration.Registration, never, Client.Client | Scope.Scope>
  ) => Effect.Effect<A, E, Client.Client | Scope.Scope>
): void =>
  Shared.cluster(name, (cluster) => {
    const { ca, cert, key, server, token } = cluster.admin
    const transport = Transport.layer(Cluster.make({ server, tls: { ca, cert, key }, token }))
    return Effect.flatMap(cluster.namespace("relics"), (program) =>
      body(program, (...declared) =>
        Registration.make({
          program,
          namespace: "default",
          namespaces: [],
          target: { url: "https://127.0.0.1:1" },
          declared,
          converted: []
        })
      )
    ).pipe(Effect.provide(Layer.provide(Client.layer(), transport)))
  })

const webhooksOf = (program: string) =>
  Effect.map(Client.get(BuiltIn.ValidatingWebhookConfiguration, { name: program }), ({ webhooks = [] }) => webhooks)

const namesOf = (program: string) =>
  Effect.map(webhooksOf(program), (webhooks) => webhooks.map(({ name }) => name.split(".")[0]))

describe("A registration", () => {
  test("creates the configurations with the CAs, and the policies with their bindings", (program, start) =>
    Effect.gen(function* () {
      const registration = yield* start(validate, defaults)
      expect(yield* registration.published).toBe("")
      yield* registration.publish(one + two)
      expect(yield* registration.published).toBe(one + two)
      const [webhook] = yield* webhooksOf(program)
      expect(webhook).toMatchObject({
        name: "validate.relics.relics.example.com",
        failurePolicy: "Ignore",
        clientConfig: { url: "https://127.0.0.1:1/validate-relics-example-com-v1-relic" },
        namespaceSelector: {
          matchExpressions: [
            { key: "kubernetes.io/metadata.name", operator: "NotIn", values: ["kube-system", "default"] }
          ]
        }
      })
      const policy = `${program}.named.relics.relics.example.com`
      yield* Eventually.eventually(
        "the policy and its binding",
        Client.get(BuiltIn.ValidatingAdmissionPolicyBinding, { name: policy }),
        ({ spec }) => spec?.policyName === policy && spec.validationActions?.[0] === "Deny"
      )
      yield* Client.delete(BuiltIn.ValidatingAdmissionPolicyBinding, { name: policy })
      yield* Client.delete(BuiltIn.ValidatingAdmissionPolicy, { name: policy })
    }))

  test("of an older version changes the CAs and keeps the webhooks of a newer one", (program, start) =>
    Effect.gen(function* () {
      const older = yield* start(validate)
      yield* older.published
      yield* older.publish(one)
      const newer = yield* start(validate, deletions)
      yield* Eventually.eventually(
        "the newer version adds its webhook",
        namesOf(program),
        (names) => names.join() === "validate,validate-deletion"
      )
      expect(yield* newer.published).toBe(one)
      yield* older.published
      yield* older.publish(one + two)
      expect(yield* namesOf(program)).toEqual(["validate", "validate-deletion"])
      expect(yield* newer.published).toBe(one + two)
      // A start removes the webhooks that the version does not declare.
      yield* start(validate)
      yield* Eventually.eventually("the removal", namesOf(program), (names) => names.join() === "validate")
      expect(yield* newer.published).toBe(one + two)
    }))

  test("does not write over a change that it has not read", (program, start) =>
    Effect.gen(function* () {
      const registration = yield* start(validate)
      yield* registration.published
      yield* registration.publish(one)
      yield* registration.published
      const change = Patch.merge({ metadata: { labels: { changed: "yes" } } })
      yield* Client.patch(BuiltIn.ValidatingWebhookConfiguration, { name: program }, change)
      expect(yield* Effect.flip(registration.publish(two))).toMatchObject({ _tag: "Conflict" })
      expect(yield* registration.published).toBe(one)
      yield* registration.publish(two)
      expect(yield* registration.published).toBe(two)
    }))

  test("reports no CA that one of the webhooks lacks", (program, start) =>
    Effect.gen(function* () {
      const registration = yield* start(validate, deletions, defaults)
      yield* registration.published
      yield* registration.publish(one + two)
      const [first, ...others] = yield* webhooksOf(program)
      if (first === undefined) throw new Error("no webhook")
      const caBundle = Buffer.from(two).toString("base64")
      const webhooks = [{ ...first, clientConfig: { ...first.clientConfig, caBundle } }, ...others]
      yield* Client.patch(BuiltIn.ValidatingWebhookConfiguration, { name: program }, Patch.merge({ webhooks }))
      expect(yield* registration.published).toBe(two)
    }))
})
