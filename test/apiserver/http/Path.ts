/**
 * Reading a request's path: which resource, namespace, object and subresource it names, in the forms of Kubernetes:
 * `/api/v1/…`, `/apis/GROUP/VERSION/…`, `…/namespaces/NAMESPACE/RESOURCE/NAME/SUBRESOURCE`, and `watch/` before the resource.
 */

/** A path to objects of one resource. */
export interface ResourcePath {
  readonly group: string
  readonly version: string
  /** The namespace that the objects are in; empty where the path names none. */
  readonly namespace: string
  readonly plural: string
  /** Empty: all objects. */
  readonly name: string
  readonly subresource: string
  /** The path after the subresource. */
  readonly rest: ReadonlyArray<string>
  /** Whether it is one of the old paths that are watches by themselves. */
  readonly watch: boolean
}

/** A request's target in its two parts. */
export interface Target {
  readonly path: string
  readonly query: URLSearchParams
}

/** Splits a target at its query. */
export const target = (text: string): Target => {
  const at = text.indexOf("?")
  return at < 0
    ? { path: text, query: new URLSearchParams() }
    : { path: text.slice(0, at), query: new URLSearchParams(text.slice(at + 1)) }
}

/**
 * The parts of a path, decoded, without the slash at its end. One that does not begin with a slash, or with two, has an empty
 * part there, and leads nowhere. Undefined for a path that cannot be decoded.
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

/** The resource that the parts of a path lead to; undefined when they lead to something else. */
export const resource = (parts: ReadonlyArray<string>): ResourcePath | undefined => {
  const [prefix = "", first = "", second = ""] = parts
  const all = parts.slice(0, parts.findLastIndex((part) => part !== "") + 1)
  if (prefix === "api" && all.length >= 3) return resourcePath("", first, all.slice(2))
  return prefix === "apis" && first !== "" && all.length >= 4 ? resourcePath(first, second, all.slice(3)) : undefined
}

/** The paths after the name of a namespace that are not resources inside of it. */
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
