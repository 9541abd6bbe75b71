/**
 * The open connections of a port, in their phases: one that is idle gives way to a new one, or ends after some time, or at the shutdown.
 */
import type { Duplex } from "node:stream"
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

/** The phase of a connection. */
export type Phase = "new" | "receiving" | "idle" | "working"

/** The bounds of a port. */
export interface Limits {
  /** Concurrent connections. Beyond, one that is idle closes: of the address with the most, the one that has been idle for the longest time. */
  readonly most: number
  /** Concurrent connections of an IP address. Further ones close at once. */
  readonly mostOfAddress: number
  /** How long a connection may stay in a phase, in ms: before its first request, with the handshake, while a body arrives, and between requests. */
  readonly patience: { readonly [phase in Phase]: number }
}

/** The bounds of the webhooks. All API servers may share an address, and they close idle connections earlier. */
export const webhook: Limits = {
  most: 1000,
  mostOfAddress: Number.POSITIVE_INFINITY,
  patience: { new: 10_000, receiving: 30_000, idle: 180_000, working: Number.POSITIVE_INFINITY }
}

/** A connection in its phase. */
interface Connection {
  readonly address: string
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
  /** Adds a new connection of an IP address, or closes it because its address has too many, or because all others are busy. */
  readonly add: (socket: Duplex, address: string) => void
  /** Notes that a connection enters a phase. */
  readonly enter: (socket: Duplex, phase: Phase) => void
  /** Closes the connections whose phase takes too long, forever. */
  readonly sweep: Effect.Effect<never>
  /** Closes idle connections until all are closed, or the time is over. `isQuiet`: whether no request runs. */
  readonly drain: (isQuiet: () => boolean) => Effect.Effect<void>
  /** Closes all connections. */
  readonly close: Effect.Effect<void>
}

/** No connections. */
export const make = (clock: Clock.Clock, { most, mostOfAddress, patience }: Limits): OpenConnections => {
  const sockets = new Map<Duplex, Connection>()
  const counts = new Map<string, number>()
  const countOf = (address: string): number => counts.get(address) ?? 0
  const isBusy = ({ phase }: Connection): boolean => phase === "receiving" || phase === "working"
  const remove = (socket: Duplex): void => {
    const connection = sockets.get(socket)
    if (connection === undefined) return
    sockets.delete(socket)
    const left = countOf(connection.address) - 1
    if (left > 0) counts.set(connection.address, left)
    else counts.delete(connection.address)
  }
  /** Closes an idle connection of an address that has `least` connections or more. False: all are busy. */
  const evict = (least: number): boolean => {
    let found: Duplex | undefined
    let count = least
    let since = Infinity
    for (const [socket, each] of sockets) {
      const its = countOf(each.address)
      if (isBusy(each) || its < count || (its === count && each.since >= since)) continue
      found = socket
      count = its
      since = each.since
    }
    if (found === undefined) return false
    remove(found)
    found.destroy()
    return true
  }
  const expire = Effect.sync(() => {
    const now = clock.currentTimeMillisUnsafe()
    for (const [socket, { phase, since }] of sockets) if (now - since > patience[phase]) socket.destroy()
  })
  const close = Effect.sync(() => {
    for (const socket of sockets.keys()) socket.destroy()
  })
  return {
    add: (socket, address) => {
      const count = countOf(address)
      if (count >= mostOfAddress || (sockets.size >= most && !evict(count))) {
        socket.destroy()
        return
      }
      sockets.set(socket, { address, phase: "new", since: clock.currentTimeMillisUnsafe(), seen: 0 })
      counts.set(address, countOf(address) + 1)
      socket.on("close", () => remove(socket))
    },
    enter: (socket, phase) => {
      const connection = sockets.get(socket)
      if (connection === undefined) return
      connection.phase = phase
      connection.since = clock.currentTimeMillisUnsafe()
      connection.seen = 0
    },
    sweep: Effect.forever(Effect.delay(expire, "5 seconds")),
    drain: (isQuiet) =>
      Effect.gen(function* () {
        const look = Effect.sync(() => {
          for (const [socket, connection] of sockets) {
            if (!isBusy(connection) && connection.seen++ >= quietLooks) socket.end()
          }
          return isQuiet() && sockets.size === 0
        })
        yield* Effect.timeoutOption(Effect.repeat(Effect.delay(look, drainInterval), { until: (done) => done }), grace)
        yield* close
      }),
    close
  }
}
