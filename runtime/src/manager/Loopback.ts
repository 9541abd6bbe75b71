/** Detects requests from this machine. Routes may trust those callers. */

const loopback = /^(::ffff:)?127\.0\.0\.1$|^::1$/i

/**
 * Whether an IP address is the loopback address, to which no other machine can connect. The rest of `127.0.0.0/8` does not count,
 * because sidecars forward requests of other machines from there (Istio's from 127.0.0.6).
 */
export const isLoopback = (address: string | undefined): boolean => address !== undefined && loopback.test(address)

const localHost = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i

/**
 * The headers that curl, Go, Bun and browsers send. Proxies add headers of many names (`X-Forwarded-For`, `l5d-client-id`,
 * `True-Client-IP`), so any other header counts as a proxy's.
 */
const plain =
  /^(host|user-agent|accept(-charset|-encoding|-language)?|connection|keep-alive|authorization|cache-control|pragma|content-length|content-type|cookie|dnt|if-modified-since|if-none-match|priority|referer|sec-(ch-[a-z-]+|fetch-[a-z]+|gpc)|te|upgrade-insecure-requests)$/

/** The values of `Sec-Fetch-Site` that a browser sends for its address bar and for our own pages. */
const ownSite = new Set([null, "none", "same-origin"])

/**
 * Whether the client of a request runs on this machine. Two requests from loopback do not count: those that a local proxy forwards
 * for other machines, and those of a web page that resolves its own host name to 127.0.0.1.
 *
 * @param address the IP address at the other end of the connection
 */
export const isLocal = ({ headers }: Request, address: string | undefined): boolean =>
  isLoopback(address) &&
  localHost.test(headers.get("host") ?? "") &&
  ownSite.has(headers.get("sec-fetch-site")) &&
  Array.from(headers.keys()).every((name) => plain.test(name))
