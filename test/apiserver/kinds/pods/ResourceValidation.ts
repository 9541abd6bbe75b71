/**
 * Validation of resource requests and limits.
 */
import * as FieldError from "../../model/FieldError.ts"
import * as Format from "../../model/Format.ts"
import type { JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Quantity from "../../model/Quantity.ts"
import * as Check from "../Check.ts"
import type { Errors } from "../Definition.ts"
import * as ResourceNames from "../ResourceNames.ts"

/** Yields the errors of the `resources` of a container. */
export function* requirements(field: string, resources: JsonObject): Errors {
  const limits = Json.texts(resources.limits)
  const requests = Json.texts(resources.requests)
  for (const name in limits) yield* amount(`${field}.limits[${name}]`, name, limits[name] ?? "0")
  for (const name in requests) {
    const requested = requests[name] ?? "0"
    yield* amount(`${field}.requests[${name}]`, name, requested)
    const limit = limits[name]
    if (limit === undefined) {
      if (!overcommits(name)) {
        yield FieldError.required(`${field}.limits`, "Limit must be set for non overcommitable resources")
      }
      continue
    }
    const excess = Quantity.amount(requested) - Quantity.amount(limit)
    if (excess !== 0n && !overcommits(name)) {
      yield FieldError.invalid(`${field}.requests`, requested, `must be equal to ${name} limit of ${limit}`)
    } else if (excess > 0n) {
      yield FieldError.invalid(
        `${field}.requests`,
        requested,
        `must be less than or equal to ${name} limit of ${limit}`
      )
    }
  }
}

function* amount(field: string, name: string, value: string): Errors {
  yield* resourceName(field, name)
  yield* Check.quantity(field, value)
  if (!overcommits(name) && Quantity.amount(value) % 1_000_000_000n !== 0n) {
    yield FieldError.invalid(field, value, "must be an integer")
  }
}

function* resourceName(field: string, name: string): Errors {
  const errors = Format.labelKey(name)
  for (const error of errors) yield FieldError.invalid(field, name, error)
  if (name.includes("/")) {
    if (!name.includes("kubernetes.io/") && name.startsWith("requests.")) {
      yield FieldError.invalid(field, name, "doesn't follow extended resource name standard")
    }
    return
  }
  if (errors.length === 0 && !ResourceNames.standard.has(name) && !name.startsWith("hugepages-")) {
    yield FieldError.invalid(field, name, "must be a standard resource type or fully qualified")
  }
  if (!ResourceNames.ofContainers.has(name) && !name.startsWith("hugepages-")) {
    yield FieldError.invalid(field, name, "must be a standard resource for containers")
  }
}

/** True if the request may be lower than the limit. Huge pages and extended resources do not allow it. */
const overcommits = (name: string): boolean =>
  !name.startsWith("hugepages-") && (!name.includes("/") || name.includes("kubernetes.io/"))
