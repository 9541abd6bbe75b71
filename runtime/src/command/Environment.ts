/**
 * Environment variables that Bun obeys in a compiled program, and that a manager must not run with: `run` refuses those that print
 * credentials or let others run code, and neutralises the one that ends the verification of TLS.
 *
 * This protects against copied snippets and forgotten settings, not against malice: code that Bun loads first can skip the check.
 */
import * as Effect from "effect/Effect"
import * as Verb from "./Verb.ts"

/** Lets the variables pass that are refused otherwise, with the value `1`. */
export const allowance = "HOMEOSTAT_ALLOW_DEBUG"

/** Variables, or beginnings of their names (`…*`), and what each does. */
export const refused: { readonly [name: string]: string } = {
  BUN_CONFIG_VERBOSE_FETCH: "it prints every request with its credentials",
  "BUN_INSPECT*": "it opens a debugger",
  BUN_OPTIONS: "it adds options of Bun, such as a module to load"
}

const tls = "NODE_TLS_REJECT_UNAUTHORIZED"

type Variables = { readonly [name: string]: string | undefined }

const matches = (pattern: string, name: string): boolean =>
  pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern

/** The variables that are set and refused, with what each does. One that is empty counts as not set. */
const found = (environment: Variables): ReadonlyArray<readonly [name: string, what: string]> =>
  Object.keys(environment)
    .filter((name) => (environment[name] ?? "") !== "")
    .sort()
    .flatMap((name) =>
      Object.entries(refused).flatMap(([pattern, what]) => (matches(pattern, name) ? [[name, what] as const] : []))
    )

/** Fails for a variable that is refused, unless it is allowed. */
export const check = (environment: Variables): Effect.Effect<void, Verb.UsageError> => {
  const [first] = found(environment)
  if (first === undefined || environment[allowance] === "1") return Effect.void
  const [name, what] = first
  return new Verb.UsageError({
    message: `forbidden environment variable: ${name} (${what}; unset it, or set ${allowance}=1)`
  })
}

/**
 * Warns of the variables that were allowed, and verifies TLS in spite of `NODE_TLS_REJECT_UNAUTHORIZED=0`: for everything in the
 * process, as Bun obeys a change of the variable too.
 */
export const settle = (environment: Variables & { [tls]?: string | undefined }): Effect.Effect<void> =>
  Effect.suspend(() => {
    const warnings = found(environment).map(([name, what]) => `${name} is set, and ${allowance}=1 allows it: ${what}`)
    if (environment[tls] === "0") {
      environment[tls] = "1"
      warnings.push(`${tls}=0 has no effect: certificates are verified. Remove it`)
    }
    return Effect.forEach(warnings, (warning) => Effect.logWarning(warning), { discard: true })
  })
