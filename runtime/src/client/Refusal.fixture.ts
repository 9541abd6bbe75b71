/** An object that the API server rejects (422), for tests. */
import * as ApiError from "./ApiError.ts"

/** The error for one field of object `a`. */
export const rejected = (field: string, message: string, kind = "Deployment"): ApiError.Invalid => {
  const error = ApiError.fromStatus(
    { method: "PATCH", path: "/x" },
    {
      kind: "Status",
      reason: "Invalid",
      message: "is invalid",
      details: { kind, name: "a", causes: [{ field, message }] }
    },
    422
  )
  if (!(error instanceof ApiError.Invalid)) throw new Error(`not rejected: ${error._tag}`)
  return error
}
