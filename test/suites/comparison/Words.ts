/**
 * The words of an answer in the form in which they are compared: without what depends on the random order of Go's maps, and without
 * the parts that show Go's internal types, which the embedded server does not have.
 */
import type { Json, JsonObject } from "@homeostat/testkit/server/Json"
import * as J from "@homeostat/testkit/server/Json"

/** The warnings of a header, one by one. */
export const warnings = (header: string | undefined): ReadonlyArray<string> =>
  header === undefined ? [] : header.split(/, (?=299 - ")/)

/** A body whose message and causes are comparable, if it is a Status. */
export const ofBody = (body: Json): Json => {
  if (!J.isObject(body) || body.kind !== "Status") return body
  const message = J.text(body.message)
  const details = J.object(body.details)
  const causes = J.objects(details.causes)
  const ordered = inOrder(causes, isRandom(details))
  return {
    ...body,
    ...(message !== undefined && { message: plain(message.replace(listOf(causes), () => listOf(ordered))) }),
    ...(causes.length > 0 && { details: { ...details, causes: ordered.map(ofCause) } })
  }
}

/**
 * Whether Go finds a cause in the random order of a map: an owner that conflicts, or a field of a custom object. The metadata of
 * objects has an order.
 */
const isRandom =
  ({ group }: JsonObject) =>
  ({ field, reason }: JsonObject): boolean =>
    reason === "FieldManagerConflict" ||
    (isCustom(J.text(group) ?? "") && /^(?!.*metadata\.)\w/.test(J.text(field) ?? ""))

const isCustom = (group: string): boolean => group.includes(".") && !group.endsWith(".k8s.io")

/** The causes, those that are random sorted among themselves. */
const inOrder = (causes: ReadonlyArray<JsonObject>, random: (cause: JsonObject) => boolean) => {
  const sorted = causes.filter(random).sort((one, other) => (sentence(one) < sentence(other) ? -1 : 1))
  return causes.map((cause) => (random(cause) ? (sorted.shift() ?? cause) : cause))
}

/** The causes as a message lists them, each of them once. */
const listOf = (causes: ReadonlyArray<JsonObject>): string => `[${[...new Set(causes.map(sentence))].join(", ")}]`

const sentence = ({ field, message }: JsonObject): string => `${J.text(field) ?? ""}: ${J.text(message) ?? ""}`

const ofCause = (cause: JsonObject): JsonObject => ({ ...cause, message: plain(J.text(cause.message) ?? "") })

const plain = (text: string): string => rules.reduce((left, rule) => rule(left), text)

const rules: ReadonlyArray<(text: string) => string> = [
  // A patch that does not result in an object of the type quotes the result: of some types with the members in Go's order.
  (text) =>
    text.replace(/(?<=Invalid value: )"\{(?:[^"\\]|\\.)*\}"/g, (quoted) =>
      JSON.stringify(JSON.stringify(sorted(JSON.parse(JSON.parse(quoted)))))
    ),
  // A pod template is shown with the fields of the internal type.
  (text) => text.replace(/(?<=Invalid value: )\{.*"[cC]ontainers":.*\}(?=: field is immutable)/g, "POD TEMPLATE"),
  // Go tells labels that are empty from labels that are absent.
  (text) => text.replace(/(?<=Invalid value: )(?:null|\{\})(?=: `selector` does not match)/g, "NO LABELS"),
  // A change of an immutable field shows a diff of the internal types.
  (text) => text.replace(/(?<=\n)@@ .*/s, ""),
  // An apply meets undeclared fields in the random order of a map.
  (text) => text.replace(/(?<=: errors:)(?:\n {2}.*)+/, (lines) => lines.split("\n").sort().join("\n"))
]

/** The same with the members of all objects in order. */
export const sorted = (value: Json): Json => {
  if (J.isList(value)) return value.map(sorted)
  if (!J.isObject(value)) return value
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((name) => [name, sorted(value[name] ?? null)])
  )
}
