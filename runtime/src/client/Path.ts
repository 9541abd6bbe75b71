/**
 * Where the API server serves a kind: URLs, and the templates that name them in traces.
 */
import type { ObjectKey } from "../resource/KubernetesObject.ts"
import type * as Resource from "../resource/Resource.ts"

/** A path, and the same with its variable parts in braces. */
export interface Path {
  readonly path: string
  readonly template: string
}

const root = (resource: Resource.Any): string =>
  resource.group === "" ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`

/**
 * Whether a name can stand in a path. An empty one would address the whole collection, and fetch resolves dots: a DELETE of
 * `..` would be one of the namespace.
 */
export const isName = (name: string): boolean => name !== "" && name !== "." && name !== ".." && !/[/%]/.test(name)

/** All objects of a kind, in one namespace or, without one, in all. */
export const collection = (resource: Resource.Any, namespace?: string | undefined): Path =>
  resource.namespaced && namespace !== undefined && namespace !== ""
    ? {
        path: `${root(resource)}/namespaces/${encodeURIComponent(namespace)}/${resource.plural}`,
        template: `${root(resource)}/namespaces/{ns}/${resource.plural}`
      }
    : { path: `${root(resource)}/${resource.plural}`, template: `${root(resource)}/${resource.plural}` }

/** One object, or a subresource of it. The namespace of a key is ignored for a cluster-scoped kind. */
export const object = (resource: Resource.Any, key: ObjectKey, subresource?: string | undefined): Path => {
  const { path, template } = collection(resource, key.namespace)
  const tail = subresource === undefined ? "" : `/${subresource}`
  return { path: `${path}/${encodeURIComponent(key.name)}${tail}`, template: `${template}/{name}${tail}` }
}

/** The template of any path, without its query: names of objects, and all that follows a subresource, in braces. */
export const templateOf = (path: string): string => {
  const [prefix = "", ...rest] = (path.split(/[?#]/, 1)[0] ?? "").split("/").filter((part) => part !== "")
  if (prefix !== "api" && prefix !== "apis") return `/${prefix}${rest.length === 0 ? "" : "/{path}"}`
  const place = rest.splice(0, prefix === "api" ? 1 : 2)
  // `/api/v1/namespaces/a` is an object of the kind Namespace.
  const isWithin = rest[0] === "namespaces" && rest.length > 2
  const within = isWithin ? ["namespaces", "{ns}"] : []
  const [plural, name, subresource, ...tail] = isWithin ? rest.slice(2) : rest
  const parts = [plural, name && "{name}", subresource, tail.length === 0 ? undefined : "{path}"]
  return ["", prefix, ...place, ...within, ...parts.filter((part) => part !== undefined)].join("/")
}

/** The parameters that have a value as a query, `?` included; empty when none has. */
export const query = (parameters: { readonly [name: string]: string | number | boolean | undefined }): string => {
  const pairs: Array<string> = []
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== "") pairs.push(`${name}=${encodeURIComponent(value)}`)
  }
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`
}
