/**
 * The values of known Secrets, to find copies of them in texts: in an error of an API server that quotes a field, in a decode error, in a
 * message of a controller.
 *
 * It knows the encoded and the decoded value, the parts of a JSON value, and each line of a value, with and without its name. It cannot find a
 * value in another encoding, or one of less than {@link shortest} characters. Certificates are public, so it ignores them.
 *
 * The user who writes a Secret or an object sets the number and the length of the values. So the values have a limit, {@link most}, and
 * so do the members of an object that are searched for names of secrets. Beyond a limit, the whole of each text is replaced.
 */
import * as Text from "../resource/Text.ts"
import * as Passages from "./Passages.ts"
import * as Secrecy from "./Secrecy.ts"

/** The shortest value that is searched in texts, in characters. Shorter values are often ordinary words. */
export const shortest = 8

/** The most characters of all values in all their forms. That is enough for 28 KiB of passwords, or 14 KiB of private keys. */
export const most = 64 * 1024

/** The most members of one object that are searched for names of secrets. */
export const mostMembers = 64 * 1024

/** The values of known Secrets. */
export interface SecretValues {
  /**
   * Notes the values of a Secret, or of the Secrets in a list.
   *
   * @param isSecret the value is a Secret without a `kind`
   * @param keys the keys whose values may be in texts; default all
   */
  readonly learn: (value: unknown, isSecret: boolean, keys?: ReadonlyArray<string>) => void
  /** Notes the values of fields and variables with names such as `password`, at any depth of an object. */
  readonly learnNamed: (value: unknown) => void
  /** Notes a public word that a Secret also has, such as the name of an object. */
  readonly spare: (word: string | undefined) => void
  /** The text with other texts in place of the values. Beyond a limit, a notice that names what is too large. */
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
const secretVariable = /(password|passwd|passphrase|[-_]pwd|secret|token|(access|account|api|private|shared)[-_]?key)$/i

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

/** The longest name of a member that can be that of a secret, in characters: the longest key of a Secret. */
const longestName = 253

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

/** Certificates in PEM, and the comments between them. */
const publicParts = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----|^#.*$/gm

const isPublic = (text: string): boolean =>
  text.includes("-----BEGIN CERTIFICATE-----") && text.replace(publicParts, "").trim() === ""

/** A text in place of those that cannot be searched. */
const notice = (what: string, limit: string): string => `<hidden: ${what} too large to search (at most ${limit})>`

/** The limits in a notice. */
const ofValues = `${most} characters of values`
const ofMembers = `${mostMembers} members`

/** The name of a Secret in a notice. */
const nameOf = (metadata: unknown): string => {
  if (!isFields(metadata) || typeof metadata.name !== "string") return "a Secret is"
  const { name, namespace } = metadata
  return `Secret ${typeof namespace === "string" ? `${Text.clip(namespace, longestName)}/` : ""}${Text.clip(name, longestName)} is`
}

/** No values. */
export const make = (): SecretValues => {
  const values = new Set<string>()
  const spared = new Set<string>()
  let left = most
  /** The notice that replaces every text, after a limit was exceeded. */
  let excess: string | undefined
  let passages: Passages.Passages | undefined

  const giveUp = (what: string, limit = ofValues): void => {
    excess ??= notice(what, limit)
    values.clear()
    passages = undefined
  }
  const isFull = (): boolean => excess !== undefined

  const addForm = (value: string, what: string): void => {
    if (isFull() || values.has(value)) return
    left -= value.length
    if (left < 0) {
      giveUp(what)
      return
    }
    values.add(value)
    passages = undefined
  }
  const add = (value: string, what: string): void => {
    if (value.length < shortest || isFull()) return
    if (value.length > left) {
      giveUp(what)
      return
    }
    addForm(value, what)
    // As a text in JSON, and in Go's `%q`, has it.
    addForm(JSON.stringify(value).slice(1, -1), what)
  }
  const note = (value: string, what: string): void => {
    if (value.length < shortest) return
    add(value, what)
    // A long value is too large already, so the cost of its parts has the same limit.
    if (isFull()) return
    for (const part of partsOf(value)) add(part, what)
  }
  const noteEncoded = (value: unknown, what: string): void => {
    if (typeof value !== "string" || isFull()) return
    const text = Buffer.from(value, "base64").toString("utf8")
    if (isPublic(text)) return
    note(value, what)
    // Bytes that are not a text have no copy in a text.
    if (!text.includes("\ufffd")) note(text.trim(), what)
  }
  const notePlain = (value: unknown, what: string): void => {
    if (typeof value !== "string" || isFull() || isPublic(value)) return
    note(value, what)
    add(Buffer.from(value).toString("base64"), what)
  }
  /** A map of keys and their values; each key counts, also if its value is short. */
  const noteEach = (
    fields: Fields,
    each: (value: unknown, what: string) => void,
    what: string,
    keys?: ReadonlyArray<string>
  ): void => {
    if (keys !== undefined) {
      for (const key of keys) if (Object.hasOwn(fields, key)) each(fields[key], what)
      return
    }
    for (const key in fields) {
      if (--left < 0) giveUp(what)
      if (isFull()) return
      each(fields[key], what)
    }
  }

  const learn: SecretValues["learn"] = (value, isSecret, keys) => {
    if (isSecret && Array.isArray(value)) {
      for (const operation of value) {
        if (!isFields(operation) || !isSecretsData(operation.path)) continue
        const patched = operation.value
        if (isFields(patched)) noteEach(patched, noteEncoded, "the patch of a Secret is")
        else noteEncoded(patched, "the patch of a Secret is")
      }
    }
    if (!isFields(value)) return
    // A list on the path of Secrets may have no `kind` at its items.
    if (Array.isArray(value.items) && (isSecret || value.kind === "SecretList")) {
      for (const item of value.items) {
        if (isFull()) return
        learn(item, true, keys)
      }
      return
    }
    if (!isSecret && value.kind !== "Secret") return
    const { data, metadata, stringData } = value
    const what = nameOf(metadata)
    if (isFields(data)) noteEach(data, noteEncoded, what, keys)
    if (isFields(stringData)) noteEach(stringData, notePlain, what, keys)
    if (isFields(metadata)) for (const name of [metadata.name, metadata.namespace]) spare(name)
  }

  const named = "the fields with names of secrets are"
  const texts = (value: unknown, depth: number): void => {
    if (depth > deepest || isFull()) return
    if (Array.isArray(value)) for (const item of value) texts(item, depth + 1)
    else if (typeof value === "string") note(value, named)
  }
  /** @returns how many more members may be searched; negative: too many */
  const walk = (value: unknown, depth: number, members: number): number => {
    if (depth > deepest || members < 0 || isFull()) return members
    let rest = members
    if (Array.isArray(value)) {
      for (const item of value) rest = walk(item, depth + 1, rest - 1)
      return rest
    }
    if (!isFields(value)) return rest
    for (const name in value) {
      if (--rest < 0) return rest
      const each = value[name]
      if (name.length <= longestName && isSecretMember(name, each, value)) texts(each, 0)
      else rest = walk(each, depth + 1, rest)
    }
    return rest
  }

  const spare = (word: unknown): void => {
    if (typeof word !== "string" || word.length < shortest) return
    spared.add(word)
    passages = undefined
  }

  return {
    learn,
    learnNamed: (value) => {
      if (walk(value, 0, mostMembers) < 0) giveUp("an object is", ofMembers)
    },
    spare,
    replaced: (text, by) => {
      if (text.length < shortest) return text
      if (excess !== undefined) return excess
      if (values.size === 0) return text
      passages ??= Passages.make([...values].filter((value) => !spared.has(value)))
      return passages.replaced(text, by)
    }
  }
}
