/**
 * The admission plugin ResourceQuota. It denies a write that exceeds a ResourceQuota of the namespace. Otherwise it adds the usage of the
 * write to the quota's status. The quota controller subtracts the usage after a deletion.
 */
import * as QuotaUsage from "../../kinds/config/QuotaUsage.ts"
import type { Amounts } from "../../kinds/pods/PodResources.ts"
import * as PodResources from "../../kinds/pods/PodResources.ts"
import { type Attributes, isNamespaces } from "../../model/Attributes.ts"
import * as Failure from "../../model/Failure.ts"
import { at, type JsonObject, object } from "../../model/Json.ts"
import type { Kind } from "../../model/Kind.ts"
import { nameOf } from "../../model/ObjectMeta.ts"
import * as Quantity from "../../model/Quantity.ts"
import { shownName } from "../AdmissionRequest.ts"
import type { ServerState, WriteOptions } from "../ServerState.ts"

const storage = "/resourcequotas"

const shown = (amounts: Amounts): string =>
  [...amounts]
    .map(([name, quantity]) => `${name}=${Quantity.format(quantity)}`)
    .sort()
    .join(",")

const only = (amounts: Amounts, names: { readonly has: (name: string) => boolean }): Amounts =>
  new Map([...amounts].filter(([name]) => names.has(name)))

/** True if a write can change the usage of its kind. */
const isCounted = ({ object: now, oldObject, operation, resource, subresource }: Attributes): boolean => {
  if (now === null || operation === "DELETE") return false
  const coreResource = resource.group === "" ? resource.plural : ""
  if (coreResource === "persistentvolumeclaims" && subresource === "status") return true
  if (coreResource === "pods" && subresource === "resize") return true
  if (subresource !== "") return false
  if (operation === "CREATE" || coreResource === "services" || coreResource === "persistentvolumeclaims") return true
  const deadline = (pod: JsonObject | null) => typeof at(pod ?? undefined, "spec", "activeDeadlineSeconds") === "number"
  return coreResource === "pods" && deadline(now) !== deadline(oldObject)
}

/** Replaces the status of an object. */
export type UpdateStatus = (
  target: { readonly kind: Kind; readonly namespace: string; readonly name: string },
  object: JsonObject
) => void

/** Throws a Failure (403) if a quota does not allow the write. Must be the last check, because it changes the status of quotas. */
export const check = (
  state: ServerState,
  attributes: Attributes,
  options: WriteOptions,
  updateStatus: UpdateStatus
): void => {
  const { namespace, object: counted, oldObject, resource } = attributes
  if (namespace === "" || isNamespaces(resource) || counted === null || !isCounted(attributes)) return
  const quotas = state.store.list(storage, namespace)
  if (quotas.length === 0) return
  const usage = QuotaUsage.of(resource, counted, options.now)
  const before = oldObject === null ? undefined : QuotaUsage.of(resource, oldObject, options.now)
  const deny = (message: string) => Failure.forbidden(resource, shownName(attributes), message)
  const changed = quotas.flatMap((quota) => {
    const hard = PodResources.amounts(at(quota, "status", "hard"))
    const used = PodResources.amounts(at(quota, "status", "used"))
    const names = [...hard.keys()].filter((name) => QuotaUsage.counts(resource, name))
    if (names.length === 0 || !QuotaUsage.isInScope(quota, resource, counted)) return []
    const lacking = resource.group === "" && resource.plural === "pods" ? QuotaUsage.missing(counted, names) : []
    if (lacking.length > 0) {
      const each = lacking.map(([name, containers]) => `${name} for: ${containers.join(",")}`)
      throw deny(`failed quota: ${nameOf(quota)}: must specify ${each.join("; ")}`)
    }
    if (names.some((name) => !used.has(name))) {
      throw deny(`status unknown for quota: ${nameOf(quota)}, resources: ${names.toSorted().join(",")}`)
    }
    const added =
      before === undefined || !QuotaUsage.isInScope(quota, resource, oldObject ?? {}) ? usage : more(usage, before)
    const requested = only(new Map([...added].filter(([, { nanos }]) => nanos !== 0n)), hard)
    if (requested.size === 0) return []
    const next = PodResources.sum(used, requested)
    const exceeded = new Set(
      [...requested.keys()].filter((name) => (next.get(name)?.nanos ?? 0n) > (hard.get(name)?.nanos ?? 0n))
    )
    if (exceeded.size > 0 && attributes.subresource !== "status") {
      const parts = [
        `requested: ${shown(only(requested, exceeded))}`,
        `used: ${shown(only(used, exceeded))}`,
        `limited: ${shown(only(hard, exceeded))}`
      ]
      throw deny(`exceeded quota: ${nameOf(quota)}, ${parts.join(", ")}`)
    }
    return [{ quota, next }]
  })
  if (options.dryRun) return
  const kind = state.registry.named("v1", "ResourceQuota")
  if (kind === undefined) return
  for (const { next, quota } of changed) {
    const used = Object.fromEntries([...next].map(([name, quantity]) => [name, Quantity.format(quantity)]))
    const charged = { ...quota, status: { ...object(quota.status), used } }
    updateStatus({ kind, namespace, name: nameOf(quota) }, charged)
  }
}

/** The usage that an update adds. */
const more = (usage: Amounts, before: Amounts): Amounts =>
  new Map(
    [...usage].map(([name, { format, nanos }]) => {
      const difference = nanos - (before.get(name)?.nanos ?? 0n)
      return [name, { format, nanos: difference > 0n ? difference : 0n }]
    })
  )
