/** Routes requests about objects to a verb, by path and method. */

import * as Failure from "../model/Failure.ts"
import type { Kind, Verb } from "../model/Kind.ts"
import * as Query from "../rest/Query.ts"
import type * as Exchange from "./Exchange.ts"
import * as Unserved from "./openapi/Unserved.ts"
import type { ResourcePath } from "./Path.ts"
import type { RequestScope } from "./RequestScope.ts"
import * as Resources from "./Resources.ts"
import * as Subresources from "./Subresources.ts"

/** Handles a request about objects; undefined if no route has this path. Throws a Failure. */
export const answer = (
  scope: RequestScope,
  exchange: Exchange.Exchange,
  path: ResourcePath
): Resources.Answer | undefined => {
  const kind = scope.state.registry.find(path.group, path.version, path.plural)
  if (kind === undefined) {
    Unserved.check(path)
    return missing(scope, path.group)
  }
  const { method } = exchange.request
  const collection = path.name === ""
  if (method === "HEAD" && !kind.custom) throw Failure.noSuchMethod()
  const verb = verbOf(method, collection)
  if (!isThere(kind, path, verb)) return missing(scope, path.group)
  if (kind.deprecation !== undefined) exchange.warnings.add(kind.deprecation)
  Query.checkTimeout(exchange.target.query)
  const request = { scope, exchange, kind, path }
  if (path.subresource !== "") return Subresources.answer(request, method)
  if (path.watch) return Resources.list(request, true)
  if (verb === undefined || !allows(kind, path, verb)) {
    throw kind.custom ? Failure.methodNotAllowed(kind, verb ?? "") : Failure.noSuchMethod()
  }
  switch (verb) {
    case "get":
      return Resources.get(request)
    case "list":
      return Resources.list(request, false)
    case "create":
      return Resources.create(request)
    case "update":
      return Resources.update(request)
    case "patch":
      return Resources.patch(request)
    case "delete":
      return Resources.remove(request)
    default:
      return Resources.removeAll(request)
  }
}

/** Built-in APIs respond to an unknown path with a Status. Other unknown paths have no handler. */
const missing = (scope: RequestScope, group: string): undefined => {
  if (scope.builtInGroups.has(group)) throw Failure.noSuchPath()
  return undefined
}

const verbOf = (method: string, collection: boolean): Verb | undefined => {
  switch (method) {
    case "GET":
    case "HEAD":
      return collection ? "list" : "get"
    case "POST":
      return "create"
    case "PUT":
      return "update"
    case "PATCH":
      return "patch"
    case "DELETE":
      return collection ? "deletecollection" : "delete"
    default:
      return undefined
  }
}

/** True if the path names a resource. Its namespace must agree with the scope of the kind. */
const isThere = (kind: Kind, path: ResourcePath, verb: Verb | undefined): boolean => {
  if (path.namespace !== "" && !kind.namespaced) return false
  if (!kind.custom && path.rest.length > 0) return false
  const across = path.namespace === "" && kind.namespaced
  if (!across || verb === "list") return true
  return !kind.custom && path.name === "" && path.subresource === ""
}

/** True if the path allows the method. Built-in APIs have a route for each method; handlers of custom kinds check it later. */
const allows = (kind: Kind, path: ResourcePath, verb: Verb): boolean => {
  if (!kind.verbs.includes(verb)) return false
  if (kind.custom) return true
  const collection = path.name === ""
  const across = collection && path.namespace === "" && kind.namespaced
  if (across) return verb === "list"
  return collection === (verb === "list" || verb === "create" || verb === "deletecollection")
}
