/**
 * Removes secrets from logs, traces and journals. The runtime itself writes none; this is for data of controllers and servers: a
 * logged Secret, headers, an error message that quotes the request.
 *
 * It detects secrets by type: the `data` of Secrets, the tokens of TokenReviews and TokenRequests. By field name: `authorization`,
 * `password` and others. By format: bearer tokens, JSON web tokens, private keys in PEM, keys of AWS, GitHub, GitLab, Google, Slack and
 * others. Also by format: a password in a URL, and text after a name such as `password=`. It cannot detect a secret that looks like an ordinary word under any
 * other name.
 */
import * as Text from "../resource/Text.ts"

/** The replacement of a secret. */
export const hidden = "<redacted>"

/** The longest text, in characters, unless the caller passes a smaller limit. */
export const longest = 8192

/** Additional characters that are searched, because a secret across the cut is recognized only as a whole. */
const margin = 1024

/** Names of secret values. Other words may precede them: `AWS_SECRET_ACCESS_KEY`, `accountKey`. */
const passwords = "(?:password|passwd|passphrase|pwd)"
const keys = `(?:${passwords}|secret|token|sig|signature|(?:access|account|api|private|shared)[-_]?key)`

const looks: ReadonlyArray<readonly [RegExp, string]> = [
  [/\b(Bearer) +[^\s"',;<]{8,}/g, `$1 ${hidden}`],
  [/\b(Bearer|Basic) +(?=[\w.~+/=-]*\d)[\w.~+/=-]{8,}/gi, `$1 ${hidden}`],
  // Two parts are enough, because the cut may remove the third.
  [/(?<![\w-])eyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*)?/g, hidden],
  [/-----BEGIN ([A-Z ]*PRIVATE KEY)-----[\s\S]*?(-----END \1-----|$)/g, `$1 ${hidden}`],
  // A password may contain `/` and `@`. A number between `:` and `/` is a port.
  [/(\b[a-z][a-z\d+.-]{0,12}:\/\/)(?:[^\s/"']+|[^\s/@:"']{0,16}:(?!\d+\/)[^\s@"']{1,32})@/gi, `$1${hidden}@`],
  [/\b(?:AKIA|ASIA)[A-Z\d]{16}\b/g, hidden],
  [/\b(?:gh[pousr]_|github_pat_)[A-Za-z\d_]{16,}/g, hidden],
  [/\bxox[a-z]-[A-Za-z\d-]{10,}|\bxapp-[A-Za-z\d-]{10,}/g, hidden],
  [/\bAIza[\w-]{30,}|\bya29\.[\w-]{20,}/g, hidden],
  [/\b(?:glpat-|npm_|dop_v1_|[rs]k_live_|SG\.)[\w.-]{16,}/g, hidden],
  // `PWD=/x` is a folder.
  [new RegExp(`(?!pwd=/)(${keys})=(?:"[^"\\n]*"?|'[^'\\n]*'?|[^\\s&,;"'<]+)`, "gi"), `$1=${hidden}`],
  // As in a file of settings, and unlike a comparison.
  [
    new RegExp(
      `(${keys}[ \\t]{0,8}=(?!=)[ \\t]{1,8}|${keys}[ \\t]{1,8}=(?!=))(?:"[^"\\n]*"?|'[^'\\n]*'?|[^\\s&,;"'<]+)`,
      "gi"
    ),
    `$1${hidden}`
  ],
  [new RegExp(`((?<![\\w-])--[\\w-]{0,40}${keys} +)(?=[^\\s"',;]*\\d)[^\\s"',;]{6,}`, "gi"), `$1${hidden}`],
  // JSON, and JSON within JSON.
  [new RegExp(`(${keys}\\\\?": ?\\\\?")(?=[^"\\n])[^\\n]*?(?<!\\\\)(?="|\\n|$)`, "gi"), `$1${hidden}`],
  // A word without a digit may be prose: `token: expired`.
  [new RegExp(`(${keys}[ \\t]{0,8}:[ \\t]+)(?=[^\\s"',;]*\\d)[^\\s"',;]{8,}`, "gi"), `$1${hidden}`],
  // Without a limit, each name would look for a digit up to the end of a text without spaces.
  [new RegExp(`(${passwords}[ \\t]{0,8}:[ \\t]*)(?=[^\\s"',;]{0,128}\\d)[^\\s"',;]{5,}`, "gi"), `$1${hidden}`],
  [new RegExp(`(${passwords}[ \\t]{0,8}:[ \\t]*)(?:"[^"\\n]+"|'[^'\\n]+')`, "gi"), `$1${hidden}`]
]

/** Short credentials or those without a digit look like words until they are decoded. */
const basic = /\b(Basic) +([a-z\d+/_-]{3,}={0,2})/gi

const masking = (text: string, scheme: string, credentials: string): string =>
  Buffer.from(credentials, "base64").includes(":") ? `${scheme} ${hidden}` : text

/** A text without possible secrets, cut to `most` characters. The cut comes first, to bound the cost of long texts. */
export const masked = (text: string, most = longest): string => {
  const rest = Text.clip(text, most + margin)
  return Text.clip(looks.reduce((rest, [look, mask]) => rest.replace(look, mask), rest).replace(basic, masking), most)
}

/** With an optional prefix before a dot: `http.request.header.authorization`. */
const names =
  /^(.*\.)?((proxy-)?authorization|(set-)?cookie|(access|refresh|id|bearer)?[-_]?token|password|passwd|passphrase|(client[-_]?)?secret|(client[-_]?key|token)[-_]?data|private[-_]?key|api[-_]?key)$/i

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

type Fields = { readonly [key: string]: unknown }

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isText = (value: unknown): boolean => typeof value === "string" && value !== ""

/** Whether the type of a value can be that of a secret: a number is not a secret. */
export const isSecret = (value: unknown): boolean => isText(value) || (Array.isArray(value) && value.some(isText))

const all = (fields: Fields): Fields => Object.fromEntries(Object.keys(fields).map((key) => [key, hidden]))

const within = (fields: Fields, key: string, change: (value: Fields) => Fields): Fields => {
  const value = fields[key]
  return isFields(value) ? { ...fields, [key]: change(value) } : fields
}

/** A Secret with hidden values; the names of its keys stay. */
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

/** The largest depth, beyond that of any Kubernetes object. Deeper values are omitted. */
const deepest = 32

const cut = "…"

/** The value without secrets, by type and by field name; the same value if it contains none. */
export const redacted = (value: unknown): unknown => walk(value, 0, new Map())

/** Named values (annotations of a log line, attributes of a span) without secrets, by type and by name. */
export const fields = (entries: Iterable<readonly [string, unknown]>): { readonly [name: string]: unknown } =>
  Object.fromEntries(Array.from(entries, ([name, value]) => [name, named(name, value)]))

/** Whether a field is secret by its name: the name is that of a secret, and the value is a text or has texts. */
export const isSecretField = (name: string, value: unknown): boolean => isSecret(value) && names.test(name)

const named = (name: string, value: unknown, inside = redacted): unknown =>
  isSecretField(name, value) ? hidden : inside(value)

/** @param seen the results for visited objects, so that each is visited once; a cycle ends there */
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
  // Values with their own text form (Redacted, dates) stay as they are.
  if (typeof shown !== "object" || shown === null) return value
  const result = parts(shown, inside)
  return result === shown ? value : result
}

/** The JSON form of a value with its own JSON form: an Option, an Exit, an Effect error. */
const asJson = (value: object): unknown => {
  if (!("toJSON" in value) || typeof value.toJSON !== "function") return value
  try {
    return value.toJSON()
  } catch {
    // The loggers cannot convert it to JSON either.
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
  // Without its toJSON, which would return the hidden values.
  return changed ? Object.fromEntries(shown.filter(([, each]) => typeof each !== "function")) : value
}
