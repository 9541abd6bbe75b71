/**
 * Parses the path of a request into resource, namespace, name and subresource. The forms are `/api/v1/…`, `/apis/GROUP/VERSION/…`,
 * `…/namespaces/NAMESPACE/RESOURCE/NAME/SUBRESOURCE`, and `watch/` before the resource.
 */

/** A path to objects of one resource. */
export interface ResourcePath {
  readonly group: string
  readonly version: string
  /** The namespace of the objects; empty if the path has no namespace. */
  readonly namespace: string
  readonly plural: string
  /** The name of the object; empty for all objects. */
  readonly name: string
  readonly subresource: string
  /** The path after the subresource. */
  readonly rest: ReadonlyArray<string>
  /** True for the deprecated paths that begin with `watch/`. */
  readonly watch: boolean
}

/** The path and the query of a request. */
export interface Target {
  readonly path: string
  readonly query: URLSearchParams
}

/** Splits a request target into the path and the query. */
export const target = (text: string): Target => {
  const at = text.indexOf("?")
  return at < 0
    ? { path: text, query: new URLSearchParams() }
    : { path: text.slice(0, at), query: new URLSearchParams(text.slice(at + 1)) }
}

/**
 * The decoded segments of a path, without a slash at the end. A path without a slash at the beginning, or with two, has an empty first
 * segment, and matches no route. Undefined if the path cannot be decoded.
 */
export const parts = (path: string): ReadonlyArray<string> | undefined => {
  try {
    const decoded = decodeURIComponent(path)
    if (decoded === "/") return []
    if (!decoded.startsWith("/")) return ["", decoded]
    return decoded
      .slice(1)
      .replace(/(?<=[^/])\/$/, "")
      .split("/")
  } catch {
    return undefined
  }
}

/** The resource that a path names; undefined if the path does not name a resource. */
export const resource = (parts: ReadonlyArray<string>): ResourcePath | undefined => {
  const [prefix = "", first = "", second = ""] = parts
  const all = parts.slice(0, parts.findLastIndex((part) => part !== "") + 1)
  if (prefix === "api" && all.length >= 3) return resourcePath("", first, all.slice(2))
  return prefix === "apis" && first !== "" && all.length >= 4 ? resourcePath(first, second, all.slice(3)) : undefined
}

/** The segments after the name of a namespace that are subresources of the Namespace. */
const namespaceSubresources: ReadonlySet<string> = new Set(["status", "finalize"])

const resourcePath = (group: string, version: string, all: ReadonlyArray<string>): ResourcePath | undefined => {
  const watch = all[0] === "watch"
  const [first = "", second = "", third = "", ...others] = watch ? all.slice(1) : all
  if (first === "") return undefined
  if (first === "namespaces" && (second !== "" || third !== "")) {
    const inside = third !== "" && !namespaceSubresources.has(third)
    if (inside) return named(group, version, watch, second, [third, ...others])
    return named(group, version, watch, "", [first, second, third, ...others])
  }
  return named(group, version, watch, "", [first, second, third, ...others])
}

const named = (
  group: string,
  version: string,
  watch: boolean,
  namespace: string,
  [plural = "", name = "", subresource = "", ...rest]: ReadonlyArray<string>
): ResourcePath => ({ group, version, namespace, plural, name, subresource, rest, watch })
