/** The objects that one manager writes although another one has converged them. Pure, except for the map of the writers. */
import * as Fields from "@homeostat/runtime/plan/Fields"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import type { Result } from "./Driver.ts"

/** The manager that wrote last, by the plural of the kind. */
export type Writers = Map<string, string>

/** The first written object of a kind, before and after, and the number of written objects. */
interface Written {
  readonly resource: string
  readonly count: number
  readonly before: KubernetesObject | null
  readonly after: KubernetesObject
}

/** The most fields that a message shows of an object. */
const most = 5

/** Notes the kinds that the manager wrote in a run. */
export const note = (writers: Writers, manager: string, { manager_requests: requests }: Result): void => {
  for (const request of writesOf(requests)) {
    const [, resource = ""] = /^\S+ ([^/]*)/.exec(request) ?? []
    writers.set(resource, manager)
  }
}

/** The writes among the counted requests, such as `APPLY services`. */
const writesOf = (requests: unknown): ReadonlyArray<string> =>
  Object.keys(requests ?? {}).filter((request) => !/^(GET|LIST) /.test(request))

/**
 * Names the objects that the manager wrote in a run, and the fields whose values it and the manager before it do not agree about.
 * Undefined if it wrote nothing.
 */
export const of = (writers: Writers, manager: string, result: Result): string | undefined => {
  const writes = Number(result.manager_writes ?? 0)
  if (writes === 0) return undefined
  const lines = ((result.written ?? []) as ReadonlyArray<Written>).map((each) => lineOf(writers, manager, each))
  return [`${manager} wrote ${writes} times, although all objects were converged (let all managers write the same)`]
    .concat(lines.length === 0 ? [`no object changed by ${writesOf(result.manager_requests).join(", ")}`] : lines)
    .join("; ")
}

const lineOf = (writers: Writers, manager: string, { after, before, count, resource }: Written): string => {
  const { kind = "", metadata } = after
  const object = `${count} ${resource}, such as ${kind} ${metadata.namespace}/${metadata.name}`
  const former = writers.get(resource) ?? "another manager"
  if (before === null) return `${object}: ${manager} created it`
  const fields = Fields.between(kind, before, after)
  const shown = fields
    .slice(0, most)
    .map(({ path, from, to }) => `${path}: ${manager} wrote ${textOf(to)}, ${former} left ${textOf(from)}`)
  const rest = fields.length > most ? [`and ${fields.length - most} more fields`] : []
  return `${object}: ${[...shown, ...rest].join(", ") || "only metadata that the API server sets"}`
}

const textOf = (value: Fields.Field["to"]): string => (value === undefined ? "nothing" : JSON.stringify(value))
