import { describe, expect } from "bun:test"
import { connect, createServer, type Server, type Socket } from "node:net"
import { Effect, Exit, Scope } from "effect"
import * as Port from "./envtest/Port.ts"
import * as TcpProxy from "./TcpProxy.ts"
import { live } from "./Test.ts"

/** An echo server, and its open connections. */
const echo: Effect.Effect<{ readonly port: number; readonly sockets: Set<Socket> }, never, Scope.Scope> = Effect.gen(
  function* () {
    const sockets = new Set<Socket>()
    const port = yield* Port.free
    yield* Effect.acquireRelease(
      Effect.callback<Server>((resume) => {
        const server = createServer((socket) => {
          sockets.add(socket)
          socket.on("data", (bytes) => socket.write(bytes))
          socket.on("error", () => undefined)
          socket.on("close", () => sockets.delete(socket))
        })
        server.listen({ host: Port.host, port }, () => resume(Effect.succeed(server)))
      }),
      (server) =>
        Effect.sync(() => {
          server.close()
          for (const socket of sockets) socket.destroy()
        })
    )
    return { port, sockets }
  }
)

interface Caller {
  readonly send: (text: string) => Effect.Effect<void>
  readonly received: () => string
  /** The error code with which the connection ended, or `closed`; undefined while it is open. */
  readonly end: () => string | undefined
  readonly hangUp: Effect.Effect<void>
}

const call = (port: number): Effect.Effect<Caller, string, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<{ readonly caller: Caller; readonly socket: Socket }, string>((resume) => {
      let received = ""
      let end: string | undefined
      const socket = connect({ host: Port.host, port })
      const caller: Caller = {
        send: (text) => Effect.sync(() => void socket.write(text)),
        received: () => received,
        end: () => end,
        hangUp: Effect.sync(() => void socket.end())
      }
      socket.on("data", (bytes) => {
        received += bytes
      })
      socket.on("connect", () => resume(Effect.succeed({ caller, socket })))
      socket.on("error", (error) => {
        const code = "code" in error ? String(error.code) : error.message
        end = code
        resume(Effect.fail(code))
      })
      socket.on("close", () => {
        end ??= "closed"
      })
    }),
    ({ socket }) => Effect.sync(() => socket.destroy())
  ).pipe(Effect.map(({ caller }) => caller))

const until = (holds: () => boolean): Effect.Effect<void, unknown> =>
  Effect.sleep("5 millis").pipe(Effect.repeat({ until: holds }), Effect.timeout("30 seconds"), Effect.asVoid)

/** Connects, and waits for the target's greeting: the operating system accepts a connection before the proxy sees it. */
const greeted = (port: number) =>
  Effect.tap(Effect.orDie(call(port)), (caller) =>
    Effect.andThen(
      caller.send("hello "),
      until(() => caller.received() === "hello ")
    )
  )

const test = (
  name: string,
  body: (place: {
    readonly proxy: TcpProxy.TcpProxy
    readonly target: Effect.Success<typeof echo>
  }) => Effect.Effect<unknown, unknown, Scope.Scope>
): void =>
  live(name, () =>
    Effect.gen(function* () {
      const target = yield* echo
      yield* body({ target, proxy: yield* TcpProxy.make(target) })
    })
  )

describe("A TcpProxy", () => {
  test("passes all bytes in both directions, and counts them", ({ proxy }) =>
    Effect.gen(function* () {
      const caller = yield* call(proxy.port)
      const text = "0123456789abcdef".repeat(1 << 18)
      yield* caller.send(text)
      yield* until(() => caller.received().length === text.length)
      expect(caller.received()).toBe(text)
      expect(proxy.counted()).toEqual({
        connections: 1,
        open: 1,
        joined: 1,
        sent: text.length,
        received: text.length,
        held: 0
      })
    }))

  test("passes the end of a connection after its last bytes", ({ proxy, target }) =>
    Effect.gen(function* () {
      const caller = yield* call(proxy.port)
      yield* proxy.delay(100)
      yield* caller.send("last")
      yield* caller.hangUp
      yield* until(() => caller.end() !== undefined)
      expect([caller.received(), caller.end()]).toEqual(["last", "closed"])
      yield* until(() => proxy.counted().open === 0 && target.sockets.size === 0)
    }))

  test("delays each direction, and keeps the order when the delay gets shorter", ({ proxy }) =>
    Effect.gen(function* () {
      const caller = yield* greeted(proxy.port)
      yield* proxy.delay(1_000)
      const begun = performance.now()
      yield* caller.send("first ")
      yield* until(() => proxy.counted().held === "first ".length)
      yield* proxy.delay(0)
      yield* caller.send("second")
      yield* until(() => caller.received().endsWith("second"))
      expect(caller.received()).toBe("hello first second")
      // The second word waited for the first, although the delay was already 0.
      expect(performance.now() - begun).toBeGreaterThanOrEqual(995)
      yield* proxy.delay(150)
      const again = performance.now()
      yield* caller.send("!")
      yield* until(() => caller.received().endsWith("!"))
      expect(performance.now() - again).toBeGreaterThanOrEqual(295)
    }))

  test("cuts connections at both ends, and accepts new ones", ({ proxy, target }) =>
    Effect.gen(function* () {
      const caller = yield* call(proxy.port)
      yield* caller.send("hello")
      yield* until(() => caller.received() === "hello")
      yield* proxy.cut
      yield* until(() => caller.end() !== undefined && target.sockets.size === 0)
      expect(caller.end()).toBe("ECONNRESET")
      const next = yield* call(proxy.port)
      yield* next.send("again")
      yield* until(() => next.received() === "again")
      expect(proxy.counted()).toMatchObject({ connections: 2, open: 1 })
    }))

  test("refuses new connections and keeps old ones, until it is healed", ({ proxy }) =>
    Effect.gen(function* () {
      const caller = yield* greeted(proxy.port)
      yield* proxy.refuse
      expect(yield* Effect.flip(Effect.scoped(call(proxy.port)))).toBe("ECONNREFUSED")
      yield* caller.send("still here")
      yield* until(() => caller.received() === "hello still here")
      yield* proxy.heal
      const next = yield* call(proxy.port)
      yield* next.send("back")
      yield* until(() => next.received() === "back")
    }))

  test("keeps all bytes of a blackhole until it is healed", ({ proxy, target }) =>
    Effect.gen(function* () {
      const old = yield* call(proxy.port)
      yield* until(() => target.sockets.size === 1)
      yield* proxy.blackhole
      const late = yield* call(proxy.port)
      // The proxy holds less than this for one connection. The sender has to wait, and continues after `heal`.
      const much = "old".repeat(1 << 20)
      yield* old.send(much)
      yield* late.send("late")
      // The proxy holds as much as it takes. The late connection waits before that.
      yield* until(() => proxy.counted().held >= 1 << 20 && proxy.counted().open === 2)
      expect([old.received(), late.received(), old.end(), late.end()]).toEqual(["", "", undefined, undefined])
      expect([target.sockets.size, proxy.counted().joined]).toEqual([1, 1])
      yield* proxy.heal
      yield* until(() => old.received() === much && late.received() === "late")
    }))

  test("hides the end of a server during a blackhole, and reports it afterwards", ({ proxy, target }) =>
    Effect.gen(function* () {
      const caller = yield* call(proxy.port)
      yield* until(() => target.sockets.size === 1)
      yield* proxy.blackhole
      for (const socket of target.sockets) socket.resetAndDestroy()
      yield* until(() => proxy.counted().joined === 0)
      expect([caller.end(), proxy.counted().open]).toEqual([undefined, 1])
      yield* proxy.heal
      yield* until(() => caller.end() !== undefined)
    }))

  test("never answers old clients of a half-open connection, and serves new ones", ({ proxy, target }) =>
    Effect.gen(function* () {
      const old = yield* call(proxy.port)
      yield* until(() => target.sockets.size === 1)
      yield* proxy.halfOpen
      yield* until(() => target.sockets.size === 0)
      yield* old.send("anybody?")
      const next = yield* call(proxy.port)
      yield* next.send("hello")
      yield* until(() => next.received() === "hello")
      yield* proxy.heal
      // The old connection could receive nothing after these words.
      for (const word of ["one", "two", "three"]) {
        yield* next.send(word)
        yield* until(() => next.received().endsWith(word))
      }
      expect([old.received(), old.end()]).toEqual(["", undefined])
      expect(proxy.counted().open).toBe(2)
      yield* old.hangUp
      yield* until(() => proxy.counted().open === 1)
    }))

  live("closes all connections with its scope", () =>
    Effect.gen(function* () {
      const target = yield* echo
      const scope = yield* Scope.make()
      const { port } = yield* Scope.provide(TcpProxy.make(target), scope)
      const caller = yield* call(port)
      yield* until(() => target.sockets.size === 1)
      yield* Scope.close(scope, Exit.void)
      yield* until(() => caller.end() !== undefined && target.sockets.size === 0)
      expect(yield* Effect.flip(Effect.scoped(call(port)))).toBe("ECONNREFUSED")
    })
  )

  test("replaces the host and port of a URL by its own", ({ proxy }) =>
    Effect.sync(() => {
      expect(proxy.instead("https://127.0.0.1:6443")).toBe(`https://127.0.0.1:${proxy.port}`)
    }))
})
