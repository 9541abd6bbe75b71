/** A server that answers discovery and OpenAPI as the embedded one does, and asks a kube-apiserver for all else. */
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import type * as J from "@homeostat/testkit/server/Json"
import type { Kind } from "@homeostat/testkit/server/Kind"
import * as Discovery from "@homeostat/testkit/server/openapi/Discovery"
import * as OpenApi from "@homeostat/testkit/server/openapi/OpenApi"
import { Effect, type Scope } from "effect"

/** What was asked of it, and where it is. */
export interface Front {
  readonly url: string
  /** `GET /apis: ACCEPT` of what it answered itself; method and path of what it passed on. */
  readonly asked: Array<string>
}

/** Starts it, for these kinds. */
export const start = ({ admin }: ControlPlane, kinds: ReadonlyArray<Kind>): Effect.Effect<Front, never, Scope.Scope> =>
  Effect.gen(function* () {
    const asked: Array<string> = []
    const server = yield* Effect.acquireRelease(
      Effect.sync(() =>
        Bun.serve({
          port: 0,
          hostname: "127.0.0.1",
          fetch: async (request) => {
            const url = new URL(request.url)
            const accept = request.headers.get("accept") ?? undefined
            const own = answer(kinds, url, request.headers)
            asked.push(`${request.method} ${url.pathname}${url.search}${own === undefined ? "" : `: ${accept}`}`)
            if (own !== undefined) return own
            const { ca, cert, key } = admin
            const headers = new Headers(request.headers)
            headers.delete("host")
            return fetch(`${admin.server}${url.pathname}${url.search}`, {
              method: request.method,
              headers,
              body: request.body === null ? null : await request.text(),
              tls: {
                ...(ca === undefined ? {} : { ca }),
                ...(cert === undefined ? {} : { cert }),
                ...(key === undefined ? {} : { key })
              }
            })
          }
        })
      ),
      (server) => Effect.promise(() => server.stop(true))
    )
    return { url: `http://127.0.0.1:${server.port}`, asked }
  })

const answer = (kinds: ReadonlyArray<Kind>, url: URL, headers: Headers): Response | undefined => {
  const accept = headers.get("accept") ?? undefined
  if (url.pathname.startsWith("/openapi/v2")) return new Response("404 page not found\n", { status: 404 })
  if (url.pathname.startsWith("/openapi/v3")) {
    const { body, ...rest } = OpenApi.answer(kinds, {
      path: url.pathname,
      hash: url.searchParams.get("hash") ?? undefined,
      accept,
      ifNoneMatch: headers.get("if-none-match") ?? undefined,
      now: Date.now()
    })
    return new Response(body, rest)
  }
  const [, root, group, version, ...rest] = url.pathname.split("/")
  if (rest.length > 0 || (root !== "api" && root !== "apis")) return undefined
  if (group === undefined) {
    const form = Discovery.formOf(accept)
    if (form === undefined) return new Response("", { status: 406 })
    if (form.aggregated) return json(Discovery.aggregated(kinds, root), Discovery.aggregatedType)
    return json(root === "api" ? Discovery.apiVersions(url.host) : Discovery.apiGroupList(kinds))
  }
  if (root === "api") return version === undefined ? json(Discovery.apiResourceList(kinds, "", group)) : undefined
  return json(
    version === undefined ? Discovery.apiGroup(kinds, group) : Discovery.apiResourceList(kinds, group, version)
  )
}

const json = (body: J.JsonObject | undefined, type = "application/json"): Response =>
  body === undefined
    ? new Response("404 page not found\n", { status: 404 })
    : new Response(JSON.stringify(body), { headers: { "content-type": type } })
