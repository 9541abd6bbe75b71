/** The object, or the objects, of a request, from its method and path. */
import type { Request } from "../client/Request.ts"
import type { Collection } from "./Simulation.ts"

/** The target of a request. */
export interface Target extends Collection {
  /** Empty for all namespaces, and for kinds without namespaces. */
  readonly namespace: string
  /** Empty for all objects. */
  readonly name: string
  /** Empty for the object itself. */
  readonly subresource: string
  readonly query: URLSearchParams
}

/** The target of a request; undefined for a path that is not of objects, such as `/version`. */
export const of = ({ path }: Pick<Request, "path">): Target | undefined => {
  const [plain = "", query = ""] = path.split("?", 2)
  const parts = plain.split("/").slice(1).map(decodeURIComponent)
  const isCore = parts[0] === "api"
  if (!isCore && parts[0] !== "apis") return undefined
  const [group = "", version = ""] = isCore ? ["", parts[1]] : parts.slice(1, 3)
  const rest = parts.slice(isCore ? 2 : 3)
  // `/api/v1/namespaces/shop` is the object; its subresources are `status` and `finalize`.
  const isWithin = rest[0] === "namespaces" && rest.length > 2 && rest[2] !== "status" && rest[2] !== "finalize"
  const [plural = "", name = "", ...subresource] = isWithin ? rest.slice(2) : rest
  if (plural === "") return undefined
  return {
    group,
    version,
    plural,
    namespace: isWithin ? (rest[1] ?? "") : "",
    name,
    subresource: subresource.join("/"),
    query: new URLSearchParams(query)
  }
}

/** Whether a collection is that of Secrets. */
export const isSecrets = ({ group, plural }: Pick<Collection, "group" | "plural">): boolean =>
  group === "" && plural === "secrets"

/** The path of a collection, in one namespace or in all. */
export const collectionPath = ({ group, namespace, plural, version }: Omit<Target, "name" | "subresource" | "query">) =>
  [
    group === "" ? `/api/${version}` : `/apis/${group}/${version}`,
    ...(namespace === "" ? [] : ["namespaces", encodeURIComponent(namespace)]),
    plural
  ].join("/")

/** The path of an object, without a subresource. */
export const objectPath = (target: Omit<Target, "subresource" | "query">): string =>
  `${collectionPath(target)}/${encodeURIComponent(target.name)}`

/** The key of an object in all versions of its kind. */
export const keyOf = ({ group, name, namespace, plural }: Omit<Target, "version" | "subresource" | "query">): string =>
  `${plural}.${group} ${namespace}/${name}`
