/**
 * The HTTP ports of a manager: one for metrics, one for probes. Other modules add the routes.
 *
 * A path without a route gets 404, which lists the routes to callers on this machine. A method that the route does not accept gets
 * 405; the default methods are GET and HEAD. A request with a body gets 413, unless its route takes bodies. After ten to fifteen seconds the
 * port cuts off a client that sends its headers or its body slowly, and a slow handler.
 *
 * A port has 1000 connections, and {@link HttpPort.mostConnectionsOfAddress} of one IP address. A full port closes an idle connection
 * of the address with the most for a new one. Each route answers {@link mostUnderWay} requests at the same time, of which one IP
 * address has {@link mostOfAddress}. Further requests get 503 at once, except the first one of an address. All paths without a route
 * count as one route. All bodies of a port take at most 16 MiB together, where the first 64 KiB of each do not count. A body without a
 * place gets 503, or takes the place of one that has been slow for a second. So many requests do not fill the memory, and others do not
 * block the probes of the kubelet.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { reasonOf } from "../resource/ListenError.ts"
import * as Text from "../resource/Text.ts"
import * as BindAddress from "./BindAddress.ts"
import type * as Certificate from "./Certificate.ts"
import type * as HttpPort from "./HttpPort.ts"
import * as Loopback from "./Loopback.ts"

/** The purpose of a port. */
export type Port = "metrics" | "probes"

/** The sender of a request. */
export interface Caller {
  /** The IP address at the other end of the connection, which may be a proxy; absent if the connection is closed. */
  readonly address: string | undefined
}

/** Answers a request. It must be fast and must not fail: a defect is logged and answered with 500. */
export type Handler = (request: Request, caller: Caller) => Effect.Effect<Response>

/** The method of a request. */
export type Method = "GET" | "HEAD" | "POST" | "PUT" | "DELETE"

/** The requests of a route. */
export interface RouteOptions {
  /** The accepted methods. Default: GET and HEAD. */
  readonly methods?: ReadonlyArray<Method> | undefined
  /**
   * The largest body, in bytes. A larger one gets 413, and one without `content-length` gets 411. GET and HEAD never have one. Default: 0,
   * so every body gets 413.
   */
  readonly maxBodyBytes?: number | undefined
}

/** The ports of a manager. */
export interface Ports {
  /**
   * Adds a route to a port, until the scope closes. A path matches exactly; one that ends in `/*` matches every path below it that has no
   * route of its own. Does nothing if the port is off. Any client that reaches the port can send a request, so the handler checks its callers.
   */
  readonly route: (
    port: Port,
    path: string,
    handler: Handler,
    options?: RouteOptions
  ) => Effect.Effect<void, never, Scope.Scope>
  /** The address of each port, such as `127.0.0.1:8080`, with the actual port if the setting was 0; absent if the port is off. */
  readonly addresses: { readonly [port in Port]?: string }
}

/** Ports that are off. */
export const off: Ports = { route: () => Effect.void, addresses: {} }

/**
 * The ports of the manager, for the Layers of a program. They are {@link off} in a plan, in a replay, and in tests without ports.
 *
 * @example
 * ```ts
 * import { Endpoints } from "@homeostat/runtime"
 * import { Effect, Layer } from "effect"
 *
 * const store = (text: string) => Effect.log(text)
 *
 * export const inventory = Layer.effectDiscard(
 *   Effect.gen(function* () {
 *     const { route } = yield* Endpoints.Endpoints
 *     yield* route(
 *       "probes",
 *       "/inventory",
 *       (request) =>
 *         Effect.promise(() => request.text()).pipe(Effect.flatMap(store), Effect.as(Endpoints.text(200, "stored"))),
 *       { methods: ["POST"], maxBodyBytes: 65_536 }
 *     )
 *   })
 * )
 * ```
 */
export const Endpoints = Context.Reference("@homeostat/runtime/Endpoints", { defaultValue: () => off })

/** The flags, for messages. */
const flags: { readonly [port in Port]: string } = {
  metrics: "--metrics-bind-address",
  probes: "--health-probe-bind-address"
}

/** The manager cannot listen on a port. */
export class BindFailed extends Data.TaggedError("BindFailed")<{
  readonly port: Port
  /** The address of the setting. */
  readonly address: string
  readonly reason: string
}> {
  override get message(): string {
    return `cannot listen on ${this.address}, from ${flags[this.port]}: ${this.reason}`
  }
}

/** The listen addresses; a port without an address is off. */
export interface Options {
  readonly metrics: BindAddress.BindAddress | undefined
  readonly probes: BindAddress.BindAddress | undefined
  /** Certificates for the metrics port, which then accepts only TLS. Not allowed if both ports share an address. */
  readonly metricsTls?: Certificate.Source | undefined
}

/** Concurrent requests of one route, and in addition the first one of each other IP address. */
export const mostUnderWay = 200

/** Concurrent requests of one route from one IP address. */
export const mostOfAddress = 100

interface Route {
  readonly handler: Handler
  readonly methods: ReadonlyArray<string>
  readonly maxBodyBytes: number
  /** Requests in progress. */
  underWay: number
  /** Requests in progress by the IP address of the caller. */
  readonly byAddress: Map<string, number>
}

const routeOf = (handler: Handler, { maxBodyBytes = 0, methods = ["GET", "HEAD"] }: RouteOptions = {}): Route => ({
  handler,
  methods,
  maxBodyBytes,
  underWay: 0,
  byAddress: new Map()
})

/** Counts a request. False: there are too many. */
const begin = (route: Route, address: string): boolean => {
  const own = route.byAddress.get(address) ?? 0
  if (own > 0 && (route.underWay >= mostUnderWay || own >= mostOfAddress)) return false
  route.underWay++
  route.byAddress.set(address, own + 1)
  return true
}

const end = (route: Route, address: string): void => {
  route.underWay--
  const left = (route.byAddress.get(address) ?? 1) - 1
  if (left > 0) route.byAddress.set(address, left)
  else route.byAddress.delete(address)
}

type Routes = Map<string, Route>

/** The route of a path: the exact one, or else the nearest one above it. */
const find = (routes: Routes, path: string): Route | undefined => {
  const exact = routes.get(path)
  if (exact !== undefined) return exact
  for (let end = path.lastIndexOf("/"); end >= 0; end = end === 0 ? -1 : path.lastIndexOf("/", end - 1)) {
    const above = routes.get(`${path.slice(0, end)}/*`)
    if (above !== undefined) return above
  }
  return undefined
}

/**
 * A text response, for people with curl and for the kubelet, which shows it in an Event.
 *
 * @example
 * ```ts
 * import { Endpoints } from "@homeostat/runtime"
 *
 * export const busy = Endpoints.text(503, "the import is running", { "retry-after": "5" })
 * ```
 */
export const text = (status: number, body: string, headers: { readonly [name: string]: string } = {}): Response =>
  new Response(`${Text.printable(body)}\n`, {
    status,
    headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff", ...headers }
  })

/** `GET, HEAD and PUT` */
const listed = (words: ReadonlyArray<string>): string =>
  words.length < 2 ? words.join() : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`

/** The longest prefix of a path that an answer repeats, in characters. */
const mostNamed = 200

/** Answers a request for a path without a route. */
const missing =
  (routes: Routes, pathname: string): Handler =>
  (request, { address }) => {
    const known = [...routes.keys()].filter((path) => !path.endsWith("/*")).sort()
    const list = Loopback.isLocal(request, address) ? ` (one of: ${known.join(", ") || "none yet"})` : ""
    return Effect.succeed(text(404, `not found: ${pathname.slice(0, mostNamed)}${list}`))
  }

/** Closes the connection, because the requests that wait on it would cost as much. */
const overloaded = (): Response =>
  text(503, "too many requests are being answered; try again", { "retry-after": "1", connection: "close" })

/** Answers the requests of a port. A request counts until the client has the answer, so those that it sends at once count too. */
const answering = (routes: Routes, run: (effect: Effect.Effect<Response>) => Promise<Response>): HttpPort.Answer => {
  const none = routeOf(() => Effect.die("no route"))
  return async (head, address, sent, read) => {
    const pathname = new URL(head.url).pathname
    const found = find(routes, pathname)
    const route = found ?? none
    const key = address ?? ""
    if (!begin(route, key)) return sent(overloaded())
    try {
      const isTaken = route.methods.includes(head.method)
      const request = await read(isTaken ? route.maxBodyBytes : 0)
      if (request instanceof Response) return await sent(request)
      if (found !== undefined && !isTaken) {
        const { methods } = found
        const allow = methods.join(", ")
        return await sent(text(405, `${pathname.slice(0, mostNamed)} takes ${listed(methods)}`, { allow }))
      }
      const handler = found?.handler ?? missing(routes, pathname)
      const answer = Effect.catchCause(
        Effect.suspend(() => handler(request, { address })),
        (cause) =>
          Effect.as(Effect.logError(`Answering ${pathname} failed unexpectedly`, cause), text(500, "internal error"))
      )
      await sent(await run(answer))
    } finally {
      end(route, key)
    }
  }
}

/**
 * Ports that stay open until the scope closes.
 *
 * @internal
 */
export const make = (options: Options): Effect.Effect<Ports, BindFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const run = yield* FiberSet.makeRuntimePromise<never, Response, never>()

    const open = (
      port: Port,
      address: BindAddress.BindAddress,
      routes: Routes,
      certificates: Certificate.Source | undefined
    ) =>
      // Its modules of Node take milliseconds of the start of each command.
      Effect.promise(() => import("./HttpPort.ts")).pipe(
        Effect.flatMap(({ make }) => make(address, certificates, answering(routes, run))),
        Effect.mapBoth({
          onFailure: (error) => new BindFailed({ port, address: BindAddress.format(address), reason: reasonOf(error) }),
          onSuccess: (actual) => BindAddress.format({ hostname: address.hostname, port: actual })
        })
      )

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
      route: (port, path, handler, options) => {
        const route = routeOf(handler, options)
        return Effect.acquireRelease(
          Effect.sync(() => void tables[port].set(path, route)),
          () =>
            Effect.sync(() => {
              // Keeps a route that has replaced this one.
              if (tables[port].get(path) === route) tables[port].delete(path)
            })
        )
      }
    }
  })

/**
 * Ports that stay open for the lifetime of the layer.
 *
 * @internal
 */
export const layer = (options: Options): Layer.Layer<never, BindFailed> => Layer.effect(Endpoints, make(options))
