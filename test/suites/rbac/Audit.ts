/** The requests of a user in the audit log of an API server. */
import { readFile } from "node:fs/promises"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import { Effect } from "effect"

/** A request. */
export interface Entry {
  readonly verb: string
  /** The resource and its group, such as `deployments apps` or `webapps/status apps.kubedojo.io`. */
  readonly resource: string
  readonly namespace: string | undefined
  readonly code: number
  readonly uri: string
}

/** A part of an Event of `audit.k8s.io/v1`. */
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

/** All requests of a user for objects, oldest first, without reviews of the user's own permissions. */
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

/** The distinct permissions that the requests need, sorted: `patch webapps/status apps.kubedojo.io`. */
export const permissions = (entries: ReadonlyArray<Entry>): ReadonlyArray<string> =>
  distinct(
    entries.flatMap(({ code, resource, verb }) => [
      `${verb} ${resource}`,
      // The log has a server-side apply as a patch. One that creates the object needs both permissions.
      ...(verb === "patch" && code === 201 ? [`create ${resource}`] : [])
    ])
  )

export const distinct = (texts: ReadonlyArray<string>): ReadonlyArray<string> => [...new Set(texts)].sort()
