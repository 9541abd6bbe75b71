/**
 * The paths of a kube-apiserver that this server does not serve. It responds with 501, so that clients do not take a missing feature for a
 * missing object. `test/record/api.ts` records them from a kube-apiserver.
 */
import * as Failure from "../../model/Failure.ts"
import type { ResourcePath } from "../Path.ts"
import recorded from "./discovery.json"

/** A resource of a kube-apiserver. */
export interface Resource {
  readonly plural: string
  readonly namespaced: boolean
  readonly verbs: ReadonlyArray<string>
  readonly subresources: ReadonlyArray<{ readonly name: string; readonly verbs: ReadonlyArray<string> }>
}

/** All resources, by group and version: `apps/v1`. */
export const resources: ReadonlyMap<string, ReadonlyArray<Resource>> = new Map(Object.entries(recorded.resources))

/** All other paths, such as `/metrics`. */
export const paths: ReadonlySet<string> = new Set(recorded.paths.map((path) => path.replace(/(?<=[^/])\/$/, "")))

const groups = new Set([...resources.keys()].map((groupVersion) => groupVersion.split("/")[0]))

const groupVersionOf = ({ group, version }: Pick<ResourcePath, "group" | "version">): string =>
  group === "" ? version : `${group}/${version}`

/** Throws a Failure (501) for a resource or subresource of a kube-apiserver. Call it only if this server has neither. */
export const check = (path: Pick<ResourcePath, "group" | "version" | "plural" | "subresource">): void => {
  const { group, plural, subresource } = path
  const resource = resources.get(groupVersionOf(path))?.find((each) => each.plural === plural)
  if (resource === undefined) return
  const full = group === "" ? plural : `${plural}.${group}`
  if (subresource === "") throw Failure.notImplemented(full)
  if (resource.subresources.some(({ name }) => name === subresource)) {
    throw Failure.notImplemented(`${plural}/${subresource}${group === "" ? "" : ` of ${group}`}`)
  }
}

/** Throws a Failure (501) for a group, or a version of it, of a kube-apiserver. */
export const checkGroup = (group: string, version?: string): void => {
  if (version === undefined ? groups.has(group) : resources.has(groupVersionOf({ group, version }))) {
    throw Failure.notImplemented(version === undefined ? group : groupVersionOf({ group, version }))
  }
}

/** Throws a Failure (501) for another path of a kube-apiserver. */
export const checkPath = (path: string): void => {
  if (paths.has(path)) throw Failure.notImplemented(path)
}
