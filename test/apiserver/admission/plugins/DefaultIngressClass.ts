/** The admission plugin DefaultIngressClass: a new Ingress without a class gets the default class. */
import * as Json from "../../model/Json.ts"
import type { Writing } from "../../model/Kind.ts"
import { annotationsOf, nameOf } from "../../model/ObjectMeta.ts"

const isDefault = "ingressclass.kubernetes.io/is-default-class"
const legacy = "kubernetes.io/ingress.class"

/** Sets the newest default class. If several classes have the same creation time, sets the first one by name. */
export const admit = (ingress: Json.DraftObject, { stored }: Writing): void => {
  const spec = Json.member(ingress, "spec")
  if (spec.ingressClassName !== undefined || annotationsOf(ingress as Json.JsonObject)[legacy] !== undefined) return
  const [newest] = stored("networking.k8s.io/ingressclasses")
    .filter((one) => annotationsOf(one)[isDefault] === "true")
    .toSorted((one, other) => order(created(other), created(one)) || order(nameOf(one), nameOf(other)))
  if (newest !== undefined) spec.ingressClassName = nameOf(newest)
}

const created = (ingressClass: Json.JsonObject): string =>
  Json.text(Json.at(ingressClass, "metadata", "creationTimestamp")) ?? ""

const order = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)
