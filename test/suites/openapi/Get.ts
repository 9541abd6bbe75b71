/** A GET with its headers, answered without following where it points to. */
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import { Effect } from "effect"

/** What came back. */
export interface Got {
  readonly status: number
  readonly headers: Headers
  readonly body: string
}

/** Gets a path as the administrator. */
export const get = (
  { admin }: ControlPlane,
  path: string,
  headers: { readonly [name: string]: string } = {}
): Effect.Effect<Got> =>
  Effect.promise(async () => {
    const { ca, cert, key } = admin
    const response = await fetch(`${admin.server}${path}`, {
      redirect: "manual",
      headers: {
        ...headers,
        ...(admin.token === undefined ? {} : { authorization: `Bearer ${admin.token}` })
      },
      tls: {
        ...(ca === undefined ? {} : { ca }),
        ...(cert === undefined ? {} : { cert }),
        ...(key === undefined ? {} : { key })
      }
    })
    return { status: response.status, headers: response.headers, body: await response.text() }
  })
