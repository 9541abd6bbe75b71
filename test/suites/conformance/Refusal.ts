/** Asserts that the API server rejects a request with exactly one Status. */
import { expect } from "bun:test"
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import type * as Raw from "./Raw.ts"

/** The kind and the name in a rejection. */
export interface Refused {
  readonly kind: string
  readonly group?: string | undefined
  readonly name?: string | undefined
}

export type Cause = readonly [reason: string, field: string, message: string]

/** Asserts that the server rejected a request with exactly this Status. */
export const refused = (
  answer: Raw.Answer,
  code: number,
  reason: string | undefined,
  message: string,
  details?: JsonObject
): void =>
  expect({ status: answer.status, body: answer.body }).toEqual({
    status: code,
    body: {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message,
      ...(reason !== undefined && { reason }),
      ...(details !== undefined && { details }),
      code
    }
  })

/** Asserts that the server rejected an object as invalid, with exactly these causes. */
export const invalid = (
  answer: Raw.Answer,
  { group, kind, name = "" }: Refused,
  ...causes: ReadonlyArray<Cause>
): void => {
  // The message lists a repeated cause only once.
  const all = [...new Set(causes.map(([, field, message]) => `${field}: ${message}`))]
  const type = group === undefined ? kind : `${kind}.${group}`
  refused(
    answer,
    422,
    "Invalid",
    `${type} "${name}" is invalid: ${all.length === 1 ? all[0] : `[${all.join(", ")}]`}`,
    {
      ...(name !== "" && { name }),
      ...(group !== undefined && { group }),
      kind,
      causes: causes.map(([reason, field, message]) => ({ reason, message, field }))
    }
  )
}

/** The kind that the API server names when it rejects the options of a request. */
export const options = (kind: string): Refused => ({ kind, group: "meta.k8s.io" })
