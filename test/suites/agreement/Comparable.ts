/**
 * What a server says, without what is different each time, and without what is different on purpose:
 *
 * - uids, resourceVersions, addresses and node ports are numbered in the order in which they are first seen, so that a new one
 *   is told from an old one;
 * - the causes of a refusal, its warnings and the parts of its message are sorted, as Go goes through maps in any order;
 * - objects that are quoted in a message are left out: Go shows its internal types, or members in an order of its own, or
 *   tells an empty object from none;
 * - of a value of a wrong type it is compared that it cannot be read, not how Go names its type, or which of several is the first;
 * - of undeclared fields in an apply it is compared that there are some: Go stops at the first that it meets in a map.
 *
 * Times are compared to the second, as the embedded server is asked at the time at which the real one has answered.
 */
import type { Json, JsonObject } from "@homeostat/testkit/server/Json"
import * as J from "@homeostat/testkit/server/Json"
import type { Answer } from "./Server.ts"

/** Numbers what is made up, for one object on one server. */
export class Numbering {
  private readonly words = new Map<string, string>()
  private count = 0

  /** The word for a value: the same for the same. */
  word(what: string, value: string): string {
    const key = `${what} ${value}`
    const word = this.words.get(key) ?? `${what}-${this.count++}`
    this.words.set(key, word)
    return word
  }

  /** What an object has no more it has given back: another one may get it, or it itself again, or not. */
  forget(live: string): void {
    for (const key of this.words.keys()) {
      const [what = "", value = ""] = key.split(" ")
      if ((what === "address" || what === "port") && !live.includes(value)) this.words.delete(key)
    }
  }
}

/** Patterns in JSON: of what stands in quotes, or is a number. */
const madeUp: ReadonlyArray<readonly [what: string, pattern: RegExp, number?: "number"]> = [
  ["uid", /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g],
  [
    "version",
    /(?<="resourceVersion":")\d+(?=")|(?<=in (?:the precondition|record) \(|ResourceVersion in object meta: )\d+/g
  ],
  ["address", /\b10\.(?:0|1|2|3|4|5|6|7|8|9|10|11|12|13|14|15)\.\d+\.\d+\b(?!\/)/g],
  ["port", /(?<="(?:nodePort|healthCheckNodePort)":)\d+/g, "number"],
  ["port", /(?<=Duplicate value: |duplicate nodePort: \{\w+ )3[0-2]\d{3}/g]
]

/** The comparable form of an answer and of the object after it. */
export const of = (numbering: Numbering, { body, status, warnings }: Answer, live: JsonObject | undefined): Json => {
  const text = madeUp.reduce(
    (left, [what, pattern, number]) =>
      left.replaceAll(pattern, (value) => {
        const word = numbering.word(what, value)
        return number === undefined ? word : JSON.stringify(word)
      }),
    JSON.stringify(sorted({ body, live: live ?? null }))
  )
  numbering.forget(JSON.stringify(live) ?? "")
  const numbered = J.object(JSON.parse(text) as Json)
  return { ...numbered, status, warnings: warnings.split(", ").sort(), body: bodyOf(numbered.body ?? null) }
}

const bodyOf = (body: Json): Json => {
  if (!J.isObject(body) || body.kind !== "Status") return body
  const details = J.object(body.details)
  const causes = J.objects(details.causes).map(({ message, ...cause }) =>
    JSON.stringify({ ...cause, message: unquoted(message) })
  )
  const parts = unquoted(body.message).split(/\n- |\n|: |, | |[[\]]/)
  return {
    ...body,
    message: parts.filter((part) => part !== "").sort(),
    details: { ...details, causes: causes.sort() }
  }
}

/** Without the parts of a message that cannot be foreseen. */
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
