/**
 * The string formats that a CRD's schema can require, as kube-openapi's `strfmt` checks them. The server ignores other formats.
 */

/** Whether a text has a format; undefined: the format is unknown, so the server does not check it. */
export const has = (format: string, text: string): boolean | undefined => checks[normal(format)]?.(text)

/** Whether the format applies to the type. The server warns about others. */
export const isKnown = (type: string | undefined, format: string): boolean => {
  if (type === undefined || type === "string") return Object.hasOwn(checks, normal(format))
  if (type === "integer") return format === "int32" || format === "int64"
  return type === "number" && (format === "float" || format === "double")
}

const normal = (format: string): string => format.replaceAll("-", "")

const like =
  (pattern: RegExp) =>
  (text: string): boolean =>
    pattern.test(text)

const uuid = (version: string, variant: string) =>
  like(new RegExp(`^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}[0-9a-f]{3}-?${variant}[0-9a-f]{3}-?[0-9a-f]{12}$`, "i"))

/** Whether a text is an existing day: `2006-01-02`. */
const isDate = (text: string): boolean => {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? []
  if (year === undefined) return false
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)))
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day) && Number(day) > 0
}

const isDateTime = (text: string): boolean => {
  const [, date = "", hour, minute, second] =
    /^(\d{4}-\d\d-\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|[+-]\d\d:?\d\d)$/.exec(text) ?? []
  return isDate(date) && Number(hour) <= 23 && Number(minute) <= 59 && Number(second) <= 60
}

/** Whether a text is a Go duration (`1h30m`), or contains a number with a unit in words (`3 days`). */
const isDuration = (text: string): boolean =>
  /^[-+]?(0|(\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))*)$/.test(text) ||
  [...text.matchAll(/\d+\s*([A-Za-zµ]+)/g)].some(([, unit = ""]) =>
    /^(ns|nano.*|us|µs|micro.*|ms|milli.*|s|sec.*|m|min.*|h|hr|hour.*|d|day.*|w|wk|week.*)$/i.test(unit)
  )

const isIPv4 = (text: string): boolean => {
  const parts = text.split(".")
  return parts.length === 4 && parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) <= 255)
}

const isIPv6 = (text: string): boolean => {
  const tail = text.lastIndexOf(":") + 1
  const last = text.slice(tail)
  if (last.includes(".") && !isIPv4(last)) return false
  const plain = last.includes(".") ? `${text.slice(0, tail)}0:0` : text
  const halves = plain.split("::")
  const groups = plain.split(":").filter((group) => group !== "")
  if (halves.length > 2 || !groups.every(like(/^[0-9a-f]{1,4}$/i))) return false
  if (/^:[^:]|[^:]:$|:::/.test(plain)) return false
  return halves.length === 2 ? groups.length < 8 : groups.length === 8 && plain.split(":").length === 8
}

const isCidr = (text: string): boolean => {
  const [, address = "", bits = ""] = /^(.+)\/(\d{1,3})$/.exec(text) ?? []
  return (isIPv4(address) && Number(bits) <= 32) || (isIPv6(address) && Number(bits) <= 128)
}

const isHostname = (text: string): boolean =>
  /^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$/u.test(
    text
  ) &&
  text.length <= 255 &&
  text.split(".").every((label) => label.length <= 63)

/** Like `url.ParseRequestURI`: the text starts with a scheme or with `/`. */
const isUri = (text: string): boolean => {
  if (text === "" || /[\p{Cc} ]/u.test(text) || /%(?![0-9a-f]{2})/i.test(text)) return false
  return text.startsWith("/") || /^[a-z][a-z0-9+.-]*:/i.test(text)
}

const isIsbn10 = (text: string): boolean => {
  const digits = text.replace(/[\s-]/g, "")
  if (!/^\d{9}[\dX]$/.test(digits)) return false
  return [...digits].reduce((sum, digit, at) => sum + (at + 1) * (digit === "X" ? 10 : Number(digit)), 0) % 11 === 0
}

const isIsbn13 = (text: string): boolean => {
  const digits = text.replace(/[\s-]/g, "")
  if (!/^\d{13}$/.test(digits)) return false
  return [...digits].reduce((sum, digit, at) => sum + (at % 2 === 0 ? 1 : 3) * Number(digit), 0) % 10 === 0
}

const isCreditCard = (text: string): boolean => {
  const digits = text.replace(/\D/g, "")
  const known =
    /^(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|(?:222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}|6(?:011|5\d\d)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:2131|1800|35\d{3})\d{11}|6[27]\d{14})$/
  if (!known.test(digits)) return false
  const sum = [...digits].reverse().reduce((total, digit, at) => {
    const doubled = Number(digit) * (at % 2 === 0 ? 1 : 2)
    return total + (doubled > 9 ? doubled - 9 : doubled)
  }, 0)
  return sum % 10 === 0
}

const isEmail = (text: string): boolean => {
  const [, bare = text] = /^[^<>]*<([^<>]+)>\s*$/.exec(text) ?? []
  return (
    /^(?:[^\s@<>(),:;"[\]\\]+|"[^"]*")@(?:[^\s@<>(),:;"[\]\\]+|\[[^\]]*\])$/.test(bare.trim()) &&
    !/\.\.|^\.|\.@/.test(bare)
  )
}

const shortName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/

const checks: { readonly [format: string]: (text: string) => boolean } = {
  bsonobjectid: like(/^[0-9a-f]{24}$/i),
  byte: (text) => /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/.test(text),
  cidr: isCidr,
  creditcard: isCreditCard,
  date: isDate,
  datetime: isDateTime,
  duration: isDuration,
  email: isEmail,
  hexcolor: like(/^#?([0-9a-f]{3}|[0-9a-f]{6})$/i),
  hostname: isHostname,
  ipv4: isIPv4,
  ipv6: isIPv6,
  isbn: (text) => isIsbn10(text) || isIsbn13(text),
  isbn10: isIsbn10,
  isbn13: isIsbn13,
  k8slongname: (text) => text.length <= 253 && text.split(".").every(like(shortName)),
  k8sshortname: (text) => text.length <= 63 && shortName.test(text),
  mac: like(/^([0-9a-f]{2}([:-]|$)){6,}$|^([0-9a-f]{4}(\.|$)){3,}$/i),
  password: () => true,
  rgbcolor: like(
    /^rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)$/
  ),
  ssn: like(/^\d{3}[- ]?\d{2}[- ]?\d{4}$/),
  uri: isUri,
  uuid: uuid("[0-9a-f]", "[0-9a-f]"),
  uuid3: uuid("3", "[0-9a-f]"),
  uuid4: uuid("4", "[89ab]"),
  uuid5: uuid("5", "[89ab]")
}
