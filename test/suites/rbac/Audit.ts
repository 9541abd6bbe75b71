/** What somebody asked of an API server, by its audit log. */
import { readFile } from "node:fs/promises"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import { Effect } from "effect"

/** A request that was answered, or that is being answered: a watch. */
export interface Entry {
  readonly verb: string
  /** As rules name it, with its group: `deployments apps`, `webapps/status apps.kubedojo.io`. */
  readonly resource: string
  readonly namespace: string | undefined
  readonly code: number
  readonly uri: string
}

// The part of `audit.k8s.io/v1` Event that matters here.
interface Line {
  readonly verb: string
  readonly requestURI: string
  readonly user: { readonly username: string }
  readonly objectRef?: {
    readonly apiGroup?: string
    readonly resource: string
    readonly subresource?: string
    readonly namespace?: string
  }
  readonly responseStatus?: { readonly code?: number }
}

/** All requests of a user for objects, oldest first; questions about the user's own rights, which everybody may ask, left out. */
export const of = (cluster: ControlPlane, username: string): Effect.Effect<ReadonlyArray<Entry>> =>
  Effect.promise(async () => {
    const text = await readFile(cluster.auditLogPath ?? "", "utf8")
    return text
      .split("\n")
      .filter((line) => line.includes(username) && line.endsWith("}"))
      .map((line): Line => JSON.parse(line))
      .flatMap(({ objectRef, requestURI, responseStatus, user, verb }) => {
        if (user.username !== username || objectRef === undefined) return []
        const { apiGroup = "", namespace, resource, subresource } = objectRef
        if (resource === "selfsubjectaccessreviews" || resource === "selfsubjectrulesreviews") return []
        const name = subresource === undefined ? resource : `${resource}/${subresource}`
        return [{ verb, resource: `${name} ${apiGroup}`, namespace, code: responseStatus?.code ?? 0, uri: requestURI }]
      })
  })

/** The rights that the requests took, each once, sorted: `patch webapps/status apps.kubedojo.io`. */
export const rights = (entries: ReadonlyArray<Entry>): ReadonlyArray<string> =>
  distinct(
    entries.flatMap(({ code, resource, uri, verb }) => [
      `${verb} ${resource}`,
      // A watch that begins with the state takes the place of a list, which servers that have none such are asked for.
      ...(uri.includes("sendInitialEvents=true") ? [`list ${resource}`] : []),
      // A server-side apply is logged as a patch; one that makes the object takes both.
      ...(verb === "patch" && code === 201 ? [`create ${resource}`] : [])
    ])
  )

/** Each once, sorted. */
export const distinct = (texts: ReadonlyArray<string>): ReadonlyArray<string> => [...new Set(texts)].sort()
