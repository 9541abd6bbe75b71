/** A proxy between kubectl and a kube-apiserver that records requests and responses. */

import type { Json } from "@homeostat/apiserver/model/Json"
import type { User } from "@homeostat/testkit/envtest/User"
import { Effect, type Scope } from "effect"
import * as Dialogues from "../comparison/Dialogues.ts"
import type { Answer, Request } from "../comparison/Server.ts"
import * as Server from "../comparison/Server.ts"

/** A request of kubectl with its response and its time in milliseconds since 1970. */
export interface Exchange {
  readonly request: Request
  readonly now: number
  readonly answer: Answer
}

export interface Tap {
  /** The URL of the proxy, without TLS and authentication. */
  readonly url: string
  /** Returns the exchanges since the last call, in order. */
  readonly taken: Effect.Effect<ReadonlyArray<Exchange>>
}

/** The proxy does not record watches, which have no end. */
const isWatch = (url: URL): boolean => /^(1|true)$/.test(url.searchParams.get("watch") ?? "")

/** The headers of a response that kubectl reads. */
const read = ["content-type", "warning"]

/** Starts a proxy that sends requests as a user. Requests other than watches reach the server one after the other. */
export const start = (user: User): Effect.Effect<Tap, never, Scope.Scope> =>
  Effect.gen(function* () {
    const server = Server.real(user)
    let exchanges: Array<Exchange> = []
    let last: Promise<unknown> = Promise.resolve()
    const exchange = async (request: Request): Promise<Response> => {
      const now = await Effect.runPromise(Dialogues.pace(false)(0))
      const answer = await Effect.runPromise(server(request, now))
      exchanges.push({ request, now, answer })
      const headers = read.flatMap((name) => (answer.headers[name] === undefined ? [] : [[name, answer.headers[name]]]))
      const text = typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body)
      return new Response(text, { status: answer.status, headers: Object.fromEntries(headers) })
    }
    const listening = yield* Effect.acquireRelease(
      Effect.sync(() =>
        Bun.serve({
          hostname: "127.0.0.1",
          port: 0,
          idleTimeout: 0,
          fetch: async (incoming) => {
            const url = new URL(incoming.url)
            const path = `${url.pathname}${url.search}`
            const accept = accepted(incoming.headers.get("accept"))
            if (isWatch(url)) return forwarded(user, path, accept, incoming.signal)
            const text = await incoming.text()
            const contentType = incoming.headers.get("content-type") ?? undefined
            const request: Request = {
              method: incoming.method,
              path,
              ...(accept !== "application/json" && { accept }),
              ...(text !== "" && { ...bodyOf(text), contentType }),
              headers: { "user-agent": "kubectl" }
            }
            const response = last.then(() => exchange(request))
            last = response.catch(() => undefined)
            return response
          }
        })
      ),
      (listening) => Effect.promise(() => listening.stop(true))
    )
    return {
      url: `http://127.0.0.1:${listening.port}`,
      taken: Effect.sync(() => {
        const taken = exchanges
        exchanges = []
        return taken
      })
    }
  })

/** The media types that kubectl accepts, without protobuf: the recording is JSON. */
const accepted = (header: string | null): string =>
  (header ?? "application/json")
    .split(",")
    .filter((type) => !type.includes("protobuf"))
    .join(",")

const bodyOf = (text: string): Pick<Request, "body" | "raw"> => {
  try {
    return { body: JSON.parse(text) as Json }
  } catch {
    return { raw: text }
  }
}

const forwarded = (user: User, path: string, accept: string, signal: AbortSignal): Promise<Response> =>
  fetch(`${user.server}${path}`, {
    signal,
    headers: { accept, "accept-encoding": "identity" },
    tls: {
      ...(user.ca !== undefined && { ca: user.ca }),
      ...(user.cert !== undefined && { cert: user.cert }),
      ...(user.key !== undefined && { key: user.key })
    }
  })
