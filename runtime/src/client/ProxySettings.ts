/**
 * Chooses the proxy of a request by the rules of Go's clients, so that Homeostat uses the same proxy as kubectl. Bun's own rules
 * differ (it sends loopback through the proxy), so fetch always gets an explicit setting.
 */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as NodeModule from "../resource/NodeModule.ts"

/** The proxy settings of the environment. */
export interface Environment {
  /** For https:// servers: `HTTPS_PROXY`. */
  readonly https: string
  /** For http:// servers: `HTTP_PROXY`. */
  readonly http: string
  /** Hosts to reach directly, separated by commas: `NO_PROXY`. */
  readonly except: string
}

const variable = (name: string): Config.Config<string> =>
  Config.String(name).pipe(
    Config.orElse(() => Config.String(name.toLowerCase())),
    Config.withDefault("")
  )

/** Reads `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, in upper or lower case. Strings with defaults cannot fail. */
export const environment: Effect.Effect<Environment> = Effect.orDie(
  Config.all({ https: variable("HTTPS_PROXY"), http: variable("HTTP_PROXY"), except: variable("NO_PROXY") })
)

const familyOf = (address: string): "ipv4" | "ipv6" | undefined => {
  const version = NodeModule.net().isIP(address)
  return version === 4 ? "ipv4" : version === 6 ? "ipv6" : undefined
}

const within = (address: string, network: string, prefix: number): boolean => {
  const family = familyOf(network)
  if (family === undefined || family !== familyOf(address) || prefix > (family === "ipv4" ? 32 : 128)) return false
  const list = new (NodeModule.net().BlockList)()
  list.addSubnet(network, prefix, family)
  return list.check(address, family)
}

/** Whether a host is this machine; an IPv6 address without brackets. */
export const isLoopback = (host: string): boolean =>
  host === "localhost" || within(host, "127.0.0.0", 8) || within(host, "::1", 128)

/** Whether others could read the traffic: HTTP without TLS to another machine. */
export const isExposed = ({ hostname, protocol }: URL): boolean =>
  protocol === "http:" && !isLoopback(hostname.replace(/^\[|\]$/g, ""))

const excepts = (entry: string, host: string, port: string): boolean => {
  if (entry === "*") return true
  const network = /^(.+)\/(\d+)$/.exec(entry)
  if (network !== null) return within(host, network[1] ?? "", Number(network[2]))
  const withPort = /^(?:\[(.+)\]|([^:]+)):(\d+)$/.exec(entry)
  if (withPort !== null && withPort[3] !== port) return false
  const name = (withPort?.[1] ?? withPort?.[2] ?? entry).replace(/^\[|\]$/g, "").replace(/^\*(?=\.)/, "")
  if (familyOf(host) !== undefined) return within(host, name, name.includes(":") ? 128 : 32)
  return name.startsWith(".") ? host.endsWith(name) : host === name || host.endsWith(`.${name}`)
}

/** A proxy's URL for messages, without a password. */
export const shown = (proxy: string): string => proxy.replace(/\/\/[^/]*@/, "//")

/** The proxy's URL, or `undefined` to connect directly. Loopback never uses a proxy. */
export const resolve = (server: URL, environment: Environment): string | undefined => {
  const proxy = server.protocol === "https:" ? environment.https : environment.http
  if (proxy === "") return undefined
  const host = server.hostname.replace(/^\[|\]$/g, "").toLowerCase()
  if (isLoopback(host)) return undefined
  const port = server.port === "" ? (server.protocol === "https:" ? "443" : "80") : server.port
  const entries = environment.except.split(",").map((entry) => entry.trim().toLowerCase())
  if (entries.some((entry) => entry !== "" && excepts(entry, host, port))) return undefined
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(proxy) ? proxy : `http://${proxy}`
}
