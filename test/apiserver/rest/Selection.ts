/** The selection of a list, a watch or the deletion of a collection: a namespace, labels and fields. */
import * as Failure from "../model/Failure.ts"
import type { JsonObject } from "../model/Json.ts"
import * as Json from "../model/Json.ts"
import type { Kind } from "../model/Kind.ts"
import * as FieldSelector from "../storage/FieldSelector.ts"
import * as LabelSelector from "../storage/LabelSelector.ts"
import type { ListOptions } from "./Query.ts"

/** A selection of objects. */
export interface Selection {
  /** The namespace; undefined for all namespaces. */
  readonly namespace: string | undefined
  /** True if the object (in the version of the kind) is selected. */
  readonly takes: (object: JsonObject) => boolean
  /** True if there are selectors. A list with selectors does not report the number of remaining objects. */
  readonly selective: boolean
}

/** The selection of a request. A name in the path counts as a field selector. Throws a Failure (400). */
export const make = (kind: Kind, namespace: string, name: string, options: ListOptions): Selection => {
  const labels = LabelSelector.parse(options.labelSelector)
  const fields = FieldSelector.of(kind, options.fieldSelector)
  if (name !== "" && fields.length > 0 && FieldSelector.exactly(fields, "metadata.name") !== name) {
    throw Failure.badRequest("fieldSelector metadata.name doesn't match requested name")
  }
  const ofNamespace = FieldSelector.exactly(fields, "metadata.namespace")
  return {
    namespace: kind.namespaced ? (namespace === "" ? ofNamespace : namespace) : undefined,
    selective: labels.length > 0 || fields.length > 0 || name !== "",
    takes: (object) =>
      (name === "" || Json.at(object, "metadata", "name") === name) &&
      (labels.length === 0 || LabelSelector.matches(labels, Json.texts(Json.at(object, "metadata", "labels")))) &&
      FieldSelector.matches(fields, kind, object)
  }
}
