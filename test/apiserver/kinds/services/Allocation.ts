/**
 * Allocates cluster IPs and node ports from the ranges of envtest's kube-apiserver: 10.0.0.0/12 and 30000 to 32767.
 * The stored Services determine the free ones. A kube-apiserver picks a random one. This allocator takes the lowest, so that
 * test runs are repeatable.
 */
import type { JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"

/** The cluster IPs and node ports in use. */
export interface Taken {
  readonly addresses: ReadonlySet<string>
  /** Ports with their protocol, such as `TCP/30000`. Protocols can share a number. */
  readonly ports: ReadonlySet<string>
}

/** The cluster IPs and node ports that the Services use. `except`: the uid of a Service to leave out. */
export const taken = (services: ReadonlyArray<JsonObject>, except?: Json.Json): Taken => {
  const addresses = new Set<string>()
  const ports = new Set<string>()
  for (const service of services) {
    if (except !== undefined && Json.at(service, "metadata", "uid") === except) continue
    for (const address of Json.list(Json.at(service, "spec", "clusterIPs"))) addresses.add(String(address))
    for (const { nodePort, protocol } of Json.objects(Json.at(service, "spec", "ports"))) {
      if (nodePort !== undefined) ports.add(`${protocol}/${nodePort}`)
    }
    const port = Json.at(service, "spec", "healthCheckNodePort")
    if (port !== undefined) for (const protocol of protocols) ports.add(`${protocol}/${port}`)
  }
  return { addresses, ports }
}

/** The lowest free cluster IP above the band for static allocation. Empty if the range is full. */
export const address = ({ addresses }: Taken): string => {
  for (let offset = reserved + 1; offset < size - 1; offset++) {
    const found = text(base + offset)
    if (!addresses.has(found)) return found
  }
  return ""
}

/** The lowest port that is free for all protocols, above the band for static allocation. 0 if the range is full. */
export const nodePort = ({ ports }: Taken): number => {
  for (let port = 30_086; port <= lastPort; port++) {
    if (!protocols.some((protocol) => ports.has(`${protocol}/${port}`))) return port
  }
  return 0
}

/** True if an IPv4 address is in the range of cluster IPs. */
export const isOurs = (address: string): boolean => {
  const value = address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0)
  return value > base && value < base + size - 1
}

/** The first port of the node port range. */
export const firstPort = 30_000
/** The last port of the node port range. */
export const lastPort = 32_767

const protocols: ReadonlyArray<string> = ["TCP", "UDP", "SCTP"]

const base = 10 * 256 ** 3
const size = 2 ** 20
const reserved = 256

const text = (value: number): string => [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join(".")
