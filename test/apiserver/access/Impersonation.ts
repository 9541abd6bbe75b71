/**
 * Impersonation: a request with `Impersonate-*` headers counts as a request of another user, if its own user may impersonate that user.
 *
 * As in kube-apiserver 1.37, constrained impersonation comes first: it needs `impersonate-on:MODE:VERB` for the request, and
 * `impersonate:MODE` for the user. The verb `impersonate` alone allows everything that the other user may do.
 */

import {
  type AccessRequest,
  type Authorizer,
  forbidden,
  isPrivileged,
  type ResourceAttributes
} from "../model/Authorizer.ts"
import * as Failure from "../model/Failure.ts"
import * as User from "../model/User.ts"

/** Decides whether users may impersonate others. */
export interface Impersonation {
  /** The user after impersonation. Throws a Failure (403). */
  readonly impersonated: (wanted: Wanted, request: AccessRequest) => User.User
}

/** The user in the headers of a request. */
export interface Wanted {
  readonly name: string
  readonly uid: string
  readonly groups: ReadonlyArray<string>
  readonly extra: { readonly [key: string]: ReadonlyArray<string> }
}

const prefix = "impersonate-"
const extraPrefix = "impersonate-extra-"

/** The separator between the values of a repeated header. */
export const separator = "\n"

/** The user in the headers; undefined without such headers. Throws a Failure (400) for headers without a user name. */
export const wantedOf = (headers: { readonly [lowerCase: string]: string }): Wanted | undefined => {
  let found = false
  const extra: { [key: string]: ReadonlyArray<string> } = {}
  for (const name in headers) {
    if (!name.startsWith(prefix)) continue
    const value = headers[name] ?? ""
    if (name.startsWith(extraPrefix)) extra[unescaped(name.slice(extraPrefix.length))] = value.split(separator)
    found = true
  }
  if (!found) return undefined
  const groups = headers["impersonate-group"]
  const wanted = {
    name: headers["impersonate-user"] ?? "",
    uid: headers["impersonate-uid"] ?? "",
    groups: groups === undefined ? [] : groups.split(separator),
    extra
  }
  const { name, uid } = wanted
  if (name !== "") return wanted
  if (uid === "" && wanted.groups.length === 0 && Object.keys(extra).length === 0) return undefined
  throw Failure.badRequest(`requested ${inGo(wanted)} without impersonating a user name`)
}

const unescaped = (key: string): string => {
  try {
    return decodeURIComponent(key).toLowerCase()
  } catch {
    return key
  }
}

/** The user in the format of Go's `%#v`. */
const inGo = ({ extra, groups, name, uid }: Wanted): string => {
  const quoted = (texts: ReadonlyArray<string>) => `{${texts.map((text) => JSON.stringify(text)).join(", ")}}`
  const lists = Object.entries(extra).map(([key, values]) => `${JSON.stringify(key)}:[]string${quoted(values)}`)
  const groupsInGo = groups.length === 0 ? "(nil)" : quoted(groups)
  const extraInGo = lists.length === 0 ? "(nil)" : `{${lists.join(", ")}}`
  return `&user.DefaultInfo{Name:${JSON.stringify(name)}, UID:${JSON.stringify(uid)}, Groups:[]string${groupsInGo}, Extra:map[string][]string${extraInGo}}`
}

/** A mode of impersonation. */
interface Mode {
  readonly name: "arbitrary-node" | "serviceaccount" | "user-info" | "legacy"
  /** The checks for the impersonated user; undefined if the mode does not apply to that user. */
  readonly checks: (wanted: Wanted) => ReadonlyArray<Check> | undefined
  /** The groups of an impersonated user without groups in the headers. */
  readonly groups: (wanted: Wanted) => ReadonlyArray<string>
}

/** A permission for one attribute of the impersonated user. */
interface Check extends ResourceAttributes {
  /** The reason why the mode never allows the attribute. */
  readonly never?: string | undefined
}

const authentication = "authentication.k8s.io"

const nodePrefix = "system:node:"

const isPlain = ({ extra, groups, uid }: Wanted): boolean =>
  uid === "" && groups.length === 0 && Object.keys(extra).length === 0

const on = (group: string, resource: string, name: string, more: Partial<Check> = {}): Check => ({
  group,
  resource,
  subresource: "",
  namespace: "",
  name,
  ...more
})

const serviceAccountGroups = ({ groups, name }: Wanted): ReadonlyArray<string> => {
  const account = User.serviceAccountOf(name)
  return groups.length > 0 || account === undefined ? groups : User.serviceAccountGroups(account.namespace)
}

const modes: ReadonlyArray<Mode> = [
  {
    name: "arbitrary-node",
    checks: (wanted) =>
      wanted.name.startsWith(nodePrefix) && isPlain(wanted)
        ? [on(authentication, "nodes", wanted.name.slice(nodePrefix.length))]
        : undefined,
    groups: () => ["system:nodes"]
  },
  {
    name: "serviceaccount",
    checks: (wanted) => {
      const account = User.serviceAccountOf(wanted.name)
      return account === undefined || !isPlain(wanted)
        ? undefined
        : [on(authentication, "serviceaccounts", account.name, { namespace: account.namespace })]
    },
    groups: serviceAccountGroups
  },
  {
    name: "user-info",
    checks: ({ extra, groups, name, uid }) =>
      name.startsWith(nodePrefix) || User.serviceAccountOf(name) !== undefined
        ? undefined
        : [
            on(authentication, "users", name),
            ...(uid === "" ? [] : [on(authentication, "uids", uid)]),
            ...Object.keys(extra)
              .filter((key) => !key.includes("/"))
              .map((key) => on(authentication, "userextras", "", { never: invalidKey(key) })),
            ...groups.map((group) =>
              on(authentication, "groups", group, {
                never: group === "system:masters" ? "impersonating the system:masters group is not allowed" : undefined
              })
            ),
            ...extras(extra)
          ],
    groups: ({ groups }) => groups
  },
  {
    name: "legacy",
    checks: ({ extra, groups, name, uid }) => {
      const account = User.serviceAccountOf(name)
      return [
        account === undefined
          ? on("", "users", name)
          : on("", "serviceaccounts", account.name, { namespace: account.namespace }),
        ...(uid === "" ? [] : [on(authentication, "uids", uid)]),
        ...groups.map((group) => on("", "groups", group)),
        ...extras(extra)
      ]
    },
    groups: serviceAccountGroups
  }
]

const extras = (extra: Wanted["extra"]): ReadonlyArray<Check> =>
  Object.entries(extra).flatMap(([key, values]) =>
    values.map((value) => on(authentication, "userextras", value, { subresource: key }))
  )

const invalidKey = (key: string): string =>
  `impersonating an invalid key in extra is not allowed: extra.key: Invalid value: ${JSON.stringify(key)}: must be a domain-prefixed path (such as "acme.io/foo")`

/** The maximum number of cached users. */
const mostUsers = 1000

/** Impersonation by the rules of an authorizer. */
export const make = (authorizer: Authorizer): Impersonation => {
  /** The last allowed mode of each user. The next request of the user tries it first. */
  const last = new Map<string, Mode>()
  return {
    impersonated: (wanted, request) => {
      const { user } = request
      const preferred = last.get(user.name)
      let refused: Failure.Failure | undefined
      for (const mode of preferred === undefined ? modes : [preferred, ...modes.filter((mode) => mode !== preferred)]) {
        const checks = mode.checks(wanted)
        if (checks === undefined) continue
        const failure = isPrivileged(user) ? undefined : check(authorizer, mode, checks, request)
        if (failure !== undefined) {
          refused ??= failure
          continue
        }
        if (last.size >= mostUsers) last.clear()
        last.set(user.name, mode)
        return userOf(wanted, mode.groups(wanted))
      }
      throw refused ?? Failure.internal("no mode of impersonation is left")
    }
  }
}

/** The reason why the mode does not allow the request; undefined if it does. */
const check = (
  authorizer: Authorizer,
  mode: Mode,
  checks: ReadonlyArray<Check>,
  request: AccessRequest
): Failure.Failure | undefined => {
  const { user } = request
  const constrained = mode.name !== "legacy"
  const requests = checks.map(({ never, ...resource }) => ({
    never,
    request: { user, verb: constrained ? `impersonate:${mode.name}` : "impersonate", resource, path: "" }
  }))
  const all = constrained
    ? [{ never: undefined, request: { ...request, verb: `impersonate-on:${mode.name}:${request.verb}` } }, ...requests]
    : requests
  for (const { never, request } of all) {
    if (never !== undefined) return forbidden(request, never)
    const { allowed, reason } = authorizer.authorize(request)
    if (!allowed) return forbidden(request, reason)
  }
  return undefined
}

const userOf = ({ extra, name, uid }: Wanted, groups: ReadonlyArray<string>): User.User => ({
  name,
  groups: [...groups, ...standing(name, groups)],
  ...(uid !== "" && { uid }),
  ...(Object.keys(extra).length > 0 && { extra })
})

/** Adds the group of authenticated or unauthenticated users, if the groups contain neither. */
const standing = (name: string, groups: ReadonlyArray<string>): ReadonlyArray<string> => {
  const [unauthenticated = ""] = User.anonymous.groups
  if (groups.includes(User.authenticated) || groups.includes(unauthenticated)) return []
  return [name === User.anonymous.name ? unauthenticated : User.authenticated]
}
