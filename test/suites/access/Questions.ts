/** Generated questions about permissions, and the roles of these questions besides the bootstrap roles. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import * as Pcg from "@homeostat/apiserver/model/Pcg"

export const group = "rbac.authorization.k8s.io"

/** An RBAC object and its resource. */
export interface Placed {
  readonly path: string
  readonly object: JsonObject
}

/** A question of a SubjectAccessReview. */
export interface Question {
  readonly user: string
  readonly groups: ReadonlyArray<string>
  readonly resourceAttributes?: JsonObject
  readonly nonResourceAttributes?: JsonObject
}

/** Names of one run on a shared control plane. */
export interface Names {
  readonly namespace: string
  readonly prefix: string
}

const roots = { cluster: `/apis/${group}/v1`, of: (namespace: string) => `/apis/${group}/v1/namespaces/${namespace}` }

/** Roles and bindings with every kind of rule, subject and reference. */
export const objects = ({ namespace, prefix }: Names): ReadonlyArray<Placed> => {
  const name = (text: string) => `${prefix}-${text}`
  const subjects = [
    { kind: "User", apiGroup: group, name: name("ann") },
    { kind: "Group", apiGroup: group, name: name("devs") },
    { kind: "ServiceAccount", name: "robot", namespace }
  ]
  const clusterRole = (text: string, rules: ReadonlyArray<JsonObject>): Placed => ({
    path: `${roots.cluster}/clusterroles`,
    object: { metadata: { name: name(text) }, rules }
  })
  const bound = (text: string, role: string, ...to: ReadonlyArray<JsonObject>): Placed => ({
    path: `${roots.cluster}/clusterrolebindings`,
    object: {
      metadata: { name: name(text) },
      subjects: to,
      roleRef: { apiGroup: group, kind: "ClusterRole", name: role }
    }
  })
  const boundIn = (text: string, kind: string, role: string, ...to: ReadonlyArray<JsonObject>): Placed => ({
    path: `${roots.of(namespace)}/rolebindings`,
    object: { metadata: { name: text }, subjects: to, roleRef: { apiGroup: group, kind, name: role } }
  })
  const [ann = {}, devs = {}, robot = {}] = subjects
  return [
    clusterRole("names", [
      { apiGroups: [""], resources: ["configmaps", "secrets"], resourceNames: ["one", "two"], verbs: ["get", "update"] }
    ]),
    clusterRole("subresources", [
      { apiGroups: ["", "apps"], resources: ["*/scale", "pods/log", "deployments/status"], verbs: ["get", "patch"] },
      { apiGroups: ["*"], resources: ["pods"], verbs: ["*"] }
    ]),
    clusterRole("paths", [{ nonResourceURLs: ["/metrics", "/logs/*", "/debug*"], verbs: ["get", "post"] }]),
    clusterRole("nothing", []),
    {
      path: `${roots.of(namespace)}/roles`,
      object: {
        metadata: { name: "jobs" },
        rules: [{ apiGroups: ["batch"], resources: ["*"], verbs: ["create", "list", "delete"] }]
      }
    },
    bound("names", name("names"), ann),
    bound("subresources", name("subresources"), devs, robot),
    bound("paths", name("paths"), devs),
    bound("nothing", name("nothing"), ann),
    bound("lost", name("lost"), robot),
    boundIn("jobs", "Role", "jobs", ann, { kind: "ServiceAccount", name: "robot" }),
    boundIn("edit", "ClusterRole", "edit", devs),
    boundIn("lost", "Role", "lost", ann)
  ]
}

/** The questions of a seed. Half of them start from a subject and a rule of a role bound to this subject, and change some parts. */
export const generate = (
  seed: number,
  count: number,
  { namespace, prefix }: Names,
  stored: {
    readonly roles: ReadonlyArray<JsonObject>
    readonly bindings: ReadonlyArray<JsonObject>
  }
): ReadonlyArray<Question> => {
  const random = Pcg.make(seed)
  const chance = (part: number) => random.number() < part
  const one = <A>(from: ReadonlyArray<A>): A | undefined => from[random.integer(from.length)]
  const text = (from: ReadonlyArray<string>): string => one(from) ?? ""
  const rules = stored.roles.flatMap((role) => J.objects(role.rules))
  const all = (field: string) => [
    ...new Set(rules.flatMap((rule) => J.list(rule[field]).filter((item) => typeof item === "string")))
  ]
  const [verbs, groups, resources, urls] = ["verbs", "apiGroups", "resources", "nonResourceURLs"].map(all)
  const subjects = stored.bindings.flatMap((binding) => J.objects(binding.subjects))
  const namespaces = [namespace, "kube-system", "kube-public", "default", ""]
  const pick = (rule: JsonObject | undefined, field: string, others: ReadonlyArray<string> = []): string => {
    const own = J.list(rule?.[field]).filter((item) => typeof item === "string")
    const chosen = own.length > 0 && chance(0.85) ? text(own) : text(others)
    return chosen === "*" ? text(others) : chosen
  }
  const rulesOf = (subject: JsonObject | undefined): ReadonlyArray<JsonObject> =>
    stored.bindings
      .filter((binding) => J.objects(binding.subjects).some((each) => J.equal(each, subject)))
      .flatMap((binding) => stored.roles.filter((role) => nameOf(role) === J.at(binding, "roleRef", "name")))
      .flatMap((role) => J.objects(role.rules))
  return Array.from({ length: count }, (): Question => {
    const subject = one(subjects)
    const rule = chance(0.75) ? one(rulesOf(subject)) : one(rules)
    const who = {
      user:
        subject?.kind === "ServiceAccount"
          ? `system:serviceaccount:${J.text(subject.namespace) ?? namespace}:${J.text(subject.name)}`
          : subject?.kind === "User"
            ? (J.text(subject.name) ?? "")
            : text(["carl", `${prefix}-ann`, "system:anonymous"]),
      groups: [
        ...(subject?.kind === "Group" ? [J.text(subject.name) ?? ""] : []),
        ...(chance(0.3) ? ["system:authenticated"] : []),
        ...(chance(0.1) ? [`${prefix}-devs`] : [])
      ]
    }
    const verb = pick(rule, "verbs", verbs)
    if (J.list(rule?.nonResourceURLs).length > 0 || chance(0.1)) {
      const path = pick(rule, "nonResourceURLs", urls).replace("*", text(["", "more", "/more/of/it"]))
      return { ...who, nonResourceAttributes: { verb, path } }
    }
    const [resource = "", subresource = ""] = pick(rule, "resources", resources).split("/")
    return {
      ...who,
      resourceAttributes: {
        verb,
        group: pick(rule, "apiGroups", groups),
        resource: resource === "*" ? "deployments" : resource,
        ...(subresource !== "" && { subresource }),
        namespace: text(namespaces),
        ...(chance(0.6) && { name: pick(rule, "resourceNames", ["one", "two", "three"]) })
      }
    }
  })
}

const nameOf = (object: JsonObject): string => J.text(J.at(object, "metadata", "name")) ?? ""
