/**
 * Replaces the secrets of a recording by texts of the same length, so that code that looks for a value still finds one.
 *
 * It replaces the `data` and `stringData` of Secrets, and copies of these values in other objects. It also replaces the fields and texts
 * that `Secrecy` detects. It cannot detect a value of a Secret in another encoding, or one of less than {@link shortest} characters in another
 * object.
 */
import * as Secrecy from "../../telemetry/Secrecy.ts"

/** The shortest value of a Secret that is searched in other objects, in characters. Shorter values are often ordinary words. */
export const shortest = 8

/** The redaction of one recording. */
export interface Redaction {
  /** Notes the values of a Secret, or of the Secrets in a list. `isSecret`: the value is a Secret without a `kind`. */
  readonly learn: (value: unknown, isSecret: boolean) => void
  /** A copy without secrets. */
  readonly hide: (value: unknown, isSecret: boolean) => unknown
  /** A text without secrets. */
  readonly text: (text: string) => string
  /** The number of replaced values so far. */
  readonly count: () => number
}

type Fields = { readonly [key: string]: unknown }

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const asText = (text: string): string => "x".repeat(text.length)

/** Base64 stays base64, of as many bytes. */
const asBase64 = (text: string): string => text.replaceAll(/[^=]/g, "A")

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

/** The fields by which objects refer to each other. */
const references = new Set(["apiVersion", "kind", "name", "namespace", "uid", "resourceVersion", "generateName"])

const isSecretsData = (path: unknown): boolean => typeof path === "string" && /^\/(data|stringData)(\/|$)/.test(path)

/** The last part of a JSON pointer. */
const lastPart = (path: unknown): string => (typeof path === "string" ? path.slice(path.lastIndexOf("/") + 1) : "")

/** The ends of names of variables with a secret, such as `DB_PASSWORD`. */
const secretVariable = /(password|passwd|secret|token|(access|account|api|private|shared)[-_]?key)$/i

/** An empty redaction. */
export const make = (): Redaction => {
  const values = new Set<string>()
  let sorted: ReadonlyArray<string> | undefined
  let count = 0

  const note = (value: unknown): void => {
    if (typeof value !== "string" || value.length < shortest) return
    values.add(value)
    sorted = undefined
  }
  const decoded = (value: unknown): void => {
    note(value)
    if (typeof value !== "string") return
    const text = Buffer.from(value, "base64").toString("utf8")
    // Bytes that are not a text have no copy in a text.
    if (!text.includes("\ufffd")) note(text.trim())
  }

  /** The value of an operation of a JSON patch: a text, or a map of texts. */
  const learnTexts = (value: unknown): void => {
    for (const each of isFields(value) ? Object.values(value) : [value]) decoded(each)
  }

  const learn: Redaction["learn"] = (value, isSecret) => {
    if (isSecret && Array.isArray(value)) {
      for (const operation of value) {
        if (isFields(operation) && isSecretsData(operation.path)) learnTexts(operation.value)
      }
    }
    if (!isFields(value)) return
    if (value.kind === "SecretList" && Array.isArray(value.items)) {
      for (const item of value.items) learn(item, true)
      return
    }
    if (!isSecret && value.kind !== "Secret") return
    if (isFields(value.data)) for (const each of Object.values(value.data)) decoded(each)
    if (isFields(value.stringData)) for (const each of Object.values(value.stringData)) note(each)
  }

  /** All texts in a value. */
  const blank = (value: unknown, as: (text: string) => string): unknown => {
    if (typeof value === "string") {
      if (value !== "") count++
      return as(value)
    }
    if (Array.isArray(value)) return value.map((item) => blank(item, as))
    return isFields(value)
      ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, blank(each, as)]))
      : value
  }

  const text = (text: string): string => {
    // The longest first, because one value may contain another.
    sorted ??= [...values].sort((one, other) => other.length - one.length)
    const without = sorted.reduce((rest, value) => (rest.includes(value) ? rest.replaceAll(value, asText) : rest), text)
    const shown = Secrecy.masked(without, Number.MAX_SAFE_INTEGER)
    if (shown !== text) count++
    return shown
  }

  const member = (key: string, value: unknown, parent: Fields, isSecret: boolean): unknown => {
    if (isSecret && key === "data") return blank(value, asBase64)
    if (isSecret && key === "stringData") return blank(value, asText)
    if (isSecret && key === "annotations" && isFields(value) && lastApplied in value) {
      return hide({ ...value, [lastApplied]: blank(value[lastApplied], asText) }, false)
    }
    if (Secrecy.isSecretField(key, value)) return blank(value, asText)
    // An operation of a JSON patch.
    if (key === "value" && typeof parent.op === "string") {
      if (isSecret && isSecretsData(parent.path)) return blank(value, asBase64)
      if (Secrecy.isSecretField(lastPart(parent.path), value)) return blank(value, asText)
    }
    // A variable of a container, or a header of a probe.
    if (key === "value" && typeof parent.name === "string" && secretVariable.test(parent.name)) {
      return blank(value, asText)
    }
    if (references.has(key) && typeof value === "string") return value
    return hide(value, isSecret && (key === "metadata" || key === "items"))
  }

  const hide: Redaction["hide"] = (value, isSecret) => {
    if (typeof value === "string") return text(value)
    if (Array.isArray(value)) return value.map((item) => hide(item, isSecret))
    if (!isFields(value)) return value
    const secret = isSecret || value.kind === "Secret" || value.kind === "SecretList"
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, member(key, each, value, secret)]))
  }

  return { learn, hide, text, count: () => count }
}
