/** `/why` with limited permissions: a manager that may not read an object, and a caller from another machine. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Result from "@homeostat/runtime/controller/Result"
import { ConfigMap, Role, RoleBinding } from "@homeostat/runtime/resource/BuiltIn"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Chore from "../runtime/Chore.ts"
import * as Asked from "./Asked.ts"

const controller = Controller.make("chores", {
  for: Chore.Chore,
  owns: [ConfigMap],
  reconcile: () => Effect.succeed(Result.done)
})

/** A user with only these permissions, in the namespace of a test. */
const allowed = ({ cluster, namespace }: Chore.Place, rules: ReadonlyArray<ReturnType<typeof rule>>) =>
  Effect.gen(function* () {
    const user = yield* cluster.addUser({ name: `asked-${namespace}` })
    const metadata = { namespace, name: "asked" }
    yield* Client.create(Role, { metadata, rules })
    yield* Client.create(RoleBinding, {
      metadata,
      subjects: [{ kind: "User", name: user.user, apiGroup: "rbac.authorization.k8s.io" }],
      roleRef: { kind: "Role", name: "asked", apiGroup: "rbac.authorization.k8s.io" }
    })
    return user
  })

const rule = (apiGroup: string, resource: string, ...verbs: ReadonlyArray<string>) => ({
  apiGroups: [apiGroup],
  resources: [resource],
  verbs
})

describe("why answers for an object", () => {
  Chore.real("that its controller has not started because of a missing permission, and starts with it", (place) =>
    Effect.gen(function* () {
      const { namespace } = place
      const first = [rule("suites.homeostat.dev", "chores", "get", "list", "watch")]
      const user = yield* allowed(place, first)
      const asked = yield* Asked.start(place, [controller], { user })
      yield* Chore.create(place, "shop")
      const answer = yield* Managed.eventually(
        "the missing permission",
        asked.why("shop"),
        ({ answer }) => answer.includes("requires permission") && !answer.includes("not complete yet")
      )
      expect(answer.verdict).toBe("cache-not-synced")
      // The order of the two reads depends on the lists of the server.
      expect(answer.answer).toStartWith(
        `Controller chores has not started, so nothing is done for Chore ${namespace}/shop: cannot list configmaps in namespace ${namespace}: requires permission to list and watch configmaps in namespace ${namespace}; `
      )
      expect(answer.object).toMatchObject({ exists: true, seen: true })
      expect(yield* asked.text("shop")).toContain("not in step: configmaps")
      yield* Client.replace(Role, {
        metadata: { namespace, name: "asked" },
        rules: [...first, rule("", "configmaps", "list", "watch", "get")]
      })
      yield* asked.until("shop", "reconciled")
    })
  )

  Chore.real("without the permission to get it, and reports the missing parts", (place) =>
    Effect.gen(function* () {
      const { namespace } = place
      const rules = [rule("suites.homeostat.dev", "chores", "list", "watch"), rule("", "configmaps", "list", "watch")]
      const asked = yield* Asked.start(place, [controller], { user: yield* allowed(place, rules) })
      const { metadata } = yield* Chore.create(place, "shop")
      yield* Client.create(ConfigMap, {
        metadata: {
          namespace,
          name: "shop",
          ownerReferences: [
            { apiVersion: "suites.homeostat.dev/v1", kind: "Chore", name: "shop", uid: metadata.uid, controller: true }
          ]
        }
      })
      // The permission to list the kind is enough to read the object.
      const answer = yield* Managed.eventually(
        "the child",
        asked.why("shop"),
        ({ children, verdict }) => verdict === "reconciled" && children.length > 0
      )
      expect(answer.writers.length).toBeGreaterThan(0)
      expect(answer.children).toMatchObject([{ kind: "ConfigMap", exists: true }])
      // After the permission is gone, the cached copy stays, and the answer reports that it may be old.
      yield* Client.replace(Role, { metadata: { namespace, name: "asked" }, rules: [] })
      const blind = yield* Managed.eventually(
        "that it can't ask any more",
        asked.why("shop"),
        // The server revokes permissions one after the other.
        ({ object, unknown }) => object.exists === undefined && unknown.length > 0
      )
      expect(blind.object.exists).toBeUndefined()
      expect(blind.unknown[0]).toStartWith(`requires permission to get chores.suites.homeostat.dev`)
    })
  )
})
