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

/** The parameters that have a value as a query, `?` included; empty when none has. */
export const query = (parameters: { readonly [name: string]: string | number | boolean | undefined }): string => {
  const pairs: Array<string> = []
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== "") pairs.push(`${name}=${encodeURIComponent(value)}`)
  }
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`
}
