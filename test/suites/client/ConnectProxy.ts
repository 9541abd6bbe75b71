/** A forward proxy for HTTPS that connects (CONNECT) to every target and records the requests. */
import * as net from "node:net"
import { Effect, type Scope } from "effect"

export interface Asked {
  /** `host:port` as the client sent it. */
  readonly target: string
  readonly authorization: string | undefined
}

/** The proxy, until the end of the Scope. */
export interface ConnectProxy {
  readonly url: string
  readonly port: number
  readonly asked: () => ReadonlyArray<Asked>
  /** Ends all tunnels. */
  readonly cut: Effect.Effect<void>
  /** Rejects all further requests with a status line such as `407 Proxy Authentication Required`. */
  readonly refuse: (status: string | undefined) => void
}

/**
 * Starts the proxy on a free port.
 *
 * @param hosts names that the proxy resolves to 127.0.0.1
 * @param credentials the required `name:password`
 */
export const start = (
  hosts: ReadonlyArray<string> = [],
  credentials?: string
): Effect.Effect<ConnectProxy, never, Scope.Scope> =>
  Effect.gen(function* () {
    const asked: Array<Asked> = []
    const sockets = new Set<net.Socket>()
    const wanted = credentials && `Basic ${Buffer.from(credentials).toString("base64")}`
    let refusal: string | undefined
    const keep = (socket: net.Socket) => {
      sockets.add(socket)
      socket.on("close", () => sockets.delete(socket))
      socket.on("error", () => socket.destroy())
    }

    const connect = (client: net.Socket, head: string) => {
      const target = /^CONNECT (\S+) HTTP/.exec(head)?.[1] ?? ""
      const authorization = /^proxy-authorization: *(.*?)\r?$/im.exec(head)?.[1]
      asked.push({ target, authorization })
      const status = refusal ?? (wanted === authorization ? undefined : "407 Proxy Authentication Required")
      if (status !== undefined) {
        client.end(`HTTP/1.1 ${status}\r\ncontent-length: 0\r\n\r\n`)
        return
      }
      const [, host = "", port = ""] = /^(.*):(\d+)$/.exec(target) ?? []
      const server = net.connect(Number(port), hosts.includes(host) ? "127.0.0.1" : host, () => {
        client.write("HTTP/1.1 200 Connection established\r\n\r\n")
        client.pipe(server).pipe(client)
      })
      keep(server)
      server.on("close", () => client.destroy())
      client.on("close", () => server.destroy())
    }

    const listener = net.createServer((client) => {
      keep(client)
      let head = ""
      const read = (bytes: Buffer) => {
        head += bytes.toString("latin1")
        if (!head.includes("\r\n\r\n")) return
        client.off("data", read)
        connect(client, head)
      }
      client.on("data", read)
    })
    const cut = Effect.sync(() => {
      for (const socket of sockets) socket.destroy()
    })
    const port = yield* Effect.callback<number>((resume) => {
      listener.listen(0, "127.0.0.1", () => {
        const address = listener.address()
        resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
      })
    })
    yield* Effect.addFinalizer(() =>
      Effect.andThen(
        Effect.sync(() => listener.close()),
        cut
      )
    )
    return {
      url: `http://127.0.0.1:${port}`,
      port,
      asked: () => asked,
      cut,
      refuse: (status) => {
        refusal = status
      }
    }
  })
