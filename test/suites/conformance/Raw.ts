/** Sends requests to an API server, and returns all details of the responses. */

import type { Json, JsonObject } from "@homeostat/apiserver/model/Json"
import type { User } from "@homeostat/testkit/envtest/User"
import { Data, Effect, type Scope } from "effect"

/** The server did not respond within `limitMillis`. */
export class NoAnswer extends Data.TaggedError("NoAnswer")<{ readonly request: string; readonly reason: string }> {
  override get message(): string {
    return `${this.request}: ${this.reason}`
  }
}

export interface Options {
  /** The body, which is sent as JSON. */
  readonly json?: Json | undefined
  /** The body, which is sent unchanged. */
  readonly body?: string | Uint8Array<ArrayBuffer> | undefined
  /** Default: `application/json` if there is a body. */
  readonly contentType?: string | undefined
  /** Default: `application/json`. */
  readonly accept?: string | undefined
  readonly headers?: { readonly [name: string]: string } | undefined
}

/** A response with any status. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The text as JSON. Undefined if the text is not JSON. */
  readonly body: Json | undefined
}

/** One event of a watch. */
export interface Frame {
  readonly type: string
  readonly object: JsonObject
}

/** An open watch. The end of the Scope closes it. */
export interface Watch {
  readonly status: number
  readonly headers: Headers
  /** The next event. Undefined at the end of the stream. */
  readonly next: Effect.Effect<Frame | undefined, NoAnswer>
  /** The next `count` events. */
  readonly take: (count: number) => Effect.Effect<ReadonlyArray<Frame>, NoAnswer>
  /** The events up to the first match. */
  readonly until: (is: (frame: Frame) => boolean) => Effect.Effect<ReadonlyArray<Frame>, NoAnswer>
  /** All events up to the end of the stream. */
  readonly rest: Effect.Effect<ReadonlyArray<Frame>, NoAnswer>
}

/** The User-Agent, which is also the default field manager of writes. */
export const userAgent = "conformance"

/** The time limit in milliseconds for a response, and for each event of a watch. */
export const limitMillis = 40_000

export const request = (
  user: User,
  method: string,
  path: string,
  options: Options = {}
): Effect.Effect<Answer, NoAnswer> =>
  inTime(`${method} ${path.slice(0, 200)}`, async (signal) => {
    const response = await send(user, method, path, options, signal)
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: parsed(text) }
  })

/** Starts a watch. The path contains `watch=true`. */
export const watch = (user: User, path: string, options: Options = {}): Effect.Effect<Watch, NoAnswer, Scope.Scope> =>
  Effect.gen(function* () {
    const name = `GET ${path}`
    const client = yield* Effect.acquireRelease(
      Effect.sync(() => new AbortController()),
      (client) => Effect.sync(() => client.abort())
    )
    const response = yield* inTime(name, () => send(user, "GET", path, options, client.signal))
    const lines = linesOf(response)
    const next = inTime(`${name}, next frame`, async () => {
      const { done, value } = await lines.next()
      return done === true ? undefined : (JSON.parse(value) as Frame)
    })
    const until = (is: (frame: Frame) => boolean): Effect.Effect<ReadonlyArray<Frame>, NoAnswer> =>
      collected(next, (frames) => frames.length > 0 && is(frames[frames.length - 1] as Frame))
    return {
      status: response.status,
      headers: response.headers,
      next,
      take: (count) => collected(next, (frames) => frames.length === count),
      until,
      rest: until(() => false)
    }
  })

/** Reads events until `enough` holds or the stream ends. */
const collected = (next: Watch["next"], enough: (frames: ReadonlyArray<Frame>) => boolean): Watch["rest"] =>
  Effect.gen(function* () {
    const frames: Array<Frame> = []
    while (!enough(frames)) {
      const frame = yield* next
      if (frame === undefined) break
      frames.push(frame)
    }
    return frames
  })

const inTime = <A>(name: string, ask: (signal: AbortSignal) => Promise<A>): Effect.Effect<A, NoAnswer> =>
  Effect.tryPromise({ try: ask, catch: (error) => new NoAnswer({ request: name, reason: String(error) }) }).pipe(
    Effect.timeoutOrElse({
      duration: limitMillis,
      orElse: () => Effect.fail(new NoAnswer({ request: name, reason: `no answer within ${limitMillis} ms` }))
    })
  )

const send = (
  user: User,
  method: string,
  path: string,
  { accept = "application/json", body, contentType, headers, json }: Options,
  signal: AbortSignal
): Promise<Response> => {
  const payload = json === undefined ? body : JSON.stringify(json)
  return fetch(`${user.server}${path}`, {
    method,
    signal,
    redirect: "manual",
    headers: {
      accept,
      "accept-encoding": "identity",
      "user-agent": userAgent,
      ...(user.token !== undefined && { authorization: `Bearer ${user.token}` }),
      ...(payload !== undefined && { "content-type": contentType ?? "application/json" }),
      ...headers
    },
    ...(payload !== undefined && { body: payload }),
    tls: {
      ...(user.ca !== undefined && { ca: user.ca }),
      ...(user.cert !== undefined && { cert: user.cert }),
      ...(user.key !== undefined && { key: user.key })
    }
  })
}

const parsed = (text: string): Json | undefined => {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

async function* linesOf(response: Response): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder()
  let rest = ""
  for await (const chunk of response.body ?? []) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n")
    rest = lines.pop() ?? ""
    yield* lines.filter((line) => line !== "")
  }
  return undefined
}
