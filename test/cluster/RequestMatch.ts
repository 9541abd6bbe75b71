/** Selects the requests that a fault hits: by verb, kind, namespace, name and subresource, from the method and the path. */
import * as Path from "@homeostat/runtime/client/Path"
import type { Request } from "@homeostat/runtime/client/Request"
import type * as Resource from "@homeostat/runtime/resource/Resource"

/** A verb of a request, as in RBAC. */
export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete" | "deletecollection"

/** Selects the requests that a fault hits. An absent field matches all requests. */
export interface Match {
  readonly verb?: Verb | ReadonlyArray<Verb> | undefined
  readonly kind?: Resource.Any | undefined
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  /** The subresource, such as `status`. An empty string selects the object itself. */
  readonly subresource?: string | undefined
  /** The path without the query, for non-resource requests: `/readyz`. */
  readonly path?: string | undefined
}

/**
 * The attributes of a request.
 *
 * @internal
 */
export interface Asked {
  readonly verb: Verb
  /** The path of the collection over all namespaces: `/apis/apps/v1/deployments`. */
  readonly collection: string
  readonly namespace: string
  readonly name: string
  readonly subresource: string
  readonly path: string
}

const verbs = { POST: "create", PUT: "update", PATCH: "patch" } as const

/**
 * Returns the attributes of a request.
 *
 * @internal
 */
export const askedOf = ({ method, path }: Request): Asked => {
  const [plain = "", query = ""] = path.split("?", 2)
  const parts = plain.split("/").slice(1)
  const root = parts.splice(0, parts[0] === "api" ? 2 : 3)
  const isWithin = parts[0] === "namespaces" && parts.length > 2
  const [, namespace = ""] = isWithin ? parts.splice(0, 2) : []
  const [plural = "", name = "", ...rest] = parts
  const isWatch = new URLSearchParams(query).get("watch")
  const verb =
    method === "GET"
      ? isWatch === "true" || isWatch === "1"
        ? "watch"
        : name === ""
          ? "list"
          : "get"
      : method === "DELETE"
        ? name === ""
          ? "deletecollection"
          : "delete"
        : verbs[method]
  return {
    verb,
    collection: ["", ...root, plural].join("/"),
    namespace: decodeURIComponent(namespace),
    name: decodeURIComponent(name),
    subresource: rest.join("/"),
    path: plain
  }
}

/**
 * Returns true if a request has the attributes.
 *
 * @internal
 */
export const matches = ({ kind, verb, ...match }: Match, asked: Asked): boolean =>
  (verb === undefined || (typeof verb === "string" ? verb === asked.verb : verb.includes(asked.verb))) &&
  (kind === undefined || Path.collection(kind).path === asked.collection) &&
  (["namespace", "name", "subresource", "path"] as const).every(
    (field) => match[field] === undefined || match[field] === asked[field]
  )
