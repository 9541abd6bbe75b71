/**
 * Admission: checks and defaults that run before the API server stores an object.
 *
 * A check that CEL can express becomes a ValidatingAdmissionPolicy, which the API server evaluates itself. All other checks become a
 * webhook of this program. Both are part of one declaration:
 *
 * ```ts
 * const webhooks = [
 *   Admission.validate(Site, {
 *     write: ({ spec }) => (isTaken(spec.host) ? [Admission.invalid("spec.host", spec.host, "another Site has this host")] : []),
 *     cel: [{ name: "paths", expression: "object.spec.paths.size() < 100", message: "a Site has at most 99 paths" }]
 *   }),
 *   Admission.default(Site, ({ spec }) => (spec.theme === undefined ? { spec: { theme: "plain" } } : undefined))
 * ]
 * ```
 *
 * The API server calls a webhook for a custom kind only if the spec changes. It never calls a webhook for an update of an object that is
 * being deleted. So a manager that does not answer never blocks a finalizer. {@link Options.changes} extends the calls to all changes.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Access from "../controller/Access.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as FieldPath from "./FieldPath.ts"
import * as Integers from "./Integers.ts"
import * as JsonPatch from "./JsonPatch.ts"

/** The operation of a request. */
export type Operation = "CREATE" | "UPDATE" | "DELETE"

/** The user of a request. */
export interface UserInfo {
  readonly username: string
  readonly uid?: string | undefined
  readonly groups?: ReadonlyArray<string> | undefined
  readonly extra?: { readonly [key: string]: ReadonlyArray<string> } | undefined
}

/** A request to the API server. */
export interface Request<out A> {
  readonly operation: Operation
  /** The stored object of an update; absent on creation, and if the stored object does not match its schema. */
  readonly oldObject: A | undefined
  /** The namespace; absent for a cluster-scoped kind. */
  readonly namespace: string | undefined
  /** The name; empty if the API server generates it later. */
  readonly name: string
  /** Whether the API server will not store the result. */
  readonly dryRun: boolean
  readonly userInfo: UserInfo
}

/** A result of a check: an error, which denies the request, or a warning, which the user sees. */
export type Finding =
  | { readonly _tag: "Invalid"; readonly field: string; readonly value: unknown; readonly message: string }
  | { readonly _tag: "Forbidden"; readonly field: string | undefined; readonly message: string }
  | { readonly _tag: "Warning"; readonly message: string }

/**
 * Denies the request, because a field has an invalid value.
 *
 * @example
 * ```ts
 * Admission.invalid("spec.size", 12, "must be at most 10") // kubectl: spec.size: Invalid value: 12: must be at most 10
 * ```
 */
export const invalid = (field: string, value: unknown, message: string): Finding => ({
  _tag: "Invalid",
  field,
  value,
  message
})

/**
 * Denies the request, for a reason that is not the value of a field.
 *
 * @example
 * ```ts
 * Admission.forbidden("the Site still has visitors (wait until they have left)")
 * ```
 */
export const forbidden = (message: string, field?: string): Finding => ({ _tag: "Forbidden", field, message })

/**
 * Warns the user and admits the request. kubectl prints one line. Write at most 120 characters.
 *
 * @example
 * ```ts
 * Admission.warning("spec.image: the tag latest can change without a rollout (write a version)")
 * ```
 */
export const warning = (message: string): Finding => ({ _tag: "Warning", message })

/** The findings of a check, or an effect with the findings. */
type Findings<E, R> = ReadonlyArray<Finding> | Effect.Effect<ReadonlyArray<Finding>, E, R>

/** A check in CEL, which becomes a ValidatingAdmissionPolicy. */
export interface Rule {
  /** Unique for the kind: lower-case letters, digits and dashes. It is part of the policy's name. */
  readonly name: string
  /** True for objects without an error. `object`, `oldObject` (null on creation), `request` and `namespaceObject` are defined. */
  readonly expression: string
  /** The message, in one line. */
  readonly message: string
  /** A CEL expression for the message; it precedes `message` if it evaluates. */
  readonly messageExpression?: string | undefined
  /** Default `Deny`. */
  readonly action?: "Deny" | "Warn" | undefined
  /** The changes that the API server checks. Default: that of the declaration. */
  readonly changes?: "spec" | "all" | undefined
  /**
   * Whether the API server also checks the subresource `scale`, which `kubectl scale` and autoscalers write. `object` and `oldObject` are
   * then a `Scale` of `autoscaling/v1`, which omits `spec.replicas` if it is 0, and `request.subResource` is `scale`. Default: false.
   */
  readonly scale?: boolean | undefined
}

/** A CEL condition for the call of a webhook. */
export interface MatchCondition {
  readonly name: string
  readonly expression: string
}

/** The settings of a webhook. */
export interface Options {
  /** The decision of the API server if the webhook does not answer. Default: `Fail` for custom kinds and `Ignore` for built-in kinds. */
  readonly failurePolicy?: "Fail" | "Ignore" | undefined
  /** The time limit of an answer, of whole seconds from 1 to 30. Default 5 seconds. */
  readonly timeout?: Duration.Input | undefined
  /** The changes for which the API server calls the webhook. Default: `spec` for custom kinds and `all` for built-in kinds. */
  readonly changes?: "spec" | "all" | undefined
  /** Further conditions for the call. */
  readonly matchConditions?: ReadonlyArray<MatchCondition> | undefined
  /** The labels of the objects. Default: all objects. */
  readonly objectSelector?: LabelSelector | undefined
  /** The permissions that the function needs: `[Access.of(Namespace, ["get"])]`. `rbac --webhooks` prints them. Default: none. */
  readonly access?: ReadonlyArray<Access.Access> | undefined
  /** The labels of the namespaces. Default: all namespaces, for a built-in kind without `kube-system` and the program's own. */
  readonly namespaceSelector?: LabelSelector | undefined
}

/** A label selector in its wire form. */
export interface LabelSelector {
  readonly matchLabels?: { readonly [name: string]: string }
  readonly matchExpressions?: ReadonlyArray<{
    readonly key: string
    readonly operator: string
    readonly values?: ReadonlyArray<string>
  }>
}

/** A request in its wire form, as `AdmissionReview` sends it. */
export interface Wire extends Omit<Request<KubernetesObject>, "oldObject"> {
  readonly object: KubernetesObject | null
  readonly oldObject: KubernetesObject | null
}

/** The answer to a request. */
export interface Answer {
  readonly findings: ReadonlyArray<Finding>
  /** The changes of a default. */
  readonly patch: ReadonlyArray<JsonPatch.Operation>
}

/**
 * A webhook.
 *
 * @typeParam R the services that it needs
 */
export interface Hook<out R = never> {
  readonly type: "validate" | "mutate"
  readonly operations: ReadonlyArray<Operation>
  readonly failurePolicy: "Fail" | "Ignore"
  readonly timeoutSeconds: number
  readonly changes: "spec" | "all"
  readonly options: Options
  readonly answer: (request: Wire) => Effect.Effect<Answer, unknown, R>
}

/** A rule with its defaults. */
export interface CompleteRule extends Rule {
  readonly action: "Deny" | "Warn"
  readonly changes: "spec" | "all"
}

/** The webhooks and policies of a kind. */
export interface Admission<out R = never> {
  readonly resource: Resource.Any
  readonly hooks: ReadonlyArray<Hook<R>>
  readonly rules: ReadonlyArray<CompleteRule>
  /** The decision of the API server if it cannot evaluate a rule. */
  readonly failurePolicy: "Fail" | "Ignore"
  /** The permissions that its functions need. */
  readonly access: ReadonlyArray<Access.Access>
}

/** The checks of a kind. */
export interface Checks<A, WE, WR, DE, DR> extends Options {
  /** Checks an object that a user creates or updates. A failure is not a denial: `failurePolicy` decides. */
  readonly write?: ((object: A, request: Request<A>) => Findings<WE, WR>) | undefined
  /** Checks a deletion. The API server admits deletions if the webhook does not answer, and those of a whole namespace. */
  readonly delete?: ((object: A, request: Request<A>) => Findings<DE, DR>) | undefined
  /** Checks that the API server evaluates itself. */
  readonly cel?: ReadonlyArray<Rule> | undefined
}

const refuse = (what: string, value: unknown, accepted: string): never => {
  throw new Error(`invalid ${what} of an admission webhook: ${JSON.stringify(value)} (must be ${accepted})`)
}

const settingsOf = (resource: Resource.Any, options: Options) => {
  const custom = CustomResource.isCustomResource(resource)
  const timeoutSeconds = Duration.toSeconds(options.timeout ?? "5 seconds")
  if (!Number.isInteger(timeoutSeconds) || timeoutSeconds < 1 || timeoutSeconds > 30) {
    refuse("timeout", options.timeout, "whole seconds from 1 to 30")
  }
  return {
    failurePolicy: options.failurePolicy ?? (custom ? ("Fail" as const) : ("Ignore" as const)),
    changes: options.changes ?? (custom ? ("spec" as const) : ("all" as const)),
    timeoutSeconds,
    options
  }
}

const settled = <E, R>(findings: Findings<E, R>): Effect.Effect<ReadonlyArray<Finding>, E, R> =>
  Effect.isEffect(findings) ? findings : Effect.succeed(findings)

const requestOf = <A extends KubernetesObject>(resource: Resource.Resource<A, never>, wire: Wire): Request<A> => {
  const { oldObject } = wire
  return {
    operation: wire.operation,
    namespace: wire.namespace,
    name: wire.name,
    dryRun: wire.dryRun,
    userInfo: wire.userInfo,
    oldObject: oldObject === null ? undefined : Result.getOrUndefined(resource.decode(oldObject))
  }
}

const noPatch: ReadonlyArray<JsonPatch.Operation> = []

/**
 * Checks the objects of a kind.
 *
 * @throws Error if a setting is invalid
 *
 * @example
 * ```ts
 * const sites = Admission.validate(Site, {
 *   write: ({ spec }) => (spec.replicas > 100 ? [Admission.warning("spec.replicas: more than 100 replicas cost a lot")] : [])
 * })
 * ```
 */
export const validate = <A extends KubernetesObject, WE = never, WR = never, DE = never, DR = never>(
  resource: Resource.Resource<A, never>,
  checks: Checks<A, WE, WR, DE, DR>
): Admission<WR | DR> => {
  const { write, delete: remove, cel = [], ...options } = checks
  const settings = settingsOf(resource, options)
  const names = cel.map(({ name }) => name)
  for (const name of names) {
    if (!/^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(name)) refuse("rule name", name, "lower-case letters, digits and dashes")
    if (names.indexOf(name) !== names.lastIndexOf(name)) refuse("rule name", name, "unique for the kind")
  }
  /** The answer without an object, as in the deletion of a collection. */
  const none = Effect.succeed({ findings: [], patch: noPatch })
  const written = (wire: Wire, check: NonNullable<typeof write>): Effect.Effect<Answer, WE, WR> => {
    if (wire.object === null) return none
    const hidden = FieldPath.prototype(wire.object)
    if (hidden !== undefined) {
      return Effect.succeed({
        findings: [forbidden("field name not supported (choose another)", hidden)],
        patch: noPatch
      })
    }
    const decoded = resource.decode(wire.object)
    return Result.isFailure(decoded)
      ? Effect.succeed({ findings: decoded.failure.issues.map(issue(wire.object)), patch: noPatch })
      : Effect.map(settled(check(decoded.success, requestOf(resource, wire))), (findings) => ({
          findings,
          patch: noPatch
        }))
  }
  const removed = (wire: Wire, check: NonNullable<typeof remove>): Effect.Effect<Answer, DE, DR> => {
    const decoded = wire.oldObject === null ? undefined : resource.decode(wire.oldObject)
    // An object that does not match its schema can always be deleted.
    return decoded === undefined || Result.isFailure(decoded)
      ? none
      : Effect.map(settled(check(decoded.success, requestOf(resource, wire))), (findings) => ({
          findings,
          patch: noPatch
        }))
  }
  const hooks: Array<Hook<WR | DR>> = []
  if (write !== undefined) {
    hooks.push({
      ...settings,
      type: "validate",
      operations: ["CREATE", "UPDATE"],
      answer: (wire) => written(wire, write)
    })
  }
  if (remove !== undefined) {
    hooks.push({
      ...settings,
      type: "validate",
      operations: ["DELETE"],
      changes: "all",
      failurePolicy: "Ignore",
      answer: (wire) => removed(wire, remove)
    })
  }
  return {
    resource,
    hooks,
    rules: cel.map((rule) => ({ ...rule, action: rule.action ?? "Deny", changes: rule.changes ?? settings.changes })),
    failurePolicy: settings.failurePolicy,
    access: options.access ?? []
  }
}

/** A decoding issue as a finding, with the value at the field. */
const issue =
  (object: KubernetesObject) =>
  ({ field, message }: { readonly field: string; readonly message: string }): Finding =>
    invalid(field, FieldPath.valueAt(object, field), message)

/** Narrows to the effect of a default; a patch is not an effect. */
const isEffect = <E, R>(
  patch: object | undefined | Effect.Effect<object | undefined, E, R>
): patch is Effect.Effect<object | undefined, E, R> => Effect.isEffect(patch)

const beyond = "beyond 9007199254740991 exactly (write a smaller one)"

/** The settings of a default. */
export interface DefaultOptions extends Options {
  /** Default: both. */
  readonly operations?: ReadonlyArray<"CREATE" | "UPDATE"> | undefined
}

const fill = <A extends KubernetesObject, E = never, R = never>(
  resource: Resource.Resource<A, never>,
  patchOf: (object: A, request: Request<A>) => object | undefined | Effect.Effect<object | undefined, E, R>,
  { operations = ["CREATE", "UPDATE"], ...options }: DefaultOptions = {}
): Admission<R> => {
  const settings = settingsOf(resource, options)
  const patched = (patch: ReturnType<typeof patchOf>): Effect.Effect<object | undefined, E, R> =>
    isEffect<E, R>(patch) ? patch : Effect.succeed(patch)
  const answer = (wire: Wire): Effect.Effect<Answer, E, R> => {
    const { object } = wire
    const decoded = object === null ? undefined : resource.decode(object)
    if (object === null || decoded === undefined || Result.isFailure(decoded)) {
      return Effect.succeed({ findings: [], patch: noPatch })
    }
    return Effect.map(patched(patchOf(decoded.success, requestOf(resource, wire))), (change) => {
      const patch = change === undefined ? noPatch : JsonPatch.between(object, JsonPatch.merged(object, change))
      // A list is replaced as a whole, with values that only the client has set.
      const inexact = patch.find((operation) => operation.op !== "remove" && Integers.hasRounded(operation.value))
      return inexact === undefined
        ? { findings: [], patch }
        : {
            findings: [forbidden(`a default cannot write an integer ${beyond}`, JsonPatch.fieldOf(inexact))],
            patch: noPatch
          }
    })
  }
  return {
    resource,
    hooks: [{ ...settings, type: "mutate", operations, answer }],
    rules: [],
    failurePolicy: settings.failurePolicy,
    access: options.access ?? []
  }
}

export {
  /**
   * Sets defaults that the schema of a kind cannot express. The function returns a merge patch of the object, or nothing. The API server
   * receives a JSON patch of the actual changes, so that fields which this program does not know stay as they are.
   *
   * The API server may call it more than once for an object, so it must be idempotent. An object that does not match its schema stays
   * unchanged, because the API server reports the error.
   *
   * @throws Error if a setting is invalid
   *
   * @example
   * ```ts
   * const owned = Admission.default(Site, ({ metadata }, { userInfo }) =>
   *   metadata.annotations?.["example.com/creator"] === undefined
   *     ? { metadata: { annotations: { "example.com/creator": userInfo.username } } }
   *     : undefined
   * )
   * ```
   */
  fill as default
}

/**
 * The path of a hook, as controller-runtime names it: `/validate-apps-v1-deployment`.
 *
 * @internal
 */
export const pathOf = (resource: Resource.Any, { type }: Pick<Hook<unknown>, "type">): string =>
  `/${type}-${resource.group === "" ? "core" : resource.group.replaceAll(".", "-")}-${resource.version}-${resource.kind.toLowerCase()}`

/**
 * The error for two declarations of the same webhook or rule; `undefined` if there are none.
 *
 * @internal
 */
export const duplicate = (declared: ReadonlyArray<Admission<unknown>>): string | undefined => {
  const seen = new Set<string>()
  for (const { resource, hooks, rules } of declared) {
    const keys = [
      ...hooks.map(
        ({ operations, type }) =>
          `${operations.includes("DELETE") ? "deletions" : type} of ${Resource.nameOf(resource)}`
      ),
      ...rules.map(({ name }) => `rule ${name} of ${Resource.nameOf(resource)}`)
    ]
    for (const key of keys) {
      if (seen.has(key)) return `duplicate webhook: ${key} (declare it once)`
      seen.add(key)
    }
  }
  return undefined
}
