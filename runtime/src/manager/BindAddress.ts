/** Listen addresses in Go's notation: `:8080` (all addresses), `127.0.0.1:8080`, `[::1]:8080`, and `0` for no port. */
import * as Option from "effect/Option"
import * as Result from "effect/Result"

/** An address to listen on. */
export interface BindAddress {
  /** A host name or an IP address, without brackets; absent for all addresses of the machine. */
  readonly hostname: string | undefined
  /** 0 for any free port. */
  readonly port: number
}

/** The default ports, as in controller-runtime. */
export const usualPorts = { metrics: 8080, probes: 8081 } as const

const read = (text: string, accepted: string): Result.Result<BindAddress, string> => {
  const [, ipv6, name, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]*)):(\d{1,5})$/.exec(text) ?? []
  const port = Number(digits)
  return digits === undefined || port > 65_535
    ? Result.fail(`invalid bind address: "${text}" (write it like :8080, 127.0.0.1:8080 or [::1]:8080${accepted})`)
    : Result.succeed({ hostname: ipv6 ?? (name || undefined), port })
}

/** Parses an address; `none` for `0`. The error says which values are accepted. */
export const parse = (text: string): Result.Result<Option.Option<BindAddress>, string> =>
  text === "" || text === "0" ? Result.succeed(Option.none()) : Result.map(read(text, ", or 0 for none"), Option.some)

/** Parses the address of a port that is always open: `0` is not accepted. The error says which values are accepted. */
export const required = (text: string): Result.Result<BindAddress, string> => read(text, "")

/** The address in the notation that {@link parse} accepts. */
export const format = ({ hostname = "", port }: BindAddress): string =>
  `${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`
