/** The admission plugin NamespaceLifecycle: it decides if a namespace accepts new objects, and if it may be deleted. */
import * as Failure from "../model/Failure.ts"
import * as Json from "../model/Json.ts"
import type { Kind } from "../model/Kind.ts"
import type { Store } from "../storage/Store.ts"

/** The storage key of namespaces. */
const namespaces = "/namespaces"

/** The namespaces that the server never deletes. */
const immortal: ReadonlySet<string> = new Set(["default", "kube-system", "kube-public"])

const namespaceKind = { group: "", kind: "Namespace", plural: "namespaces" }

/** True for reviews of permissions, which may name a missing namespace. */
const isReview = ({ group, kind }: Kind): boolean =>
  group === "authorization.k8s.io" && kind === "LocalSubjectAccessReview"

/** Throws a Failure if the namespace does not exist (404) or is being deleted (403). */
export const checkCreate = (store: Store, kind: Kind, namespace: string, name: string): void => {
  if (!kind.namespaced || isReview(kind)) return
  const found = store.get(namespaces, "", namespace)
  if (found === undefined) throw Failure.notFound(namespaceKind, namespace)
  if (Json.at(found, "status", "phase") !== "Terminating") return
  throw Failure.forbidden(
    kind,
    name,
    `unable to create new content in namespace ${namespace} because it is being terminated`,
    [
      {
        reason: "NamespaceTerminating",
        message: `namespace ${namespace} is being terminated`,
        field: "metadata.namespace"
      }
    ]
  )
}

/** Throws a Failure (403) for a namespace that the server never deletes. */
export const checkDelete = (kind: Kind, name: string): void => {
  if (kind.storage === namespaces && immortal.has(name)) {
    throw Failure.forbidden(kind, name, "this namespace may not be deleted")
  }
}
