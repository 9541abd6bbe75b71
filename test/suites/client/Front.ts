/**
 * A server in front of the API server that terminates TLS. Tests replace its certificate, and drop answers of the API server. A request
 * without a token becomes the administrator's.
 */
import * as http2 from "node:http2"
import type { Socket } from "node:net"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Port from "@homeostat/testkit/envtest/Port"
import { Effect, type Scope } from "effect"

/** A certificate and its key as PEM. */
interface Pair {
  readonly certificate: string
  readonly key: string
}

/** A forwarded request, and the status from the API server. */
export interface Passed {
  readonly method: string
  readonly path: string
  readonly http: string
  readonly authorization: string | undefined
  readonly status: number | undefined
}

/** Forward the response, break its connection or stream, or never respond. */
export type Fate = "pass" | "cut" | "silence"

/** A response in place of the API server's. */
export interface Refusal {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string
}

/** The front, until the end of the Scope. */
export interface Front {
  readonly url: string
  /** The requests that got a response, oldest first. */
  readonly passed: () => ReadonlyArray<Passed>
  /** Sets the fate of all further responses except watches. */
  readonly answers: (fate: (passed: Passed) => Fate) => void
  /** Sets responses that replace those of the API server. A request with such a response does not reach the API server. */
  readonly instead: (refuse: (method: string, path: string) => Refusal | undefined) => void
  /** Closes all connections and listens on the same port with another certificate. */
  readonly present: (pair: Pair) => Effect.Effect<void>
}

/** Headers of HTTP/1.1 that HTTP/2 does not have. */
const ofConnection = ["connection", "host", "transfer-encoding", "content-length", "keep-alive"]

const bodyOf = async (request: http2.Http2ServerRequest): Promise<string> => {
  const parts: Array<Buffer> = []
  for await (const part of request) parts.push(Buffer.from(part))
  return Buffer.concat(parts).toString()
}

/** The types omit that a request over HTTP/1.1 has no stream. */
const streamOf = (request: http2.Http2ServerRequest): http2.ServerHttp2Stream | undefined => request.stream

/** Starts the front on a free port outside the ports of outgoing connections. */
export const start = ({ admin }: ControlPlane, pair: Pair): Effect.Effect<Front, never, Scope.Scope> =>
  Effect.gen(function* () {
    const passed: Array<Passed> = []
    const sockets = new Set<Socket>()
    let fateOf: (passed: Passed) => Fate = () => "pass"
    let refuse: (method: string, path: string) => Refusal | undefined = () => undefined
    const session = {
      admin: new Bun.FetchSession({
        tls: {
          ...(admin.ca !== undefined && { ca: admin.ca }),
          ...(admin.cert !== undefined && { cert: admin.cert }),
          ...(admin.key !== undefined && { key: admin.key })
        }
      }),
      anonymous: new Bun.FetchSession({ tls: { ...(admin.ca !== undefined && { ca: admin.ca }) } })
    }

    const handle = async (request: http2.Http2ServerRequest, response: http2.Http2ServerResponse): Promise<void> => {
      const { method = "GET", url = "/" } = request
      const body = await bodyOf(request)
      const refusal = refuse(method, url)
      if (refusal !== undefined) {
        response.writeHead(refusal.status, refusal.headers)
        response.end(refusal.body)
        return
      }
      const headers: Record<string, string> = {}
      for (const [name, value] of Object.entries(request.headers)) {
        if (typeof value === "string" && !name.startsWith(":") && !ofConnection.includes(name)) headers[name] = value
      }
      const left = new AbortController()
      response.on("close", () => left.abort())
      const { authorization } = headers
      const answer = await session[authorization === undefined ? "admin" : "anonymous"].fetch(admin.server + url, {
        method,
        headers: {
          ...headers,
          ...(authorization === undefined && admin.token !== undefined && { authorization: `Bearer ${admin.token}` })
        },
        ...(body !== "" && { body }),
        signal: left.signal,
        timeout: false,
        decompress: false
      })
      const one: Passed = { method, path: url, http: request.httpVersion, authorization, status: answer.status }
      const isWatch = url.includes("watch=true") && answer.status === 200
      const whole = isWatch ? undefined : Buffer.from(await answer.arrayBuffer())
      passed.push(one)
      const fate = isWatch ? "pass" : fateOf(one)
      if (fate === "silence") return
      if (fate === "cut") {
        const stream = streamOf(request)
        if (stream === undefined) request.socket.destroy()
        else stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR)
        return
      }
      const kept = [...answer.headers].filter(([name]) => !ofConnection.includes(name))
      response.writeHead(answer.status, Object.fromEntries(kept))
      if (whole !== undefined) {
        response.end(whole)
        return
      }
      for await (const part of answer.body ?? []) response.write(part)
      response.end()
    }

    const listen = (chosen: Pair, port: number) =>
      Effect.callback<{ readonly port: number; readonly server: http2.Http2SecureServer }, Error>((resume) => {
        const server = http2.createSecureServer({ cert: chosen.certificate, key: chosen.key, allowHTTP1: true })
        server.once("error", (error) => resume(Effect.fail(error)))
        server.on("request", (request, response) => {
          // When either side closes, this code closes the other side.
          handle(request, response).catch(() => (streamOf(request) ?? request.socket).destroy())
        })
        server.on("secureConnection", (socket) => {
          sockets.add(socket)
          socket.on("close", () => sockets.delete(socket))
          socket.on("error", () => {})
        })
        server.listen(port, Port.host, () => resume(Effect.succeed({ port, server })))
      })
    const stop = (server: http2.Http2SecureServer) =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        for (const socket of sockets) socket.destroy()
      })
    const first = yield* Effect.flatMap(Port.free, (port) => listen(pair, port)).pipe(
      Effect.retry({ times: 4 }),
      Effect.orDie
    )
    const { port } = first
    let { server } = first
    yield* Effect.addFinalizer(() => stop(server))
    return {
      url: `https://${Port.host}:${port}`,
      passed: () => passed,
      answers: (fate) => {
        fateOf = fate
      },
      instead: (next) => {
        refuse = next
      },
      present: (next) =>
        Effect.gen(function* () {
          yield* stop(server)
          server = (yield* Effect.orDie(listen(next, port))).server
        })
    }
  })
