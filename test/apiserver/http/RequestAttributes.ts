/**
 * The attributes of a request for authorization, from its method, path and query, as a kube-apiserver reads them.
 */

import type { AccessRequest } from "../model/Authorizer.ts"
import type { User } from "../model/User.ts"
import * as FieldSelector from "../storage/FieldSelector.ts"
import type { ResourcePath } from "./Path.ts"

/** The request for a path without a resource. */
export const ofPath = (user: User, method: string, path: string): AccessRequest => ({
  user,
  verb: method.toLowerCase(),
  resource: undefined,
  path
})

/** The request for a path to objects. */
export const ofResource = (user: User, method: string, path: ResourcePath, query: URLSearchParams): AccessRequest => {
  const { group, plural, subresource } = path
  // A kube-apiserver counts a Namespace as an object inside of itself.
  const namespace = group === "" && plural === "namespaces" ? path.name : path.namespace
  const verb = path.watch ? "watch" : (verbs[method] ?? "")
  const selects = path.name === "" && ["get", "watch", "delete"].includes(verb)
  return {
    user,
    verb: path.name === "" ? ofCollection(verb, query) : verb,
    resource: {
      group,
      resource: plural,
      subresource,
      namespace,
      name: selects ? selectedName(query) : path.name
    },
    path: ""
  }
}

const verbs: { readonly [method: string]: string } = {
  GET: "get",
  HEAD: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete"
}

const ofCollection = (verb: string, query: URLSearchParams): string => {
  if (verb === "delete") return "deletecollection"
  if (verb !== "get") return verb
  const watch = query.get("watch")
  return watch === null || ["false", "0"].includes(watch.toLowerCase()) ? "list" : "watch"
}

/** The only name that the fieldSelector of a list can match; empty: it is malformed, or can match several. */
const selectedName = (query: URLSearchParams): string => {
  const selector = query.get("fieldSelector")
  if (selector === null) return ""
  try {
    const name = FieldSelector.exactly(FieldSelector.parse(selector), "metadata.name") ?? ""
    return name === "." || name === ".." || /[/%]/.test(name) ? "" : name
  } catch {
    return ""
  }
}
