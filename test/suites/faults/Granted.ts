/** Somebody with the rights that the WebApp controller needs in one namespace, who can lose them. */
import * as Client from "@homeostat/runtime/client/Client"
import * as Permissions from "@homeostat/runtime/manager/Permissions"
import * as Rbac from "@homeostat/runtime/manager/Rbac"
import { Role, RoleBinding } from "@homeostat/runtime/resource/BuiltIn"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import type { User } from "@homeostat/testkit/envtest/User"
import { controller } from "@homeostat/webapp"
import { Effect } from "effect"

/** The user, and whether they may. */
export interface Granted {
  readonly user: User
  /** Takes every right away. */
  readonly revoke: Effect.Effect<unknown, unknown, Client.Client>
  /** Gives them (back). */
  readonly grant: Effect.Effect<unknown, unknown, Client.Client>
}

/** What `homeostat rbac` grants in a namespace. */
const rules = Rbac.rulesOf(Permissions.ofControllers([controller], { installCrds: false, namespaces: [] }))

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
