/**
 * The comparable and recorded form of an answer, without the parts that differ between runs:
 *
 * - uids, resourceVersions, addresses, node ports, bearer tokens and continue tokens of the server become numbers in order of appearance;
 * - times near the beginning of the dialogue become seconds since its beginning, `T+3`;
 * - the namespace is `NAMESPACE`;
 * - messages have no random order and no internal types of Go, see `Words.ts`.
 */
import { sorted } from "@homeostat/apiserver/kinds/crd/Sorted"
import type { Json, JsonObject } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import { type Answer, type Request, silent } from "./Server.ts"
import * as Words from "./Words.ts"

/** Compares the requests and answers of one dialogue with one server. */
export interface Comparer {
  readonly request: (request: Request) => Json
  /** `headers` names the response headers to compare, in lower case. `live` is the object after the request. */
  readonly answer: (answer: Answer, live: JsonObject | undefined, headers?: ReadonlyArray<string>) => JsonObject
  readonly value: (value: Json) => Json
  /** The opposite of `request`: restores the values of this dialogue. */
  readonly restored: (request: Json) => Json
}

/** Values in JSON that a server chooses. Messages quote JSON with backslashes. */
const generated: ReadonlyArray<readonly [what: string, pattern: RegExp, number?: "number"]> = [
  ["token", /\beyJ[\w-]+\.eyJ[\w-]+\.[\w-]+/g],
  ["uid", /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g],
  [
    "version",
    /(?<="resourceVersion\\*": ?\\*")\d+(?=\\*")|(?<="path":"\/metadata\/resourceVersion","value":")\d+(?=")|(?<=in (?:the precondition|record) \(|ResourceVersion in object meta: |\bmap\[.*\bresourceVersion:|\bresourceVersion: \\"|Resource Version: +)\d+/g
  ],
  ["address", /\b10\.(?:\d|1[0-5])\.\d+\.\d+\b(?!\/)/g],
  ["port", /(?<="(?:nodePort|healthCheckNodePort)":)\d+/g, "number"],
  ["port", /(?<="(?:nodePort|healthCheckNodePort)\\+":)\d+/g],
  ["port", /(?<=Duplicate value: |duplicate nodePort: \{\w+ )3[0-2]\d{3}/g],
  // In YAML, in a table (`80:30123/TCP`) and in the output of kubectl describe.
  ["port", /(?<=\bnodePort: |\b\d+:|\bNodePort: +\S+ +)3[0-2]\d{3}\b/g],
  ["hash", /\b[0-9A-F]{128}\b/g],
  ["continue", /(?<="continue":")[^"]+(?=")|(?<=[?&]continue=)[^&"]+/g]
]

/** A time in a header, or in the output of kubectl describe. */
const httpDate = /\b\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d (?:GMT|UTC|[+-]\d{4})/g

const timestamp = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g

/** The limit for times of the server, in seconds from the beginning. Other times are constants of the dialogue. */
const nearSeconds = 48 * 3600

/** A comparer for a dialogue that began at `began`, in milliseconds since 1970. */
export const make = (namespace: string, began: number): Comparer => {
  const words = new Map<string, string>()
  const counts = new Map<string, number>()
  /** Values from requests of the dialogue, which stay as they are. */
  const chosen = new Set<string>()
  const numbered = (what: string, value: string): string => {
    const key = `${what} ${value}`
    const known = chosen.has(key) ? value : words.get(key)
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
          return number === undefined || word === found ? word : JSON.stringify(word)
        }),
      JSON.stringify(sorted(value))
        .replaceAll(namespace, "NAMESPACE")
        .replaceAll(timestamp, (time) => {
          const seconds = Math.floor(Date.parse(time) / 1000) - second
          return Math.abs(seconds) > nearSeconds ? time : `T+${seconds}`
        })
        .replaceAll(httpDate, (text) => {
          const date = new Date(text)
          const years = date.getUTCFullYear() - new Date(began).getUTCFullYear()
          date.setUTCFullYear(date.getUTCFullYear() - years)
          return `T+${date.getTime() / 1000 - second} and ${years} years`
        })
    )
    return JSON.parse(text) as Json
  }
  const restored = (request: Json): Json => {
    const values = new Map(Array.from(words, ([key, word]) => [word, key.slice(key.indexOf(" ") + 1)] as const))
    const text = JSON.stringify(request)
      .replaceAll(/(?<="(?:nodePort|healthCheckNodePort)":)"(port-\d+)"/g, (whole, word) => values.get(word) ?? whole)
      .replaceAll(/\b(?:token|uid|version|address|port|hash|continue)-\d+\b/g, (word) => values.get(word) ?? word)
      .replaceAll(/\bT\+(-?\d+)\b/g, (_, seconds) =>
        new Date((second + Number(seconds)) * 1000).toISOString().replace(".000Z", "Z")
      )
    return JSON.parse(text) as Json
  }
  const choose = (request: Json): void => {
    const text = JSON.stringify(request)
    for (const [what, pattern] of generated) {
      for (const [value] of text.matchAll(pattern)) if (!words.has(`${what} ${value}`)) chosen.add(`${what} ${value}`)
    }
  }
  /** A deleted object releases its addresses and ports. */
  const release = (live: string): void => {
    for (const key of words.keys()) {
      const [what = "", value = ""] = key.split(" ")
      if ((what === "address" || what === "port") && !live.includes(value)) words.delete(key)
    }
  }
  return {
    request: ({ body, method, path, ...rest }) => {
      const asked = J.copy({ method, path, body: body ?? null, ...rest })
      choose(asked)
      return steady(asked)
    },
    answer: ({ body, headers, status }, live, compared = []) => {
      const named = Object.fromEntries(compared.map((name) => [name, headers[name] ?? null]))
      const warnings = Words.warnings(headers.warning)
      const all = { body: Words.ofBody(body), live: live ?? null, headers: named, warnings }
      const comparable = J.object(steady(all))
      release(JSON.stringify(live) ?? "")
      if (status === silent) return { status, body: null, ...(live !== undefined && { live: comparable.live ?? null }) }
      return {
        status,
        ...(warnings.length > 0 && { warnings: comparable.warnings ?? null }),
        body: comparable.body ?? null,
        ...(live !== undefined && { live: comparable.live ?? null }),
        ...(compared.length > 0 && { headers: comparable.headers ?? null })
      }
    },
    value: steady,
    restored
  }
}

/** The value without the server's times, because their seconds differ between runs. */
export const withoutTimes = (value: Json): Json =>
  JSON.parse(JSON.stringify(value).replaceAll(/\bT\+-?\d+(?: and -?\d+ years)?/g, "T"), (name, member: Json) =>
    name === "managedFields" && J.isList(member)
      ? member.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1))
      : member
  )
