/** The built-in kinds of authentication and authorization. */
import type {
  V1ClusterRole,
  V1ClusterRoleBinding,
  V1Role,
  V1RoleBinding,
  V1SelfSubjectAccessReview,
  V1SelfSubjectRulesReview,
  V1SubjectAccessReview,
  V1TokenReview
} from "@kubernetes/client-node"
import type { Kind } from "./BuiltInKind.ts"
import * as Resource from "./Resource.ts"

/** `rbac.authorization.k8s.io/v1` Role. */
export const Role: Resource.Resource<Kind<V1Role>> = Resource.make({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "Role",
  plural: "roles"
})
/** A Role as the server returned it. */
export type Role = typeof Role.Type

/** `rbac.authorization.k8s.io/v1` RoleBinding. */
export const RoleBinding: Resource.Resource<Kind<V1RoleBinding>> = Resource.make({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "RoleBinding",
  plural: "rolebindings"
})
/** A RoleBinding as the server returned it. */
export type RoleBinding = typeof RoleBinding.Type

/** `rbac.authorization.k8s.io/v1` ClusterRole, cluster-scoped. */
export const ClusterRole: Resource.Resource<Kind<V1ClusterRole>> = Resource.make({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "ClusterRole",
  plural: "clusterroles",
  namespaced: false
})
/** A ClusterRole as the server returned it. */
export type ClusterRole = typeof ClusterRole.Type

/** `rbac.authorization.k8s.io/v1` ClusterRoleBinding, cluster-scoped. */
export const ClusterRoleBinding: Resource.Resource<Kind<V1ClusterRoleBinding>> = Resource.make({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "ClusterRoleBinding",
  plural: "clusterrolebindings",
  namespaced: false
})
/** A ClusterRoleBinding as the server returned it. */
export type ClusterRoleBinding = typeof ClusterRoleBinding.Type

/**
 * `authorization.k8s.io/v1` SelfSubjectAccessReview, cluster-scoped. It is only created and never stored; its status has the answer.
 */
export const SelfSubjectAccessReview: Resource.Resource<Kind<V1SelfSubjectAccessReview>> = Resource.make({
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SelfSubjectAccessReview",
  plural: "selfsubjectaccessreviews",
  namespaced: false
})
/** A SelfSubjectAccessReview as the server returned it. */
export type SelfSubjectAccessReview = typeof SelfSubjectAccessReview.Type

/**
 * `authorization.k8s.io/v1` SelfSubjectRulesReview, cluster-scoped. It is only created and never stored; its status has the answer.
 */
export const SelfSubjectRulesReview: Resource.Resource<Kind<V1SelfSubjectRulesReview>> = Resource.make({
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SelfSubjectRulesReview",
  plural: "selfsubjectrulesreviews",
  namespaced: false
})
/** A SelfSubjectRulesReview as the server returned it. */
export type SelfSubjectRulesReview = typeof SelfSubjectRulesReview.Type

/** `authorization.k8s.io/v1` SubjectAccessReview, cluster-scoped. It is only created and never stored; its status has the answer. */
export const SubjectAccessReview: Resource.Resource<Kind<V1SubjectAccessReview>> = Resource.make({
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SubjectAccessReview",
  plural: "subjectaccessreviews",
  namespaced: false
})
/** A SubjectAccessReview as the server returned it. */
export type SubjectAccessReview = typeof SubjectAccessReview.Type

/** `authentication.k8s.io/v1` TokenReview, cluster-scoped. It is only created and never stored; its status has the answer. */
export const TokenReview: Resource.Resource<Kind<V1TokenReview>> = Resource.make({
  group: "authentication.k8s.io",
  version: "v1",
  kind: "TokenReview",
  plural: "tokenreviews",
  namespaced: false
})
/** A TokenReview as the server returned it, including the token. */
export type TokenReview = typeof TokenReview.Type
