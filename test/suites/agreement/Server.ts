/** The two servers, in one shape: a real one over the network, and the embedded one in memory at a time of one's choosing. */
import type { User } from "@homeostat/testkit/envtest/User"
import type { ApiServer } from "@homeostat/testkit/server/ApiServer"
import type { Json } from "@homeostat/testkit/server/Json"
import { Clock, Effect } from "effect"
import * as Raw from "../conformance/Raw.ts"
import type { Request } from "./Step.ts"

/** What a server says. */
export interface Answer {
  readonly status: number
  readonly body: Json
  readonly warnings: string
  /** When it was said, in milliseconds. Undefined: a second ended meanwhile. */
  readonly at: number | undefined
}

/** Says what it makes of a request. The time of a real one is what it is. */
export type Server = (request: Request, now: number) => Effect.Effect<Answer>

/** The status of a request that was not answered, as the server fell over it. */
export const silent = 0

/** A real one, on this machine, whose clock is ours. */
export const real =
  (user: User): Server =>
  ({ body, contentType, method, path }, now) =>
    Effect.gen(function* () {
      const began = yield* Clock.currentTimeMillis
      const answer = yield* Raw.request(user, method, path, { json: body, contentType })
      const ended = yield* Clock.currentTimeMillis
      return {
        status: answer.status,
        body: answer.body ?? answer.text,
        warnings: answer.headers.get("warning") ?? "",
        at: Math.floor(began / 1000) === Math.floor(ended / 1000) ? ended : undefined
      }
    }).pipe(
      Effect.catchAll(({ message }) => Effect.succeed({ status: silent, body: { message }, warnings: "", at: now }))
    )

/** An embedded one. */
export const embedded =
  (server: ApiServer): Server =>
  ({ body, contentType, method, path }, now) =>
    server
      .handle({
        method,
        path,
        headers: {
          accept: "application/json",
          "user-agent": Raw.userAgent,
          ...(body !== undefined && { "content-type": contentType })
        },
        body: body === undefined ? undefined : JSON.stringify(body)
      })
      .pipe(
        Effect.withClock(standing(now)),
        Effect.map(({ body, headers, status }): Answer => {
          const text = typeof body === "string" ? body : ""
          return { status, body: parsed(text), warnings: headers.warning ?? "", at: now }
        })
      )

const parsed = (text: string): Json => {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}

const standing = (now: number): Clock.Clock => ({
  ...Clock.make(),
  unsafeCurrentTimeMillis: () => now,
  currentTimeMillis: Effect.succeed(now)
})
