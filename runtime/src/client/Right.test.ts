import { expect, test } from "bun:test"
import * as ApiError from "./ApiError.ts"
import * as Right from "./Right.ts"

const described = (message: string) => {
  const error = ApiError.fromStatus(
    { method: "GET", path: "/x" },
    { kind: "Status", reason: "Forbidden", message },
    403
  )
  if (!(error instanceof ApiError.Forbidden)) throw new Error(`no refusal: ${error._tag}`)
  const right = Right.wanting(error)
  return right === undefined ? undefined : Right.describe(right)
}

const cases: ReadonlyArray<readonly [string, string, string | undefined]> = [
  [
    "in a namespace",
    'deployments.apps "a" is forbidden: User "u:v" cannot patch resource "deployments" in API group "apps" in the namespace "b"',
    'it takes the verb patch on deployments of API group "apps" in namespace b'
  ],
  [
    "of a subresource in the whole cluster",
    'User "u" cannot get resource "nodes/proxy" in API group "" at the cluster scope',
    'it takes the verb get on nodes/proxy of API group "" in the whole cluster'
  ],
  ["not where a quota refuses", 'pods "a" is forbidden: exceeded quota: none', undefined],
  [
    "not in a namespace that is being deleted",
    "unable to create new content in namespace a because it is being terminated",
    undefined
  ]
]

for (const [where, words, line] of cases) {
  test(`the missing right is read from a refusal: ${where}`, () => expect(described(words)).toBe(line))
}
