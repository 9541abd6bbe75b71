/**
 * Replaces the secrets of a recording by texts of the same length, so that code that looks for a value still finds one.
 *
 * It replaces the `data` and `stringData` of Secrets, and the fields and variables with names of secrets. It also replaces the copies of these
 * values that `SecretValues` finds in other objects, and the texts that `Secrecy` detects.
 *
 * The search takes long for a large object. So it also exists as an effect, which lets other fibers run in between, and a text beyond
 * {@link longest} is replaced as a whole.
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
  readonly hide: (value: unknown, isSecret: boolean) => unknown
  /** The same, in steps between which other fibers run. */
  readonly hideInSteps: (value: unknown, isSecret: boolean) => Effect.Effect<unknown>
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

/** The characters of a step, and those that a text costs besides its own, and any value. */
const stepLength = 8192
const textLength = 64
const valueLength = 16

/** A search that pauses after each step. */
type Steps = Generator<void, unknown, void>

/** The last part of a JSON pointer. */
const lastPart = (path: unknown): string => (typeof path === "string" ? path.slice(path.lastIndexOf("/") + 1) : "")

/** An empty redaction. */
export const make = (): Redaction => {
  const values = SecretValues.make()
  let count = 0
  /** The characters since the last step. */
  let work = 0

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
    work += text.length + textLength
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
  function* applied(value: string, depth: number): Steps {
    const before = count
    const shown = yield* inside(SecretValues.jsonOf(value), false, depth)
    return typeof shown === "string" ? shown : count === before ? value : JSON.stringify(shown)
  }

  function* member(key: string, value: unknown, parent: Fields, isSecret: boolean, depth: number): Steps {
    if (isSecret && key === "data") return blank(value, asBase64)
    if (isSecret && key === "stringData") return blank(value, asText)
    if (isSecret && key === "annotations" && isFields(value) && lastApplied in value) {
      return yield* inside({ ...value, [lastApplied]: blank(value[lastApplied], asText) }, false, depth)
    }
    if (SecretValues.isSecretMember(key, value, parent)) return blank(value, asText)
    // An operation of a JSON patch.
    if (key === "value" && typeof parent.op === "string") {
      if (isSecret && SecretValues.isSecretsData(parent.path)) return blank(value, asBase64)
      if (SecretValues.isSecretMember(lastPart(parent.path), value, {})) return blank(value, asText)
    }
    if (key === lastApplied && typeof value === "string") return yield* applied(value, depth)
    if (references.has(key) && typeof value === "string") return value
    return yield* inside(value, isSecret && (key === "metadata" || key === "items"), depth)
  }

  function* inside(value: unknown, isSecret: boolean, depth: number): Steps {
    work += valueLength
    if (work > stepLength) {
      work = 0
      yield
    }
    if (depth > deepest) return omitted()
    if (typeof value === "string") return text(value)
    if (Array.isArray(value)) {
      const items: Array<unknown> = []
      for (const item of value) items.push(yield* inside(item, isSecret, depth + 1))
      return items
    }
    if (!isFields(value)) return value
    const secret = isSecret || value.kind === "Secret" || value.kind === "SecretList"
    const members: Array<readonly [string, unknown]> = []
    for (const [key, each] of Object.entries(value)) {
      members.push([key, yield* member(key, each, value, secret, depth + 1)])
    }
    return Object.fromEntries(members)
  }

  const learn: Redaction["learn"] = (value, isSecret, keys) => {
    values.learn(value, isSecret, keys)
    values.learnNamed(value)
  }

  return {
    learn,
    spare: values.spare,
    hide: (value, isSecret) => {
      const steps = inside(value, isSecret, 0)
      for (;;) {
        const step = steps.next()
        if (step.done === true) return step.value
      }
    },
    hideInSteps: (value, isSecret) =>
      Effect.gen(function* () {
        const steps = inside(value, isSecret, 0)
        for (;;) {
          const step = steps.next()
          if (step.done === true) return step.value
          yield* Effect.yieldNow
        }
      }),
    text,
    count: () => count
  }
}
