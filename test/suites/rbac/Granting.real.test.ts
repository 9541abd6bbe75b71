/** A controller that creates RoleBindings needs and declares the verb `bind`. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Access from "@homeostat/runtime/controller/Access"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Owned from "@homeostat/runtime/controller/Owned"
import * as Result from "@homeostat/runtime/controller/Result"
import { ClusterRole, ConfigMap, RoleBinding } from "@homeostat/runtime/resource/BuiltIn"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Granted from "./Granted.ts"

const apiGroup = "rbac.authorization.k8s.io"

/** Grants the ClusterRole `edit` to a group with the name of the ConfigMap. */
const teams = (access: ReadonlyArray<Access.Access>) =>
  Controller.make("teams", {
    for: ConfigMap,
    owns: [RoleBinding],
    access,
    reconcile: (owner) =>
      Effect.as(
        Owned.apply(owner, RoleBinding, {
          metadata: { name: `${owner.metadata.name}-team` },
          roleRef: { apiGroup, kind: "ClusterRole", name: "edit" },
          subjects: [{ kind: "Group", apiGroup, name: owner.metadata.name }]
        }),
        Result.done
      )
  })

const test = (name: string, access: ReadonlyArray<Access.Access>, refused: boolean) =>
  Shared.real(
    name,
    (cluster) =>
      Effect.gen(function* () {
        const namespace = yield* cluster.namespace("granting")
        const account = yield* Granted.account(cluster, namespace, { namespaces: [namespace] }, [teams(access)])
        yield* Granted.grant(account)
        const working = yield* Granted.start(account)
        yield* Client.create(ConfigMap, { metadata: { namespace, name: "red" } })
        if (refused) {
          const warning = yield* Managed.eventually(
            "a refusal",
            Effect.sync(() => working.warnings.find((line) => line.includes("not currently held"))),
            (line) => line !== undefined
          )
          expect(warning?.length).toBeLessThan(700)
          return
        }
        const binding = yield* Managed.eventually(
          "the RoleBinding",
          Effect.option(Client.get(RoleBinding, { namespace, name: "red-team" })),
          (found) => found._tag === "Some"
        )
        expect(binding).toMatchObject({ value: { subjects: [{ kind: "Group", name: "red" }] } })
        expect(working.warnings.filter((line) => line.includes("forbidden"))).toEqual([])
      }).pipe((body) => Effect.flatMap(Managed.client(cluster), (client) => Effect.provide(body, client))),
    { ...Envtest.everything, timeoutMillis: 120_000 }
  )

describe("A controller of one namespace that creates RoleBindings to a ClusterRole, with exactly the generated roles,", () => {
  test("creates them if it declares bind of that ClusterRole", [Access.bind(ClusterRole, { names: ["edit"] })], false)
  test("gets a short refusal without that declaration", [], true)
})
