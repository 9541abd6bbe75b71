/**
 * Replaces the secrets of a recording by texts of the same length, so that code that looks for a value still finds one.
 *
 * It replaces the `data` and `stringData` of Secrets, and the fields and variables with names of secrets. It also replaces the copies of these
 * values that `SecretValues` finds in other objects, and the texts that `Secrecy` detects.
 *
 * The search takes long for a large object. So it is an effect, which lets other fibers run in between, and a text beyond {@link longest} is
 * replaced as a whole.
 */
import * as Effect from "effect/Effect"
import * as Secrecy from "../../telemetry/Secrecy.ts"
import * as SecretValues from "../../telemetry/SecretValues.ts"

/** The redaction of one recording. */
export interface Redaction {
  /**
   * Notes the values of a Secret, or of the Secrets in a list, and of fields and variables with names of secrets. `isSecret`: the value is a
   * Secret without a `kind`. `keys`: those whose values other texts may have; default all.
   */
  readonly learn: (value: unknown, isSecret: boolean, keys?: ReadonlyArray<string>) => void
  /** Notes a word that the recording shows, such as the name of an object. */
  readonly spare: (word: string | undefined) => void
  /** A copy without secrets. */
  readonly hide: (value: unknown, isSecret: boolean) => Effect.Effect<unknown>
  /** A text without secrets. */
  readonly text: (text: string) => string
  /** The number of replaced values so far. */
  readonly count: () => number
}

type Fields = { readonly [key: string]: unknown }

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const asText = (text: string): string => "x".repeat(text.length)

/** Base64 stays base64, of as many bytes. A decoded value is the text that replaces its copies. */
const asBase64 = (text: string): string => Buffer.alloc(Buffer.from(text, "base64").length, "x").toString("base64")

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

/** The fields by which objects refer to each other. */
const references = new Set(["apiVersion", "kind", "name", "namespace", "uid", "resourceVersion", "generateName"])

/** The depth of the deepest object that is shown: deeper than the schema of a kind. */
const deepest = 256

/** The longest text that is searched, in characters. */
export const longest = 256 * 1024

/** The last part of a JSON pointer. */
const lastPart = (path: unknown): string => (typeof path === "string" ? path.slice(path.lastIndexOf("/") + 1) : "")

/** An empty redaction. */
export const make = (): Redaction => {
  const values = SecretValues.make()
  let count = 0

  const omitted = (): null => {
    count++
    return null
  }

  /** All texts in a value. */
  const blank = (value: unknown, as: (text: string) => string, depth = 0): unknown => {
    if (depth > deepest) return omitted()
    if (typeof value === "string") {
      if (value !== "") count++
      return as(value)
    }
    if (Array.isArray(value)) return value.map((item) => blank(item, as, depth + 1))
    return isFields(value)
      ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, blank(each, as, depth + 1)]))
      : value
  }

  const text = (text: string): string => {
    if (text.length > longest) {
      count++
      return asText(text)
    }
    const without = values.replaced(text, asText)
    const shown = Secrecy.masked(without, Number.MAX_SAFE_INTEGER)
    if (shown !== text) count++
    return shown
  }

  /** The annotation of `kubectl apply` has the object as JSON. */
  const applied = (value: string, depth: number): Effect.Effect<unknown> =>
    Effect.suspend(() => {
      const before = count
      return Effect.map(inside(SecretValues.jsonOf(value), false, depth), (shown) =>
        typeof shown === "string" ? shown : count === before ? value : JSON.stringify(shown)
      )
    })

  const member = (
    key: string,
    value: unknown,
    parent: Fields,
    isSecret: boolean,
    depth: number
  ): Effect.Effect<unknown> => {
    const blanked = (as: (text: string) => string) => Effect.sync(() => blank(value, as))
    if (isSecret && key === "data") return blanked(asBase64)
    if (isSecret && key === "stringData") return blanked(asText)
    if (isSecret && key === "annotations" && isFields(value) && lastApplied in value) {
      return inside({ ...value, [lastApplied]: blank(value[lastApplied], asText) }, false, depth)
    }
    if (SecretValues.isSecretMember(key, value, parent)) return blanked(asText)
    // An operation of a JSON patch.
    if (key === "value" && typeof parent.op === "string") {
      if (isSecret && SecretValues.isSecretsData(parent.path)) return blanked(asBase64)
      if (SecretValues.isSecretMember(lastPart(parent.path), value, {})) return blanked(asText)
    }
    if (key === lastApplied && typeof value === "string") return applied(value, depth)
    if (references.has(key) && typeof value === "string") return Effect.succeed(value)
    return inside(value, isSecret && (key === "metadata" || key === "items"), depth)
  }

  const inside = (value: unknown, isSecret: boolean, depth: number): Effect.Effect<unknown> => {
    if (depth > deepest) return Effect.sync(omitted)
    if (typeof value === "string") return Effect.sync(() => text(value))
    if (Array.isArray(value)) return Effect.forEach(value, (item) => inside(item, isSecret, depth + 1))
    if (!isFields(value)) return Effect.succeed(value)
    const secret = isSecret || value.kind === "Secret" || value.kind === "SecretList"
    const members = Effect.forEach(Object.entries(value), ([key, each]) =>
      Effect.map(member(key, each, value, secret, depth + 1), (shown) => [key, shown] as const)
    )
    return Effect.map(members, Object.fromEntries)
  }

  const learn: Redaction["learn"] = (value, isSecret, keys) => {
    values.learn(value, isSecret, keys)
    values.learnNamed(value)
  }

  return { learn, spare: values.spare, hide: (value, isSecret) => inside(value, isSecret, 0), text, count: () => count }
}
