/** A transport that cannot write: it passes on reads, questions about permissions, and dry runs if they are allowed. */
import * as Effect from "effect/Effect"
import { infoOf, type Request } from "../client/Request.ts"
import * as Transport from "../client/Transport.ts"
import * as Target from "./Target.ts"

/** Whether the request creates a review: a question to the API server, which stores nothing. */
export const isReview = ({ method, path }: Pick<Request, "method" | "path">): boolean =>
  method === "POST" &&
  /^\/apis\/(authorization|authentication)\.k8s\.io\/[^/]+\/(self)?subject|^\/apis\/authentication\.k8s\.io\/[^/]+\/tokenreviews\b/.test(
    path
  )

/** Whether the API server certainly treats the request as a dry run. */
const isDryRun = ({ body = "", method, path }: Request): boolean => {
  if (method !== "DELETE") return Target.of({ path })?.query.getAll("dryRun").join() === "All"
  try {
    const options: unknown = JSON.parse(body)
    return (
      typeof options === "object" && options !== null && JSON.stringify(Reflect.get(options, "dryRun")) === '["All"]'
    )
  } catch {
    return false
  }
}

/** The transport. A request that would write is a defect. */
export const of = (
  transport: Transport.Transport["Service"],
  options: { readonly dryRuns: boolean }
): Transport.Transport["Service"] => {
  const check = (request: Request): Effect.Effect<void> => {
    const isAllowed = request.method === "GET" || isReview(request) || (options.dryRuns && isDryRun(request))
    if (isAllowed) return Effect.void
    const { method, path } = infoOf(request)
    return Effect.die(new Error(`a plan must not write: ${method} ${path}`))
  }
  return Transport.Transport.of({
    server: transport.server,
    send: (request) => Effect.andThen(check(request), transport.send(request)),
    open: (request) => Effect.andThen(check(request), transport.open(request))
  })
}
