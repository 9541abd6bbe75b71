/** A user with the permissions of the WebApp controller in one namespace, which a test can revoke. */
import * as Client from "@homeostat/runtime/client/Client"
import * as Permissions from "@homeostat/runtime/manager/Permissions"
import * as Rbac from "@homeostat/runtime/manager/Rbac"
import { Role, RoleBinding } from "@homeostat/runtime/resource/BuiltIn"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import type { User } from "@homeostat/testkit/envtest/User"
import { controller } from "@homeostat/webapp"
import { Effect } from "effect"

/** A user, and the effects that grant and revoke the user's permissions. */
export interface Granted {
  readonly user: User
  /** Revokes all permissions of the user. */
  readonly revoke: Effect.Effect<unknown, unknown, Client.Client>
  /** Grants the permissions again. */
  readonly grant: Effect.Effect<unknown, unknown, Client.Client>
}

/** The rules of the Role that `homeostat rbac` prints for one namespace. */
const rules = Rbac.rulesOf(Permissions.ofControllers([controller], { installCrds: false, namespaces: [] }))

/**
 * Creates a user with these permissions in the namespace. The user belongs to no group that bypasses authorization or flow control.
 */
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
