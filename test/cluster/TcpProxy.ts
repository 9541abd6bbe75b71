/**
 * A proxy on the loopback whose connections a test can break. It passes bytes without reading them, so TLS works through it.
 */
import { connect, createServer, type Server, type Socket } from "node:net"
import { Effect, type Scope } from "effect"
import * as Port from "./envtest/Port.ts"

/** The traffic so far. */
export interface Count {
  /** Connections that clients made, answered by the target or not. */
  readonly connections: number
  /** Connections that clients have open now. */
  readonly open: number
  /** Open connections that the target has open too. */
  readonly joined: number
  /** Bytes that reached the target. */
  readonly sent: number
  /** Bytes that reached clients. */
  readonly received: number
  /** Bytes that the proxy has received and not yet passed on, in both directions. */
  readonly held: number
}

/** A proxy with faults. A fault lasts until `heal`, and adds to the earlier faults. */
export interface TcpProxy {
  /** The port on `Port.host`. It stays the same after `refuse` and `heal`. */
  readonly port: number
  /** The URL with this proxy in the place of its host and port. */
  readonly instead: (url: string) => string
  /** Delays every byte by this many milliseconds, in both directions. */
  readonly delay: (millis: number) => Effect.Effect<void>
  /** Resets all connections, once. */
  readonly cut: Effect.Effect<void>
  /** Stops listening, so that new connections are refused. Open connections stay open: `cut` ends them. */
  readonly refuse: Effect.Effect<void>
  /**
   * Accepts connections and bytes, and delivers nothing. Open connections stay open. `heal` delivers the bytes that were held back.
   */
  readonly blackhole: Effect.Effect<void>
  /**
   * Closes the target's side of the open connections without closing the client's side. These clients receive nothing more, even after
   * `heal`. New connections work.
   */
  readonly halfOpen: Effect.Effect<void>
  /** Ends all faults. */
  readonly heal: Effect.Effect<void>
  readonly counted: () => Count
}

/** One direction of a connection: bytes in their order, each with the time when it is due. */
interface Way {
  /** Passes on all bytes that may pass now. */
  readonly pump: () => void
  /** The number of bytes that are received and not yet passed on. */
  readonly held: () => number
}

interface Connection {
  readonly client: Socket
  readonly isJoined: () => boolean
  readonly held: () => number
  /** Connects to the target if necessary, and passes on all bytes that may pass now. */
  readonly pump: () => void
  /** Drops the target's side, and leaves the client's side open. */
  readonly forget: () => void
  readonly reset: () => void
}

interface Listening {
  readonly port: number
  readonly server: Server
}

/** The number of bytes that one direction of a connection holds before its sender has to wait. */
const capacity = 1 << 20

/** Starts a proxy in front of a server on the loopback. It runs until the end of the Scope. */
export const make = (target: { readonly port: number }): Effect.Effect<TcpProxy, never, Scope.Scope> =>
  Effect.gen(function* () {
    const connections = new Set<Connection>()
    const count = { connections: 0, sent: 0, received: 0 }
    let delayMillis = 0
    let silent = false

    const way = (from: Socket, to: Socket, passed: (bytes: number) => void): Way => {
      const held: Array<{ readonly at: number; readonly bytes: Buffer | undefined }> = []
      let size = 0
      let timer: Timer | undefined
      let blocked = false
      const pump = (): void => {
        clearTimeout(timer)
        while (!silent && !blocked) {
          const [next] = held
          if (next === undefined) break
          const early = next.at - performance.now()
          if (early > 0) {
            timer = setTimeout(pump, early)
            break
          }
          held.shift()
          if (next.bytes === undefined) {
            to.end()
          } else {
            size -= next.bytes.length
            passed(next.bytes.length)
            blocked = !to.write(next.bytes)
          }
        }
        if (size < capacity) from.resume()
      }
      const hold = (bytes: Buffer | undefined): void => {
        // Bytes keep their order, even after the delay has become shorter.
        held.push({ at: Math.max(held.at(-1)?.at ?? 0, performance.now() + delayMillis), bytes })
        size += bytes?.length ?? 0
        if (size >= capacity) from.pause()
        pump()
      }
      from.on("data", hold)
      from.on("end", () => hold(undefined))
      to.on("close", () => clearTimeout(timer))
      to.on("drain", () => {
        blocked = false
        pump()
      })
      return { pump, held: () => size }
    }

    const accept = (client: Socket): void => {
      count.connections++
      client.setNoDelay(true)
      client.pause()
      let server: Socket | undefined
      let ways: ReadonlyArray<Way> = []
      /** One side has closed. The proxy resets the other side as soon as it may. */
      let broken = false
      const reset = (): void => {
        connections.delete(connection)
        server?.resetAndDestroy()
        client.resetAndDestroy()
      }
      const lost = (): void => {
        broken = true
        if (!silent) reset()
      }
      const open = (): void => {
        const made = connect({ host: Port.host, port: target.port, allowHalfOpen: true, noDelay: true })
        server = made
        ways = [
          way(client, made, (bytes) => {
            count.sent += bytes
          }),
          way(made, client, (bytes) => {
            count.received += bytes
          })
        ]
        made.on("error", lost)
        made.once("connect", () => client.resume())
        made.once("close", () => {
          if (client.destroyed) connections.delete(connection)
        })
      }
      const connection: Connection = {
        client,
        isJoined: () => server !== undefined && !server.destroyed,
        held: () => ways.reduce((sum, way) => sum + way.held(), 0),
        reset,
        pump: () => {
          if (silent) return
          if (broken) reset()
          else if (server === undefined) open()
          else for (const { pump } of ways) pump()
        },
        forget: () => {
          ways = []
          server
            ?.removeAllListeners()
            .on("error", () => undefined)
            .resetAndDestroy()
          client.removeAllListeners("data").removeAllListeners("end")
          // The proxy drops all further data, as a network without a route to the target does.
          client.on("data", () => undefined)
          client.on("end", () => client.destroy())
          client.resume()
        }
      }
      connections.add(connection)
      client.on("error", lost)
      client.once("close", () => {
        if (server === undefined || server.destroyed) connections.delete(connection)
      })
      connection.pump()
    }

    const listenOn = (port: number) =>
      Effect.callback<Listening, Error>((resume) => {
        const server = createServer({ allowHalfOpen: true }, accept)
        server.once("error", (error) => resume(Effect.fail(error)))
        server.listen({ host: Port.host, port }, () => resume(Effect.succeed({ port, server })))
      })
    const { port, server } = yield* Effect.retry(Effect.flatMap(Port.free, listenOn), { times: 4 }).pipe(Effect.orDie)
    let listening: Server | undefined = server
    const listen = Effect.map(Effect.orDie(listenOn(port)), (again) => {
      listening = again.server
    })
    const refuse = Effect.sync(() => {
      // This does not wait for the open connections, which stay open.
      listening?.close()
      listening = undefined
    })
    const cut = Effect.sync(() => {
      for (const { reset } of [...connections]) reset()
    })
    yield* Effect.addFinalizer(() => Effect.andThen(refuse, cut))

    return {
      port,
      instead: (url) => {
        const moved = new URL(url)
        moved.host = `${Port.host}:${port}`
        return moved.toString().replace(/\/$/, "")
      },
      delay: (millis) =>
        Effect.sync(() => {
          delayMillis = millis
        }),
      cut,
      refuse,
      blackhole: Effect.sync(() => {
        silent = true
      }),
      halfOpen: Effect.sync(() => {
        for (const { forget } of connections) forget()
      }),
      heal: Effect.suspend(() => {
        silent = false
        delayMillis = 0
        for (const { pump } of [...connections]) pump()
        return listening === undefined ? listen : Effect.void
      }),
      counted: () => {
        const open = [...connections].filter(({ client }) => !client.destroyed)
        return {
          ...count,
          open: open.length,
          joined: open.filter(({ isJoined }) => isJoined()).length,
          held: open.reduce((sum, connection) => sum + connection.held(), 0)
        }
      }
    }
  })
