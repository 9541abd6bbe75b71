/**
 * Roles for people and for Prometheus: who may look at the kinds, who may change them, who may ask a manager. Kubernetes adds those for
 * the kinds to its own ClusterRoles. So a user with `view`, `edit` or `admin` in a namespace has it for these kinds too.
 */
import type * as Rbac from "@homeostat/runtime/manager/Rbac"
import type * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import * as Order from "effect/Order"

/** A ClusterRole without bindings. */
export interface PeopleRole {
  readonly apiVersion: "rbac.authorization.k8s.io/v1"
  readonly kind: "ClusterRole"
  readonly metadata: { readonly name: string; readonly labels?: { readonly [label: string]: string } }
  readonly rules: ReadonlyArray<Rbac.Rule | PathRule>
}

/** Verbs on paths of a program that asks the API server who may get them. */
export interface PathRule {
  readonly nonResourceURLs: ReadonlyArray<string>
  readonly verbs: ReadonlyArray<string>
}

const role = (
  name: string,
  rules: PeopleRole["rules"],
  labels?: NonNullable<PeopleRole["metadata"]["labels"]>
): PeopleRole => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: labels === undefined ? { name } : { name, labels },
  rules
})

const aggregated = (to: string) => ({ [`rbac.authorization.k8s.io/aggregate-to-${to}`]: "true" })

/** One rule for each API group, with those of its resources that there are. */
const rulesFor = (
  kinds: ReadonlyArray<CustomResource.Any>,
  resourcesOf: (kind: CustomResource.Any) => ReadonlyArray<string>,
  verbs: ReadonlyArray<string>
): ReadonlyArray<Rbac.Rule> =>
  [...new Set(kinds.map(({ group }) => group))].sort(Order.String).flatMap((group) => {
    const resources = kinds.filter((kind) => kind.group === group).flatMap(resourcesOf)
    return resources.length === 0
      ? []
      : [{ apiGroups: [group], resources: resources.sort(Order.String), verbs: [...verbs] }]
  })

const itself = ({ plural }: CustomResource.Any) => [plural]
const scale = ({ definition, plural }: CustomResource.Any) =>
  definition.scale === undefined ? [] : [`${plural}/scale`]
const parts = (kind: CustomResource.Any) => [
  ...(kind.definition.hasStatus ? [`${kind.plural}/status`] : []),
  ...scale(kind)
]

/** The roles. No role may write a status, because the controller writes it. */
export const of = (name: string, kinds: ReadonlyArray<CustomResource.Any>): ReadonlyArray<PeopleRole> => [
  // Kubernetes also adds `view` to `edit`, and `edit` to `admin`.
  role(
    `${name}-view`,
    [...rulesFor(kinds, itself, ["get", "list", "watch"]), ...rulesFor(kinds, parts, ["get"])],
    aggregated("view")
  ),
  role(
    `${name}-edit`,
    [
      ...rulesFor(kinds, itself, ["create", "update", "patch", "delete", "deletecollection"]),
      ...rulesFor(kinds, scale, ["update", "patch"])
    ],
    aggregated("edit")
  ),
  role(`${name}-metrics-reader`, [{ nonResourceURLs: ["/metrics"], verbs: ["get"] }]),
  role(`${name}-why-reader`, [{ nonResourceURLs: ["/why", "/loglevel"], verbs: ["get"] }]),
  // A recording has whole objects, so the role for `why` does not have it.
  role(`${name}-recording-reader`, [{ nonResourceURLs: ["/recordings"], verbs: ["get"] }]),
  role(`${name}-loglevel-writer`, [{ nonResourceURLs: ["/loglevel"], verbs: ["get", "put", "delete"] }])
]
