/**
 * Checks the permissions of the controllers: one SelfSubjectRulesReview per namespace, or one SelfSubjectAccessReview per permission
 * if the server does not know all rules. Logs one line per missing permission: the denied action, the controllers that need it, and
 * the rule to add.
 *
 * Needs only the permissions of `system:basic-user`, which every account has.
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type * as ApiError from "../client/ApiError.ts"
import * as Client from "../client/Client.ts"
import { where } from "../client/Permission.ts"
import { SelfSubjectAccessReview, SelfSubjectRulesReview } from "../resource/BuiltIn.ts"
import type { InvalidObject } from "../resource/Resource.ts"
import { keyOf, type Permission } from "./Permissions.ts"
import * as Rbac from "./Rbac.ts"

/** Few enough to spare the API server; all reviews together take some hundredths of a second. */
const concurrency = 8

/** The result of the reviews. */
export interface Findings {
  readonly missing: ReadonlyArray<Permission>
  /** The reasons why some permissions got no answer. */
  readonly unanswered: ReadonlyArray<Failure>
}

type Failure = ApiError.ApiError | InvalidObject

/** The server is unavailable or rejects the credentials, so further reviews would fail too. */
const isBroken = ({ _tag }: Failure): boolean => _tag === "Transport" || _tag === "Unauthorized"

/** No namespace can have this name, so it contains no Role, and its rules are those of the whole cluster. */
const everywhere = "*"

/**
 * Reads the rules of each namespace in one request each, and those of the whole cluster for cluster-wide permissions. If the answer
 * is incomplete, an authorizer of the server cannot list its rules. Then each permission gets its own review.
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

/** The rules of a namespace; undefined if the server does not know all of them. */
const rulesIn = (namespace: string): Effect.Effect<Rules | undefined, Failure, Client.Client> =>
  Effect.map(Client.create(SelfSubjectRulesReview, { metadata: {}, spec: { namespace } }), ({ status }) =>
    status === undefined || status.incomplete ? undefined : status.resourceRules
  )

/** Whether a rule grants a permission, as RBAC defines it. */
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
 * Reviews each permission. A permission in several namespaces is first reviewed for the whole cluster, and for each namespace only if
 * that is denied. So a ClusterRole takes one review for any number of namespaces.
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
          : Effect.flatMap(
              Effect.orElseSucceed(ask({ ...same[0], namespace: undefined }), () => false),
              (granted) => (granted ? Effect.void : noteAll(same))
            ),
      { concurrency, discard: true }
    ).pipe(Effect.map(() => ({ missing: permissions.filter((permission) => missing.has(permission)), unanswered })))
  })

/** Groups the same permission in several namespaces. */
const alike = (permissions: ReadonlyArray<Permission>) =>
  Object.values(Arr.groupBy(permissions, (permission) => keyOf({ ...permission, namespace: undefined }))).flatMap(
    (some) => {
      const wide = some.filter(({ namespace }) => namespace === undefined)
      const placed = some.filter(({ namespace }) => namespace !== undefined)
      return [...wide.map(Arr.of), ...(Arr.isArrayNonEmpty(placed) ? [placed] : [])]
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

/** One line: the denied action, the controllers that need it, and the rule to add. */
export const describe = (permission: Permission): string => {
  const { by, group, name, namespace, resource, subresource, verb } = permission
  const kind = `${resource}${group === "" ? "" : `.${group}`}${subresource === undefined ? "" : `/${subresource}`}`
  const what = `cannot ${verb} ${kind}${name === undefined ? "" : ` ${name}`}`
  const role = namespace === undefined ? "a ClusterRole" : `a Role there`
  const rules = Rbac.rulesOf([permission]).map((rule) => JSON.stringify(rule))
  return `${what} ${where(namespace)}, needed by ${by.join(" and ")}: add to ${role} ${rules.join()}`
}

/**
 * Logs a warning for each missing permission. Failed reviews are not logged here, because the code that needs the permission reports
 * them. Controllers start anyway. They report a missing permission themselves, and recover when it is granted.
 *
 * @param remedy one more line for the missing permissions, if any
 */
export const warn = (
  permissions: ReadonlyArray<Permission>,
  remedy: (missing: ReadonlyArray<Permission>) => string | undefined
): Effect.Effect<void, never, Client.Client> =>
  Effect.gen(function* () {
    const { missing, unanswered } = yield* review(permissions)
    for (const permission of missing) yield* Effect.logWarning(describe(permission))
    const line = remedy(missing)
    if (line !== undefined) yield* Effect.logWarning(line)
    if (unanswered[0] !== undefined) {
      yield* Effect.logDebug(
        `The API server did not review ${unanswered.length} of the needed permissions: ${unanswered[0].message}`
      )
    }
  })
