/**
 * The user of a request, and the names and groups of service accounts.
 */

/** The user of a request. */
export interface User {
  readonly name: string
  readonly groups: ReadonlyArray<string>
  /** Absent if the user has no uid. */
  readonly uid?: string | undefined
  /** Further attributes of the user, as in `extra` of a TokenReview. */
  readonly extra?: { readonly [key: string]: ReadonlyArray<string> } | undefined
}

/** Returns the UserInfo that reviews and webhooks receive. */
export const infoOf = ({ extra, groups, name, uid }: User) => ({
  username: name,
  ...(uid !== undefined && { uid }),
  ...(groups.length > 0 && { groups: [...groups] }),
  ...(extra !== undefined && { extra: Object.fromEntries(Object.entries(extra).map(([key, all]) => [key, [...all]])) })
})

/** The prefix of the user names of all service accounts: `system:serviceaccount:NAMESPACE:NAME`. */
const serviceAccountPrefix = "system:serviceaccount:"

/** Returns the user name of a service account. */
export const serviceAccountName = (namespace: string, name: string): string =>
  `${serviceAccountPrefix}${namespace}:${name}`

/** Returns the groups of a service account. */
export const serviceAccountGroups = (namespace: string): ReadonlyArray<string> => [
  "system:serviceaccounts",
  `system:serviceaccounts:${namespace}`
]

/** Returns the service account with this user name; undefined for any other user. */
export const serviceAccountOf = (user: string): { readonly namespace: string; readonly name: string } | undefined => {
  if (!user.startsWith(serviceAccountPrefix)) return undefined
  const [namespace = "", name = "", ...rest] = user.slice(serviceAccountPrefix.length).split(":")
  return namespace === "" || name === "" || rest.length > 0 ? undefined : { namespace, name }
}

/** The group of all users with credentials. */
export const authenticated = "system:authenticated"

/** Adds the groups that kube-apiserver adds: those of service accounts, and that of all authenticated users. */
export const complete = (user: User): User => {
  if (user.name === anonymous.name) return { ...user, groups: union(user.groups, anonymous.groups) }
  const account = serviceAccountOf(user.name)
  const own = account === undefined ? [] : serviceAccountGroups(account.namespace)
  return { ...user, groups: union(user.groups, [...own, authenticated]) }
}

const union = (some: ReadonlyArray<string>, others: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...new Set([...some, ...others])
]

/** The user of a request without credentials. */
export const anonymous: User = { name: "system:anonymous", groups: ["system:unauthenticated"] }
