/** What a new controller is called wherever it has a name, from its kind; and why a kind can't be one. Pure. */
import * as Either from "effect/Either"

/** What is asked for. */
export interface Wanted {
  /** In PascalCase: `RedisCache`. */
  readonly kind: string
  readonly group: string
  readonly version: string
  /** None: as the runtime makes it from the kind. */
  readonly plural: string | undefined
}

/** The names of a new controller. */
export interface Names extends Wanted {
  /** The controller's, its folder's and its sample's: `rediscache`. */
  readonly name: string
  /** Of its module in the workspace: `@homeostat/rediscache`. */
  readonly package: string
  /** By which `controllers/main.ts` may call it: `redisCache`. */
  readonly variable: string
  /** As it is spoken of: `a RedisCache`. */
  readonly one: string
}

/** What the modules that are written import, declare or take for a type, by names that a kind could have. */
export const used: ReadonlySet<string> = new Set([
  "Client",
  "Condition",
  "Controller",
  "Crd",
  "CustomResource",
  "Deployment",
  "Desired",
  "Effect",
  "Field",
  "Harness",
  "Manager",
  "NonNullable",
  "Owned",
  "Patch",
  "Result",
  "Schema",
  "Spec",
  "Status",
  "TestClock",
  "Time"
])

/** A kind, or what is wrong with it. */
export const kindOf = (text: string): Either.Either<string, string> => {
  // `-controller` behind it makes the value of a label, which has 63 characters at most.
  if (!/^[A-Z][A-Za-z0-9]{0,51}$/.test(text)) {
    return Either.left(
      `invalid kind: "${text}" (must be letters and digits in PascalCase, at most 52 characters, such as RedisCache)`
    )
  }
  if (used.has(text)) return Either.left(`"${text}" is what a module of every controller imports: choose another kind`)
  // On many disks they would be one file.
  if (/^(children|controller|status)$/i.test(text)) {
    return Either.left(`"${text}" is a file of every controller's module: choose another kind`)
  }
  // Its type would hide it in the whole module.
  return text in globalThis
    ? Either.left(`"${text}" is something that JavaScript has already: choose another kind`)
    : Either.right(text)
}

/** A group, or what is wrong with it. */
export const groupOf = (text: string): Either.Either<string, string> => {
  const labels = text.split(".")
  const isDomain = labels.length > 1 && labels.every((label) => /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(label))
  if (text.length > 253 || !isDomain) {
    return Either.left(`invalid group: "${text}" (must be a lower-case domain, such as cache.example.com)`)
  }
  return /(^|\.)(k8s|kubernetes)\.io$/.test(text)
    ? Either.left(`"${text}" belongs to Kubernetes: take a domain of your own, such as cache.example.com`)
    : Either.right(text)
}

/** A version, or what is wrong with it. */
export const versionOf = (text: string): Either.Either<string, string> =>
  /^v[1-9][0-9]{0,9}((alpha|beta)[1-9][0-9]{0,9})?$/.test(text)
    ? Either.right(text)
    : Either.left(`invalid version: "${text}" (write it like v1alpha1, v1beta2 or v1)`)

/** A plural, or what is wrong with it. */
export const pluralOf = (text: string): Either.Either<string, string> =>
  /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text)
    ? Either.right(text)
    : Either.left(`invalid plural: "${text}" (must be lower-case letters, digits and dashes, such as caches)`)

/** The names that follow. */
export const of = (wanted: Wanted): Names => {
  const { kind } = wanted
  const name = kind.toLowerCase()
  return {
    ...wanted,
    name,
    package: `@homeostat/${name}`,
    // The capitals at the front, but for the one that begins the next word: DNSRecord is dnsRecord.
    variable: kind.replace(/^[A-Z0-9]+(?=$|[A-Z][a-z])|^[A-Z]/, (capitals) => capitals.toLowerCase()),
    one: `${/^[AEIOU]/.test(kind) ? "an" : "a"} ${kind}`
  }
}
