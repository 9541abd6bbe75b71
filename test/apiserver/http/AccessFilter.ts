/**
 * The access control of each request: it finds the user, replaces this user by the impersonated one, and checks the permission.
 */

import type { Impersonation } from "../access/Impersonation.ts"
import * as Wanted from "../access/Impersonation.ts"
import { type Authorizer, forbidden, isPrivileged } from "../model/Authorizer.ts"
import type { User } from "../model/User.ts"
import type { Exchange } from "./Exchange.ts"
import type { ResourcePath } from "./Path.ts"
import * as RequestAttributes from "./RequestAttributes.ts"

/** The authorizer and the impersonation of a server. */
export interface Access {
  readonly authorizer: Authorizer
  readonly impersonation: Impersonation
}

/** The user after impersonation. Throws a Failure (400, 403). `resource` is undefined for paths without a resource. */
export const allowed = (access: Access, exchange: Exchange, resource: ResourcePath | undefined): User => {
  const { user } = exchange
  const wanted = Wanted.wantedOf(exchange.request.headers)
  if (wanted === undefined && isPrivileged(user)) return user
  const request = requestOf(exchange, user, resource)
  const impersonated = wanted === undefined ? user : access.impersonation.impersonated(wanted, request)
  const decided = { ...request, user: impersonated }
  const { allowed, reason } = access.authorizer.authorize(decided)
  if (!allowed) throw forbidden(decided, reason)
  return impersonated
}

const requestOf = (
  { request: { method }, target: { path, query } }: Exchange,
  user: User,
  resource: ResourcePath | undefined
) =>
  resource === undefined
    ? RequestAttributes.ofPath(user, method, path)
    : RequestAttributes.ofResource(user, method, resource, query)
