/** `pods/binding`: a scheduler assigns a pod to a node. */

import type { ServerState, WriteOptions } from "../admission/ServerState.ts"
import * as Conditions from "../model/Conditions.ts"
import * as Failure from "../model/Failure.ts"
import * as FieldError from "../model/FieldError.ts"
import * as Json from "../model/Json.ts"
import type { Kind } from "../model/Kind.ts"
import * as ObjectMeta from "../model/ObjectMeta.ts"
import { schemaNamed } from "../model/OpenApiDefinitions.ts"
import * as Read from "./Read.ts"
import * as Update from "./Update.ts"

/** The kind of the request's body. */
export const named = (): Pick<Kind, "group" | "version" | "kind" | "schema"> => ({
  group: "",
  version: "v1",
  kind: "Binding",
  schema: schemaNamed("io.k8s.api.core.v1.Binding")
})

/** Assigns a pod to the node that a Binding names. Throws a Failure. */
export const bind = (
  state: ServerState,
  kind: Kind,
  namespace: string,
  name: string,
  sent: Json.JsonObject,
  options: WriteOptions
): void => {
  const attributes = {
    operation: "CREATE",
    resource: kind,
    kind: named(),
    subresource: "binding",
    namespace,
    name,
    oldObject: null
  } as const
  const binding = options.mutate?.({ ...attributes, object: sent }) ?? sent
  if (ObjectMeta.nameOf(binding) !== name) throw Failure.badRequest("name in URL does not match name in Binding object")
  const errors = validate(Json.object(binding.target))
  if (errors.length > 0) throw Failure.invalid({ group: "", kind: "Binding", plural: "" }, name, errors)
  options.admit?.({ ...attributes, object: binding })
  const pod = Read.get(state, kind, namespace, name)
  Update.checkUid({ kind, namespace, name, subresource: "" }, pod, binding)
  const refusal = refusalOf(pod)
  if (refusal !== undefined) throw Failure.conflict({ ...kind, plural: "pods/binding" }, name, refusal)
  const draft = Json.copy(pod)
  Json.member(draft, "spec").nodeName = Json.text(Json.at(binding, "target", "name")) ?? ""
  delete Json.member(draft, "status").nominatedNodeName
  for (const field of ["annotations", "labels"]) {
    const added = Json.texts(Json.at(binding, "metadata", field))
    if (Object.keys(added).length > 0) Object.assign(Json.member(ObjectMeta.draftOf(draft), field), added)
  }
  Conditions.set(draft, { type: "PodScheduled", status: "True", lastProbeTime: null }, options.now)
  if (!options.dryRun) state.store.put(kind.storage, kind.toStorage(draft))
}

const validate = (target: Json.JsonObject): ReadonlyArray<FieldError.FieldError> => {
  const kind = Json.text(target.kind) ?? ""
  return [
    ...(kind === "" || kind === "Node" ? [] : [FieldError.notSupported("target.kind", kind, ["Node", "<empty>"])]),
    ...((Json.text(target.name) ?? "") === "" ? [FieldError.required("target.name")] : [])
  ]
}

const refusalOf = (pod: Json.JsonObject): string | undefined => {
  const name = ObjectMeta.nameOf(pod)
  const node = Json.text(Json.at(pod, "spec", "nodeName")) ?? ""
  if (ObjectMeta.isDeleting(pod)) return `pod ${name} is being deleted, cannot be assigned to a host`
  if (node !== "") return `pod ${name} is already assigned to node ${JSON.stringify(node)}`
  return Json.list(Json.at(pod, "spec", "schedulingGates")).length > 0
    ? `pod ${name} has non-empty .spec.schedulingGates`
    : undefined
}
