/** URL paths of kinds, and their templates for traces. */
import type { ObjectKey } from "../resource/KubernetesObject.ts"
import type * as Resource from "../resource/Resource.ts"

/** A path, and its template with the variable parts in braces. */
export interface Path {
  readonly path: string
  readonly template: string
}

const root = (resource: Resource.Any): string =>
  resource.group === "" ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`

/**
 * Whether a name is valid in a path. An empty name would address the whole collection, and fetch resolves dots: a DELETE of `..`
 * would delete the namespace.
 */
export const isName = (name: string): boolean => name !== "" && name !== "." && name !== ".." && !/[/%]/.test(name)

/** All objects of a kind in one namespace; without one, in all namespaces. */
export const collection = (resource: Resource.Any, namespace?: string | undefined): Path =>
  resource.namespaced && namespace !== undefined && namespace !== ""
    ? {
        path: `${root(resource)}/namespaces/${encodeURIComponent(namespace)}/${resource.plural}`,
        template: `${root(resource)}/namespaces/{ns}/${resource.plural}`
      }
    : { path: `${root(resource)}/${resource.plural}`, template: `${root(resource)}/${resource.plural}` }

/** One object, or its subresource. Ignores the namespace of a key for a cluster-scoped kind. */
export const object = (resource: Resource.Any, key: ObjectKey, subresource?: string | undefined): Path => {
  const { path, template } = collection(resource, key.namespace)
  const tail = subresource === undefined ? "" : `/${subresource}`
  return { path: `${path}/${encodeURIComponent(key.name)}${tail}`, template: `${template}/{name}${tail}` }
}

/** The template of any path, without the query: names of objects, and all segments after a subresource, in braces. */
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

/** The parameters with a value as a query, including `?`; empty without parameters. */
export const query = (parameters: { readonly [name: string]: string | number | boolean | undefined }): string => {
  const pairs: Array<string> = []
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== "") pairs.push(`${name}=${encodeURIComponent(value)}`)
  }
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`
}
