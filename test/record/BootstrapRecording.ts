/**
 * Records the roles and bindings of a kube-apiserver for `bootstrap.json`, without the fields that differ between two clusters.
 */

import type { Json, JsonObject } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import * as Api from "@homeostat/testkit/envtest/Api"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import { Effect, Schedule } from "effect"

/** The resources of RBAC, by the kind of their objects. */
export const resources: { readonly [kind: string]: string } = {
  ClusterRole: "clusterroles",
  ClusterRoleBinding: "clusterrolebindings",
  Role: "roles",
  RoleBinding: "rolebindings"
}

const root = "/apis/rbac.authorization.k8s.io/v1"

/** The roles and bindings, by resource, once the clusterrole-aggregation-controller has filled the aggregated roles. */
export const record = (
  cluster: ControlPlane
): Effect.Effect<{ readonly [resource: string]: ReadonlyArray<JsonObject> }, Api.RequestFailed> =>
  Effect.gen(function* () {
    yield* ask(cluster, "clusterroles").pipe(
      Effect.repeat({
        until: isAggregated,
        schedule: Schedule.spaced("200 millis")
      })
    )
    const entries = yield* Effect.forEach(Object.entries(resources), ([kind, plural]) =>
      Effect.map(ask(cluster, plural), (objects) => [plural, objects.map((object) => settled(kind, object))] as const)
    )
    return Object.fromEntries(entries)
  })

/** Returns true if each aggregated role has the rules of all roles that its label selectors match. */
const isAggregated = (roles: ReadonlyArray<JsonObject>): boolean =>
  roles.every(({ aggregationRule, rules }) => {
    if (aggregationRule === undefined) return true
    const selectors = J.objects(J.object(aggregationRule).clusterRoleSelectors)
    const matched = roles.filter((role) =>
      selectors.some(({ matchLabels }) =>
        Object.entries(J.object(matchLabels)).every(([key, value]) => J.at(role, "metadata", "labels", key) === value)
      )
    )
    const own = new Set(J.list(rules).map((rule) => JSON.stringify(rule)))
    return own.size > 0 && matched.every((role) => J.list(role.rules).every((rule) => own.has(JSON.stringify(rule))))
  })

const ask = (cluster: ControlPlane, plural: string): Effect.Effect<ReadonlyArray<JsonObject>, Api.RequestFailed> =>
  Effect.map(Api.expect(cluster.admin, "GET", `${root}/${plural}`), (answer) =>
    J.objects(J.object(answer as Json).items)
  )

/** The object without uid, resourceVersion and times. */
const settled = (kind: string, object: JsonObject): JsonObject => {
  const { creationTimestamp: _, managedFields, resourceVersion: __, uid: ___, ...metadata } = J.object(object.metadata)
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind,
    ...object,
    metadata: { ...metadata, managedFields: J.objects(managedFields).map(({ time: _, ...entry }) => entry) }
  }
}
