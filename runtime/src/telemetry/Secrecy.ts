/**
 * Keeps secrets out of logs, traces and journals. The runtime writes no such thing; this is for what comes with the lines of
 * others: a Secret that a controller logs, headers, an error whose author quoted the request.
 *
 * By what it is: the `data` of Secrets, the tokens of TokenReviews and TokenRequests. By its name: fields like `authorization` and
 * `password`. By how it looks: bearer tokens, JSON web tokens, private keys in PEM, keys of AWS and GitHub, a password in a URL, and
 * what stands in a text after a name such as `password=`. A secret that looks like any word, under any name, cannot be distinguished from one.
 */
import * as Text from "../resource/Text.ts"

/** What stands in its place. */
export const hidden = "<redacted>"

/** Characters of a text that are kept, unless the caller asks for less. */
export const longest = 8192

/** Characters beyond those that are looked at: a secret that the cut goes through is known by its whole. */
const margin = 1024

/** Names whose values are secret. Other words may stand before them: `AWS_SECRET_ACCESS_KEY`, `accountKey`. */
const keys = "(?:password|passwd|secret|token|sig|signature|(?:access|account|api|private|shared)[-_]?key)"

const looks: ReadonlyArray<readonly [RegExp, string]> = [
  [/\b(Bearer) +[^\s"',;<]{8,}/g, `$1 ${hidden}`],
  [/\b(Bearer|Basic) +(?=[\w.~+/=-]*\d)[\w.~+/=-]{8,}/gi, `$1 ${hidden}`],
  // Two parts are enough: the cut may take the third.
  [/(?<![\w-])eyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*)?/g, hidden],
  [/-----BEGIN ([A-Z ]*PRIVATE KEY)-----[\s\S]*?(-----END \1-----|$)/g, `$1 ${hidden}`],
  // A password may have `/` and `@` in it. A number between `:` and `/` is a port.
  [/(\b[a-z][a-z\d+.-]{0,12}:\/\/)(?:[^\s/"']+|[^\s/@:"']{0,16}:(?!\d+\/)[^\s@"']{1,32})@/gi, `$1${hidden}@`],
  [/\b(?:AKIA|ASIA)[A-Z\d]{16}\b/g, hidden],
  [/\b(?:gh[pousr]_|github_pat_)[A-Za-z\d_]{16,}/g, hidden],
  [new RegExp(`(${keys})=(?:"[^"\\n]*"?|'[^'\\n]*'?|[^\\s&,;"'<]+)`, "gi"), `$1=${hidden}`],
  // JSON, and JSON within JSON.
  [new RegExp(`(${keys}\\\\?": ?\\\\?")(?=[^"\\n])[^\\n]*?(?<!\\\\)(?="|\\n|$)`, "gi"), `$1${hidden}`],
  // A word without a digit may be prose: `token: expired`.
  [new RegExp(`(${keys}: +)(?=[^\\s"',;]*\\d)[^\\s"',;]{8,}`, "gi"), `$1${hidden}`]
]

/** Credentials that are short or have no digit look like any word, until they are decoded. */
const basic = /\b(Basic) +([a-z\d+/_-]{3,}={0,2})/gi

const masking = (text: string, scheme: string, credentials: string): string =>
  Buffer.from(credentials, "base64").includes(":") ? `${scheme} ${hidden}` : text

/** A text without what looks like a secret, cut to `most` characters: the cut comes first, so that a long text costs no more. */
export const masked = (text: string, most = longest): string => {
  const rest = Text.clip(text, most + margin)
  return Text.clip(looks.reduce((rest, [look, mask]) => rest.replace(look, mask), rest).replace(basic, masking), most)
}

/** After whatever comes before a dot: `http.request.header.authorization`. */
const names =
  /^(.*\.)?((proxy-)?authorization|(set-)?cookie|(access|refresh|id|bearer)?[-_]?token|password|passwd|(client[-_]?)?secret|(client[-_]?key|token)[-_]?data|private[-_]?key|api[-_]?key)$/i

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

type Fields = { readonly [key: string]: unknown }

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isText = (value: unknown): boolean => typeof value === "string" && value !== ""

/** Whether it is one that its name can make a secret: a number of tokens is none. */
const isSecret = (value: unknown): boolean => isText(value) || (Array.isArray(value) && value.some(isText))

const all = (fields: Fields): Fields => Object.fromEntries(Object.keys(fields).map((key) => [key, hidden]))

const within = (fields: Fields, key: string, change: (value: Fields) => Fields): Fields => {
  const value = fields[key]
  return isFields(value) ? { ...fields, [key]: change(value) } : fields
}

/** A Secret that may be looked at: with the names of its keys. */
const ofSecret = (secret: Fields): Fields => {
  const metadata = (of: Fields) =>
    within(of, "annotations", (each) => (lastApplied in each ? { ...each, [lastApplied]: hidden } : each))
  return within(within(within(secret, "data", all), "stringData", all), "metadata", metadata)
}

const ofKind = (fields: Fields): Fields => {
  switch (fields.kind) {
    case "Secret":
      return ofSecret(fields)
    case "SecretList": {
      const { items } = fields
      return Array.isArray(items)
        ? { ...fields, items: items.map((item) => (isFields(item) ? ofSecret(item) : item)) }
        : fields
    }
    default:
      return fields
  }
}

/** Deeper than any object of Kubernetes; what is below is left out. */
const deepest = 32

const cut = "…"

/** A value without the secrets that it shows by what they are or are called: the same value if there are none. */
export const redacted = (value: unknown): unknown => walk(value, 0, new Map())

/** What is told by name (annotations of a line, attributes of a span), without what is secret by what it is or is called. */
export const fields = (entries: Iterable<readonly [string, unknown]>): { readonly [name: string]: unknown } =>
  Object.fromEntries(Array.from(entries, ([name, value]) => [name, named(name, value)]))

const named = (name: string, value: unknown, inside = redacted): unknown =>
  isSecret(value) && names.test(name) ? hidden : inside(value)

/** @param seen what became of what was met before, so that each is looked at once; of what it is part of itself, an end */
const walk = (value: unknown, depth: number, seen: Map<unknown, unknown>): unknown => {
  if (typeof value !== "object" || value === null) return value
  if (seen.has(value)) return seen.get(value)
  if (depth > deepest) return cut
  seen.set(value, cut)
  const result = open(value, (inner) => walk(inner, depth + 1, seen))
  seen.set(value, result)
  return result
}

const open = (value: object, inside: (value: unknown) => unknown): unknown => {
  if (value instanceof Headers) return inside(Object.fromEntries(value.entries()))
  const shown = asJson(value)
  // What is shown as a text (Redacted, dates) is left to show itself so.
  if (typeof shown !== "object" || shown === null) return value
  const result = parts(shown, inside)
  return result === shown ? value : result
}

/** What JSON shows of a value that knows how it is to be shown: an Option, an Exit, an error of Effect's. */
const asJson = (value: object): unknown => {
  if (!("toJSON" in value) || typeof value.toJSON !== "function") return value
  try {
    return value.toJSON()
  } catch {
    // Nor can others make JSON of it.
    return undefined
  }
}

const parts = (value: object, inside: (value: unknown) => unknown): unknown => {
  if (Array.isArray(value)) {
    const items = value.map(inside)
    return items.some((item, at) => item !== value[at]) ? items : value
  }
  if (!isFields(value)) return value
  const fields = ofKind(value)
  let changed = fields !== value
  const shown = Object.entries(fields).map(([key, each]): [string, unknown] => {
    const is = named(key, each, inside)
    changed ||= is !== each
    return [key, is]
  })
  // Without its toJSON, which would show again what is hidden now.
  return changed ? Object.fromEntries(shown.filter(([, each]) => typeof each !== "function")) : value
}
