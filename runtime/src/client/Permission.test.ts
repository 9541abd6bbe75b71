import { expect, test } from "bun:test"
import * as ApiError from "./ApiError.ts"
import * as Permission from "./Permission.ts"

const described = (message: string, path = "/x") => {
  const error = ApiError.fromStatus({ method: "GET", path }, { kind: "Status", reason: "Forbidden", message }, 403)
  if (!(error instanceof ApiError.Forbidden)) throw new Error(`no refusal: ${error._tag}`)
  const permission = Permission.missing(error)
  return permission === undefined ? undefined : Permission.describe(permission)
}

const cases: ReadonlyArray<readonly [string, string, string | undefined]> = [
  [
    "in a namespace",
    'deployments.apps "a" is forbidden: User "u:v" cannot patch resource "deployments" in API group "apps" in the namespace "b"',
    "requires permission to patch deployments.apps in namespace b"
  ],
  [
    "of a subresource cluster-wide",
    'User "u" cannot get resource "nodes/proxy" in API group "" at the cluster scope',
    "requires permission to get nodes/proxy cluster-wide"
  ],
  ["not if a quota rejects the request", 'pods "a" is forbidden: exceeded quota: none', undefined],
  [
    "not in a namespace that is being deleted",
    "unable to create new content in namespace a because it is being terminated",
    undefined
  ]
]

for (const [where, words, line] of cases) {
  test(`Permission.missing reads the missing permission: ${where}`, () => expect(described(words)).toBe(line))
}

const rules = `{APIGroups:[""], Resources:["bindings"], Verbs:["get" "list" "watch"]}\n`.repeat(50)
const grants = `user "system:serviceaccount:a:b" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n${rules}`
const access = (verb: string) => `(Access.${verb} in the controller's access), or all that they grant`

for (const [path, line] of [
  [
    "namespaces/shop/rolebindings/team",
    `requires permission to bind roles or clusterroles in namespace shop ${access("bind")}`
  ],
  [
    "clusterrolebindings/team",
    `requires permission to bind clusterroles.rbac.authorization.k8s.io cluster-wide ${access("bind")}`
  ],
  [
    "namespaces/shop/roles/team",
    `requires permission to escalate roles.rbac.authorization.k8s.io in namespace shop ${access("escalate")}`
  ],
  [
    "clusterroles",
    `requires permission to escalate clusterroles.rbac.authorization.k8s.io cluster-wide ${access("escalate")}`
  ]
] as const) {
  test(`Permission.missing reads the missing permission to grant permissions: ${path}`, () => {
    const words = `rolebindings.rbac.authorization.k8s.io "team" is forbidden: ${grants}`
    expect(described(words, `/apis/rbac.authorization.k8s.io/v1/${path}`)).toBe(line)
  })
}

test("The message of a forbidden grant contains only the first permissions", () => {
  const { message } = ApiError.fromStatus(
    { method: "POST", path: "/x" },
    { kind: "Status", reason: "Forbidden", message: grants },
    403
  )
  expect(message).toContain(`not currently held: {APIGroups:[""], Resources:["bindings"]`)
  expect(message.length).toBeLessThan(400)
})

test("Permission.reasonOf returns the missing permission, or else the message", () => {
  const [[, forbidden, line] = [], , [, quota] = []] = cases
  const errorOf = (message = "", status = 403) =>
    ApiError.fromStatus({ method: "GET", path: "/x" }, { kind: "Status", message }, status)
  expect(Permission.reasonOf(errorOf(forbidden))).toBe(line ?? "")
  expect(Permission.reasonOf(errorOf(quota))).toBe(errorOf(quota).message)
  expect(Permission.reasonOf(errorOf("no such thing", 404))).toBe(errorOf("no such thing", 404).message)
})
