/** Matches a host with the names of a serving certificate, as Go does: a common name does not count. */

/** The names of a certificate, in the form of `tls.PeerCertificate`. */
export interface Names {
  readonly subject?: { readonly CN?: string | ReadonlyArray<string> } | undefined
  /** `DNS:a.example.com, IP Address:127.0.0.1`; undefined without the extension. */
  readonly subjectaltname?: string | undefined
}

/** The error of Go for a certificate that is invalid for a host; undefined if it is valid. An IPv6 address may have brackets. */
export const problemOf = (given: string, { subject, subjectaltname }: Names): string | undefined => {
  const host = given.replace(/^\[(.+)\]$/, "$1")
  const names = (subjectaltname ?? "").split(", ")
  const dns = valuesOf(names, "DNS:")
  const addresses = valuesOf(names, "IP Address:").map(canonical)
  const isAddress = isIp(host)
  const isValid = isAddress ? addresses.includes(canonical(host)) : dns.some((name) => matches(name, host))
  if (isValid) return undefined
  const commonNames = [subject?.CN ?? []].flat()
  if (subjectaltname === undefined && commonNames.some((name) => hasSameLabels(name, host))) {
    return "x509: certificate relies on legacy Common Name field, use SANs instead"
  }
  const valid = isAddress ? addresses : dns
  if (isAddress && valid.length === 0) {
    return `x509: cannot validate certificate for ${host} because it doesn't contain any IP SANs`
  }
  if (valid.length >= most) {
    return `x509: certificate is valid for ${valid.length} ${isAddress ? "IP SANs" : "names"}, but none matched ${host}`
  }
  return valid.length === 0
    ? `x509: certificate is not valid for any names, but wanted to match ${host}`
    : `x509: certificate is valid for ${valid.join(", ")}, not ${host}`
}

/** From this number of names on, the error reports only their count. */
const most = 100

const valuesOf = (names: ReadonlyArray<string>, type: string): ReadonlyArray<string> =>
  names.flatMap((name) => (name.startsWith(type) ? [name.slice(type.length)] : []))

const isIp = (host: string): boolean => host.includes(":") || /^\d+\.\d+\.\d+\.\d+$/.test(host)

/** An IPv6 address in its short form. */
const canonical = (ip: string): string =>
  ip.includes(":") ? (URL.parse(`http://[${ip}]`)?.hostname.slice(1, -1) ?? ip) : ip

/** Matches a name with a host. A wildcard must be the whole first label. Names that are not host names match only themselves. */
const matches = (name: string, host: string): boolean =>
  isHostName(name.replace(/^\*\./, "")) && isHostName(host.replace(/\.$/, ""))
    ? hasSameLabels(name, host)
    : name.toLowerCase() === host.toLowerCase()

const isHostName = (name: string): boolean => /^[a-z0-9_][a-z0-9_-]*(\.[a-z0-9_][a-z0-9_-]*)*$/i.test(name)

const hasSameLabels = (pattern: string, host: string): boolean => {
  const labels = host.toLowerCase().replace(/\.$/, "").split(".")
  const wanted = pattern.toLowerCase().split(".")
  return (
    pattern !== "" &&
    wanted.length === labels.length &&
    wanted.every((label, index) => (index === 0 && label === "*") || label === labels[index])
  )
}
