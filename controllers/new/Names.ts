/** The names of a new controller, from its kind. Rejects invalid kinds. Pure. */
import * as Result from "effect/Result"

/** The arguments of the verb. */
export interface Wanted {
  /** In PascalCase: `RedisCache`. */
  readonly kind: string
  readonly group: string
  readonly version: string
  /** Undefined: the default of the runtime for the kind. */
  readonly plural: string | undefined
}

/** The names of a new controller. */
export interface Names extends Wanted {
  /** The name of the controller, its folder and its sample: `rediscache`. */
  readonly name: string
  /** The name of its workspace module: `@homeostat/rediscache`. */
  readonly package: string
  /** The name of its variable in `controllers/main.ts`: `redisCache`. */
  readonly variable: string
  /** The name with its article: `a RedisCache`. */
  readonly one: string
}

/** Names that the generated modules already use. */
export const used: ReadonlySet<string> = new Set([
  "Access",
  "Admission",
  "Client",
  "Condition",
  "Controller",
  "Crd",
  "CustomResource",
  "Deployment",
  "Effect",
  "Field",
  "Harness",
  "Owned",
  "Patch",
  "Rbac",
  "Result",
  "Schema",
  "Spec",
  "Status",
  "TestClock"
])

/** Parses a kind. Failure: why it is invalid. */
export const kindOf = (text: string): Result.Result<string, string> => {
  // With the suffix `-controller` it is the value of a label, which has at most 63 characters.
  if (!/^[A-Z][A-Za-z0-9]{0,51}$/.test(text)) {
    return Result.fail(
      `invalid kind: "${text}" (must be letters and digits in PascalCase, at most 52 characters, such as RedisCache)`
    )
  }
  if (used.has(text)) return Result.fail(`"${text}" is what a module of every controller imports: choose another kind`)
  // File systems without case would have one file for both.
  if (/^(admission|children|controller)$/i.test(text)) {
    return Result.fail(`"${text}" is a file of every controller's module: choose another kind`)
  }
  // Its type would hide the global name in the module.
  return text in globalThis
    ? Result.fail(`"${text}" is something that JavaScript has already: choose another kind`)
    : Result.succeed(text)
}

/** Parses a group. Failure: why it is invalid. */
export const groupOf = (text: string): Result.Result<string, string> => {
  const labels = text.split(".")
  const isDomain = labels.length > 1 && labels.every((label) => /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(label))
  if (text.length > 253 || !isDomain) {
    return Result.fail(`invalid group: "${text}" (must be a lower-case domain, such as cache.example.com)`)
  }
  return /(^|\.)(k8s|kubernetes)\.io$/.test(text)
    ? Result.fail(`"${text}" belongs to Kubernetes: take a domain of your own, such as cache.example.com`)
    : Result.succeed(text)
}

/** Parses a version. Failure: why it is invalid. */
export const versionOf = (text: string): Result.Result<string, string> =>
  /^v[1-9][0-9]{0,9}((alpha|beta)[1-9][0-9]{0,9})?$/.test(text)
    ? Result.succeed(text)
    : Result.fail(`invalid version: "${text}" (write it like v1alpha1, v1beta2 or v1)`)

/** Parses a plural. Failure: why it is invalid. */
export const pluralOf = (text: string): Result.Result<string, string> =>
  /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text)
    ? Result.succeed(text)
    : Result.fail(`invalid plural: "${text}" (must be lower-case letters, digits and dashes, such as caches)`)

/** The name of a kind's variable. The leading capitals, except the one that starts the next word: DNSRecord is dnsRecord. */
export const variableOf = (kind: string): string =>
  kind.replace(/^[A-Z0-9]+(?=$|[A-Z][a-z])|^[A-Z]/, (capitals) => capitals.toLowerCase())

/** A kind with its article. */
export const articled = (kind: string): string => `${/^[AEIOU]/.test(kind) ? "an" : "a"} ${kind}`

/** The names for a kind. */
export const of = (wanted: Wanted): Names => {
  const { kind } = wanted
  const name = kind.toLowerCase()
  return {
    ...wanted,
    name,
    package: `@homeostat/${name}`,
    variable: variableOf(kind),
    one: articled(kind)
  }
}
