/** The admission plugin PodTopologyLabels: a pod gets the zone and the region of its node as labels. */
import * as Json from "../../model/Json.ts"
import type { Writing } from "../../model/Kind.ts"
import { labelsOf, nameOf } from "../../model/ObjectMeta.ts"

const copied = ["topology.kubernetes.io/region", "topology.kubernetes.io/zone"]

/** Adds the labels to a new pod with a node. */
export const admitPod = (pod: Json.DraftObject, writing: Writing): void =>
  label(pod, Json.text(Json.at(pod as Json.JsonObject, "spec", "nodeName")), writing)

/** Adds the labels to a Binding, which passes them to the pod. */
export const admitBinding = (binding: Json.DraftObject, writing: Writing): void => {
  const target = Json.object(Json.at(binding as Json.JsonObject, "target"))
  if (target.kind === "Node") label(binding, Json.text(target.name), writing)
}

const label = (object: Json.DraftObject, nodeName: string | undefined, { stored }: Writing): void => {
  if (nodeName === undefined) return
  const node = stored("/nodes").find((one) => nameOf(one) === nodeName)
  if (node === undefined) return
  for (const [name, value] of Object.entries(labelsOf(node))) {
    if (copied.includes(name)) Json.member(Json.member(object, "metadata"), "labels")[name] = value
  }
}
