/** Listen addresses in Go's notation: `:8080` (all addresses), `127.0.0.1:8080`, `[::1]:8080`, and `0` for no port. */
import * as Either from "effect/Either"
import * as Option from "effect/Option"

/** An address to listen on. */
export interface BindAddress {
  /** A host name or an IP address, without brackets; absent for all addresses of the machine. */
  readonly hostname: string | undefined
  /** 0 for any free port. */
  readonly port: number
}

/** The default ports, as in controller-runtime. */
export const usualPorts = { metrics: 8080, probes: 8081 } as const

/** Parses an address; `none` for `0`. The error says which values are accepted. */
export const parse = (text: string): Either.Either<Option.Option<BindAddress>, string> => {
  if (text === "" || text === "0") return Either.right(Option.none())
  const [, ipv6, name, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]*)):(\d{1,5})$/.exec(text) ?? []
  const port = Number(digits)
  return digits === undefined || port > 65_535
    ? Either.left(`invalid bind address: "${text}" (write it like :8080, 127.0.0.1:8080 or [::1]:8080, or 0 for none)`)
    : Either.right(Option.some({ hostname: ipv6 ?? (name || undefined), port }))
}

/** The address in the notation that {@link parse} accepts. */
export const format = ({ hostname = "", port }: BindAddress): string =>
  `${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`
