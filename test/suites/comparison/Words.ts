/** The comparable messages of a response, without the random order of Go's maps and without Go's internal types. */
import { sorted } from "@homeostat/apiserver/kinds/crd/Sorted"
import type { Json, JsonObject } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"

/** The warnings of a header, one by one. */
export const warnings = (header: string | undefined): ReadonlyArray<string> =>
  header === undefined ? [] : header.split(/, (?=299 - ")/)

/** Makes the message and causes of a Status comparable. Returns any other body unchanged. */
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

/** Whether a cause comes from a map of Go: a conflicting owner, a label, an annotation, or a field of a custom object. */
const isRandom =
  ({ group }: JsonObject) =>
  ({ field, reason }: JsonObject): boolean =>
    reason === "FieldManagerConflict" ||
    /(?:^|\.)(?:labels|annotations)$/.test(J.text(field) ?? "") ||
    (isCustom(J.text(group) ?? "") && /^(?!metadata\.)\w/.test(J.text(field) ?? ""))

const isCustom = (group: string): boolean => group.includes(".") && !group.endsWith(".k8s.io")

/** The causes with the random ones sorted. */
const inOrder = (causes: ReadonlyArray<JsonObject>, random: (cause: JsonObject) => boolean) => {
  const sorted = causes.filter(random).sort((one, other) => (sentence(one) < sentence(other) ? -1 : 1))
  return causes.map((cause) => (random(cause) ? (sorted.shift() ?? cause) : cause))
}

/** The distinct causes as a message lists them. */
const listOf = (causes: ReadonlyArray<JsonObject>): string => `[${[...new Set(causes.map(sentence))].join(", ")}]`

const sentence = ({ field, message }: JsonObject): string => `${J.text(field) ?? ""}: ${J.text(message) ?? ""}`

const ofCause = (cause: JsonObject): JsonObject => ({ ...cause, message: plain(J.text(cause.message) ?? "") })

const plain = (text: string): string => rules.reduce((left, rule) => rule(left), text)

const rules: ReadonlyArray<(text: string) => string> = [
  // A quoted result of a patch may have its members in Go's order.
  (text) =>
    text.replace(/(?<=Invalid value: )"\{(?=\\"|\})(?:[^"\\]|\\.)*\}"/g, (quoted) =>
      JSON.stringify(JSON.stringify(sorted(JSON.parse(JSON.parse(quoted)))))
    ),
  // A pod template with the fields of the internal type.
  (text) => text.replace(/(?<=Invalid value: )\{"(?:(?!Invalid value).)*?(?=: field is immutable)/g, template),
  // Go distinguishes empty from absent labels.
  (text) => text.replace(/(?<=Invalid value: )(?:null|\{\})(?=: `selector` does not match)/g, "NO LABELS"),
  // Go has types for some strings that no schema names.
  (text) =>
    text.replace(/(?<=into Go struct field \S+ of type )v1\.(?:\w+Policy|ServiceAffinity|ServiceType)$/, "string"),
  // Go reports the first wrong member in the order of its type.
  (text) =>
    text.replace(
      /(?<=cannot unmarshal )\w+(?= into Go struct field \S+\.(?:labels|selector) of type string$)/,
      "VALUE"
    ),
  // The diff of an immutable field shows internal types.
  (text) => text.replace(/(?<=\n)@@ .*/s, ""),
  // An apply reports errors in the random order of a map, up to the first undeclared field.
  (text) =>
    text.replace(/(?<=^failed to create typed patch object \(.*\): )(?:errors:\n)?(.*)$/s, (_, mistakes: string) =>
      mistakes.includes(undeclared) ? undeclared : mistakes.split("\n").sort().join("\n")
    )
]

const template = (value: string): string => (/"[cC]ontainers":/.test(value) ? "POD TEMPLATE" : value)

const undeclared = "field not declared in schema"

/** The object with `…` for matching parts of its texts. */
export const without = (object: JsonObject, unlike: RegExp | undefined): JsonObject => {
  const each = (value: Json): Json => {
    if (typeof value === "string") return unlike === undefined ? value : value.replace(unlike, "…")
    if (J.isList(value)) return value.map(each)
    return J.isObject(value) ? without(value, unlike) : value
  }
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, each(value ?? null)]))
}
