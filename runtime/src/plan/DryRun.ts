/** A write as a dry run, which the API server of the cluster answers without storing it. */
import type { Request } from "../client/Request.ts"
import type { Response } from "../client/Response.ts"
import * as Answers from "./Answers.ts"

/** The part of an object that says whether a write removes it. */
interface Written {
  readonly metadata?: {
    readonly deletionTimestamp?: string
    readonly deletionGracePeriodSeconds?: number
    readonly finalizers?: ReadonlyArray<string>
  }
}

/** The dry run of a write. */
export const of = (request: Request): Request => {
  const isDeletion = request.method === "DELETE"
  return {
    ...request,
    path: isDeletion ? request.path : `${request.path}${request.path.includes("?") ? "&" : "?"}dryRun=All`,
    headers: { ...request.headers, accept: "application/json" },
    body: isDeletion ? JSON.stringify({ ...JSON.parse(request.body ?? "{}"), dryRun: ["All"] }) : request.body,
    dryRun: true
  }
}

/** Why the cluster does not support the dry run: a webhook with side effects; undefined for any other refusal. */
export const unsupported = (request: Request, response: Response): string | undefined =>
  response.status === 400 && response.body.includes("does not support dry run")
    ? `the API server cannot answer a dry run: ${Answers.reasonOf(request, response)}`
    : undefined

/** Whether the cluster does not serve the path. The body is not a Status then. */
export const isUnserved = ({ body, status }: Pick<Response, "body" | "status">): boolean =>
  status === 404 && !body.trimStart().startsWith("{")

/** Whether a write removes its object, because it has removed the last finalizer. The API server does not wait for a grace period then. */
export const isRemoved = ({ metadata }: Written): boolean =>
  metadata?.deletionTimestamp !== undefined &&
  (metadata.finalizers ?? []).length === 0 &&
  (metadata.deletionGracePeriodSeconds ?? 0) === 0
