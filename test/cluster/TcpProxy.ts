/**
 * A wire that a test can damage: a proxy on the loopback that passes bytes and knows nothing of them, so that TLS goes
 * through as it is.
 */
import { connect, createServer, type Server, type Socket } from "node:net"
import { Effect, type Scope } from "effect"
import * as Port from "./envtest/Port.ts"

/** The traffic so far. */
export interface Count {
  /** Connections that clients made, answered by the target or not. */
  readonly connections: number
  /** Those that clients have open now. */
  readonly open: number
  /** Those of them that the target has open too. */
  readonly joined: number
  /** Bytes that reached the target. */
  readonly sent: number
  /** Bytes that reached clients. */
  readonly received: number
  /** Bytes that this wire has taken and not yet passed on, both ways. */
  readonly held: number
}

/** A proxy with faults. A fault lasts until `heal`, and adds to the earlier faults. */
export interface TcpProxy {
  /** Where it listens, on `Port.host`; the same after `refuse` and `heal`. */
  readonly port: number
  /** The URL with this proxy in the place of its host and port. */
  readonly instead: (url: string) => string
  /** Every byte arrives this much later, both ways. */
  readonly delay: (millis: number) => Effect.Effect<void>
  /** Resets all connections, once. */
  readonly cut: Effect.Effect<void>
  /** Nothing listens: new connections are refused. Those that are open stay: `cut` ends them. */
  readonly refuse: Effect.Effect<void>
  /**
   * The network takes everything and delivers nothing: connections stay open, new ones are accepted, and no byte
   * passes. After `heal` what was held back arrives.
   */
  readonly blackhole: Effect.Effect<void>
  /**
   * The target drops its open connections without a word to the clients, which receive nothing more, even after `heal`. New
   * connections work.
   */
  readonly halfOpen: Effect.Effect<void>
  /** Ends all faults. */
  readonly heal: Effect.Effect<void>
  readonly counted: () => Count
}

/** One way of a connection: bytes in their order, each when it is due. */
interface Way {
  /** Goes on, now that more may pass than before. */
  readonly pump: () => void
  /** Bytes that have come and not gone. */
  readonly held: () => number
}

interface Connection {
  readonly client: Socket
  readonly isJoined: () => boolean
  readonly held: () => number
  /** Connects to the target, unless that has been done, and lets pass what may. */
  readonly pump: () => void
  /** Lets go of the target without a word to the client. */
  readonly forget: () => void
  readonly reset: () => void
}

interface Listening {
  readonly port: number
  readonly server: Server
}

/** Bytes that one way of a connection holds before its sender has to wait. */
const capacity = 1 << 20

/** Starts a proxy in front of a server on the loopback, for the lifetime of the Scope. */
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
        // Not before what is held already, should the delay have become shorter.
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
      /** One end is gone; the proxy resets the other end as soon as it may. */
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
          // Its further data is dropped, as by a network without a route to the target.
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
      Effect.async<Listening, Error>((resume) => {
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
      // Without waiting for its connections, which stay.
      listening?.close()
      listening = undefined
    })
    const cut = Effect.sync(() => {
      for (const { reset } of [...connections]) reset()
    })
    yield* Effect.addFinalizer(() => Effect.zipRight(refuse, cut))

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
