/**
 * Which objects of a kind a list, a watch or a deletion of many means: a namespace, labels and fields.
 */
import * as Failure from "../model/Failure.ts"
import type { JsonObject } from "../model/Json.ts"
import * as Json from "../model/Json.ts"
import type { Kind } from "../model/Kind.ts"
import * as FieldSelector from "../storage/FieldSelector.ts"
import * as LabelSelector from "../storage/LabelSelector.ts"
import type { ListOptions } from "./Query.ts"

/** A choice of objects. */
export interface Selection {
  /** Undefined: of all namespaces. */
  readonly namespace: string | undefined
  /** Whether an object (in the version of the kind) is meant. */
  readonly takes: (object: JsonObject) => boolean
  /** Whether there are selectors: a list then has no number of the objects that follow. */
  readonly selective: boolean
}

/** The choice that a request makes; a name in its path counts as a field selector. Throws a Failure (400). */
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
