/**
 * The user of a request.
 */

/** The user of a request. */
export interface User {
  readonly name: string
  readonly groups: ReadonlyArray<string>
  /** Absent: the user has none. */
  readonly uid?: string | undefined
  /** Further attributes of the user, as in `extra` of a TokenReview. */
  readonly extra?: { readonly [key: string]: ReadonlyArray<string> } | undefined
}

/** A user as reviews and webhooks show it. */
export const infoOf = ({ extra, groups, name, uid }: User) => ({
  username: name,
  ...(uid !== undefined && { uid }),
  ...(groups.length > 0 && { groups: [...groups] }),
  ...(extra !== undefined && { extra: Object.fromEntries(Object.entries(extra).map(([key, all]) => [key, [...all]])) })
})

/** The user of all names of service accounts: `system:serviceaccount:NAMESPACE:NAME`. */
const serviceAccountPrefix = "system:serviceaccount:"

/** The user name of a service account. */
export const serviceAccountName = (namespace: string, name: string): string =>
  `${serviceAccountPrefix}${namespace}:${name}`

/** The groups of a service account. */
export const serviceAccountGroups = (namespace: string): ReadonlyArray<string> => [
  "system:serviceaccounts",
  `system:serviceaccounts:${namespace}`
]

/** The service account with this user name; undefined for another user. */
export const serviceAccountOf = (user: string): { readonly namespace: string; readonly name: string } | undefined => {
  if (!user.startsWith(serviceAccountPrefix)) return undefined
  const [namespace = "", name = "", ...rest] = user.slice(serviceAccountPrefix.length).split(":")
  return namespace === "" || name === "" || rest.length > 0 ? undefined : { namespace, name }
}

/** The group of all users with credentials. */
export const authenticated = "system:authenticated"

/** A user with the groups that a kube-apiserver adds: of service accounts, and of all users with credentials. */
export const complete = (user: User): User => {
  if (user.name === anonymous.name) return { ...user, groups: union(user.groups, anonymous.groups) }
  const account = serviceAccountOf(user.name)
  const own = account === undefined ? [] : serviceAccountGroups(account.namespace)
  return { ...user, groups: union(user.groups, [...own, authenticated]) }
}

const union = (some: ReadonlyArray<string>, others: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...new Set([...some, ...others])
]

/** A user without credentials. */
export const anonymous: User = { name: "system:anonymous", groups: ["system:unauthenticated"] }
