/**
 * The form in which an answer is compared and recorded: the answer without what differs from run to run.
 *
 * - uids, resourceVersions, addresses and node ports are numbered in the order in which they first appear, so that a new one differs
 *   from an old one;
 * - times near the beginning of the dialogue become seconds since its beginning, `T+3`;
 * - the namespace is `NAMESPACE`;
 * - the causes of a Status, its warnings and the lines of its message are sorted, because Go iterates over maps in random order;
 * - Go shows internal types where it quotes objects, and stops at any of several unreadable values: `unquoted` lists these messages.
 */
import type { Json, JsonObject } from "@homeostat/testkit/server/Json"
import * as J from "@homeostat/testkit/server/Json"
import { type Answer, type Request, silent } from "./Server.ts"

/** Compares the requests and answers of one dialogue with one server. */
export interface Comparer {
  readonly request: (request: Request) => Json
  /** `headers` names the response headers to compare, in lower case. `live` is the object after the request. */
  readonly answer: (answer: Answer, live: JsonObject | undefined, headers?: ReadonlyArray<string>) => JsonObject
}

/** Patterns in JSON for text in quotes, or for a number. */
const generated: ReadonlyArray<readonly [what: string, pattern: RegExp, number?: "number"]> = [
  ["uid", /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g],
  [
    "version",
    /(?<="resourceVersion":")\d+(?=")|(?<=in (?:the precondition|record) \(|ResourceVersion in object meta: )\d+/g
  ],
  ["address", /\b10\.(?:\d|1[0-5])\.\d+\.\d+\b(?!\/)/g],
  ["port", /(?<="(?:nodePort|healthCheckNodePort)":)\d+/g, "number"],
  ["port", /(?<=Duplicate value: |duplicate nodePort: \{\w+ )3[0-2]\d{3}/g]
]

const timestamp = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g

/** How far from the beginning of its dialogue a time may be, in seconds. Other times are constants of the dialogue. */
const nearSeconds = 3600

/** A comparer for a dialogue that began at `began`, in milliseconds since 1970. */
export const make = (namespace: string, began: number): Comparer => {
  const words = new Map<string, string>()
  const counts = new Map<string, number>()
  const numbered = (what: string, value: string): string => {
    const key = `${what} ${value}`
    const known = words.get(key)
    if (known !== undefined) return known
    const count = counts.get(what) ?? 0
    counts.set(what, count + 1)
    const word = `${what}-${count}`
    words.set(key, word)
    return word
  }
  const second = Math.floor(began / 1000)
  const steady = (value: Json): Json => {
    const text = generated.reduce(
      (left, [what, pattern, number]) =>
        left.replaceAll(pattern, (found) => {
          const word = numbered(what, found)
          return number === undefined ? word : JSON.stringify(word)
        }),
      JSON.stringify(sorted(value))
        .replaceAll(namespace, "NAMESPACE")
        .replaceAll(timestamp, (time) => {
          const seconds = Math.floor(Date.parse(time) / 1000) - second
          return Math.abs(seconds) > nearSeconds ? time : `T+${seconds}`
        })
    )
    return JSON.parse(text) as Json
  }
  /** A deleted object releases its addresses and ports: another object may get them. */
  const release = (live: string): void => {
    for (const key of words.keys()) {
      const [what = "", value = ""] = key.split(" ")
      if ((what === "address" || what === "port") && !live.includes(value)) words.delete(key)
    }
  }
  return {
    request: ({ body, method, path, ...rest }) => steady(J.copy({ method, path, body: body ?? null, ...rest })),
    answer: ({ body, headers, status }, live, compared = []) => {
      const chosen = Object.fromEntries(compared.map((name) => [name, headers[name] ?? null]))
      const comparable = J.object(steady({ body, live: live ?? null, headers: chosen }))
      release(JSON.stringify(live) ?? "")
      if (status === silent) return { status, body: null, ...(live !== undefined && { live: comparable.live ?? null }) }
      const warnings = (headers.warning ?? "").split(", ").sort()
      return {
        status,
        ...(headers.warning !== undefined && { warnings }),
        body: bodyOf(comparable.body ?? null),
        ...(live !== undefined && { live: comparable.live ?? null }),
        ...(compared.length > 0 && { headers: comparable.headers ?? null })
      }
    }
  }
}

/** The same without the times of the server, for answers of two runs whose seconds differ. */
export const withoutTimes = (value: Json): Json => JSON.parse(JSON.stringify(value).replaceAll(/\bT\+-?\d+/g, "T"))

const bodyOf = (body: Json): Json => {
  if (!J.isObject(body) || body.kind !== "Status") return body
  const details = J.object(body.details)
  const causes = J.objects(details.causes).map((cause) => ({ ...cause, message: unquoted(cause.message) }))
  return {
    ...body,
    message: messageOf(unquoted(body.message), causes),
    ...(body.details !== undefined && {
      details: { ...details, ...(causes.length > 0 && { causes: causes.toSorted(byText) }) }
    })
  }
}

/** A message lists its causes in the order in which `details` does. Where it does not, the message stays as it is. */
const messageOf = (message: string, causes: ReadonlyArray<JsonObject>): Json => {
  const said = [...new Set(causes.map(({ field, message }) => `${field}: ${message}`))]
  const list = `[${said.join(", ")}]`
  const lines = (said.length > 1 ? message.replace(list, () => "[CAUSES]") : message).split("\n").sort()
  return lines.length > 1 ? lines : (lines[0] ?? "")
}

const byText = (one: Json, other: Json): number => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1)

/** Without the parts of a message that depend on Go's own types. */
const unquoted = (message: Json | undefined): string =>
  (J.text(message) ?? "")
    .replace(/((?:Invalid|Unsupported) value: )(?:"\{.*?\}"|"map\[.*?\]"|\{.*?\}|null)(?=: )/gs, "$1OBJECT")
    .replace(/(is missing in )'\{.*\}'/s, "$1OBJECT")
    .replace(
      /(?:json: cannot unmarshal|illegal base64 data|cannot convert|cannot restore|unrecognized type).*/s,
      "cannot be read"
    )
    .replace(/(unable to convert unstructured object to [^:]*): .*/s, "$1")
    .replace(/(failed to create typed patch object).*(field not declared in schema).*/s, "$1 $2")

const sorted = (value: Json): Json => {
  if (J.isList(value)) return value.map(sorted)
  if (!J.isObject(value)) return value
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((name) => [name, sorted(value[name] ?? null)])
  )
}
