/** Kubernetes' CEL libraries of URLs, IP addresses and CIDRs: `url`, `ip` and `cidr`. */
import type { Environment } from "@marcbachmann/cel-js"
import { failure } from "./Value.ts"

/** Adds the types and functions to an environment. Returns the same environment. */
export const register = (env: Environment): Environment => {
  env.registerType("net.URL", Url)
  env.registerType("net.IP", Ip)
  env.registerType("net.CIDR", Cidr)
  env.registerType("IpNamespace", IpNamespace)
  env.registerConstant("ip", "IpNamespace", new IpNamespace())
  for (const [signature, handler] of Object.entries(functions)) env.registerFunction(signature, handler)
  for (const type of ["net.URL", "net.IP", "net.CIDR"]) {
    env.registerOperator(`${type} == ${type}`, (one: object, other: object) => String(one) === String(other))
  }
  return env
}

class IpNamespace {}

class Url {
  constructor(
    readonly scheme: string,
    readonly host: string,
    readonly path: string,
    readonly query: string
  ) {}

  static parse(text: string): Url | undefined {
    if (text === "" || /[\p{Cc} ]/u.test(text)) return undefined
    const match = /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/([^/?]*))?([^?]*)(?:\?(.*))?$/.exec(text)
    if (match === null) return undefined
    const [, scheme = "", authority = "", path = "", query = ""] = match
    if (scheme === "" && !text.startsWith("/")) return undefined
    if (scheme !== "" && authority === "" && path !== "" && !path.startsWith("/")) return undefined
    const host = authority.slice(authority.lastIndexOf("@") + 1)
    if (/:[^\d]*[^\d:\]][^\]]*$/.test(host.replace(/^\[.*\]/, "")) || /%(?![0-9a-f]{2})/i.test(path)) return undefined
    return new Url(scheme.toLowerCase(), host, path, query)
  }

  get hostname(): string {
    return this.host.replace(/:\d*$/, "").replace(/^\[(.*)\]$/, "$1")
  }

  get port(): string {
    return /:(\d+)$/.exec(this.host)?.[1] ?? ""
  }

  get parameters(): Map<string, Array<string>> {
    const found = new Map<string, Array<string>>()
    for (const [name, value] of new URLSearchParams(this.query)) found.set(name, [...(found.get(name) ?? []), value])
    return found
  }

  toString(): string {
    const query = this.query === "" ? "" : `?${this.query}`
    return `${this.scheme === "" ? "" : `${this.scheme}://${this.host}`}${this.path}${query}`
  }
}

class Ip {
  constructor(
    readonly family: 4 | 6,
    readonly bits: bigint
  ) {}

  static parse(text: string): Ip | undefined {
    if (!text.includes(":")) {
      const parts = text.split(".")
      if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256))
        return undefined
      return new Ip(
        4,
        parts.reduce((bits, part) => bits * 256n + BigInt(part), 0n)
      )
    }
    const groups = groupsOf(text)
    if (groups === undefined) return undefined
    const bits = groups.reduce((all, group) => all * 65536n + BigInt(`0x${group}`), 0n)
    // An IPv4-mapped IPv6 address is invalid.
    return bits >> 32n === 0xffffn ? undefined : new Ip(6, bits)
  }

  get width(): number {
    return this.family === 4 ? 32 : 128
  }

  /** Whether the first `prefix` bits equal those of another address of the same family. */
  within(other: Ip, prefix: number): boolean {
    const rest = BigInt(this.width - prefix)
    return this.family === other.family && this.bits >> rest === other.bits >> rest
  }

  toString(): string {
    if (this.family === 4) return [24n, 16n, 8n, 0n].map((by) => (this.bits >> by) & 255n).join(".")
    const groups = Array.from({ length: 8 }, (_, at) => ((this.bits >> BigInt(112 - 16 * at)) & 65535n).toString(16))
    const zeros = [
      ...groups
        .map((group) => (group === "0" ? "0" : "-"))
        .join("")
        .matchAll(/00+/g)
    ]
    const [longest] = zeros.sort((one, other) => other[0].length - one[0].length)
    if (longest === undefined) return groups.join(":")
    const end = longest.index + longest[0].length
    return `${groups.slice(0, longest.index).join(":")}::${groups.slice(end).join(":")}`
  }
}

/** Splits an IPv6 address into its eight groups; undefined: the address is invalid. */
const groupsOf = (text: string): ReadonlyArray<string> | undefined => {
  const halves = text.split("::")
  if (halves.length > 2) return undefined
  const [left = [], right = []] = halves.map((half) => (half === "" ? [] : half.split(":")))
  const missing = 8 - left.length - right.length
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined
  const groups = [...left, ...Array.from({ length: missing }, () => "0"), ...right]
  return groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group)) ? groups : undefined
}

class Cidr {
  constructor(
    readonly address: Ip,
    readonly prefix: number
  ) {}

  static parse(text: string): Cidr | undefined {
    const [, before = "", bits = ""] = /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(text) ?? []
    const address = Ip.parse(before)
    return address === undefined || Number(bits) > address.width ? undefined : new Cidr(address, Number(bits))
  }

  get masked(): Cidr {
    const rest = BigInt(this.address.width - this.prefix)
    return new Cidr(new Ip(this.address.family, (this.address.bits >> rest) << rest), this.prefix)
  }

  contains(other: Cidr): boolean {
    return this.prefix <= other.prefix && other.address.within(this.address, this.prefix)
  }

  toString(): string {
    return `${this.address}/${this.prefix}`
  }
}

const url = (text: string): Url => {
  const parsed = Url.parse(text)
  if (parsed === undefined)
    throw failure(
      `URL parse error during conversion from string: parse ${JSON.stringify(text)}: invalid URI for request`
    )
  return parsed
}

const ip = (text: string): Ip => {
  const parsed = Ip.parse(text)
  if (parsed === undefined)
    throw failure(
      `IP Address ${JSON.stringify(text)} parse error during conversion from string: ParseAddr(${JSON.stringify(text)}): unable to parse IP`
    )
  return parsed
}

const cidr = (text: string): Cidr => {
  const parsed = Cidr.parse(text)
  if (parsed === undefined)
    throw failure(
      `network address parse error during conversion from string: netip.ParsePrefix(${JSON.stringify(text)}): no '/'`
    )
  return parsed
}

const startsWith = (address: Ip, network: string): boolean => {
  const { address: first, prefix } = cidr(network)
  return address.within(first, prefix)
}

const isSpecial = (address: Ip): boolean =>
  address.bits === 0n ||
  String(address) === "255.255.255.255" ||
  ["127.0.0.0/8", "::1/128", "224.0.0.0/4", "ff00::/8", "169.254.0.0/16", "fe80::/10"].some((network) =>
    startsWith(address, network)
  )

const functions: { readonly [signature: string]: (...args: never) => unknown } = {
  "url(string): net.URL": url,
  "isURL(string): bool": (text: string) => Url.parse(text) !== undefined,
  "net.URL.getScheme(): string": ({ scheme }: Url) => scheme,
  "net.URL.getHost(): string": ({ host }: Url) => host,
  "net.URL.getHostname(): string": ({ hostname }: Url) => hostname,
  "net.URL.getPort(): string": ({ port }: Url) => port,
  "net.URL.getEscapedPath(): string": ({ path }: Url) => path,
  "net.URL.getQuery(): map<string, list<string>>": ({ parameters }: Url) => parameters,
  "ip(string): net.IP": ip,
  "isIP(string): bool": (text: string) => Ip.parse(text) !== undefined,
  "IpNamespace.isCanonical(string): bool": (_: unknown, text: string) => String(ip(text)) === text,
  "string(net.IP): string": String,
  "net.IP.family(): int": ({ family }: Ip) => BigInt(family),
  "net.IP.isUnspecified(): bool": ({ bits }: Ip) => bits === 0n,
  "net.IP.isLoopback(): bool": (address: Ip) => startsWith(address, "127.0.0.0/8") || startsWith(address, "::1/128"),
  "net.IP.isLinkLocalMulticast(): bool": (address: Ip) =>
    startsWith(address, "224.0.0.0/24") || startsWith(address, "ff02::/16"),
  "net.IP.isLinkLocalUnicast(): bool": (address: Ip) =>
    startsWith(address, "169.254.0.0/16") || startsWith(address, "fe80::/10"),
  "net.IP.isGlobalUnicast(): bool": (address: Ip) => !isSpecial(address),
  "cidr(string): net.CIDR": cidr,
  "isCIDR(string): bool": (text: string) => Cidr.parse(text) !== undefined,
  "string(net.CIDR): string": String,
  "net.CIDR.containsIP(string): bool": ({ address, prefix }: Cidr, other: string) => ip(other).within(address, prefix),
  "net.CIDR.containsIP(net.IP): bool": ({ address, prefix }: Cidr, other: Ip) => other.within(address, prefix),
  "net.CIDR.containsCIDR(string): bool": (network: Cidr, other: string) => network.contains(cidr(other)),
  "net.CIDR.containsCIDR(net.CIDR): bool": (network: Cidr, other: Cidr) => network.contains(other),
  "net.CIDR.ip(): net.IP": ({ address }: Cidr) => address,
  "net.CIDR.prefixLength(): int": ({ prefix }: Cidr) => BigInt(prefix),
  "net.CIDR.masked(): net.CIDR": ({ masked }: Cidr) => masked
}
