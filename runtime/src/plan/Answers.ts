/** Responses that a plan gives in place of an API server. */
import * as Answer from "../client/Answer.ts"
import * as ApiError from "../client/ApiError.ts"
import { infoOf, type Request } from "../client/Request.ts"
import type { Response } from "../client/Response.ts"

const headers = { get: (name: string) => (name.toLowerCase() === "content-type" ? "application/json" : null) }

/** A response with a JSON body. */
export const json = (status: number, value: object): Response => ({ status, headers, body: JSON.stringify(value) })

/** The answer of an API server that does not serve a path. */
export const notServed: Response = { status: 404, headers: { get: () => null }, body: "404 page not found\n" }

/** The response that leads to this error again. */
export const ofError = ({ code, message, reason, request, ...error }: ApiError.Answered): Response => {
  // Clients know it from a body that is not a Status, and add their own hint to its message.
  if (reason === "" && code === 404) return notServed
  const prefix = `${request.method} ${request.path}: `
  const text = message.startsWith(prefix) ? message.slice(prefix.length) : message
  if (reason === "") return { status: code, headers, body: text }
  const details = { ...error.details, causes: error.causes }
  return json(code, {
    apiVersion: "v1",
    kind: "Status",
    metadata: {},
    status: "Failure",
    message: text,
    reason,
    code,
    details
  })
}

/** The answer to a request that a plan cannot show. It refuses the request, as an API server does. */
export const impossible = (message: string): Response =>
  json(400, {
    apiVersion: "v1",
    kind: "Status",
    metadata: {},
    status: "Failure",
    message,
    reason: "BadRequest",
    code: 400
  })

/**
 * The answer to a request of a reconcile whose plan has ended. The runtime takes this error as one that passes, so it reports nothing on
 * the object.
 */
export const ended = (why: string): Response =>
  json(410, {
    apiVersion: "v1",
    kind: "Status",
    metadata: {},
    status: "Failure",
    message: `the plan ends here: ${why}`,
    reason: "Expired",
    code: 410
  })

/** The answer to a write that a plan ignores: the object as it was sent. */
export const echo = (request: Request): Response => {
  const sent: unknown = JSON.parse(request.body ?? "{}")
  const object = typeof sent === "object" && sent !== null ? sent : {}
  const metadata: unknown = Reflect.get(object, "metadata")
  const { namespace, name = "ignored" } = request
  const meta = { name, namespace, ...(typeof metadata === "object" ? metadata : {}), resourceVersion: "1" }
  return json(request.method === "POST" ? 201 : 200, { ...object, metadata: { uid: "ignored", ...meta } })
}

/** The error in one line without the values of Secrets in the request, for the reason of an unknown part of a plan. */
export const reasonOf = (request: Request, { body, status }: Response): string =>
  ApiError.fromResponse(infoOf(request), { status, headers, body }, Answer.hiding(request)).message
