/**
 * The addresses and ports of Services, as envtest's kube-apiserver has them: 10.0.0.0/12 and 30000 to 32767. Which are free
 * follows from the Services there are; where a kube-apiserver picks one at random, the lowest is taken, so that a run is
 * like the one before.
 */
import type { JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"

/** What the Services that there are have taken. */
export interface Taken {
  readonly addresses: ReadonlySet<string>
  /** As `TCP/30000`, as one number may serve each protocol. */
  readonly ports: ReadonlySet<string>
}

/** What Services have taken; of all of them but the one of that uid. */
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

/** The lowest free address, above those that are left for whoever wants a certain one. */
export const address = ({ addresses }: Taken): string => {
  for (let offset = reserved + 1; offset < size - 1; offset++) {
    const found = text(base + offset)
    if (!addresses.has(found)) return found
  }
  return ""
}

/** The lowest port that is free for all protocols, above those that are left for whoever wants a certain one. */
export const nodePort = ({ ports }: Taken): number => {
  for (let port = 30_086; port <= lastPort; port++) {
    if (!protocols.some((protocol) => ports.has(`${protocol}/${port}`))) return port
  }
  return 0
}

/** Whether an address is one of those that Services have. */
export const isOurs = (address: string): boolean => {
  const value = address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0)
  return value > base && value < base + size - 1
}

/** The ports of nodes. */
export const firstPort = 30_000
/** The last of them. */
export const lastPort = 32_767

const protocols: ReadonlyArray<string> = ["TCP", "UDP", "SCTP"]

const base = 10 * 256 ** 3
const size = 2 ** 20
const reserved = 256

const text = (value: number): string => [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join(".")
