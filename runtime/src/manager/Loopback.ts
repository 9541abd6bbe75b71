/** Which requests come from this machine itself: the manager trusts those where a route says so. */

const loopback = /^(::ffff:)?127\.0\.0\.1$|^::1$/i

/**
 * Whether an IP address is this machine's own, to which no other machine can connect. The rest of `127.0.0.0/8` does not count:
 * sidecars pass requests of other machines on from there (Istio's from 127.0.0.6).
 */
export const isLoopback = (address: string | undefined): boolean => address !== undefined && loopback.test(address)

const localHost = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i

/**
 * The headers that clients send on their own behalf: curl, Go, Bun and browsers. Proxies have too many names for theirs
 * (`X-Forwarded-For`, `l5d-client-id`, `True-Client-IP`), so any other header counts as a proxy's.
 */
const plain =
  /^(host|user-agent|accept(-charset|-encoding|-language)?|connection|keep-alive|authorization|cache-control|pragma|content-length|content-type|cookie|dnt|if-modified-since|if-none-match|priority|referer|sec-(ch-[a-z-]+|fetch-[a-z]+|gpc)|te|upgrade-insecure-requests)$/

/** The values that a browser sends for its address bar, and for a page of ours. */
const ownSite = new Set([null, "none", "same-origin"])

/**
 * Whether a request was made on this machine. A request from loopback may still be another's: a proxy beside us passes on what
 * other machines ask, and a page in a browser here can ask under a name of its own for 127.0.0.1.
 *
 * @param address the IP address at the other end of the connection
 */
export const isLocal = ({ headers }: Request, address: string | undefined): boolean =>
  isLoopback(address) &&
  localHost.test(headers.get("host") ?? "") &&
  ownSite.has(headers.get("sec-fetch-site")) &&
  Array.from(headers.keys()).every((name) => plain.test(name))
