/**
 * Allocates cluster IPs and node ports from the ranges of envtest's kube-apiserver: 10.0.0.0/12 and 30000 to 32767.
 * The stored Services determine the free ones. A kube-apiserver picks a random one. This allocator takes the lowest, so that
 * test runs are repeatable.
 */
import type { JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import type * as ObjectIndex from "../../model/ObjectIndex.ts"

/** The cluster IPs of a Service, and its node ports with their protocol, such as `TCP/30000`. Protocols can share a number. */
export const valuesOf = (service: JsonObject): ReadonlyArray<string> => {
  const { clusterIPs, healthCheckNodePort, ports } = Json.object(service.spec)
  const values = Json.list(clusterIPs).map(String)
  for (const { nodePort, protocol } of Json.objects(ports)) {
    if (nodePort !== undefined) values.push(`${protocol}/${nodePort}`)
  }
  if (healthCheckNodePort !== undefined)
    for (const protocol of protocols) values.push(`${protocol}/${healthCheckNodePort}`)
  return values
}

/** The lowest free cluster IP above the band for static allocation. Empty if the range is full. */
export const address = (taken: ObjectIndex.Values): string => {
  const before = lowest.get(taken)
  const first = before?.losses === taken.losses ? before.offset : reserved + 1
  for (let offset = first; offset < size - 1; offset++) {
    const found = text(base + offset)
    if (taken.has(found)) continue
    lowest.set(taken, { losses: taken.losses, offset })
    return found
  }
  return ""
}

/** The last allocated address. Until a Service loses a value, none below it becomes free. */
const lowest = new WeakMap<ObjectIndex.Values, { readonly losses: number; readonly offset: number }>()

/** The lowest port that is free for all protocols, above the band for static allocation. 0 if the range is full. */
export const nodePort = (isTaken: (port: string) => boolean): number => {
  for (let port = 30_086; port <= lastPort; port++) {
    if (!protocols.some((protocol) => isTaken(`${protocol}/${port}`))) return port
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
