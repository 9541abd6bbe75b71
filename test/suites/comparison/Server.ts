/** A kube-apiserver over the network and the embedded server in memory, behind one function. */

import type { ApiServer } from "@homeostat/apiserver/http/ApiServer"
import type { Json, JsonObject } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import * as Time from "@homeostat/runtime/resource/Time"
import * as WallClock from "@homeostat/runtime/resource/WallClock.fixture"
import type { User } from "@homeostat/testkit/envtest/User"
import { Clock, Effect } from "effect"
import * as Raw from "../conformance/Raw.ts"

export interface Request {
  readonly method: string
  readonly path: string
  /** Sent as JSON. */
  readonly body?: Json | undefined
  /** The text of a body that need not be JSON. */
  readonly raw?: string | undefined
  /** How `raw` becomes bytes; default `utf8`. In `latin1`, each character is one byte. */
  readonly encoding?: "latin1" | undefined
  /** Default `application/json`. */
  readonly contentType?: string | undefined
  /** Default `application/json`. */
  readonly accept?: string | undefined
  readonly headers?: { readonly [name: string]: string } | undefined
  /** A part of the expected answer. A real server gets the request again until its answer has this part, for at most ten seconds. */
  readonly until?: JsonObject | undefined
  /** The pause after the answer of a real server, in milliseconds. */
  readonly pauseMillis?: number | undefined
}

export interface Answer {
  readonly status: number
  /** The headers by their names in lower case. */
  readonly headers: { readonly [name: string]: string }
  /** Parsed JSON, or the text where the body is not JSON. */
  readonly body: Json
  /** The time of the answer, in milliseconds since 1970. Undefined if a second ended between request and answer. */
  readonly at: number | undefined
}

/** Answers a request. `now` is the time of the embedded server, in milliseconds since 1970. */
export type Server = (request: Request, now: number) => Effect.Effect<Answer>

/** The status of a request without a response: a kube-apiserver panics on a few requests. */
export const silent = 0

/** A real server on this machine. */
export const real = (user: User): Server => {
  const once: Server = ({ accept, contentType, headers, method, path, ...request }, now) =>
    Effect.gen(function* () {
      const began = yield* Clock.currentTimeMillis
      const body = sent(request)
      // A client certificate would win over the token of a request.
      const sender = headers?.authorization === undefined ? user : { ...user, cert: undefined, key: undefined }
      const answer = yield* Raw.request(sender, method, path, { body, contentType, accept, headers })
      const ended = yield* Clock.currentTimeMillis
      return {
        status: answer.status,
        headers: Object.fromEntries(answer.headers),
        body: answer.body ?? answer.text,
        at: Math.floor(began / 1000) === Math.floor(ended / 1000) ? ended : undefined
      }
    }).pipe(Effect.catch(({ message }) => Effect.succeed({ status: silent, headers: {}, body: { message }, at: now })))
  const asked = (request: Request, now: number, tries: number): Effect.Effect<Answer> =>
    Effect.flatMap(once(request, now), (answer) =>
      tries === 0 || includes({ body: answer.body, status: answer.status }, request.until)
        ? Effect.delay(Effect.succeed(answer), request.pauseMillis ?? 0)
        : Effect.delay(asked(request, now, tries - 1), "20 millis")
    )
  return (request, now) => asked(request, now, 500)
}

const includes = (value: Json | undefined, part: Json | undefined): boolean => {
  if (part === undefined) return true
  if (J.isList(part)) return part.every((item, index) => includes(J.list(value)[index], item))
  if (!J.isObject(part)) return J.equal(value, part)
  return J.isObject(value) && Object.keys(part).every((name) => includes(value[name], part[name]))
}

export const embedded =
  (server: ApiServer): Server =>
  ({ accept = "application/json", contentType = "application/json", headers, method, path, ...request }, now) => {
    const body = sent(request)
    return server
      .handle({
        method,
        path,
        headers: {
          accept,
          "user-agent": Raw.userAgent,
          ...(body !== undefined && { "content-type": contentType }),
          ...headers
        },
        body
      })
      .pipe(
        Effect.provideService(Clock.Clock, standing(now)),
        Effect.map(({ body, headers, status }): Answer => {
          const text = typeof body === "string" ? body : ""
          return { status, headers: withoutIdle(headers), body: parsed(text), at: now }
        })
      )
  }

const sent = ({ body, encoding, raw }: Pick<Request, "body" | "encoding" | "raw">) => {
  if (raw !== undefined) return encoding === undefined ? raw : new Uint8Array(Buffer.from(raw, encoding))
  return body === undefined ? undefined : JSON.stringify(body)
}

/** Removes the embedded server's warnings about kinds and fields without a controller. A kube-apiserver does not send them. */
const withoutIdle = ({ warning, ...headers }: Answer["headers"]): Answer["headers"] => {
  const left =
    warning?.replace(
      /(?:, )?299 - "the embedded cluster (?:stores a \w+, and nothing comes of it|ignores [\w.]+)"/g,
      ""
    ) ?? ""
  return left === "" ? headers : { ...headers, warning: left }
}

const parsed = (text: string): Json => {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}

/** A clock whose time of day stands still. */
export const standing = (now: number): Clock.Clock => ({
  ...WallClock.skewed(Time.machine, () => 0),
  currentTimeMillisUnsafe: () => now,
  currentTimeMillis: Effect.succeed(now)
})
