/** Somebody with the rights that the WebApp controller needs in one namespace, who can lose them. */
import * as Client from "@homeostat/runtime/client/Client"
import { Role, RoleBinding } from "@homeostat/runtime/resource/BuiltIn"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import type { User } from "@homeostat/testkit/envtest/User"
import { Effect } from "effect"

/** The user, and whether they may. */
export interface Granted {
  readonly user: User
  /** Takes every right away. */
  readonly revoke: Effect.Effect<unknown, unknown, Client.Client>
  /** Gives them (back). */
  readonly grant: Effect.Effect<unknown, unknown, Client.Client>
}

const rule = (group: string, resources: string, verbs: string) => ({
  apiGroups: [group],
  resources: resources.split(" "),
  verbs: verbs.split(" ")
})

/** What the head of `controllers/webapp/controller.ts` says. */
const rules = [
  rule("apps.kubedojo.io", "webapps", "get list watch patch"),
  rule("apps.kubedojo.io", "webapps/status", "patch"),
  rule("apps", "deployments", "get list watch patch create"),
  rule("", "services", "get list watch patch create"),
  rule("", "pods", "list watch"),
  rule("autoscaling", "horizontalpodautoscalers", "list watch"),
  rule("events.k8s.io", "events", "create patch")
]

/** A new user, in no group that is exempt from anything, with the rights in this namespace. */
export const user = (cluster: ControlPlane, namespace: string): Effect.Effect<Granted, unknown, Client.Client> =>
  Effect.gen(function* () {
    const user = yield* cluster.addUser({ name: `manager-${namespace}` })
    const metadata = { namespace, name: "manager" }
    const grant = Client.create(RoleBinding, {
      metadata,
      subjects: [{ kind: "User", name: user.user, apiGroup: "rbac.authorization.k8s.io" }],
      roleRef: { kind: "Role", name: "manager", apiGroup: "rbac.authorization.k8s.io" }
    })
    yield* Client.create(Role, { metadata, rules })
    yield* grant
    return { user, grant, revoke: Client.delete(RoleBinding, metadata) }
  })
