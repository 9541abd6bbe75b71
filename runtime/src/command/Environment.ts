/**
 * Environment variables that Bun reads in a compiled program. `run` rejects those that print credentials or run code, and overrides
 * the one that turns off the verification of TLS.
 *
 * This protects against copied snippets and forgotten settings, not against an attacker: code that Bun loads first can skip the check.
 */
import * as Effect from "effect/Effect"
import * as Flag from "./Flag.ts"
import * as Verb from "./Verb.ts"

/** The variable that, with the value `1`, allows all others here: `SITES_ALLOW_DEBUG` of a program `sites`. */
export const allowance = (program: string): string => Flag.variableOf(program, "allow-debug")

/** Variables, or prefixes of their names (`…*`), and the effect of each. */
export const refused: { readonly [name: string]: string } = {
  BUN_CONFIG_VERBOSE_FETCH: "it prints every request with its credentials",
  "BUN_INSPECT*": "it opens a debugger",
  BUN_OPTIONS: "it adds options of Bun, such as a module to load"
}

const tls = "NODE_TLS_REJECT_UNAUTHORIZED"

type Variables = { readonly [name: string]: string | undefined }

const matches = (pattern: string, name: string): boolean =>
  pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern

/** The rejected variables that are set, with their effects. An empty variable counts as not set. */
const found = (environment: Variables): ReadonlyArray<readonly [name: string, what: string]> =>
  Object.keys(environment)
    .filter((name) => (environment[name] ?? "") !== "")
    .sort()
    .flatMap((name) =>
      Object.entries(refused).flatMap(([pattern, what]) => (matches(pattern, name) ? [[name, what] as const] : []))
    )

/** Fails if a rejected variable is set, unless all are allowed. */
export const check = (program: string, environment: Variables): Effect.Effect<void, Verb.UsageError> => {
  const [first] = found(environment)
  if (first === undefined || environment[allowance(program)] === "1") return Effect.void
  const [name, what] = first
  return new Verb.UsageError({
    message: `forbidden environment variable: ${name} (${what}; unset it, or set ${allowance(program)}=1)`
  })
}

/**
 * Logs a warning for each allowed variable, and resets `NODE_TLS_REJECT_UNAUTHORIZED=0`, so that the whole process verifies TLS.
 */
export const settle = (program: string, environment: Variables & { [tls]?: string | undefined }): Effect.Effect<void> =>
  Effect.suspend(() => {
    const warnings = found(environment).map(
      ([name, what]) => `${name} is set, and ${allowance(program)}=1 allows it: ${what}`
    )
    if (environment[tls] === "0") {
      environment[tls] = "1"
      warnings.push(`${tls}=0 has no effect: certificates are verified. Remove it`)
    }
    return Effect.forEach(warnings, (warning) => Effect.logWarning(warning), { discard: true })
  })
