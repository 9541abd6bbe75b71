/**
 * Asks the API server whether we may do what the controllers need: a SelfSubjectRulesReview for each namespace, or a
 * SelfSubjectAccessReview for each permission where the server does not know all rules. For each missing permission there is one line:
 * what cannot be done where, who needs it, and the rule to add.
 *
 * Needs no right that not every account has (`system:basic-user`).
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type * as ApiError from "../client/ApiError.ts"
import * as Client from "../client/Client.ts"
import * as Right from "../client/Right.ts"
import { SelfSubjectAccessReview, SelfSubjectRulesReview } from "../resource/BuiltIn.ts"
import type { InvalidObject } from "../resource/Resource.ts"
import { keyOf, type Permission } from "./Permission.ts"
import * as Rbac from "./Rbac.ts"

/** Few enough not to be felt by a server that others need too; all together they take some hundredths of a second. */
const concurrency = 8

/** What the API server says of some permissions. */
export interface Findings {
  readonly missing: ReadonlyArray<Permission>
  /** Of some it said nothing, and why. */
  readonly unanswered: ReadonlyArray<Failure>
}

type Failure = ApiError.ApiError | InvalidObject

/** Where no server answers, or it does not know us, a further question gets no better answer. */
const isBroken = ({ _tag }: Failure): boolean => _tag === "Transport" || _tag === "Unauthorized"

/** No namespace can have this name, so no Role is there: the rules that hold in it are those of the whole cluster. */
const everywhere = "*"

/**
 * Asks for the rules of each namespace, in one request each, and of the whole cluster for what is needed there. A server whose answer is
 * incomplete has an authorizer that names no rules, and may refuse what others allow: it is asked for each permission by itself.
 */
export const review = (permissions: ReadonlyArray<Permission>): Effect.Effect<Findings, never, Client.Client> =>
  Effect.gen(function* () {
    const missing = new Set<Permission>()
    const single = new Set<Permission>()
    const unanswered: Array<Failure> = []
    const places = Object.entries(Arr.groupBy(permissions, ({ namespace }) => namespace ?? everywhere))
    yield* Effect.forEach(
      places,
      ([place, some]) =>
        Effect.match(rulesIn(place), {
          onFailure: (error) => {
            if (isBroken(error)) unanswered.push(...some.map(() => error))
            else for (const one of some) single.add(one)
          },
          onSuccess: (rules) => {
            for (const one of some) {
              if (rules === undefined) single.add(one)
              else if (!rules.some((rule) => grants(rule, one))) missing.add(one)
            }
          }
        }),
      { concurrency, discard: true }
    )
    if (single.size > 0) {
      const rest = yield* reviewEach(permissions.filter((permission) => single.has(permission)))
      for (const permission of rest.missing) missing.add(permission)
      unanswered.push(...rest.unanswered)
    }
    return { missing: permissions.filter((permission) => missing.has(permission)), unanswered }
  })

type Rules = NonNullable<SelfSubjectRulesReview["status"]>["resourceRules"]

/** The rules that hold in a namespace; undefined where the server does not know all of them. */
const rulesIn = (namespace: string): Effect.Effect<Rules | undefined, Failure, Client.Client> =>
  Effect.map(Client.create(SelfSubjectRulesReview, { metadata: {}, spec: { namespace } }), ({ status }) =>
    status === undefined || status.incomplete ? undefined : status.resourceRules
  )

/** Whether a rule grants a permission, as RBAC has it. */
const grants = (rule: Rules[number], { group, name, resource, subresource, verb }: Permission): boolean => {
  const has = (values: ReadonlyArray<string> | undefined, ...accepted: ReadonlyArray<string>): boolean =>
    values?.some((value) => value === "*" || accepted.includes(value)) === true
  const { apiGroups, resourceNames = [], resources, verbs } = rule
  const paths = subresource === undefined ? [resource] : [`${resource}/${subresource}`, `*/${subresource}`]
  return (
    has(verbs, verb) &&
    has(apiGroups, group) &&
    has(resources, ...paths) &&
    (resourceNames.length === 0 || (name !== undefined && resourceNames.includes(name)))
  )
}

/**
 * Asks for each of the permissions. What is needed in several namespaces is asked of the whole cluster first, and of each of
 * them only if it is not granted there: a ClusterRole takes one question, however many the namespaces.
 */
const reviewEach = (permissions: ReadonlyArray<Permission>): Effect.Effect<Findings, never, Client.Client> =>
  Effect.suspend(() => {
    let broken: Failure | undefined
    const ask = (permission: Permission) =>
      Effect.suspend(() => (broken === undefined ? isGranted(permission) : Effect.fail(broken))).pipe(
        Effect.tapError((error) =>
          Effect.sync(() => {
            if (isBroken(error)) broken = error
          })
        )
      )
    const missing = new Set<Permission>()
    const unanswered: Array<Failure> = []
    const note = (permission: Permission) =>
      Effect.match(ask(permission), {
        onFailure: (error) => void unanswered.push(error),
        onSuccess: (granted) => void (granted || missing.add(permission))
      })
    const noteAll = (same: ReadonlyArray<Permission>) => Effect.forEach(same, note, { discard: true })
    return Effect.forEach(
      alike(permissions),
      (same) =>
        same.length === 1
          ? noteAll(same)
          : Effect.unlessEffect(
              noteAll(same),
              Effect.orElseSucceed(ask({ ...same[0], namespace: undefined }), () => false)
            ),
      { concurrency, discard: true }
    ).pipe(Effect.map(() => ({ missing: permissions.filter((permission) => missing.has(permission)), unanswered })))
  })

/** The same right in several namespaces, together. */
const alike = (permissions: ReadonlyArray<Permission>) =>
  Object.values(Arr.groupBy(permissions, (permission) => keyOf({ ...permission, namespace: undefined }))).flatMap(
    (some) => {
      const [wide, placed] = Arr.partition(some, ({ namespace }) => namespace !== undefined)
      return [...wide.map(Arr.of), ...(Arr.isNonEmptyArray(placed) ? [placed] : [])]
    }
  )

const isGranted = ({ group, name, namespace, resource, subresource, verb }: Permission) =>
  Effect.map(
    Client.create(SelfSubjectAccessReview, {
      metadata: {},
      spec: {
        resourceAttributes: {
          verb,
          group,
          resource,
          ...(subresource === undefined ? {} : { subresource }),
          ...(name === undefined ? {} : { name }),
          ...(namespace === undefined ? {} : { namespace })
        }
      }
    }),
    ({ status }) => status?.allowed === true
  )

/** One line: what can't be done where, who needs it, and the rule that would allow it. */
export const describe = (permission: Permission): string => {
  const { by, group, name, namespace, resource, subresource, verb } = permission
  const kind = `${resource}${group === "" ? "" : `.${group}`}${subresource === undefined ? "" : `/${subresource}`}`
  const what = `cannot ${verb} ${kind}${name === undefined ? "" : ` ${name}`}`
  const role = namespace === undefined ? "a ClusterRole" : `a Role there`
  const rules = Rbac.rulesOf([permission]).map((rule) => JSON.stringify(rule))
  return `${what} ${Right.where(namespace)}, which ${by.join(" and ")} ${by.length === 1 ? "needs" : "need"}: add to ${role} ${rules.join()}`
}

/**
 * Warns of each permission that is missing, and of nothing else: an answer that doesn't come is told by those who need one.
 * Controllers may start meanwhile. What they lack they find out for themselves, and recover from when it is granted.
 */
export const warn = (permissions: ReadonlyArray<Permission>): Effect.Effect<void, never, Client.Client> =>
  Effect.gen(function* () {
    const { missing, unanswered } = yield* review(permissions)
    for (const permission of missing) yield* Effect.logWarning(describe(permission))
    if (unanswered[0] !== undefined) {
      yield* Effect.logDebug(
        `The API server did not say whether we have ${unanswered.length} of our rights: ${unanswered[0].message}`
      )
    }
  })
