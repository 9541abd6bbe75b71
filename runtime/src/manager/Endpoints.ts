/**
 * What a manager answers over HTTP: one port for metrics, one for probes. Others bring the routes.
 *
 * Only what is routed is answered (404 otherwise, which lists the routes to callers on this machine), and only the methods that a
 * route takes, which are GET and HEAD unless it says so (405 otherwise). Handlers take no body. A client that sends headers slowly,
 * or none, is cut off after some ten seconds, and so is a handler that takes as long. Of each route {@link mostUnderWay} requests
 * are answered at a time, and {@link mostOfAddress} of one IP address. A further one gets 503 at once, so that a crowd at one route
 * does not fill the memory, and one neighbour does not keep kubelet from the probes.
 *
 * Why `Bun.serve` and not @effect/platform's server over it: a probe has to be answered as soon as the process runs, and for as
 * little as possible, every few seconds for ever. It starts in 0.3 ms instead of 2 to 14, costs 70 µs of CPU for a request and
 * its client together instead of 430, and 16 MB less memory (compiled, bun 1.4.5, 2000 requests each).
 */
import type { Server } from "bun"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as BindAddress from "./BindAddress.ts"
import type * as Certificate from "./Certificate.ts"
import * as Loopback from "./Loopback.ts"

/** What a port is for. */
export type Port = "metrics" | "probes"

/** Where a request comes from. */
export interface Caller {
  /** The IP address of who is at the other end of the connection, which may be a proxy; absent if it is gone already. */
  readonly address: string | undefined
}

/** Answers a request. It is to be quick, and must not fail: a defect is logged, and answered with 500. */
export type Handler = (request: Request, caller: Caller) => Effect.Effect<Response>

/** What a request may want. */
export type Method = "GET" | "HEAD" | "POST" | "PUT" | "DELETE"

/** The methods of a route that only shows something. */
const reading: ReadonlyArray<Method> = ["GET", "HEAD"]

/** The ports of a manager. */
export class Endpoints extends Context.Tag("@homeostat/runtime/Endpoints")<
  Endpoints,
  {
    /**
     * Adds a route to a port, until the scope closes. A path is taken as it is; one that ends in `/*` stands for everything below
     * it that has no route of its own. On a port that is off nothing happens.
     *
     * @param methods what it takes; by default GET and HEAD
     */
    readonly route: (
      port: Port,
      path: string,
      handler: Handler,
      methods?: ReadonlyArray<Method>
    ) => Effect.Effect<void, never, Scope.Scope>
    /** Where each port is, `127.0.0.1:8080`, with the port that was free where any was asked for; absent where it is off. */
    readonly addresses: { readonly [port in Port]?: string }
  }
>() {}

/** The flags, for messages. */
const flags: { readonly [port in Port]: string } = {
  metrics: "--metrics-bind-address",
  probes: "--health-probe-bind-address"
}

/** A port can't be opened. */
export class BindFailed extends Data.TaggedError("BindFailed")<{
  readonly port: Port
  /** As it was asked for. */
  readonly address: string
  readonly reason: string
}> {
  override get message(): string {
    return `cannot listen on ${this.address}, from ${flags[this.port]}: ${this.reason}`
  }
}

/** Where to listen; a port without an address is off. */
export interface Options {
  readonly metrics: BindAddress.BindAddress | undefined
  readonly probes: BindAddress.BindAddress | undefined
  /** Has the port for metrics speak TLS, and nothing else, with these certificates. Not where it is the port for probes too. */
  readonly metricsTls?: Certificate.Source | undefined
}

/** Seconds in which the headers of a request have to be there, and its answer. Bun counts in steps of 4. */
const idleTimeout = 10

/** Requests of one route that are answered at a time. */
export const mostUnderWay = 200

/** Those of one IP address. */
export const mostOfAddress = 100

interface Route {
  readonly handler: Handler
  readonly methods: ReadonlyArray<string>
  /** Requests that are being answered. */
  underWay: number
  /** The same by the IP address of the caller. */
  readonly byAddress: Map<string, number>
}

const begin = (route: Route, address: string): void => {
  route.underWay++
  route.byAddress.set(address, (route.byAddress.get(address) ?? 0) + 1)
}

const end = (route: Route, address: string): void => {
  route.underWay--
  const left = (route.byAddress.get(address) ?? 1) - 1
  if (left > 0) route.byAddress.set(address, left)
  else route.byAddress.delete(address)
}

type Routes = Map<string, Route>

/** The route of a path: its own, or else the nearest above it. */
const find = (routes: Routes, path: string): Route | undefined => {
  const exact = routes.get(path)
  if (exact !== undefined) return exact
  for (let end = path.lastIndexOf("/"); end >= 0; end = end === 0 ? -1 : path.lastIndexOf("/", end - 1)) {
    const above = routes.get(`${path.slice(0, end)}/*`)
    if (above !== undefined) return above
  }
  return undefined
}

/** Text for a person who asks with curl, and for kubelet, which shows it in an Event. */
export const text = (status: number, body: string, headers: { readonly [name: string]: string } = {}): Response =>
  new Response(`${body}\n`, {
    status,
    headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff", ...headers }
  })

/** `GET, HEAD and PUT` */
const listed = (words: ReadonlyArray<string>): string =>
  words.length < 2 ? words.join() : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`

/** Characters of a path that an answer repeats. */
const mostNamed = 200

const answer = (routes: Routes, request: Request, caller: Caller): Effect.Effect<Response> => {
  // What a stranger writes into the header Host can make it no URL.
  const { pathname } = URL.parse(request.url) ?? { pathname: "/" }
  const route = find(routes, pathname)
  if (route === undefined) {
    const known = [...routes.keys()].filter((path) => !path.endsWith("/*")).sort()
    const list = Loopback.isLocal(request, caller.address) ? ` (one of: ${known.join(", ") || "none yet"})` : ""
    return Effect.succeed(text(404, `not found: ${pathname.slice(0, mostNamed)}${list}`))
  }
  const { handler, methods } = route
  if (!methods.includes(request.method)) {
    return Effect.succeed(text(405, `${pathname} takes ${listed(methods)}`, { allow: methods.join(", ") }))
  }
  const { address = "" } = caller
  if (route.underWay >= mostUnderWay || (route.byAddress.get(address) ?? 0) >= mostOfAddress) {
    return Effect.sync(overloaded)
  }
  return Effect.suspend(() => {
    begin(route, address)
    return handler(request, caller)
  }).pipe(
    Effect.catchAllCause((cause) =>
      Effect.as(Effect.logError(`Answering ${pathname} failed unexpectedly`, cause), text(500, "internal error"))
    ),
    Effect.ensuring(Effect.sync(() => end(route, address)))
  )
}

/** Closes the connection: the requests that wait in it would cost as much again. */
const overloaded = (): Response =>
  text(503, "too many requests are being answered; try again", { "retry-after": "1", connection: "close" })

type Listening = Server<undefined>

const codeOf = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined)

/** One line of why a port can't be opened. */
const reasonOf = (error: unknown): string => {
  switch (codeOf(error)) {
    case "EADDRINUSE":
      return "another process listens there"
    case "EACCES":
      return "no permission to listen on this port"
    case "EADDRNOTAVAIL":
      return "this machine has no such address"
    default:
      return error instanceof Error ? error.message : String(error)
  }
}

/** Ports that are open as long as the scope. */
export const make = (options: Options): Effect.Effect<Endpoints["Type"], BindFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const run = yield* FiberSet.makeRuntimePromise<never, Response, never>()

    const listen = (address: BindAddress.BindAddress, routes: Routes, tls: Certificate.Pair | undefined): Listening => {
      const on = (hostname: string) =>
        Bun.serve({
          hostname,
          port: address.port,
          idleTimeout,
          development: false,
          // Said aloud: outside of development Bun shares a port with whoever else does, and each would get half of the probes.
          reusePort: false,
          maxRequestBodySize: 0,
          ...(tls && { tls: { cert: tls.certificate, key: tls.key } }),
          fetch: (request, server) => run(answer(routes, request, { address: server.requestIP(request)?.address }))
        })
      if (address.hostname !== undefined) return on(address.hostname)
      try {
        return on("::")
      } catch (error) {
        if (codeOf(error) === "EADDRINUSE") throw error
        // A machine without IPv6 has no address that stands for all of both kinds.
        return on("0.0.0.0")
      }
    }

    const open = (
      port: Port,
      address: BindAddress.BindAddress,
      routes: Routes,
      certificates: Certificate.Source | undefined
    ) =>
      Effect.gen(function* () {
        const current = yield* Effect.acquireRelease(
          Effect.try({
            try: () => ({ server: listen(address, routes, certificates?.first) }),
            catch: (error) => new BindFailed({ port, address: BindAddress.format(address), reason: reasonOf(error) })
          }),
          ({ server }) => Effect.promise(() => server.stop(true))
        )
        const at = { hostname: address.hostname, port: current.server.port ?? address.port }
        // Bun knows no new certificate for a port that is open (`reload` keeps the old one). What is being answered is answered.
        const show = (pair: Certificate.Pair) => {
          const reopened = Effect.try(() => {
            current.server = listen(at, routes, pair)
          }).pipe(
            Effect.tapError(({ error }) =>
              Effect.logError(`Cannot listen on ${BindAddress.format(at)} again: ${reasonOf(error)}`)
            ),
            Effect.retry(Schedule.spaced("1 second")),
            Effect.orDie
          )
          return Effect.zipRight(
            Effect.sync(() => void current.server.stop()),
            reopened
          )
        }
        if (certificates !== undefined) {
          yield* Effect.forkScoped(
            Effect.iterate(certificates.first, {
              while: () => true,
              body: (shown) => Effect.tap(certificates.after(shown), show)
            })
          )
        }
        return BindAddress.format(at)
      })

    const { metrics, probes } = options
    const shared =
      metrics !== undefined &&
      probes !== undefined &&
      metrics.port !== 0 &&
      BindAddress.format(metrics) === BindAddress.format(probes)
    const first: Routes = new Map()
    const tables: { readonly [port in Port]: Routes } = { metrics: first, probes: shared ? first : new Map() }
    const at = metrics === undefined ? undefined : yield* open("metrics", metrics, tables.metrics, options.metricsTls)
    const probesAt = shared || probes === undefined ? at : yield* open("probes", probes, tables.probes, undefined)
    const addresses = {
      ...(at !== undefined && { metrics: at }),
      ...(probes !== undefined && probesAt !== undefined && { probes: probesAt })
    }

    return {
      addresses,
      route: (port, path, handler, methods = reading) => {
        const route: Route = { handler, methods, underWay: 0, byAddress: new Map() }
        return Effect.acquireRelease(
          Effect.sync(() => void tables[port].set(path, route)),
          () =>
            Effect.sync(() => {
              // Not one that has taken its place meanwhile.
              if (tables[port].get(path) === route) tables[port].delete(path)
            })
        )
      }
    }
  })

/** Ports that are open as long as the layer. */
export const layer = (options: Options): Layer.Layer<Endpoints, BindFailed> => Layer.scoped(Endpoints, make(options))
