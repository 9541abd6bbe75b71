/** The webhooks and policies of a program in the harness, which calls them in memory. */
import { expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Access from "@homeostat/runtime/controller/Access"
import * as Rbac from "@homeostat/runtime/manager/Rbac"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as Admission from "@homeostat/runtime/webhook/Admission"
import * as Harness from "@homeostat/testkit/Harness"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Data, Effect } from "effect"
import { Crate, CrateV1 } from "../webhooks/fixtures/Crate.ts"

class RegistryDown extends Data.TaggedError("RegistryDown") {
  override readonly message = "the registry does not answer"
}

const webhooks = [
  Admission.validate(WebApp, {
    write: ({ metadata, spec }, { oldObject }) =>
      Effect.gen(function* () {
        if (spec.image === "fails") return yield* new RegistryDown()
        if (spec.image === "throws") return yield* Effect.die(new Error("a mistake"))
        const { items } = yield* Client.list(WebApp, { namespace: metadata.namespace })
        return oldObject === undefined && items.length > 1
          ? [Admission.forbidden(`the namespace ${metadata.namespace} has ${items.length} WebApps already`)]
          : []
      }),
    delete: ({ metadata }) => (metadata.labels?.keep === "yes" ? [Admission.forbidden("it has the label keep")] : []),
    cel: [
      {
        name: "pinned",
        expression: "!object.spec.image.endsWith(':latest')",
        message: "spec.image: must have a version"
      }
    ]
  }),
  Admission.default(ConfigMap, (_, { userInfo }) => ({ data: { by: userInfo.username } }), { operations: ["CREATE"] })
]

const test = Harness.make({ crds: [Crd.of(WebApp)], webhooks, manager: Effect.void })

const key = { namespace: "default", name: "shop" }

const create = (name: string, image = "nginx:1.27", labels = {}) =>
  Client.create(WebApp, { metadata: { ...key, name, labels }, spec: { image } })

const refusal = <A, E extends Error, R>(write: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(write), ({ message }) => message)

test("a check may use the client", () =>
  Effect.gen(function* () {
    yield* create("one")
    yield* create("two")
    expect(yield* refusal(create("three"))).toContain("the namespace default has 2 WebApps already")
    yield* Client.patch(WebApp, { ...key, name: "two" }, Patch.merge({ spec: { replicas: 1 } }))
  }))

test("a policy denies", () =>
  Effect.gen(function* () {
    expect(yield* refusal(create("one", "nginx:latest"))).toContain("spec.image: must have a version")
  }))

test("a deletion is checked", () =>
  Effect.gen(function* () {
    yield* create("shop", "nginx:1.27", { keep: "yes" })
    expect(yield* refusal(Client.delete(WebApp, key))).toContain("it has the label keep")
  }))

test("a default of a built-in kind is set", () =>
  Effect.gen(function* () {
    const { data } = yield* Client.create(ConfigMap, { metadata: key, data: { colour: "red" } })
    expect(data).toEqual({ colour: "red", by: "admin" })
  }))

test("an error of a check is handled by its failurePolicy, and a defect is reported", () =>
  Effect.gen(function* () {
    expect(yield* refusal(create("one", "fails"))).toContain(
      'an error on the server ("the registry does not answer") has prevented the request from succeeding'
    )
    expect(yield* refusal(create("one", "throws"))).toContain("internal error of the webhook: a mistake")
  }))

Harness.make({ crds: [Crd.of(WebApp)], webhooks, as: Rbac.of([], { webhooks }), manager: Effect.void })(
  "a check has only the permissions that it declares",
  () =>
    Effect.gen(function* () {
      expect(yield* refusal(create("one"))).toContain(
        'webapps.apps.kubedojo.io is forbidden: User \\"system:serviceaccount:default:manager\\" cannot list'
      )
    })
)

const declared = webhooks.map((each) => ({ ...each, access: [Access.of(WebApp, ["list"])] }))

Harness.make({
  crds: [Crd.of(WebApp)],
  webhooks: declared,
  as: Rbac.of([], { webhooks: declared }),
  manager: Effect.void
})("a check uses the permissions that it declares", () => create("one"))

Harness.make({ converted: [Crate], manager: Effect.void })("an object is converted between its versions", () =>
  Effect.gen(function* () {
    yield* Client.create(CrateV1, { metadata: key, spec: { size: "3x4" } })
    expect((yield* Client.get(Crate, key)).spec).toEqual({ width: 3, height: 4 })
    expect(
      yield* refusal(Client.create(CrateV1, { metadata: { ...key, name: "bad" }, spec: { size: "x" } }))
    ).toContain('invalid size: "x" (write it like 3x4)')
  })
)
