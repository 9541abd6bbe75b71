/**
 * Whether a namespace takes new objects, and may be deleted: what the admission plugin NamespaceLifecycle decides.
 */
import * as Failure from "../model/Failure.ts"
import * as Json from "../model/Json.ts"
import type { Kind } from "../model/Kind.ts"
import type { Store } from "../storage/Store.ts"

/** Where namespaces are stored. */
const namespaces = "/namespaces"

/** The namespaces that no client can delete. */
const immortal: ReadonlySet<string> = new Set(["default", "kube-system", "kube-public"])

const namespaceKind = { group: "", kind: "Namespace", plural: "namespaces" }

/** Questions about rights may be asked of a namespace that is not there. */
const isReview = ({ group, kind }: Kind): boolean =>
  group === "authorization.k8s.io" && kind === "LocalSubjectAccessReview"

/** Throws a Failure when there is no such namespace (404), or it is about to end (403). */
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

/** Throws a Failure (403) for a namespace that has to stay. */
export const checkDelete = (kind: Kind, name: string): void => {
  if (kind.storage === namespaces && immortal.has(name)) {
    throw Failure.forbidden(kind, name, "this namespace may not be deleted")
  }
}
