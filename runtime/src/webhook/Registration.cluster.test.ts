/** Webhook configurations and policies of replicas of two versions, for a kind that no cluster has. */
import { describe, expect } from "bun:test"
import * as Eventually from "@homeostat/testkit/Eventually"
import * as Shared from "@homeostat/testkit/Shared"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Client from "../client/Client.ts"
import * as Cluster from "../client/Cluster.ts"
import * as Patch from "../client/Patch.ts"
import * as Transport from "../client/Transport.ts"
import * as BuiltIn from "../resource/BuiltIn.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
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
    ) => Effect.Effect<Registration.Registration, never, Client.Client>
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
      yield* Effect.forkScoped(registration.reconcile)
      const policy = `${program}.named.relics.relics.example.com`
      yield* Eventually.eventually(
        "the policy and its binding",
        Client.get(BuiltIn.ValidatingAdmissionPolicyBinding, { name: policy }),
        ({ spec }) => spec?.policyName === policy && spec.validationActions?.[0] === "Deny"
      )
      yield* Client.delete(BuiltIn.ValidatingAdmissionPolicyBinding, { name: policy })
      yield* Client.delete(BuiltIn.ValidatingAdmissionPolicy, { name: policy })
    }))

  test("of a replica that does not lead changes the CAs, and keeps webhooks and policies of another version", (program, start) =>
    Effect.gen(function* () {
      const older = yield* start(validate)
      yield* older.published
      yield* older.publish(one)
      const newer = yield* start(validate, deletions)
      const leading = yield* Effect.forkChild(newer.reconcile)
      yield* Eventually.eventually(
        "the leader adds its webhook",
        namesOf(program),
        (names) => names.join() === "validate,validate-deletion"
      )
      yield* Fiber.interrupt(leading)
      expect(yield* newer.published).toBe(one)
      // A replica of the older version restarts.
      const restarted = yield* start(validate)
      yield* restarted.published
      yield* restarted.publish(one + two)
      expect(yield* namesOf(program)).toEqual(["validate", "validate-deletion"])
      expect(yield* newer.published).toBe(one + two)
      // It acquires the Lease after a rollback.
      yield* Effect.forkScoped(restarted.reconcile)
      yield* Eventually.eventually("the removal", namesOf(program), (names) => names.join() === "validate")
      expect(yield* newer.published).toBe(one + two)
    }))

  test("of the leader changes selectors, and adds no others", (program, start) =>
    Effect.gen(function* () {
      const selected = (labels: { readonly [name: string]: string }) =>
        Admission.validate(Relic, { write: () => [], objectSelector: { matchLabels: labels } })
      const older = yield* start(selected({ tier: "old", kept: "no" }))
      yield* older.published
      yield* older.publish(one)
      const newer = yield* start(selected({ tier: "new" }))
      yield* Effect.forkScoped(newer.reconcile)
      yield* Eventually.eventually(
        "the new selector",
        webhooksOf(program),
        ([webhook]) => JSON.stringify(webhook?.objectSelector) === '{"matchLabels":{"tier":"new"}}'
      )
    }))

  test("of the leader applies each rule, though the API server rejects another one", (program, start) =>
    Effect.gen(function* () {
      const rule = (name: string, expression: string) => ({ name, expression, message: "must be named" })
      const registration = yield* start(
        Admission.validate(Relic, { cel: [rule("broken", "object.("), rule("sound", "has(object.metadata.name)")] })
      )
      yield* Effect.forkScoped(registration.reconcile)
      const name = `${program}.sound.relics.relics.example.com`
      const binding = Client.get(BuiltIn.ValidatingAdmissionPolicyBinding, { name })
      yield* Eventually.eventually("the binding of the sound rule", binding, ({ spec }) => spec?.policyName === name)
      const broken = Client.get(BuiltIn.ValidatingAdmissionPolicyBinding, { name: name.replace("sound", "broken") })
      expect(yield* Effect.flip(broken)).toMatchObject({ _tag: "NotFound" })
    }))

  test("of the leader restores a policy that was deleted, within five minutes", (program, start) =>
    Effect.gen(function* () {
      const passed = yield* Deferred.make<void>()
      const clock = yield* Clock.Clock
      let waits = 0
      const sleep = (duration: Duration.Duration) =>
        Effect.suspend(() => {
          if (Duration.toMinutes(duration) !== 5) return clock.sleep(duration)
          waits++
          return Deferred.await(passed)
        })
      const registration = yield* start(validate)
      yield* Effect.forkScoped(
        Effect.provideService(registration.reconcile, Clock.Clock, Object.assign(Object.create(clock), { sleep }))
      )
      const name = `${program}.named.relics.relics.example.com`
      const policy = Client.get(BuiltIn.ValidatingAdmissionPolicy, { name })
      yield* Eventually.eventually("the policy", policy, () => true)
      yield* Eventually.eventually(
        "the leader waits",
        Effect.sync(() => waits),
        (count) => count === 2
      )
      yield* Client.delete(BuiltIn.ValidatingAdmissionPolicy, { name })
      yield* Deferred.succeed(passed, undefined)
      yield* Eventually.eventually("the policy again", policy, () => true)
    }))

  test("of the leader removes selectors and conditions that others have added to a policy", (program, start) =>
    Effect.gen(function* () {
      const registration = yield* start(validate)
      const name = `${program}.named.relics.relics.example.com`
      const policy = Client.get(BuiltIn.ValidatingAdmissionPolicy, { name })
      const binding = Client.get(BuiltIn.ValidatingAdmissionPolicyBinding, { name })
      const written = yield* Effect.forkChild(registration.reconcile)
      yield* Eventually.eventually("the binding", binding, () => true)
      yield* Fiber.interrupt(written)
      const before = [yield* policy, yield* binding]
      const never = { matchLabels: { never: "true" } }
      const narrow = <A extends KubernetesObject>(resource: Resource.Resource<A, never>, spec: object) =>
        Client.patch(resource, { name }, Patch.merge({ spec }))
      const rule = { apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"], resourceNames: ["a"] }
      yield* narrow(BuiltIn.ValidatingAdmissionPolicy, {
        matchConditions: [{ name: "never", expression: "false" }],
        matchConstraints: { objectSelector: never, excludeResourceRules: [rule] }
      })
      yield* narrow(BuiltIn.ValidatingAdmissionPolicyBinding, { matchResources: { namespaceSelector: never } })
      expect([yield* policy, yield* binding].map(({ spec }) => spec)).not.toEqual(before.map(({ spec }) => spec))
      yield* Effect.forkScoped(registration.reconcile)
      yield* Eventually.eventually("the original policy", Effect.all([policy, binding]), (found) =>
        Bun.deepEquals(
          found.map(({ spec }) => spec),
          before.map(({ spec }) => spec)
        )
      )
      const generations = [yield* policy, yield* binding].map(({ metadata }) => metadata.generation)
      yield* Effect.forkScoped(registration.reconcile)
      yield* Effect.sleep("1 second")
      expect([yield* policy, yield* binding].map(({ metadata }) => metadata.generation)).toEqual(generations)
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
