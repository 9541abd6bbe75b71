/**
 * The open connections of a port, in their phases: one that is idle gives way to a new one, or ends after some time, or at the shutdown.
 *
 * Every pod can open connections, so each address has a limit, and an address with many gives way to one with few.
 */
import type { Duplex } from "node:stream"
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"

/**
 * The phase of a connection: before its first request, with the handshake, while a body arrives, between requests, before an answer, and
 * after its last answer.
 */
export type Phase = "new" | "receiving" | "idle" | "working" | "ending"

/** The bounds of a port. */
export interface Limits {
  /** Concurrent connections. Beyond, one of the address with the most closes. */
  readonly most: number
  /** Concurrent connections of one IP address. Beyond, one of them closes. */
  readonly mostOfAddress: number
  /** How long a connection may stay in a phase, in ms. */
  readonly patience: { readonly [phase in Phase]: number }
}

/** The bounds of the webhooks. An API server opens a connection for each request that waits for an answer, and closes idle ones earlier. */
export const webhook: Limits = {
  most: 1000,
  mostOfAddress: 250,
  patience: { new: 10_000, receiving: 30_000, idle: 180_000, working: 60_000, ending: 2000 }
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
  /** Adds a new connection of an IP address, or closes it because its address has too many, and all of them wait for an answer. */
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
  /** The connections of each address. */
  const lanes = new Map<string, Map<Duplex, Connection>>()
  const isBusy = ({ phase }: Connection): boolean => phase === "receiving" || phase === "working"
  /** Closes the connection that has been in one of these phases for the longest time. False: there is none. */
  const evict = (lane: ReadonlyMap<Duplex, Connection>, phases: ReadonlyArray<Phase>): boolean => {
    let found: readonly [Duplex, Connection] | undefined
    for (const each of lane) {
      if (phases.includes(each[1].phase) && (found?.[1].since ?? Infinity) > each[1].since) found = each
    }
    if (found === undefined) return false
    remove(found[0])
    found[0].destroy()
    return true
  }
  const remove = (socket: Duplex): void => {
    const connection = sockets.get(socket)
    if (connection === undefined) return
    sockets.delete(socket)
    const { address } = connection
    const lane = lanes.get(address)
    lane?.delete(socket)
    if (lane?.size === 0) lanes.delete(address)
  }
  const crowded = (): ReadonlyMap<Duplex, Connection> => {
    let found: ReadonlyMap<Duplex, Connection> = new Map()
    for (const lane of lanes.values()) if (lane.size > found.size) found = lane
    return found
  }
  const evictWaiting = (lane: ReadonlyMap<Duplex, Connection>): boolean =>
    evict(lane, ["new", "idle", "ending"]) || evict(lane, ["receiving"])
  /** Whether there is a place for a further connection of this address. Closes another one if need be. */
  const makesRoom = (address: string): boolean => {
    const own = lanes.get(address)
    if ((own?.size ?? 0) >= mostOfAddress) return own !== undefined && evictWaiting(own)
    if (sockets.size < most) return true
    const largest = crowded()
    return evictWaiting(largest) || (largest !== own && evict(largest, ["working"]))
  }
  const close = Effect.sync(() => {
    for (const socket of sockets.keys()) socket.destroy()
  })
  /** Open while there are connections: an idle port has no timer. */
  const isInUse = Latch.makeUnsafe(false)
  const expire = Effect.sync(() => {
    const now = clock.currentTimeMillisUnsafe()
    for (const [socket, { phase, since }] of sockets) if (now - since > patience[phase]) socket.destroy()
    if (sockets.size === 0) isInUse.closeUnsafe()
  })
  return {
    add: (socket, address) => {
      if (!makesRoom(address)) {
        socket.destroy()
        return
      }
      const connection: Connection = { address, phase: "new", since: clock.currentTimeMillisUnsafe(), seen: 0 }
      sockets.set(socket, connection)
      const lane = lanes.get(address) ?? new Map<Duplex, Connection>()
      lanes.set(address, lane.set(socket, connection))
      isInUse.openUnsafe()
      socket.on("close", () => remove(socket))
    },
    enter: (socket, phase) => {
      const connection = sockets.get(socket)
      if (connection === undefined) return
      connection.phase = phase
      connection.since = clock.currentTimeMillisUnsafe()
      connection.seen = 0
    },
    sweep: Effect.forever(Effect.andThen(isInUse.await, Effect.delay(expire, "5 seconds"))),
    drain: (isQuiet) =>
      Effect.gen(function* () {
        const look = Effect.sync(() => {
          for (const [socket, connection] of sockets) {
            if (isBusy(connection) || connection.seen++ < quietLooks) continue
            // A client that still sends a body, which the server does not read, does not see the end.
            if (connection.phase === "ending") socket.destroy()
            else socket.end()
          }
          return isQuiet() && sockets.size === 0
        })
        yield* Effect.timeoutOption(Effect.repeat(Effect.delay(look, drainInterval), { until: (done) => done }), grace)
        yield* close
      }),
    close
  }
}
