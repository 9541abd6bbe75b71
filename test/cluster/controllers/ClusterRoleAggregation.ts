/** ClusterRoles with an aggregationRule: they get the rules of all ClusterRoles that their selectors match. */
import { at, equal, type JsonObject, objects } from "@homeostat/apiserver/model/Json"
import { labelsOf, nameOf } from "@homeostat/apiserver/model/ObjectMeta"
import { matches, ofLabelSelector } from "@homeostat/apiserver/storage/LabelSelector"
import type { BuiltInController, Pass, Snapshot, Write } from "./BuiltInController.ts"

const clusterRoles = "rbac.authorization.k8s.io/clusterroles"

/** One key for all roles, because a change of any role may concern each aggregated one. */
const key = "all"

const reconcile = (snapshot: Snapshot): Pass => {
  const all = snapshot.list(clusterRoles)
  return { writes: all.filter(aggregates).flatMap((role) => writesOf(role, all)) }
}

const writesOf = (role: JsonObject, all: ReadonlyArray<JsonObject>): ReadonlyArray<Write> => {
  const rules = rulesOf(role, all)
  if (equal(rules, objects(role.rules))) return []
  const { apiVersion, kind } = role
  const object = { apiVersion, kind, metadata: { name: nameOf(role) }, rules }
  return [{ verb: "apply", object, manager: "clusterrole-aggregation-controller" }]
}

const aggregates = ({ aggregationRule }: JsonObject): boolean => aggregationRule != null

/** Returns the rules of the selected roles without duplicates, sorted by the names of the roles. */
const rulesOf = (role: JsonObject, all: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> => {
  const rules: Array<JsonObject> = []
  for (const selector of objects(at(role.aggregationRule, "clusterRoleSelectors"))) {
    const selected = ofLabelSelector(selector)
    for (const other of all) {
      if (nameOf(other) === nameOf(role) || !matches(selected, labelsOf(other))) continue
      for (const rule of objects(other.rules)) if (!rules.some((each) => equal(each, rule))) rules.push(rule)
    }
  }
  return rules
}

/** The clusterrole-aggregation-controller. */
export const clusterRoleAggregation: BuiltInController = {
  name: "clusterrole-aggregation-controller",
  manager: "kube-controller-manager",
  component: "clusterrole-aggregation-controller",
  storages: [clusterRoles],
  keys: () => [key],
  reconcile
}
