/**
 * Validates the formats of names, labels, ports and similar values, with the messages of kube-apiserver. Each format returns
 * the errors, or an empty list if the value is valid.
 */

/** Validates a value. Returns the errors. */
export type Format = (value: string) => ReadonlyArray<string>

/** A DNS label: `my-name`, `123-abc`. */
export const dnsLabel: Format = (value) => {
  if (value.length <= 63 && label.test(value)) return right
  const wrong = label.test(value)
    ? []
    : [
        subdomain.test(value)
          ? "must not contain dots"
          : regexError(
              "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
              labelFormat,
              "my-name",
              "123-abc"
            )
      ]
  return value.length > 63 ? [tooLong(63), ...wrong] : wrong
}

/** A DNS label by RFC 1035, which starts with a letter: `my-name`, `abc-123`. */
export const dnsLabel1035: Format = (value) => [
  ...(value.length > 63 ? [tooLong(63, "bytes")] : []),
  ...(label1035.test(value)
    ? []
    : [
        regexError(
          "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
          label1035Format,
          "my-name",
          "abc-123"
        )
      ])
]

/** A DNS subdomain: `example.com`. */
export const dnsSubdomain: Format = (value) =>
  limited(
    value,
    253,
    subdomain,
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
    subdomainFormat,
    "example.com"
  )

/** A DNS subdomain that starts with `*.`. */
export const wildcardSubdomain: Format = (value) =>
  limited(
    value,
    253,
    wildcard,
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
    `\\*\\.${subdomainFormat}`,
    "*.example.com"
  )

/** A name that is valid as a segment of an API path. */
export const pathSegment: Format = (value) => {
  if (value === "." || value === "..") return [`may not be '${value}'`]
  return ["/", "%"].filter((part) => value.includes(part)).map((part) => `may not contain '${part}'`)
}

/** The key of a label or of an annotation: `app`, `example.com/app`. */
export const labelKey: Format = (value) => {
  if (value.length <= 63 && labelName.test(value)) return right
  const parts = value.split("/")
  const [prefix, name = prefix ?? ""] = parts
  const rule = regexError(labelKeyRule, labelKeyFormat, "MyName", "my.name", "123-abc")
  if (parts.length > 2) {
    return [`a valid label key ${rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`]
  }
  const wrong: Array<string> = []
  if (parts.length === 2) {
    if (prefix === "") wrong.push("prefix part must be non-empty")
    else wrong.push(...dnsSubdomain(prefix ?? "").map((text) => `prefix part ${text}`))
  }
  if (name === "") wrong.push("name part must be non-empty")
  else if (name.length > 63) wrong.push(`name part ${tooLong(63, "bytes")}`)
  if (!labelName.test(name)) wrong.push(`name part ${rule}`)
  return wrong
}

/** The value of a label. */
export const labelValue: Format = (value) => {
  if (value === "" || (value.length <= 63 && labelName.test(value))) return right
  const wrong = labelName.test(value)
    ? right
    : [
        regexError(
          "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
          `(${labelKeyFormat})?`,
          "MyValue",
          "my_value",
          "12345"
        )
      ]
  return value.length > 63 ? [tooLong(63, "bytes"), ...wrong] : wrong
}

/** The name of a port: `http`. */
export const portName: Format = (value) => {
  const wrong: Array<string> = []
  if (value.length > 15) wrong.push(tooLong(15))
  if (!/^[-a-z0-9]+$/.test(value)) {
    wrong.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
  }
  if (!/[a-z]/.test(value)) wrong.push("must contain at least one letter (a-z)")
  if (value.includes("--")) wrong.push("must not contain consecutive hyphens")
  if (value.startsWith("-") || value.endsWith("-")) wrong.push("must not begin or end with a hyphen")
  return wrong
}

/** The number of a port. */
export const port = (value: number): ReadonlyArray<string> => range(value, 1, 65535)

/** A number in an inclusive range. */
export const range = (value: number, least: number, most: number): ReadonlyArray<string> =>
  value >= least && value <= most ? right : [`must be between ${least} and ${most}, inclusive`]

/** The name of an environment variable. */
export const variable: Format = (value) => {
  if (value === "") return ["environment variable name must be non-empty"]
  return /^[ -<>-~]+$/.test(value)
    ? right
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"]
}

/** A key of a ConfigMap or a Secret. */
export const configKey: Format = (value) => [
  ...limited(
    value,
    253,
    /^[-._a-zA-Z0-9]+$/,
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    "[-._a-zA-Z0-9]+",
    "key.name",
    "KEY_NAME",
    "key-name"
  ),
  ...upwards(value)
]

/** A percentage: `25%`. */
export const percent: Format = (value) =>
  /^[0-9]+%$/.test(value)
    ? right
    : [regexError("a valid percent string must be a numeric string followed by an ending '%'", "[0-9]+%", "1%", "93%")]

/** The name of an HTTP header. */
export const headerName: Format = (value) =>
  /^[-A-Za-z0-9]+$/.test(value)
    ? right
    : [
        regexError(
          "a valid HTTP header must consist of alphanumeric characters or '-'",
          "[-A-Za-z0-9]+",
          "X-Header-Name"
        )
      ]

/** An IPv4 or IPv6 address. */
export const ip: Format = (value) =>
  isIpv4(value) || isIpv6(value) ? right : ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]

/** An IPv4 or IPv6 range in CIDR notation. */
export const cidr: Format = (value) => {
  const [address = "", bits = ""] = value.split("/")
  const most = isIpv4(address) ? 32 : isIpv6(address) ? 128 : -1
  return /^(0|[1-9]\d*)$/.test(bits) && Number(bits) <= most && `${address}/${bits}` === value
    ? right
    : ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"]
}

/** Reports whether the value is an IPv4 address without leading zeros. */
export const isIpv4 = (value: string): boolean =>
  /^\d{1,3}(\.\d{1,3}){3}$/.test(value) && value.split(".").every((part) => Number(part) < 256 && !/^0\d/.test(part))

/** Reports whether the value is an IPv6 address. */
export const isIpv6 = (value: string): boolean => {
  if (!value.includes(":") || !URL.canParse(`http://[${value}]/`)) return false
  return !value.includes("%")
}

/** Adapts a format to a name that gets a generated suffix: such a name may end with a hyphen. */
export const prefix =
  (format: Format): Format =>
  (value) =>
    format(value.length > 1 && value.endsWith("-") ? `${value.slice(0, -1)}a` : value)

const right: ReadonlyArray<string> = []
const labelFormat = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
const label1035Format = "[a-z]([-a-z0-9]*[a-z0-9])?"
const subdomainFormat = `${labelFormat}(\\.${labelFormat})*`
const labelKeyFormat = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
const labelKeyRule =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
const label = new RegExp(`^${labelFormat}$`)
const label1035 = new RegExp(`^${label1035Format}$`)
const subdomain = new RegExp(`^${subdomainFormat}$`)
const wildcard = new RegExp(`^\\*\\.${subdomainFormat}$`)
const labelName = new RegExp(`^${labelKeyFormat}$`)

/** kube-apiserver counts DNS names and most other values in characters, and labels in bytes. All valid values are ASCII. */
const tooLong = (length: number, unit: "characters" | "bytes" = "characters"): string =>
  `must be no more than ${length} ${unit}`

const regexError = (rule: string, format: string, ...examples: ReadonlyArray<string>): string =>
  `${rule} (e.g. ${examples.map((example) => `'${example}', `).join(" or ")}regex used for validation is '${format}')`

const limited = (
  value: string,
  length: number,
  pattern: RegExp,
  rule: string,
  format: string,
  ...examples: ReadonlyArray<string>
): ReadonlyArray<string> => {
  const wrong = pattern.test(value) ? right : [regexError(rule, format, ...examples)]
  return value.length > length ? [tooLong(length), ...wrong] : wrong
}

const upwards = (value: string): ReadonlyArray<string> => {
  if (value === "." || value === "..") return [`must not be '${value}'`]
  return value.startsWith("..") ? ["must not start with '..'"] : right
}
