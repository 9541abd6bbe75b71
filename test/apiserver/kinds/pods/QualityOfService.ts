/** The quality of service class of a Pod, from its requests and limits of CPU and memory. */
import type { JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Quantity from "../../model/Quantity.ts"

/** The class for `status.qosClass` of a Pod with this `spec`. */
export const of = (spec: JsonObject): "Guaranteed" | "Burstable" | "BestEffort" => {
  const whole = Json.object(spec.resources)
  const holders =
    Object.keys(whole).length > 0
      ? [whole]
      : [...Json.objects(spec.containers), ...Json.objects(spec.initContainers)].map((container) =>
          Json.object(container.resources)
        )
  const requested = holders.some((resources) => counted.some((name) => positive(resources, "requests", name)))
  const limited = holders.some((resources) => counted.some((name) => positive(resources, "limits", name)))
  if (!requested && !limited) return "BestEffort"
  return holders.every(isGuaranteed) ? "Guaranteed" : "Burstable"
}

const counted = ["cpu", "memory"]

const amount = (resources: JsonObject, list: string, name: string): bigint =>
  Quantity.amount(Json.text(Json.at(resources, list, name)) ?? "0")

const positive = (resources: JsonObject, list: string, name: string): boolean => amount(resources, list, name) > 0n

const isGuaranteed = (resources: JsonObject): boolean =>
  counted.every(
    (name) =>
      positive(resources, "limits", name) && amount(resources, "limits", name) === amount(resources, "requests", name)
  )
