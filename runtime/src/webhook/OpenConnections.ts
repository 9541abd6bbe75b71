/**
 * The open connections of a port, in their phases: one that is idle gives way to a new one, or ends after some time, or at the shutdown.
 */
import type { Duplex } from "node:stream"
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

/** Concurrent connections. Beyond, the one that has been idle for the longest time closes. */
const mostConnections = 1000

/**
 * How long a connection may stay in a phase, in ms: before its first request, with the handshake, while a body arrives, and between requests. The API
 * server closes idle connections earlier.
 */
const patience = { new: 10_000, receiving: 30_000, idle: 180_000, working: Number.POSITIVE_INFINITY } as const

/** The phase of a connection. */
export type Phase = keyof typeof patience

/** A connection in its phase. */
interface Connection {
  phase: Phase
  /** When the phase began, in ms. */
  since: number
  /** How often the shutdown has seen this phase. */
  seen: number
}

/** The time that running requests get at the shutdown. */
const grace = Duration.seconds(5)

/** How often the shutdown looks at the connections. */
const drainInterval = Duration.millis(10)

/**
 * How often the shutdown must see a connection idle before it closes the connection, which takes a second. The API server could be sending
 * the next request on a connection that was just in use, and would not repeat that request. Instead it reads `connection: close` in the
 * next answer. A clock in place of the number would count the time in which a busy process reads nothing.
 */
const quietLooks = 100

/** The open connections of a port. */
export interface OpenConnections {
  /** Adds a new connection, or closes it because all others are busy. */
  readonly add: (socket: Duplex) => void
  /** Notes that a connection enters a phase. */
  readonly enter: (socket: Duplex, phase: Phase) => void
  /** Closes the connections whose phase takes too long, forever. */
  readonly sweep: Effect.Effect<never>
  /** Closes idle connections until all are closed, or the time is over. `isQuiet`: whether no request runs. */
  readonly drain: (isQuiet: () => boolean) => Effect.Effect<void>
}

/** No connections. */
export const make = (clock: Clock.Clock): OpenConnections => {
  const sockets = new Map<Duplex, Connection>()
  const isBusy = ({ phase }: Connection): boolean => phase === "receiving" || phase === "working"
  /** Closes the connection that has been idle for the longest time. False: all are busy. */
  const evict = (): boolean => {
    let found: readonly [Duplex, Connection] | undefined
    for (const each of sockets) if (!isBusy(each[1]) && (found?.[1].since ?? Infinity) > each[1].since) found = each
    found?.[0].destroy()
    return found !== undefined
  }
  const close = Effect.sync(() => {
    const now = clock.currentTimeMillisUnsafe()
    for (const [socket, { phase, since }] of sockets) if (now - since > patience[phase]) socket.destroy()
  })
  return {
    add: (socket) => {
      if (sockets.size >= mostConnections && !evict()) {
        socket.destroy()
        return
      }
      sockets.set(socket, { phase: "new", since: clock.currentTimeMillisUnsafe(), seen: 0 })
      socket.on("close", () => sockets.delete(socket))
    },
    enter: (socket, phase) => {
      const connection = sockets.get(socket)
      if (connection === undefined) return
      connection.phase = phase
      connection.since = clock.currentTimeMillisUnsafe()
      connection.seen = 0
    },
    sweep: Effect.forever(Effect.delay(close, "5 seconds")),
    drain: (isQuiet) =>
      Effect.gen(function* () {
        const look = Effect.sync(() => {
          for (const [socket, connection] of sockets) {
            if (!isBusy(connection) && connection.seen++ >= quietLooks) socket.end()
          }
          return isQuiet() && sockets.size === 0
        })
        yield* Effect.timeoutOption(Effect.repeat(Effect.delay(look, drainInterval), { until: (done) => done }), grace)
        for (const socket of sockets.keys()) socket.destroy()
      })
  }
}
