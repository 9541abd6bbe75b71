/** The total requests and limits of a Pod. Each quantity keeps its format. */

import { at, type Json, type JsonObject, object, objects, text } from "../../model/Json.ts"
import * as Quantity from "../../model/Quantity.ts"

/** Quantities by resource. */
export type Amounts = ReadonlyMap<string, Quantity.Quantity>

const zero: Quantity.Quantity = { nanos: 0n, format: "DecimalSI" }

const quantity = (value: Json | undefined): Quantity.Quantity => {
  const parsed = Quantity.parse(typeof value === "number" ? String(value) : (text(value) ?? ""))
  return typeof parsed === "string" ? zero : parsed
}

/** The quantities of a resource list. An unreadable quantity counts as 0. */
export const amounts = (list: Json | undefined): Amounts =>
  new Map(Object.entries(object(list)).map(([name, value]) => [name, quantity(value)]))

/** The sum by resource, in the format of the first quantity. If that is 0, in the format of the second. */
export const sum = (one: Amounts, other: Amounts): Amounts => {
  const result = new Map(one)
  for (const [name, { format, nanos }] of other) {
    const before = result.get(name)
    result.set(name, {
      nanos: (before?.nanos ?? 0n) + nanos,
      format: before === undefined || before.nanos === 0n ? format : before.format
    })
  }
  return result
}

const greatest = (one: Amounts, other: Amounts): Amounts => {
  const result = new Map(one)
  for (const [name, value] of other) {
    const before = result.get(name)
    if (before === undefined || value.nanos > before.nanos) result.set(name, value)
  }
  return result
}

const none: Amounts = new Map()

const ofPod = (pod: JsonObject, list: "requests" | "limits"): Amounts => {
  const of = (container: JsonObject): Amounts => amounts(at(container, "resources", list))
  let all = objects(at(pod, "spec", "containers"))
    .map(of)
    .reduce(sum, none)
  let sidecars = none
  let starting = none
  for (const container of objects(at(pod, "spec", "initContainers"))) {
    const isSidecar = container.restartPolicy === "Always"
    if (isSidecar) {
      all = sum(all, of(container))
      sidecars = sum(sidecars, of(container))
    }
    starting = greatest(starting, isSidecar ? sidecars : sum(of(container), sidecars))
  }
  const own = [...amounts(at(pod, "spec", "resources", list))].filter(([name]) =>
    /^(cpu|memory|hugepages-.*)$/.test(name)
  )
  return new Map([...greatest(all, starting), ...own])
}

/** The effective requests of a Pod: the sum of containers and sidecars, or more if an init container requests more. */
export const requestsOf = (pod: JsonObject): Amounts => ofPod(pod, "requests")

/** The effective limits of a Pod, computed like its requests. */
export const limitsOf = (pod: JsonObject): Amounts => ofPod(pod, "limits")
