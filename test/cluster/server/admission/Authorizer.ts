/**
 * The variable `authorizer` of expressions in admission. Each of its checks is allowed, whatever the roles say.
 */
import type { Environment } from "@marcbachmann/cel-js"

class ResourceCheck {}
class GroupCheck {}
class PathCheck {}
class Decision {}
class Authorizer {
  readonly requestResource = new ResourceCheck()
}

/** The value of `authorizer`. */
export const authorizer: unknown = new Authorizer()

const prefix = "kubernetes.authorization"

/** The type of `authorizer`. */
export const typeName = `${prefix}.Authorizer`

/** Adds the types and functions of `authorizer` to an environment. */
export const register = (env: Environment): Environment => {
  env.registerType(`${prefix}.Decision`, Decision)
  env.registerType(`${prefix}.PathCheck`, PathCheck)
  env.registerType(`${prefix}.ResourceCheck`, ResourceCheck)
  env.registerType(`${prefix}.GroupCheck`, GroupCheck)
  env.registerType(typeName, { ctor: Authorizer, fields: { requestResource: `${prefix}.ResourceCheck` } })
  for (const [signature, handler] of Object.entries(functions)) {
    env.registerFunction(signature.replaceAll("@", `${prefix}.`), handler)
  }
  return env
}

const same = <A>(value: A): A => value
const decision = (): Decision => new Decision()

const functions: { readonly [signature: string]: (...args: never) => unknown } = {
  "@Authorizer.path(string): @PathCheck": () => new PathCheck(),
  "@Authorizer.group(string): @GroupCheck": () => new GroupCheck(),
  "@Authorizer.serviceAccount(string, string): @Authorizer": same,
  "@PathCheck.check(string): @Decision": decision,
  "@GroupCheck.resource(string): @ResourceCheck": () => new ResourceCheck(),
  "@ResourceCheck.subresource(string): @ResourceCheck": same,
  "@ResourceCheck.namespace(string): @ResourceCheck": same,
  "@ResourceCheck.name(string): @ResourceCheck": same,
  "@ResourceCheck.fieldSelector(string): @ResourceCheck": same,
  "@ResourceCheck.labelSelector(string): @ResourceCheck": same,
  "@ResourceCheck.check(string): @Decision": decision,
  "@Decision.allowed(): bool": () => true,
  "@Decision.reason(): string": () => "",
  "@Decision.errored(): bool": () => false,
  "@Decision.error(): string": () => ""
}
