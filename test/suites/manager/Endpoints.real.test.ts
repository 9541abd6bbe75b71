import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Result from "@homeostat/runtime/controller/Result"
import { ConfigMap, Role, RoleBinding } from "@homeostat/runtime/resource/BuiltIn"
import { Effect } from "effect"
import * as Chore from "../runtime/Chore.ts"
import * as Served from "./Served.ts"

const controller = Controller.make("chores", {
  for: Chore.Chore,
  owns: [ConfigMap],
  reconcile: () => Effect.succeed(Result.done)
})

const ready = ({ status }: Served.Answer): boolean => status === 200

describe("A manager without a permission", () => {
  Chore.real("is not ready, names the permission, and is ready with it", (place) =>
    Effect.gen(function* () {
      const { cluster, namespace } = place
      const user = yield* cluster.addUser({ name: `prober-${namespace}` })
      const metadata = { namespace, name: "prober" }
      const rule = (apiGroup: string, resource: string) => ({
        apiGroups: [apiGroup],
        resources: [resource],
        verbs: ["list", "watch"]
      })
      const first = [rule("suites.homeostat.dev", "chores")]
      yield* Client.create(Role, { metadata, rules: first })
      yield* Client.create(RoleBinding, {
        metadata,
        subjects: [{ kind: "User", name: user.user, apiGroup: "rbac.authorization.k8s.io" }],
        roleRef: { kind: "Role", name: "prober", apiGroup: "rbac.authorization.k8s.io" }
      })
      const served = yield* Served.open
      yield* served.start(user, [controller], { namespaces: [namespace] })
      const { body } = yield* Served.until(served, "/readyz/cache-configmaps", "the name of the permission", (answer) =>
        answer.body.includes("requires permission")
      )
      expect(body).toContain(`requires permission to list and watch configmaps in namespace ${namespace}`)
      yield* Client.replace(Role, { metadata, rules: [...first, rule("", "configmaps")] })
      yield* Served.until(served, "/readyz", "ready", ready)
    })
  )
})
