/**
 * The values of known Secrets, to find copies of them in texts: in an error of an API server that quotes a field, in a decode error, in a
 * message of a controller.
 *
 * It knows the encoded and the decoded value, the parts of a JSON value, and each line of a value, with and without its name. It cannot find a
 * value in another encoding, or one of less than {@link shortest} characters.
 */
import * as Secrecy from "./Secrecy.ts"

/** The shortest value that is searched in texts, in characters. Shorter values are often ordinary words. */
export const shortest = 8

/** The values of known Secrets. */
export interface SecretValues {
  /** Notes the values of a Secret, or of the Secrets in a list. `isSecret`: the value is a Secret without a `kind`. */
  readonly learn: (value: unknown, isSecret: boolean) => void
  /** Notes the values of fields and variables with names such as `password`, at any depth of an object. */
  readonly learnNamed: (value: unknown) => void
  /** Notes a public word that a Secret also has, such as the name of an object. */
  readonly spare: (word: string | undefined) => void
  /** The text with other texts in place of the values. */
  readonly replaced: (text: string, by: (value: string) => string) => string
}

/** Whether a path is of Secrets, whose bodies may have no `kind`. */
export const isSecretPath = (path: string): boolean => /^\/api\/v1\/(namespaces\/[^/?]+\/)?secrets([/?]|$)/.test(path)

/** A body as JSON if it is JSON, otherwise as its text. */
export const jsonOf = (text: string | undefined): unknown => {
  if (text === undefined || !/^\s*[[{]/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

type Fields = { readonly [key: string]: unknown }

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Whether a JSON pointer is to the values of a Secret. */
export const isSecretsData = (path: unknown): boolean =>
  typeof path === "string" && /^\/(data|stringData)(\/|$)/.test(path)

/** The ends of names of variables with a secret, such as `DB_PASSWORD`. */
const secretVariable = /(password|passwd|secret|token|(access|account|api|private|shared)[-_]?key)$/i

/** The ends of names of fields with the name of a Secret, such as `existingSecret`. */
const reference = /[a-z]Secret$/

/** Whether a variable or a header is secret by its name: the name is that of a secret, and the value is a text or has texts. */
export const isSecretVariable = (name: string, value: unknown): boolean =>
  Secrecy.isSecretField(name, value) || (Secrecy.isSecret(value) && secretVariable.test(name))

/** Whether a member of an object is secret by its name, or by the name of the variable whose `value` it is. */
export const isSecretMember = (name: string, value: unknown, parent: Fields): boolean =>
  name === "value" && typeof parent.name === "string"
    ? isSecretVariable(parent.name, value)
    : Secrecy.isSecretField(name, value) || (isSecretVariable(name, value) && !reference.test(name))

/** The depth of the deepest field that is searched. */
const deepest = 32

/** A line `name=value` or `name: value`. */
const assignment = /^\s*[\w.-]+\s*[=:]\s*(.*)$/

/** The parts of a value that an error may quote alone. */
const partsOf = (text: string): ReadonlyArray<string> => {
  const parts: Array<string> = []
  const leaves = (value: unknown, depth: number): void => {
    if (typeof value === "string") parts.push(value)
    else if (typeof value === "object" && value !== null && depth < deepest) {
      for (const each of Object.values(value)) leaves(each, depth + 1)
    }
  }
  const value = jsonOf(text)
  if (value !== text) leaves(value, 0)
  for (const line of text.split("\n")) {
    const [, assigned = ""] = assignment.exec(line) ?? []
    parts.push(line.trim(), assigned.trim().replace(/^(["'])(.*)\1$/, "$2"))
  }
  return parts
}

/** No values. */
export const make = (): SecretValues => {
  const values = new Set<string>()
  const spared = new Set<string>()
  let sorted: ReadonlyArray<string> | undefined

  const add = (value: string): void => {
    if (value.length < shortest) return
    values.add(value)
    // As a text in JSON, and in Go's `%q`, has it.
    values.add(JSON.stringify(value).slice(1, -1))
    sorted = undefined
  }
  const note = (value: unknown): void => {
    if (typeof value !== "string" || value.length < shortest) return
    add(value)
    for (const part of partsOf(value)) add(part)
  }
  const noteEncoded = (value: unknown): void => {
    if (typeof value !== "string") return
    note(value)
    const text = Buffer.from(value, "base64").toString("utf8")
    // Bytes that are not a text have no copy in a text.
    if (!text.includes("\ufffd")) note(text.trim())
  }
  const notePlain = (value: unknown): void => {
    if (typeof value !== "string") return
    note(value)
    add(Buffer.from(value).toString("base64"))
  }
  /** The value of an operation of a JSON patch: a text, or a map of texts. */
  const noteEach = (value: unknown, each: (value: unknown) => void): void => {
    for (const one of isFields(value) ? Object.values(value) : [value]) each(one)
  }

  const learn: SecretValues["learn"] = (value, isSecret) => {
    if (isSecret && Array.isArray(value)) {
      for (const operation of value) {
        if (isFields(operation) && isSecretsData(operation.path)) noteEach(operation.value, noteEncoded)
      }
    }
    if (!isFields(value)) return
    // A list on the path of Secrets may have no `kind` at its items.
    if (Array.isArray(value.items) && (isSecret || value.kind === "SecretList")) {
      for (const item of value.items) learn(item, true)
      return
    }
    if (!isSecret && value.kind !== "Secret") return
    const { data, metadata, stringData } = value
    if (isFields(data)) noteEach(data, noteEncoded)
    if (isFields(stringData)) noteEach(stringData, notePlain)
    if (isFields(metadata)) for (const name of [metadata.name, metadata.namespace]) spare(name)
  }

  const texts = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(texts)
    else note(value)
  }
  const walk = (value: unknown, depth: number): void => {
    if (depth > deepest) return
    if (Array.isArray(value)) {
      for (const item of value) walk(item, depth + 1)
      return
    }
    if (!isFields(value)) return
    for (const [name, each] of Object.entries(value)) {
      if (isSecretMember(name, each, value)) texts(each)
      else walk(each, depth + 1)
    }
  }

  const spare = (word: unknown): void => {
    if (typeof word !== "string") return
    spared.add(word)
    sorted = undefined
  }

  return {
    learn,
    learnNamed: (value) => walk(value, 0),
    spare,
    replaced: (text, by) => {
      if (values.size === 0) return text
      // The longest first, because one value may contain another.
      sorted ??= [...values].filter((value) => !spared.has(value)).sort((one, other) => other.length - one.length)
      return sorted.reduce((rest, value) => (rest.includes(value) ? rest.replaceAll(value, by) : rest), text)
    }
  }
}
