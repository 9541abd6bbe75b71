/**
 * Asks the API server, before anything depends on it, whether we may do what the controllers need: a SelfSubjectAccessReview
 * for each permission in each namespace. What is missing is said in one line: what can't be done where, who needs it, and the
 * rule to add.
 *
 * Needs no right that not every account has (`system:basic-user`).
 */
import * as Effect from "effect/Effect"
import type * as ApiError from "../client/ApiError.ts"
import * as Client from "../client/Client.ts"
import { SelfSubjectAccessReview } from "../resource/BuiltIn.ts"
import type { InvalidObject } from "../resource/Resource.ts"
import type { Permission } from "./Permission.ts"
import * as Rbac from "./Rbac.ts"

/** Few enough not to be felt by a server that others need too; all together they take some hundredths of a second. */
const concurrency = 8

/** Those of the permissions that are not granted. */
export const missing = (
  permissions: ReadonlyArray<Permission>
): Effect.Effect<ReadonlyArray<Permission>, ApiError.ApiError | InvalidObject, Client.Client> =>
  Effect.map(
    Effect.forEach(permissions, (permission) => Effect.map(isGranted(permission), (is) => (is ? [] : [permission])), {
      concurrency
    }),
    (found) => found.flat()
  )

const isGranted = ({ group, name, namespace, resource, verb }: Permission) => {
  const [plural = "", subresource] = resource.split("/")
  return Effect.map(
    Client.create(SelfSubjectAccessReview, {
      metadata: {},
      spec: {
        resourceAttributes: {
          verb,
          group,
          resource: plural,
          ...(subresource === undefined ? {} : { subresource }),
          ...(name === undefined ? {} : { name }),
          ...(namespace === undefined ? {} : { namespace })
        }
      }
    }),
    ({ status }) => status?.allowed === true
  )
}

/** One line: what can't be done where, who needs it, and the rule that would allow it. */
export const describe = (permission: Permission): string => {
  const { by, group, name, namespace, resource, verb } = permission
  const [plural = "", subresource] = resource.split("/")
  const kind = `${plural}${group === "" ? "" : `.${group}`}${subresource === undefined ? "" : `/${subresource}`}`
  const what = `cannot ${verb} ${kind}${name === undefined ? "" : ` ${name}`}`
  const where = namespace === undefined ? "in the whole cluster" : `in namespace ${namespace}`
  const role = namespace === undefined ? "a ClusterRole" : `a Role there`
  const rules = Rbac.rulesOf([permission]).map((rule) => JSON.stringify(rule))
  return `${what} ${where}, which ${by.join(" and ")} needs: add to ${role} ${rules.join()}`
}

/**
 * Warns of each permission that is missing, and of nothing else: an answer that doesn't come is told by those who need one.
 * Controllers may start meanwhile. What they lack they find out for themselves, and recover from when it is granted.
 */
export const warn = (permissions: ReadonlyArray<Permission>): Effect.Effect<void, never, Client.Client> =>
  missing(permissions).pipe(
    Effect.map((permissions) => permissions.map((permission) => Effect.logWarning(describe(permission)))),
    Effect.flatMap((lines) => Effect.all(lines, { discard: true })),
    Effect.catchAll((error) => Effect.logDebug(`The API server was not asked for our rights: ${error.message}`))
  )
