import { expect, test } from "bun:test"
import { Result } from "effect"
import * as BuiltIn from "./BuiltIn.ts"
import type { ObjectMeta } from "./KubernetesObject.ts"
import { apiVersionOf, nameOf } from "./Resource.ts"
import type { Wire } from "./Wire.ts"

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const holds = <_ extends true>(): void => undefined

test("The built-in kinds have the groups, versions and scopes of Kubernetes", () => {
  const kinds = Object.values(BuiltIn).map(
    (resource) =>
      `${resource.kind} ${apiVersionOf(resource)} ${nameOf(resource)}${resource.namespaced ? "" : " cluster"}`
  )
  expect(kinds.toSorted()).toEqual([
    "ClusterRole rbac.authorization.k8s.io/v1 clusterroles.rbac.authorization.k8s.io cluster",
    "ClusterRoleBinding rbac.authorization.k8s.io/v1 clusterrolebindings.rbac.authorization.k8s.io cluster",
    "ConfigMap v1 configmaps",
    "ControllerRevision apps/v1 controllerrevisions.apps",
    "CronJob batch/v1 cronjobs.batch",
    "CustomResourceDefinition apiextensions.k8s.io/v1 customresourcedefinitions.apiextensions.k8s.io cluster",
    "DaemonSet apps/v1 daemonsets.apps",
    "Deployment apps/v1 deployments.apps",
    "EndpointSlice discovery.k8s.io/v1 endpointslices.discovery.k8s.io",
    "Event events.k8s.io/v1 events.events.k8s.io",
    "Gateway gateway.networking.k8s.io/v1 gateways.gateway.networking.k8s.io",
    "HTTPRoute gateway.networking.k8s.io/v1 httproutes.gateway.networking.k8s.io",
    "HorizontalPodAutoscaler autoscaling/v2 horizontalpodautoscalers.autoscaling",
    "Ingress networking.k8s.io/v1 ingresses.networking.k8s.io",
    "IngressClass networking.k8s.io/v1 ingressclasses.networking.k8s.io cluster",
    "Job batch/v1 jobs.batch",
    "Lease coordination.k8s.io/v1 leases.coordination.k8s.io",
    "LimitRange v1 limitranges",
    "MutatingWebhookConfiguration admissionregistration.k8s.io/v1 mutatingwebhookconfigurations.admissionregistration.k8s.io cluster",
    "Namespace v1 namespaces cluster",
    "NetworkPolicy networking.k8s.io/v1 networkpolicies.networking.k8s.io",
    "Node v1 nodes cluster",
    "PersistentVolume v1 persistentvolumes cluster",
    "PersistentVolumeClaim v1 persistentvolumeclaims",
    "Pod v1 pods",
    "PodDisruptionBudget policy/v1 poddisruptionbudgets.policy",
    "PriorityClass scheduling.k8s.io/v1 priorityclasses.scheduling.k8s.io cluster",
    "ReplicaSet apps/v1 replicasets.apps",
    "ResourceQuota v1 resourcequotas",
    "Role rbac.authorization.k8s.io/v1 roles.rbac.authorization.k8s.io",
    "RoleBinding rbac.authorization.k8s.io/v1 rolebindings.rbac.authorization.k8s.io",
    "Secret v1 secrets",
    "SelfSubjectAccessReview authorization.k8s.io/v1 selfsubjectaccessreviews.authorization.k8s.io cluster",
    "SelfSubjectRulesReview authorization.k8s.io/v1 selfsubjectrulesreviews.authorization.k8s.io cluster",
    "Service v1 services",
    "ServiceAccount v1 serviceaccounts",
    "StatefulSet apps/v1 statefulsets.apps",
    "StorageClass storage.k8s.io/v1 storageclasses.storage.k8s.io cluster",
    "SubjectAccessReview authorization.k8s.io/v1 subjectaccessreviews.authorization.k8s.io cluster",
    "TokenReview authentication.k8s.io/v1 tokenreviews.authentication.k8s.io cluster",
    "ValidatingAdmissionPolicy admissionregistration.k8s.io/v1 validatingadmissionpolicies.admissionregistration.k8s.io cluster",
    "ValidatingAdmissionPolicyBinding admissionregistration.k8s.io/v1 validatingadmissionpolicybindings.admissionregistration.k8s.io cluster",
    "ValidatingWebhookConfiguration admissionregistration.k8s.io/v1 validatingwebhookconfigurations.admissionregistration.k8s.io cluster"
  ])
})

test("The decoder of a built-in kind returns the object unchanged", () => {
  const metadata = {
    name: "a",
    namespace: "b",
    uid: "c",
    resourceVersion: "1",
    creationTimestamp: "2026-11-20T09:00:00Z"
  }
  const wire = { metadata, spec: { replicas: 2 } }
  expect<unknown>(Result.getOrThrow(BuiltIn.Deployment.decode(wire))).toBe(wire)
})

test("The types of built-in kinds match their JSON", () => {
  type Template = NonNullable<BuiltIn.Deployment["spec"]>["template"]
  type Container = NonNullable<Template["spec"]>["containers"][number]
  holds<Same<BuiltIn.Deployment["metadata"], ObjectMeta>>()
  holds<Same<Container["image"], string | undefined>>()
  holds<Same<NonNullable<BuiltIn.Deployment["status"]>["readyReplicas"], number | undefined>>()
  // Times are strings, even those with their own class in client-node.
  holds<Same<NonNullable<BuiltIn.Lease["spec"]>["renewTime"], string | undefined>>()
  holds<
    Same<
      NonNullable<NonNullable<BuiltIn.Deployment["status"]>["conditions"]>[number]["lastTransitionTime"],
      string | undefined
    >
  >()
  holds<
    Same<
      NonNullable<NonNullable<BuiltIn.PodDisruptionBudget["status"]>["disruptedPods"]>,
      { readonly [key: string]: string }
    >
  >()
  holds<
    Same<NonNullable<NonNullable<NonNullable<BuiltIn.Service["spec"]>["ports"]>[number]["targetPort"]>, string | number>
  >()
  // The names are those of the JSON, not those of client-node.
  type Props = NonNullable<
    NonNullable<BuiltIn.CustomResourceDefinition["spec"]["versions"][number]["schema"]>["openAPIV3Schema"]
  >
  holds<Same<Props["default"], unknown>>()
  holds<Same<Props["x-kubernetes-list-map-keys"], ReadonlyArray<string> | undefined>>()
  holds<
    Same<
      Wire<{ a: object; b?: Array<unknown> }>,
      { readonly a: { readonly [key: string]: unknown }; readonly b?: ReadonlyArray<unknown> }
    >
  >()
})

/** Only the compiler checks this function; the tests never call it. */
export const compiles = (deployment: BuiltIn.Deployment) => {
  const containers = deployment.spec?.template.spec?.containers
  containers?.map(({ name }) => name)
  // @ts-expect-error all readers of the cache share its objects
  containers?.push({ name: "more" })
  // @ts-expect-error an optional field may be absent, but not undefined
  const _: NonNullable<typeof deployment.spec>["replicas"] & {} = deployment.spec?.replicas
  const desired: Parameters<typeof BuiltIn.Deployment.Desired>[0] = {
    metadata: { name: "a" },
    // @ts-expect-error the server rejects the object (422) if this field is undefined
    spec: { replicas: undefined, selector: {}, template: {} }
  }
  return desired
}
