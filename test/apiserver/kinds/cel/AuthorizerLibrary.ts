/** The CEL variable `authorizer` of admission expressions, which checks the permissions of a user. */
import type { Environment } from "@marcbachmann/cel-js"
import type * as Access from "../../model/Authorizer.ts"
import * as User from "../../model/User.ts"

type Resource = Access.ResourceAttributes

class Decision {
  constructor(readonly decision: Access.Decision) {}
}

/** A user, and the authorizer that checks the user's permissions. */
interface Subject {
  readonly user: User.User
  readonly authorize: (request: Access.AccessRequest) => Access.Decision
}

class PathCheck {
  constructor(
    readonly subject: Subject,
    readonly path: string
  ) {}

  check(verb: string): Decision {
    const { authorize, user } = this.subject
    return new Decision(authorize({ user, verb, resource: undefined, path: this.path }))
  }
}

class ResourceCheck {
  constructor(
    readonly subject: Subject,
    readonly resource: Resource
  ) {}

  with(more: Partial<Resource>): ResourceCheck {
    return new ResourceCheck(this.subject, { ...this.resource, ...more })
  }

  check(verb: string): Decision {
    const { authorize, user } = this.subject
    return new Decision(authorize({ user, verb, resource: this.resource, path: "" }))
  }
}

class GroupCheck {
  constructor(
    readonly subject: Subject,
    readonly group: string
  ) {}

  resource(resource: string): ResourceCheck {
    return new ResourceCheck(this.subject, { group: this.group, resource, subresource: "", namespace: "", name: "" })
  }
}

class Authorizer {
  constructor(
    readonly subject: Subject,
    readonly own: Resource
  ) {}

  get requestResource(): ResourceCheck {
    return new ResourceCheck(this.subject, this.own)
  }

  serviceAccount(namespace: string, name: string): Authorizer {
    const user = User.complete({ name: User.serviceAccountName(namespace, name), groups: [] })
    return new Authorizer({ ...this.subject, user }, this.own)
  }
}

/** Returns the value of `authorizer` for a user's request to a resource. Without an authorizer, every check allows. */
export const of = (user: User.User, authorize: Subject["authorize"] | undefined, resource: Resource): unknown =>
  new Authorizer({ user, authorize: authorize ?? (() => ({ allowed: true, reason: "" })) }, resource)

const prefix = "kubernetes.authorization"

/** The name of the type of `authorizer` in an environment. */
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

const functions: { readonly [signature: string]: (...args: never) => unknown } = {
  "@Authorizer.path(string): @PathCheck": ({ subject }: Authorizer, path: string) => new PathCheck(subject, path),
  "@Authorizer.group(string): @GroupCheck": ({ subject }: Authorizer, group: string) => new GroupCheck(subject, group),
  "@Authorizer.serviceAccount(string, string): @Authorizer": (self: Authorizer, namespace: string, name: string) =>
    self.serviceAccount(namespace, name),
  "@PathCheck.check(string): @Decision": (self: PathCheck, verb: string) => self.check(verb),
  "@GroupCheck.resource(string): @ResourceCheck": (self: GroupCheck, resource: string) => self.resource(resource),
  "@ResourceCheck.subresource(string): @ResourceCheck": (self: ResourceCheck, subresource: string) =>
    self.with({ subresource }),
  "@ResourceCheck.namespace(string): @ResourceCheck": (self: ResourceCheck, namespace: string) =>
    self.with({ namespace }),
  "@ResourceCheck.name(string): @ResourceCheck": (self: ResourceCheck, name: string) => self.with({ name }),
  // RBAC ignores selectors.
  "@ResourceCheck.fieldSelector(string): @ResourceCheck": (self: ResourceCheck) => self,
  "@ResourceCheck.labelSelector(string): @ResourceCheck": (self: ResourceCheck) => self,
  "@ResourceCheck.check(string): @Decision": (self: ResourceCheck, verb: string) => self.check(verb),
  "@Decision.allowed(): bool": ({ decision }: Decision) => decision.allowed,
  "@Decision.reason(): string": ({ decision }: Decision) => decision.reason,
  "@Decision.errored(): bool": () => false,
  "@Decision.error(): string": () => ""
}
